//! Prints what [`tfhe_sbc_research`] reproduces.
//!
//! `cargo run --release -p tfhe-sbc-research -- reproduce [--only SOURCE] [--json]`
#![forbid(unsafe_code)]

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use serde_json::{Value, json};
use tfhe_sbc_research::reproduce::{Row, Source, Tolerance, Verdict};

/// Other work on TFHE, reproduced.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Hold the oracle's formulas against published figures
    Reproduce(Reproduce),
}

/// Holds the oracle's formulas against published figures.
///
/// Each row is a figure of a published set: what the oracle predicts, what is published, and
/// whether the two agree. Rows that no formula explains say why and do not count; if any
/// other row differs, the command fails.
#[derive(Args)]
struct Reproduce {
    /// Only the rows of one source
    #[arg(long, value_enum, value_name = "SOURCE")]
    only: Option<Only>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    let Command::Reproduce(arguments) = Arguments::parse().command;
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The source of published figures.
#[derive(Clone, Copy, ValueEnum)]
enum Only {
    /// TFHE-rs's sets: failure probability and cost
    Published,
    /// Klemsa's guide: errors, procedure, security, time and keys, and ours for its tasks
    Klemsa,
    /// The TFHE-SBC paper: the security of its Table 3
    Paper,
}

impl Only {
    fn source(self) -> Source {
        match self {
            Self::Published => Source::Published,
            Self::Klemsa => Source::Klemsa,
            Self::Paper => Source::Paper,
        }
    }
}

/// Prints the rows, and fails if a row differs.
fn run(arguments: &Reproduce) -> Result<(), String> {
    let sources = match arguments.only {
        Some(only) => vec![only.source()],
        None => Source::ALL.to_vec(),
    };
    let rows: Vec<Row> = sources.into_iter().flat_map(Source::rows).collect();
    let text = match arguments.json {
        true => {
            let rows: Vec<Value> = rows.iter().map(row_json).collect();
            serde_json::to_string_pretty(&rows).map_err(|error| format!("no JSON: {error}"))?
        }
        false => table(&rows),
    };
    emit(&text).map_err(|error| format!("the output was not written to stdout: {error}"))?;
    let differing: Vec<&str> = rows
        .iter()
        .filter(|row| row.verdict == Verdict::Differs)
        .map(|row| row.name.as_str())
        .collect();
    match differing.as_slice() {
        [] => Ok(()),
        names => Err(format!(
            "figures differ from what is published: {}\n  help: a formula of this build is wrong: \
             trust none of its parameters, and report the rows",
            names.join(", ")
        )),
    }
}

/// Writes a line to stdout. A reader that has closed its end is no error.
fn emit(text: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

fn row_json(row: &Row) -> Value {
    let (tolerance, relative) = match row.tolerance {
        Some(Tolerance::Absolute(by)) => (Some(by), false),
        Some(Tolerance::Relative(by)) => (Some(by), true),
        None => (None, false),
    };
    json!({
        "name": row.name,
        "unit": row.unit,
        "predicted": row.predicted,
        "published": row.published,
        "ok": row.ok(),
        "verdict": verdict(row.verdict),
        "tolerance": tolerance,
        "tolerance_is_relative": relative,
        "note": row.note,
    })
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Agrees => "yes",
        Verdict::Differs => "no",
        Verdict::Unexplained => "unexplained",
        Verdict::NotCompared => "not compared",
    }
}

/// The rows as a table, and below it the notes, each once.
fn table(rows: &[Row]) -> String {
    let mut notes: Vec<&str> = Vec::new();
    let style = comfy_table::presets::UTF8_HORIZONTAL_ONLY;
    let mut table = comfy_table::Table::new();
    table.load_style(style.row_separator(comfy_table::LineStyle::none()));
    table.set_header(["figure", "predicted", "published", "unit", "ok", "note"]);
    for row in rows {
        let note = match row.note.as_str() {
            "" => String::new(),
            text => {
                let known = notes.iter().position(|known| *known == text);
                let at = known.unwrap_or_else(|| {
                    notes.push(text);
                    notes.len() - 1
                });
                (at + 1).to_string()
            }
        };
        table.add_row([
            row.name.clone(),
            format!("{:.3}", row.predicted),
            row.published
                .map_or("-".to_owned(), |value| format!("{value:.3}")),
            row.unit.to_owned(),
            verdict(row.verdict).to_owned(),
            note,
        ]);
    }
    let of = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
    let mut lines = vec![table.to_string()];
    for (at, note) in notes.iter().enumerate() {
        lines.push(format!("{:>3}  {note}", at + 1));
    }
    lines.push(format!(
        "{} figures agree, {} differ, {} are unexplained, {} have nothing to be compared with",
        of(Verdict::Agrees),
        of(Verdict::Differs),
        of(Verdict::Unexplained),
        of(Verdict::NotCompared)
    ));
    lines.join("\n")
}
