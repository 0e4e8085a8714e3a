//! The readings: a typical year of hours at an airport, whose source is named in
//! `crates/cli/data/README.md`.

use tfhe_sbc_upload::declaration::Declaration;
use tfhe_sbc_upload::definition::{Definition, Use};

use crate::Outcome;

const YEAR: &str = include_str!("../../crates/cli/data/greensboro-hourly.csv");

/// Air temperature.
pub const TEMPERATURE: &str = "temperature_c";
/// Relative humidity.
pub const HUMIDITY: &str = "humidity_pct";
/// Air pressure.
pub const PRESSURE: &str = "pressure_hpa";
/// Illuminance of a level surface.
pub const ILLUMINANCE: &str = "illuminance_lx";

/// Readings of some columns.
#[derive(Clone, Debug)]
pub struct Weather {
    /// The columns and their encodings.
    pub columns: Vec<Definition>,
    /// The hour of each row.
    pub hours: Vec<String>,
    /// The readings of each column.
    pub readings: Vec<Vec<f64>>,
}

/// Returns the definition of a column of the year.
fn column(name: &str, usage: Use) -> Outcome<Definition> {
    let (unit, offset, scale, bits) = match name {
        TEMPERATURE => ("°C", -50.0, 0.1, 10),
        HUMIDITY => ("%", 0.0, 1.0, 7),
        PRESSURE => ("hPa", 850.0, 1.0, 8),
        ILLUMINANCE => ("lx", 0.0, 1.0, 17),
        _ => return Err(format!("the year has no column '{name}'").into()),
    };
    Ok(Definition {
        name: name.into(),
        unit: unit.into(),
        offset,
        scale,
        bits,
        usage: Some(usage),
        compact: None,
        derived: Declaration::default(),
    })
}

/// Returns `count` rows of the year from the row `first` on, every `step`th, of some columns, which are
/// mostly used for `usage`.
pub fn table(
    names: &[&str],
    usage: Use,
    first: usize,
    step: usize,
    count: usize,
) -> Outcome<Weather> {
    let mut lines = YEAR.lines();
    let heading: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let places = names.iter().map(|name| {
        let place = heading.iter().position(|heading| heading == name);
        place.ok_or_else(|| format!("the year has no column '{name}'"))
    });
    let places = places.collect::<Result<Vec<_>, _>>()?;
    let mut table = Weather {
        columns: names
            .iter()
            .map(|name| column(name, usage))
            .collect::<Outcome<_>>()?,
        hours: Vec::new(),
        readings: vec![Vec::new(); names.len()],
    };
    for line in lines.skip(first).step_by(step.max(1)).take(count) {
        let fields: Vec<&str> = line.split(',').collect();
        table.hours.push(fields[0].into());
        for (readings, &place) in table.readings.iter_mut().zip(&places) {
            readings.push(fields.get(place).ok_or("a row is too short")?.parse()?);
        }
    }
    match table.hours.len() == count && count > 0 {
        true => Ok(table),
        false => Err(format!("the year has not {count} such rows").into()),
    }
}
