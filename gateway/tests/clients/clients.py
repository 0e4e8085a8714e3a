"""psycopg 3 and SQLAlchemy with pandas, as people use them. Usage: clients.py PORT CLEAR_CSV"""

import datetime
import sys

import pandas
import psycopg
import sqlalchemy
from psycopg.rows import dict_row


def of_psycopg(port: str, clear: pandas.DataFrame) -> None:
    address = f"host=127.0.0.1 port={port} user=owner dbname=tfhe_sbc"
    with psycopg.connect(address, row_factory=dict_row) as connection:
        # A prepared statement with parameters of several types.
        sql = (
            "SELECT device, avg(temperature_c) AS mean, count(*) AS rows FROM readings "
            "WHERE device = %s AND time >= %s AND time < %s GROUP BY device"
        )
        begin = datetime.datetime(2026, 11, 16, tzinfo=datetime.timezone.utc)
        end = begin + datetime.timedelta(hours=12)
        for device in ("station-01", "station-02"):
            row = connection.execute(sql, (device, begin, end), prepare=True).fetchone()
            times = pandas.to_datetime(clear["time"], format="ISO8601")
            chosen = clear[(clear["device"] == device) & (times >= begin) & (times < end)]
            assert row is not None and row["device"] == device, row
            assert row["rows"] == len(chosen) == 12, row
            assert abs(row["mean"] - chosen["temperature_c"].mean()) < 1e-9, row
        # A threshold as a parameter is encrypted like any other.
        row = connection.execute(
            "SELECT count(*) FILTER (WHERE humidity_pct > %s) AS humid FROM readings "
            "WHERE device = %s AND time < %s",
            (80.0, "station-01", begin + datetime.timedelta(days=1)),
        ).fetchone()
        day = clear[(clear["device"] == "station-01") & clear["time"].str.startswith("2026-11-16")]
        assert row is not None and row["humid"] == (day["humidity_pct"] > 80).sum(), row
        # Times come as such.
        row = connection.execute("SELECT max(time) AS latest FROM readings").fetchone()
        latest = pandas.to_datetime(clear["time"], format="ISO8601").max()
        assert row is not None and row["latest"] == latest, row
        # Columns without an alias have PostgreSQL's names.
        row = connection.execute(
            "SELECT max(time), count(*) FROM readings WHERE device = %s", ("station-01",), prepare=True
        ).fetchone()
        assert row is not None and list(row) == ["max", "count"], row
        # An error has its code, and the connection goes on after it.
        connection.rollback()
        try:
            connection.execute("SELECT nonsense FROM readings")
        except psycopg.errors.UndefinedColumn:
            connection.rollback()
        else:
            raise AssertionError("a column that is not there was selected")
        assert connection.execute("SELECT 1 AS one").fetchone() == {"one": 1}


def of_pandas(port: str, clear: pandas.DataFrame) -> None:
    engine = sqlalchemy.create_engine(f"postgresql+psycopg://owner@127.0.0.1:{port}/tfhe_sbc")
    sql = (
        "SELECT time_bucket('6 hours', time) AS time, device, avg(pressure_hpa) AS pressure "
        "FROM readings GROUP BY 1, 2 ORDER BY 1, 2"
    )
    with engine.connect() as connection:
        frame = pandas.read_sql(sqlalchemy.text(sql), connection)
        buckets = pandas.to_datetime(clear["time"], format="ISO8601").dt.floor("6h")
        means = clear.groupby([buckets, "device"])["pressure_hpa"].mean()
        assert len(frame) == len(means), (len(frame), len(means))
        assert (abs(frame["pressure"].to_numpy() - means.to_numpy()) < 1e-9).all()
        whole = pandas.read_sql(
            sqlalchemy.text("SELECT * FROM readings WHERE device = :device ORDER BY time"),
            connection,
            params={"device": "station-02"},
        )
        expected = clear[clear["device"] == "station-02"]
        assert (abs(whole["temperature_c"].to_numpy() - expected["temperature_c"].to_numpy()) < 1e-9).all()
        tables = sqlalchemy.inspect(connection).get_table_names()
        assert {"readings", "devices", "uploads", "queries"} <= set(tables), tables


def main(port: str, path: str) -> None:
    clear = pandas.read_csv(path)
    of_psycopg(port, clear)
    of_pandas(port, clear)
    print("psycopg and pandas are content")


if __name__ == "__main__":
    main(*sys.argv[1:])
