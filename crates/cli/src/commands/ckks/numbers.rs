//! Columns of numbers in CSV, with a heading or without.

use crate::failure::{Explain, Outcome, failure};

/// Reads complex numbers: their real parts out of a column, their imaginary parts out of another, or
/// zero. `source` names the input in errors. Without a name it is the only column.
pub(super) fn read(
    source: &str,
    bytes: &[u8],
    real: Option<&str>,
    imaginary: Option<&str>,
) -> Outcome<Vec<[f64; 2]>> {
    const HELP: &str =
        "give CSV in UTF-8, a number a line, with a heading line if columns are named";
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .has_headers(false)
        .from_reader(bytes);
    let mut records = reader.records();
    let mut values = Vec::new();
    let Some(first) = records.next() else {
        return Err(failure(format_args!("{source} is empty"), HELP));
    };
    let first = first.advise(source, HELP)?;
    let has_heading = first.iter().any(|field| field.parse::<f64>().is_err());
    let place = |name: Option<&str>, default: usize| match name {
        None => Ok(default),
        Some(name) => first.iter().position(|field| field == name).ok_or_else(|| {
            let found: Vec<_> = first.iter().collect();
            failure(
                format_args!(
                    "{source} has no column '{name}': its columns are {}",
                    found.join(", ")
                ),
                "name one of them with --column, or correct the heading",
            )
        }),
    };
    if has_heading && real.is_none() && first.len() > 1 {
        let found: Vec<_> = first.iter().collect();
        return Err(failure(
            format_args!("{source} has several columns: {}", found.join(", ")),
            "name one with --column",
        ));
    }
    let real = place(real, 0)?;
    let imaginary = imaginary.map(|name| place(Some(name), 1)).transpose()?;
    let mut row = usize::from(has_heading);
    let mut take = |record: &csv::StringRecord| -> Outcome<()> {
        row += 1;
        let number = |place: usize| {
            let text = record.get(place).unwrap_or_default();
            let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
            number.ok_or_else(|| {
                failure(
                    format_args!("{source}, line {row}: '{text}' is not a number"),
                    "correct it, or leave the line out",
                )
            })
        };
        let imaginary = imaginary.map_or(Ok(0.0), number)?;
        values.push([number(real)?, imaginary]);
        Ok(())
    };
    if !has_heading {
        take(&first)?;
    }
    for record in records {
        take(&record.advise(source, HELP)?)?;
    }
    match values.is_empty() {
        true => Err(failure(format_args!("{source} has no numbers"), HELP)),
        false => Ok(values),
    }
}
