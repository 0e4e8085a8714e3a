//! Standing queries of the server fill the cache.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::world::{BEGIN, World};

const HOURS: &str = "SELECT date_trunc('hour', time) AS hour, device, avg(temperature_c), max(humidity_pct), count(*) \
     FROM readings WHERE time >= '2026-11-16' AND time < '2026-11-18' GROUP BY 1, 2 ORDER BY 1, 2";

/// Leaves a standing query with the server, and waits for its results of two days.
fn leave(world: &World, name: &str, options: &[&str], questions: &[&str]) {
    let url = world.url();
    let about = [
        "query", "--to", &url, "--every", "1d", "--name", name, "--since", BEGIN,
    ];
    let left = world.tfhe_sbc(&[&about, options, questions].concat());
    assert!(left.is_ok, "{}", left.stderr);
    let begun = Instant::now();
    loop {
        let shown = world.tfhe_sbc(&["standing", "show", name, "--to", &url, "--json"]);
        assert!(shown.is_ok, "{}", shown.stderr);
        let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
        let of = shown.get("standing").unwrap_or(&shown);
        if of["results"] == 2 && of["waiting"] == 0 {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(300), "{shown}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn answers_of_standing_queries_are_not_computed_again() {
    let world = World::new(3, 2, &[]);
    // Means are what people ask for; the gateway takes sums.
    let questions = [
        "mean(temperature_c)",
        "max(humidity_pct)",
        "count(temperature_c)",
    ];
    leave(&world, "hours", &["--by", "device,hour"], &questions);
    leave(&world, "all", &["--by", "hour"], &["sum(pressure_hpa)"]);
    let expected = world.gateway.rows(HOURS);
    assert_eq!(expected.len(), 3 * 2 * 24);

    let fresh = world.second(&["--cache", "another-cache"]);
    let plan = fresh.plan(HOURS);
    assert!(plan.contains("groups=144 (144 in the cache)"), "{plan}");
    assert_eq!(fresh.rows(HOURS), expected);
    let asked = fresh.rows("SELECT questions, bootstraps FROM queries WHERE groups > 0");
    assert_eq!(asked, [["standing query hours", "0"]]);
    // All devices together.
    let all = "SELECT date_trunc('hour', time) AS hour, sum(pressure_hpa) FROM readings \
         WHERE time < '2026-11-18' GROUP BY 1 ORDER BY 1";
    assert_eq!(fresh.rows(all), world.gateway.rows(all));
    let asked = fresh.rows("SELECT questions FROM queries WHERE groups > 0 ORDER BY asked");
    assert_eq!(asked, [["standing query hours"], ["standing query all"]]);
    // Another time is another period.
    let part = "SELECT device, avg(temperature_c) FROM readings WHERE time >= '2026-11-16T00:30:00' AND time < '2026-11-17' GROUP BY 1 ORDER BY 1";
    assert_eq!(fresh.rows(part), world.gateway.rows(part));

    // Readings that went are in no answer: their groups are asked about.
    let to = ["--to", &world.url(), "--identity", "owner"];
    let paused = world.tfhe_sbc(&["standing", "pause", "hours", to[0], to[1]]);
    assert!(paused.is_ok, "{}", paused.stderr);
    let (from, until) = ("2026-11-16T06:00", "2026-11-16T12:00");
    let some = [
        "--device",
        "station-01",
        "--since",
        from,
        "--until",
        until,
        "--yes",
    ];
    let removed = world.tfhe_sbc(&[&["readings", "rm"], &to[..], &some].concat());
    assert!(removed.is_ok, "{}", removed.stderr);
    let later = world.second(&["--cache", "a-third-cache"]);
    let rows = later.rows(HOURS);
    assert_eq!(rows.len(), expected.len() - 24);
    assert!(rows.iter().all(|row| expected.contains(row)));
    let asked = later.rows("SELECT questions FROM queries WHERE groups > 0");
    assert!(asked.len() > 1, "{asked:?}");
}
