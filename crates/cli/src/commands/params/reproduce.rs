//! `params reproduce`: what the oracle says about sets that others published.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use tfhe_sbc_oracle::reproduce::{Row, Source, Tolerance, Verdict};

use crate::failure::{Outcome, failure};
use crate::{output, progress};

/// Holds the oracle's formulas against published figures.
///
/// Each row is a figure of a published set: what the oracle predicts, what is published, and
/// whether the two agree. Rows that no formula explains say why and do not count; if any
/// other row differs, the command fails.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc params reproduce\n  tfhe-sbc params reproduce --only paper --json"
)]
pub(crate) struct Arguments {
    /// Only the rows of one source
    #[arg(long, value_enum, value_name = "SOURCE")]
    only: Option<Only>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Where figures are from.
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

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let sources = match arguments.only {
        Some(only) => vec![only.source()],
        None => Source::ALL.to_vec(),
    };
    let bar = progress::bar("reproducing", sources.len() as u64);
    let rows: Vec<Row> = sources
        .into_iter()
        .flat_map(|source| {
            let rows = source.rows();
            bar.inc(1);
            rows
        })
        .collect();
    drop(bar);
    match arguments.json {
        true => output::print_json(&rows.iter().map(row_json).collect::<Vec<_>>())?,
        false => print(&rows)?,
    }
    let differing: Vec<&str> = rows
        .iter()
        .filter(|row| row.verdict == Verdict::Differs)
        .map(|row| row.name.as_str())
        .collect();
    match differing.as_slice() {
        [] => Ok(()),
        names => Err(failure(
            format_args!(
                "figures differ from what is published: {}",
                names.join(", ")
            ),
            "a formula of this build is wrong: trust none of its parameters, and report the rows",
        )),
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

/// A table, and below it the notes, each once.
fn print(rows: &[Row]) -> Outcome<()> {
    let mut notes: Vec<&str> = Vec::new();
    let mut table = output::text_table();
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
    output::emit(lines.join("\n"))
}
