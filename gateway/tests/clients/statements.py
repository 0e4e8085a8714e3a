"""The statements of docs/sql.md, through psycopg and in DuckDB over the readings in the clear.

Usage: statements.py PORT CLEAR_CSV DOCUMENT [--costs]
Ends with status 1 if rows differ or a statement is not computed where the document says. With --costs, it prints where.
"""

import datetime
import decimal
import math
import re
import sys

import duckdb
import psycopg

# **12. A title** (server, 0 bootstraps)
STATEMENT = re.compile(
    r"^\*\*(\d+)\. (.+?)\*\* \((.+?)\)\n+```sql\n(.*?)```", re.MULTILINE | re.DOTALL
)

# Functions of TimescaleDB and PostgreSQL that DuckDB has under other names.
MACROS = [
    "CREATE MACRO date_bin(width, t, origin) AS time_bucket(width::INTERVAL, t, origin)",
]
RENAMED = [
    (r"\blast\(", "arg_max("),
    (r"\bfirst\(", "arg_min("),
    (r"time_bucket\('", "time_bucket(INTERVAL '"),
]


def in_duckdb(path: str) -> duckdb.DuckDBPyConnection:
    clear = duckdb.connect()
    clear.execute("SET TimeZone = 'UTC'")
    clear.execute(
        "CREATE TABLE readings AS SELECT * REPLACE (time::TIMESTAMP AS time) FROM read_csv(?, "
        "types = {'time': 'VARCHAR', 'temperature_c': 'DOUBLE', 'humidity_pct': 'DOUBLE', "
        "'pressure_hpa': 'DOUBLE', 'illuminance_lx': 'DOUBLE'})",
        [path],
    )
    clear.execute(
        "CREATE VIEW devices AS SELECT device, count(*) AS rows FROM readings GROUP BY device"
    )
    for macro in MACROS:
        clear.execute(macro)
    return clear


def plain(value):
    """The value as both databases have it."""
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, datetime.date):
        return datetime.datetime(value.year, value.month, value.day)
    if isinstance(value, decimal.Decimal):
        return float(value)
    return value


def same(a, b) -> bool:
    a, b = plain(a), plain(b)
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    return a == b


def rows_same(ours, theirs) -> bool:
    return len(ours) == len(theirs) and all(
        len(a) == len(b) and all(map(same, a, b)) for a, b in zip(ours, theirs)
    )


def place(connection: psycopg.Connection, sql: str) -> str:
    """Where a statement is computed, as its plan says."""
    plan = "\n".join(row[1] for row in connection.execute("EXPLAIN " + sql).fetchall())
    places = []
    asked = re.findall(r"AskedOfServer:.*?bootstraps=([\d,]+)", plan)
    if asked:
        bootstraps = sum(int(number.replace(",", "")) for number in asked)
        places.append(f"server, {bootstraps:,} bootstraps")
    if "FetchedReadings" in plan:
        places.append("here")
    return " and ".join(places) or "lists"


def bootstraps(where: str) -> int:
    return sum(int(number.replace(",", "")) for number in re.findall(r"([\d,]+) bootstraps", where))


def as_told(found: str, told: str) -> bool:
    """Whether a statement is computed where the document says, with at most as many bootstraps."""
    ours, most = bootstraps(found), bootstraps(told)
    same = re.sub(r"[\d,]+ bootstraps", "", found) == re.sub(r"[\d,]+ bootstraps", "", told)
    return same and ours <= most and (ours == 0) == (most == 0)


def main(port: str, path: str, document: str, *options: str) -> int:
    with open(document, encoding="utf-8") as file:
        statements = STATEMENT.findall(file.read())
    if not statements:
        print("no statements are found")
        return 1
    clear = in_duckdb(path)
    wrong = 0
    address = f"host=127.0.0.1 port={port} user=owner dbname=tfhe_sbc"
    with psycopg.connect(address, autocommit=True) as connection:
        for number, title, told, sql in statements:
            try:
                found = place(connection, sql)
                ours = connection.execute(sql).fetchall()
            except psycopg.Error as error:
                print(f"{number}. {title}: {error}")
                wrong += 1
                continue
            duck = sql
            for pattern, replacement in RENAMED:
                duck = re.sub(pattern, replacement, duck)
            theirs = clear.execute(duck).fetchall()
            if "ORDER BY" not in sql:
                ours, theirs = sorted(ours, key=str), sorted(theirs, key=str)
            if not ours or not rows_same(ours, theirs):
                print(f"{number}. {title}: other rows\n  ours   {ours[:5]}\n  DuckDB {theirs[:5]}")
                wrong += 1
            if "--costs" in options:
                print(f"{number}. {title}: {found}")
            elif not as_told(found, told):
                print(f"{number}. {title}: computed by '{found}', not by '{told}'")
                wrong += 1
    print(f"{len(statements)} statements, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
