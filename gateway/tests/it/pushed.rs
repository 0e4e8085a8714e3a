//! Aggregates that the server computes, compared with the same computed in the clear.

use std::collections::BTreeMap;

use crate::world::{World, close};

/// The groups of the readings in the clear: the values of a column by device and the beginning of the time.
fn groups(world: &World, column: usize, digits: usize) -> BTreeMap<(String, String), Vec<f64>> {
    let mut groups: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
    for row in world.clear() {
        let time = row.time.chars().take(digits).collect();
        let values = groups.entry((row.device, time)).or_default();
        values.push(row.values[column]);
    }
    groups
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn means_by_device_and_day_are_computed_by_the_server() {
    let world = World::shared();
    let sql = "SELECT device, date_trunc('day', time) AS day, avg(temperature_c), sum(pressure_hpa), count(*) \
               FROM readings GROUP BY 1, 2 ORDER BY 1, 2";
    let plan = world.gateway.plan(sql);
    assert!(plan.contains("AskedOfServer"), "{plan}");
    assert!(!plan.contains("FetchedReadings"), "{plan}");
    let rows = world.gateway.rows(sql);
    let temperatures = groups(world, 0, 10);
    let pressures = groups(world, 2, 10);
    assert_eq!(rows.len(), temperatures.len());
    for (row, ((device, day), values)) in rows.iter().zip(&temperatures) {
        assert_eq!(row[0], *device);
        assert!(row[1].starts_with(day.as_str()), "{row:?}");
        close(&row[2], mean(values));
        let key = (device.clone(), day.clone());
        close(&row[3], pressures[&key].iter().sum());
        assert_eq!(row[4], "24");
    }
}

#[test]
fn deviations_follow_from_those_of_parts() {
    let world = World::shared();
    // Of one group, and of two parts of one: the hours of a function that is not a period.
    let sql = "SELECT stddev(humidity_pct), var_pop(humidity_pct) FROM readings \
               WHERE device = 'station-01' AND time < '2026-11-16 06:00:00'";
    let parts = format!("{sql} GROUP BY extract(hour FROM time) >= 0");
    let values: Vec<f64> = world
        .clear()
        .iter()
        .take(6)
        .map(|row| row.values[1])
        .collect();
    let middle = mean(&values);
    let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    for sql in [sql, &parts] {
        let rows = world.gateway.rows(sql);
        assert_eq!(rows.len(), 1, "{sql}");
        for (found, expected) in rows[0].iter().zip([(squares / 5.0).sqrt(), squares / 6.0]) {
            let found: f64 = found.parse().unwrap();
            assert!((found - expected).abs() < 1e-6, "{sql}: {found} {expected}");
        }
    }
}

#[test]
fn extremes_and_conditions_are_computed_by_the_server() {
    let world = World::shared();
    let sql = "SELECT device, min(humidity_pct), max(humidity_pct), count(*) FILTER (WHERE humidity_pct > 80), \
               sum(CASE WHEN humidity_pct <= 50 THEN 1 ELSE 0 END) FROM readings \
               WHERE device IN ('station-01', 'station-03') AND time < '2026-11-17' GROUP BY device ORDER BY device";
    let plan = world.gateway.plan(sql);
    assert!(plan.contains("AskedOfServer"), "{plan}");
    assert!(plan.contains("encrypted(…)"), "{plan}");
    let rows = world.gateway.rows(sql);
    assert_eq!(rows.len(), 2);
    let days = groups(world, 1, 10);
    for row in rows {
        let values = &days[&(row[0].clone(), "2026-11-16".to_owned())];
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        close(&row[1], least);
        close(&row[2], most);
        let counted = |met: fn(f64) -> bool| values.iter().filter(|value| met(**value)).count();
        close(&row[3], counted(|value| value > 80.0) as f64);
        close(&row[4], counted(|value| value <= 50.0) as f64);
    }
}
