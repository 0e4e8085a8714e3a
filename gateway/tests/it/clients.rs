//! Other clients than psql: psycopg, SQLAlchemy with pandas, JDBC, and the statements of Grafana.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::world::World;

/// The Python with what `tests/requirements.txt` names.
fn python() -> PathBuf {
    let python = std::env::var_os("GATEWAY_PYTHON").map(PathBuf::from);
    python.expect(
        "run `cargo xtask gateway`, or name a Python with tests/requirements.txt in GATEWAY_PYTHON",
    )
}

fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Runs a script about a gateway, and asserts that it succeeds.
#[track_caller]
fn script(name: &str, world: &World, arguments: &[&Path]) {
    let output = Command::new(python())
        .arg(file("tests/clients").join(name))
        .arg(world.gateway.port())
        .arg(world.path().join("clear.csv"))
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{}\n{}",
        text(&output.stdout),
        text(&output.stderr)
    );
}

#[test]
fn forty_statements_give_the_rows_of_duckdb() {
    let world = World::new(3, 2, &[]);
    script("statements.py", &world, &[&file("../docs/sql.md")]);
}

#[test]
fn psycopg_and_pandas_are_content() {
    script("clients.py", World::shared(), &[]);
}

#[test]
fn jdbc_reads_means() {
    let world = World::shared();
    let output = Command::new("java")
        .args(["-cp", "/usr/share/java/postgresql.jar"])
        .arg(file("tests/clients/Client.java"))
        .arg(world.gateway.port())
        .output()
        .expect("java is installed");
    let text = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let first = text.lines().next().unwrap();
    let cells: Vec<&str> = first.split(' ').collect();
    assert_eq!(cells[..2], ["station-01", "2026-11-16T00:00:00Z"]);
    let day: Vec<f64> = world
        .clear()
        .iter()
        .take(24)
        .map(|row| row.values[0])
        .collect();
    crate::world::close(cells[2], day.iter().sum::<f64>() / 24.0);
    assert_eq!(cells[3], "24");
    assert!(text.contains("readings is listed"), "{text}");
    assert!(text.contains("refused 25006"), "{text}");
}

/// What Grafana's PostgreSQL data source makes of a statement for a time of three days.
fn expanded(sql: &str, timescale: bool) -> String {
    let (from, to) = ("2026-11-16T00:00:00Z", "2026-11-19T00:00:00Z");
    let group = |width: &str, seconds: u32| match timescale {
        true => format!("time_bucket('{seconds}.000s',time)"),
        false => {
            let _ = width;
            format!("floor(extract(epoch from time)/{seconds})*{seconds}")
        }
    };
    sql.replace(
        "$__timeGroupAlias(time, '1h')",
        &format!("{} AS \"time\"", group("1h", 3600)),
    )
    .replace(
        "$__timeGroupAlias(time, '1d')",
        &format!("{} AS \"time\"", group("1d", 86400)),
    )
    .replace(
        "$__timeFilter(time)",
        &format!("time BETWEEN '{from}' AND '{to}'"),
    )
    .replace("$device", "'station-01','station-02'")
}

#[test]
fn the_panels_of_grafana_are_answered_by_the_server() {
    let world = World::shared();
    let dashboard = std::fs::read_to_string(file("../examples/grafana/weather.json")).unwrap();
    let dashboard: serde_json::Value = serde_json::from_str(&dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    assert_eq!(panels.len(), 6);
    for panel in panels {
        let sql = panel["targets"][0]["rawSql"].as_str().unwrap();
        let mut both = Vec::new();
        for timescale in [true, false] {
            let sql = expanded(sql, timescale);
            let plan = world.gateway.plan(&sql);
            assert!(plan.contains("AskedOfServer"), "{sql}\n{plan}");
            assert!(!plan.contains("FetchedReadings"), "{sql}\n{plan}");
            both.push(world.gateway.rows(&sql));
        }
        assert!(!both[0].is_empty());
        // Both forms have the same values; the times are moments in one and seconds in the other.
        let values = |rows: &[Vec<String>]| {
            let mut values: Vec<String> = rows.iter().map(|row| row[1..].join(" ")).collect();
            values.sort();
            values
        };
        assert_eq!(values(&both[0]), values(&both[1]), "{sql}");
    }
    // What the data source asks about the database itself.
    for sql in [
        "SELECT current_setting('server_version_num')::int/100 AS version",
        "SELECT device FROM devices ORDER BY device",
        "SELECT quote_ident(table_name) FROM information_schema.tables WHERE table_schema = 'public'",
        "SELECT quote_ident(column_name) AS \"column\", data_type AS \"type\" FROM information_schema.columns WHERE table_name = 'readings'",
    ] {
        let ran = world.gateway.psql(&["-c", sql]);
        assert!(ran.is_ok, "{sql}\n{}", ran.stderr);
    }
}
