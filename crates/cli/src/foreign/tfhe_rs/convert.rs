//! `convert --to tfhe-rs`.

use std::fmt::Display;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, Args};
use tfhe_sbc_foreign::tfhe_rs::integers::FheType;
use tfhe_sbc_foreign::tfhe_rs::upload::Values;
use tfhe_sbc_upload::readings::{Upload, Uploaded};

use crate::failure::{Explain, Outcome, failure};
use crate::foreign::card::read_card;
use crate::foreign::library::{ConversionRequest, OfOneLibrary, options};
use crate::{output, progress, report};
use tfhe_sbc_foreign::tfhe_rs::LIBRARY;

/// The options that only `--to tfhe-rs` has.
#[derive(Args)]
#[command(next_help_heading = "For --to tfhe-rs")]
pub(super) struct Options {
    /// The column that becomes values [default: the only one]
    #[arg(long)]
    column: Option<String>,
    /// Their type, such as uint32, int16 or bool [default: the narrowest of uint8, 16, 32, 64]
    #[arg(long = "type", value_name = "TYPE", value_parser = fhe_type)]
    fhe_type: Option<FheType>,
    /// A new directory to write every value to a file of its own in, instead of all to --out
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    each: Option<PathBuf>,
}

impl OfOneLibrary for Options {
    fn given(&self) -> Option<&'static str> {
        let column = self.column.as_ref().map(|_| "--column");
        let fhe_type = self.fhe_type.map(|_| "--type");
        column.or(fhe_type).or(self.each.as_ref().map(|_| "--each"))
    }
}

fn fhe_type(name: &str) -> Result<FheType, String> {
    FheType::from_name(name).ok_or_else(|| {
        "types are bool, and uint and int of 2, 4, 6, 8, 10, 12, 14, 16, 32 and 64 bits".to_owned()
    })
}

pub(super) fn run(request: &ConversionRequest, matches: &ArgMatches) -> Outcome<()> {
    let options: &Options = &options(matches)?;
    if options.each.is_none() {
        output::check(request.out.as_deref())?;
    }
    let card = read_card(request.card.as_deref(), &LIBRARY)?;
    let bytes = output::read_input(&request.input)?;
    let input = request.input.display();
    let uploaded = Uploaded::parse(&bytes, &card.parameters, card.key).explain(&input)?;
    let (mut values, what) = match &uploaded {
        Uploaded::Readings(upload) => {
            let column = column_of(upload, options, &input)?;
            let fhe_type = options.fhe_type;
            let values = Values::of_column(upload, &card.parameters, column, fhe_type);
            (values.explain(&input)?, format!("readings of {column}"))
        }
        Uploaded::List(list) => {
            if options.column.is_some() {
                return Err(failure(
                    format_args!("{input} has no columns for --column, for it has no metadata"),
                    "leave it out: all values are converted",
                ));
            }
            let fhe_type = options.fhe_type.ok_or_else(|| {
                failure(
                    format_args!("{input} has no metadata that tells what its values are"),
                    "say it with --type",
                )
            })?;
            let values = Values::of_list(*list, &card.parameters, fhe_type);
            (values.explain(&input)?, "values".to_owned())
        }
    };
    let (count, fhe_type) = (values.count(), values.fhe_type());
    let total = values.byte_count() as u64 * count as u64;
    match &options.each {
        Some(directory) => write_each(&mut values, directory)?,
        None => write_all(&mut values, request.out.as_deref())?,
    }
    output::note(format_args!(
        "{count} {what} as {fhe_type}: {} to {}",
        report::bytes(total),
        output::shown(options.each.as_ref().or(request.out.as_ref()))
    ));
    Ok(())
}

/// The name of the column that is asked for.
fn column_of<'u>(
    upload: &'u Upload<'_>,
    options: &'u Options,
    input: impl Display,
) -> Outcome<&'u str> {
    match (&options.column, &upload.metadata.columns[..]) {
        (Some(name), _) => Ok(name),
        (None, [only]) => Ok(&only.name),
        (None, several) => {
            let names: Vec<_> = several.iter().map(|column| &*column.name).collect();
            Err(failure(
                format_args!("{input} has {} columns: {}", names.len(), names.join(", ")),
                "name one of them with --column",
            ))
        }
    }
}

/// Writes one value after the other, in the memory of one.
fn write_all(values: &mut Values<'_>, path: Option<&Path>) -> Outcome<()> {
    let bar = progress::bar("converting", values.count() as u64);
    let mut bytes = Vec::new();
    output::write_with(path, |sink| {
        while values.write_next(&mut bytes) {
            sink.write_all(&bytes)?;
            bar.inc(1);
        }
        Ok(())
    })
}

/// A file for every value, named by its row; all or none.
fn write_each(values: &mut Values<'_>, directory: &Path) -> Outcome<()> {
    let doing = format!("no values were written to {}", directory.display());
    std::fs::create_dir(directory).advise(&doing, "name a directory that does not exist yet")?;
    let path = |row: usize| directory.join(format!("{row:06}.fhe"));
    let bar = progress::bar("converting", values.count() as u64);
    let mut bytes = Vec::new();
    let mut row = 0;
    while values.write_next(&mut bytes) {
        let written = File::create_new(path(row)).and_then(|mut file| {
            row += 1;
            file.write_all(&bytes)
        });
        if written.is_err() {
            // All that was made here, and nothing that somebody else put there.
            for row in 0..row {
                let _ = std::fs::remove_file(path(row));
            }
            let _ = std::fs::remove_dir(directory);
        }
        written.advise(
            &doing,
            "choose a directory that you can write to and that has room",
        )?;
        bar.inc(1);
    }
    Ok(())
}
