//! Columns of numbers in CSV, with a heading or without.

use csv::StringRecord;

use crate::failure::{Explain, Outcome, failure};

/// Reads complex numbers: their real parts from a column, their imaginary parts from another one,
/// or zero. `source` names the input in errors. If no column is named, the input has a single
/// column, with a heading or without: a first line that begins like a number is no heading.
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
    let Some(first) = records.next() else {
        return Err(failure(format_args!("{source} is empty"), HELP));
    };
    let first = first.advise(source, HELP)?;
    let has_heading = real.is_some() || !first.iter().any(begins_like_a_number);
    if real.is_none() && first.len() > 1 {
        let found: Vec<_> = first.iter().collect();
        return Err(failure(
            format_args!("{source} has several columns: {}", found.join(", ")),
            "name one with --column, after a heading line",
        ));
    }
    let named = |name| place(source, &first, name);
    let real = real.map_or(Ok(0), named)?;
    let imaginary = imaginary.map(named).transpose()?;
    let value = |record: &StringRecord| -> Outcome<[f64; 2]> {
        let number = |place| {
            let text = record.get(place).unwrap_or_default();
            let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
            number.ok_or_else(|| {
                let line = line(bytes, record);
                failure(
                    format_args!("{source}, line {line}: '{text}' is not a number"),
                    "correct it, or leave the line out; name a heading with --column",
                )
            })
        };
        Ok([number(real)?, imaginary.map_or(Ok(0.0), number)?])
    };
    let mut values = Vec::new();
    if !has_heading {
        values.push(value(&first)?);
    }
    for record in records {
        values.push(value(&record.advise(source, HELP)?)?);
    }
    match values.is_empty() {
        true => Err(failure(format_args!("{source} has no numbers"), HELP)),
        false => Ok(values),
    }
}

/// Returns whether a text is a number, or a number with a slip in it, such as 1O.5.
fn begins_like_a_number(text: &str) -> bool {
    let digits = text.trim_start_matches(['+', '-', '.']);
    digits.starts_with(|first: char| first.is_ascii_digit()) || text.parse::<f64>().is_ok()
}

/// Returns the column of that name.
fn place(source: &str, headings: &StringRecord, name: &str) -> Outcome<usize> {
    let mut places = headings
        .iter()
        .enumerate()
        .filter(|&(_, found)| found == name);
    match (places.next(), places.next()) {
        (Some((place, _)), None) => Ok(place),
        (Some(_), Some(_)) => Err(failure(
            format_args!("{source} has two columns '{name}'"),
            "rename or remove one of them",
        )),
        (None, _) => {
            let found: Vec<_> = headings.iter().collect();
            Err(failure(
                format_args!(
                    "{source} has no column '{name}': its columns are {}",
                    found.join(", ")
                ),
                "name one of them with --column, or correct the heading",
            ))
        }
    }
}

/// Returns the line in which a record begins. Empty lines may come before the place at which the
/// reader was.
fn line(bytes: &[u8], record: &StringRecord) -> usize {
    let start = record.position().map_or(0, csv::Position::byte);
    let start = usize::try_from(start).map_or(bytes.len(), |start| start.min(bytes.len()));
    let (before, from) = bytes.split_at(start);
    let empty = from.iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
    1 + before
        .iter()
        .chain(empty)
        .filter(|&&byte| byte == b'\n')
        .count()
}
