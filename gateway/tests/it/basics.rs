//! Tables, and readings that are fetched and decrypted.

use crate::world::{World, close};

#[test]
fn psql_shows_the_tables() {
    let gateway = &World::shared().gateway;
    let shown = gateway.psql(&["-c", "\\dt"]);
    assert!(shown.is_ok, "{}", shown.stderr);
    for table in ["readings", "devices", "uploads", "queries"] {
        assert!(
            shown.stdout.contains(table),
            "no {table} in {}",
            shown.stdout
        );
    }
    let shown = gateway.psql(&["-c", "\\d readings"]);
    assert!(shown.is_ok, "{}", shown.stderr);
    for words in [
        "device",
        "text",
        "timestamp with time zone",
        "temperature_c",
        "double precision",
    ] {
        assert!(
            shown.stdout.contains(words),
            "no {words} in {}",
            shown.stdout
        );
    }
}

#[test]
fn psql_shows_units_as_comments() {
    let gateway = &World::shared().gateway;
    let shown = gateway.psql(&["-c", "\\d+ readings"]);
    assert!(shown.is_ok, "{}", shown.stderr);
    let line = shown
        .stdout
        .lines()
        .find(|line| line.contains("temperature_c"));
    assert!(line.unwrap().contains("°C"), "{}", shown.stdout);
    for command in ["\\dt+", "\\du", "\\l+", "\\d+ devices"] {
        let shown = gateway.psql(&["-c", command]);
        assert!(shown.is_ok, "{command}: {}", shown.stderr);
    }
}

#[test]
fn columns_have_the_names_of_postgresql() {
    let sql = "SELECT device, avg(temperature_c), count(*), max(humidity_pct) AS \"most (%)\", 1 + 1 FROM readings GROUP BY device";
    let shown = World::shared().gateway.psql(&["--no-align", "-c", sql]);
    assert!(shown.is_ok, "{}", shown.stderr);
    let header = shown.stdout.lines().next().unwrap_or_default();
    assert_eq!(header, "device|avg|count|most (%)|?column?");
}

#[test]
fn the_lists_tell_what_is_stored() {
    let gateway = &World::shared().gateway;
    let devices =
        gateway.rows("SELECT device, uploads, rows, columns FROM devices ORDER BY device");
    assert_eq!(devices.len(), 4);
    assert_eq!(devices[0][..3], ["station-01", "3", "72"]);
    assert!(devices[0][3].starts_with("temperature_c, humidity_pct"));
    assert_eq!(gateway.one("SELECT count(*) FROM uploads"), "12");
    let first = gateway.one("SELECT min(first_time) FROM uploads");
    assert!(first.starts_with("2026-11-16 00:00:00"), "{first}");
}

#[test]
fn readings_are_those_that_were_sent() {
    let world = World::shared();
    let rows = world.gateway.rows(
        "SELECT device, time, temperature_c, humidity_pct, pressure_hpa, illuminance_lx FROM readings ORDER BY device, time",
    );
    let clear = world.clear();
    assert_eq!(rows.len(), clear.len());
    for (row, clear) in rows.iter().zip(&clear) {
        assert_eq!(row[0], clear.device);
        assert_eq!(row[1][..19], clear.time.replace('T', " ")[..19]);
        for (found, expected) in row[2..].iter().zip(&clear.values) {
            close(found, *expected);
        }
    }
}

#[test]
fn readings_of_a_device_and_a_time_are_chosen() {
    let world = World::shared();
    let sql = "SELECT time, temperature_c FROM readings WHERE device = 'station-02' \
               AND time >= '2026-11-17T06:00:00Z' AND time < '2026-11-17T09:00:00Z' ORDER BY time";
    let rows = world.gateway.rows(sql);
    let clear = world.clear();
    let clear: Vec<_> = clear
        .iter()
        .filter(|row| row.device == "station-02" && row.time.starts_with("2026-11-17T0"))
        .skip(6)
        .take(3)
        .collect();
    assert_eq!(rows.len(), 3);
    for (row, clear) in rows.iter().zip(clear) {
        close(&row[1], clear.values[0]);
    }
    // Only the upload of that day is fetched.
    let plan = world.gateway.plan(sql);
    assert!(plan.contains("uploads=1,"), "{plan}");
}
