//! The readings: a typical year of hours at an airport, whose source is named in
//! `crates/cli/data/README.md`.

use tfhe_sbc_upload::readings::Column;

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

/// Readings of some columns, row by row.
#[derive(Clone, Debug)]
pub struct Table {
    /// What the columns are and how they are encoded.
    pub columns: Vec<Column>,
    /// When each row was read.
    pub hours: Vec<String>,
    /// The readings of each column.
    pub readings: Vec<Vec<f64>>,
}

impl Table {
    /// The codes of a column: what is encrypted.
    pub fn codes(&self, column: usize) -> Outcome<Vec<u64>> {
        let encoding = self.columns[column].fixed_point()?;
        let codes = self.readings[column].iter();
        Ok(codes
            .map(|&reading| encoding.encode(reading))
            .collect::<Result<_, _>>()?)
    }
}

/// How a column of the year is encoded.
fn column(name: &str) -> Outcome<Column> {
    let (unit, offset, scale, bits) = match name {
        TEMPERATURE => ("°C", -50.0, 0.1, 10),
        HUMIDITY => ("%", 0.0, 1.0, 7),
        PRESSURE => ("hPa", 850.0, 1.0, 8),
        ILLUMINANCE => ("lx", 0.0, 1.0, 17),
        _ => return Err(format!("the year has no column '{name}'").into()),
    };
    Ok(Column {
        name: name.into(),
        unit: unit.into(),
        offset,
        scale,
        bits,
    })
}

/// `count` rows of the year from `first` on, every `step`th, of these columns.
pub fn table(names: &[&str], first: usize, step: usize, count: usize) -> Outcome<Table> {
    let mut lines = YEAR.lines();
    let heading: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let places = names.iter().map(|name| {
        let place = heading.iter().position(|heading| heading == name);
        place.ok_or_else(|| format!("the year has no column '{name}'"))
    });
    let places = places.collect::<Result<Vec<_>, _>>()?;
    let mut table = Table {
        columns: names
            .iter()
            .map(|name| column(name))
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
