//! The recorded figures, `firmware/instructions.json`, and the tables made of them in
//! `docs/boards.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::failure::{Failure, read, write};

const RECORD: &str = "firmware/instructions.json";
const DOCUMENT: &str = "docs/boards.md";
const BEGIN: &str = "<!-- begin: made by cargo xtask arm --record -->\n";
const END: &str = "<!-- end -->";

/// The largest difference of a figure from the recorded one, in percent.
const TOLERANCE: u64 = 5;

/// Figures by name, and what they were made with.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    rustc: String,
    qemu: String,
    rows: BTreeMap<String, u64>,
}

impl Record {
    pub(super) fn new(
        rustc: String,
        qemu: String,
        rows: impl Iterator<Item = (String, u64)>,
    ) -> Self {
        Self {
            rustc,
            qemu,
            rows: rows.collect(),
        }
    }

    /// Makes these figures the recorded ones, and the document's tables of them.
    pub(super) fn write(&self, root: &Path) -> Result<(), Failure> {
        let json =
            serde_json::to_string_pretty(self).map_err(|error| Failure(error.to_string()))?;
        write(&root.join(RECORD), &(json + "\n"))?;
        let document = root.join(DOCUMENT);
        write(&document, &with_tables(&read(&document)?, self)?)?;
        eprintln!("{RECORD} and {DOCUMENT} are written");
        Ok(())
    }

    /// Compares these figures with the recorded ones of that extent, and the document with the record.
    pub(super) fn check(&self, root: &Path, extent: Extent) -> Result<(), Failure> {
        let recorded: Self = serde_json::from_str(&read(&root.join(RECORD))?)
            .map_err(|error| Failure(format!("{RECORD}: {error}")))?;
        let comparison = Comparison::new(&recorded, self, extent);
        eprint!("{}", comparison.text);
        if comparison.failed {
            return Err(Failure(format!(
                "figures differ from {RECORD}; where that is meant, run cargo xtask arm --record"
            )));
        }
        let document = read(&root.join(DOCUMENT))?;
        if with_tables(&document, &recorded)? != document {
            return Err(Failure(format!(
                "the tables of {DOCUMENT} are not those of {RECORD}: run cargo xtask arm --record"
            )));
        }
        Ok(())
    }
}

/// The figures that are compared.
#[derive(Clone, Copy)]
pub(super) enum Extent {
    /// All.
    All,
    /// All but those of bootstraps.
    Boards,
}

impl Extent {
    fn has(self, figure: &str) -> bool {
        match self {
            Self::All => true,
            Self::Boards => !figure.contains(BOOTSTRAPS.prefix),
        }
    }
}

/// The differences from the record, as text.
struct Comparison {
    text: String,
    failed: bool,
}

impl Comparison {
    fn new(recorded: &Record, measured: &Record, extent: Extent) -> Self {
        let mut text = String::new();
        let mut failed = false;
        let names: BTreeSet<_> = recorded.rows.keys().chain(measured.rows.keys()).collect();
        for name in names.into_iter().filter(|name| extent.has(name)) {
            let remark = match (recorded.rows.get(name), measured.rows.get(name)) {
                (Some(&old), Some(&new)) => {
                    let change = 100.0 * (new as f64 / old as f64 - 1.0);
                    let remark = if 100 * new > (100 + TOLERANCE) * old {
                        failed = true;
                        "  WORSE"
                    } else if 100 * new < (100 - TOLERANCE) * old {
                        "  better: record it with cargo xtask arm --record"
                    } else {
                        ""
                    };
                    format!("{new:>9} {change:>+7.2} % of {old}{remark}")
                }
                (None, Some(new)) => {
                    failed = true;
                    format!("{new:>9} NOT RECORDED")
                }
                (Some(old), None) => {
                    failed = true;
                    format!("          NOT MEASURED, recorded as {old}")
                }
                (None, None) => continue,
            };
            let _ = writeln!(text, "{name:<36} {remark}");
        }
        if (&recorded.rustc, &recorded.qemu) != (&measured.rustc, &measured.qemu) {
            let _ = writeln!(
                text,
                "recorded with rustc {} and QEMU {}, this is rustc {} and QEMU {}",
                recorded.rustc, recorded.qemu, measured.rustc, measured.qemu
            );
        }
        Self { text, failed }
    }
}

/// The document with the part between the marks made anew.
fn with_tables(document: &str, record: &Record) -> Result<String, Failure> {
    let parts = document.split_once(BEGIN).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(END)?;
        Some((before, after))
    });
    let Some((before, after)) = parts else {
        return Err(Failure(format!("{DOCUMENT} lacks {BEGIN:?} or {END:?}")));
    };
    Ok(format!("{before}{BEGIN}\n{}\n{END}{after}", tables(record)))
}

/// The targets as the record's names begin, and as people know them.
const TARGETS: [(&str, &str); 4] = [
    ("aarch64", "Cortex-A53 (AArch64)"),
    ("armv7", "Cortex-A7 (ARMv7)"),
    ("cortex_m0", "Cortex-M0+"),
    ("cortex_m4", "Cortex-M4F"),
];

/// Rows that have tables of their own: the start of their names, and of the tables' titles.
#[derive(Clone, Copy)]
struct Group {
    prefix: &'static str,
    title: &'static str,
}

const CKKS: Group = Group {
    prefix: "ckks_",
    title: "CKKS, ",
};
const FRAMES: Group = Group {
    prefix: "frames_",
    title: "Frames, ",
};
const BOOTSTRAPS: Group = Group {
    prefix: "bootstrap_",
    title: "Bootstraps, ",
};
/// All other rows.
const OTHERS: Group = Group {
    prefix: "",
    title: "",
};

impl Group {
    /// The group of a figure, and its name there.
    fn of(figure: &str) -> (Self, &str) {
        for group in [CKKS, FRAMES, BOOTSTRAPS] {
            if let Some(name) = figure.strip_prefix(group.prefix) {
                return (group, name);
            }
        }
        (OTHERS, figure)
    }
}

/// SEAL-Embedded's times for the same work in its paper's tables, in microseconds: on a Cortex-A7 of
/// 494 MHz and a Cortex-M4 of 64 MHz (Natarajan and Dai, 2021).
const SEAL_EMBEDDED: [(&str, [u64; 2]); 6] = [
    ("secret_small", [131_691, 1_348_602]),
    ("secret_balanced", [68_959, 735_826]),
    ("secret_fast", [60_016, 680_790]),
    ("public_small", [188_681, 1_550_116]),
    ("public_balanced", [91_267, 824_403]),
    ("public_fast", [76_778, 737_342]),
];
const SEAL_EMBEDDED_MHZ: [u64; 2] = [494, 64];

/// Tables of instructions and of bytes; a row is a figure, a column a target.
fn tables(record: &Record) -> String {
    let mut out = String::new();
    for group in [OTHERS, CKKS, FRAMES, BOOTSTRAPS] {
        table(&mut out, record, "_insns", "Instructions", group);
        table(&mut out, record, "_bytes", "Bytes", group);
    }
    let _ = write!(out, "rustc {}, QEMU {}.", record.rustc, record.qemu);
    out
}

/// The table of a group's rows, with the targets that have any.
fn table(out: &mut String, record: &Record, suffix: &str, title: &str, group: Group) {
    let mut rows: BTreeMap<&str, [Option<u64>; TARGETS.len()]> = BTreeMap::new();
    for (name, &value) in &record.rows {
        let Some(name) = name.strip_suffix(suffix) else {
            continue;
        };
        for (column, (target, _)) in TARGETS.iter().enumerate() {
            let figure = match name.strip_prefix(target) {
                // A whole encryption, as the benchmarks name it.
                Some("") => Some("tuniform"),
                rest => rest.and_then(|rest| rest.strip_prefix('_')),
            };
            if let Some(figure) = figure
                && let (of, figure) = Group::of(figure)
                && of.prefix == group.prefix
            {
                rows.entry(figure).or_default()[column] = Some(value);
            }
        }
    }
    if rows.is_empty() {
        return;
    }
    let used: Vec<usize> = (0..TARGETS.len())
        .filter(|&column| rows.values().any(|values| values[column].is_some()))
        .collect();
    let title = match group.title {
        "" => title.to_owned(),
        before => before.to_owned() + &title.to_lowercase(),
    };
    let beside_paper = rows.keys().any(|figure| cycles(group, figure).is_some());
    let _ = write!(out, "| {title} |");
    for &column in &used {
        let _ = write!(out, " {} |", TARGETS[column].1);
    }
    if beside_paper {
        *out += " SEAL-Embedded's cycles, Cortex-A7 | Cortex-M4 |";
    }
    *out += "\n|---|";
    *out += &"---:|".repeat(used.len() + if beside_paper { 2 } else { 0 });
    out.push('\n');
    for (figure, values) in rows {
        let _ = write!(out, "| {} |", figure.replace('_', " "));
        for &column in &used {
            let cell = values[column].map_or_else(String::new, with_separators);
            let _ = write!(out, " {cell} |");
        }
        if beside_paper {
            for cell in cycles(group, figure).unwrap_or_default() {
                let _ = write!(out, " {cell} |");
            }
        }
        out.push('\n');
    }
    out.push('\n');
}

/// SEAL-Embedded's cycles for a row of CKKS, time by frequency.
fn cycles(group: Group, figure: &str) -> Option<[String; 2]> {
    let of_ckks = || SEAL_EMBEDDED.iter().find(|(name, _)| *name == figure);
    let (_, times) = (group.prefix == CKKS.prefix).then(of_ckks)??;
    Some([0, 1].map(|i| with_separators(times[i] * SEAL_EMBEDDED_MHZ[i])))
}

/// Returns `1234567` as `1,234,567`.
fn with_separators(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(rows: &[(&str, u64)]) -> Record {
        let rows = rows.iter().map(|&(name, value)| (name.to_owned(), value));
        Record::new("1.96.0".to_owned(), "7.2.22".to_owned(), rows)
    }

    #[test]
    fn a_regression_fails_and_an_improvement_asks() {
        let old = record(&[("aarch64_a_insns", 1000)]);
        let compared = |new| {
            let new = record(&[("aarch64_a_insns", new)]);
            Comparison::new(&old, &new, Extent::All)
        };
        assert!(!compared(1050).failed);
        assert!(compared(1051).failed);
        assert!(!compared(960).text.contains("--record"));
        assert!(compared(940).text.contains("--record") && !compared(940).failed);
    }

    #[test]
    fn the_document_has_the_recorded_figures() {
        let root = crate::workspace::root();
        let record: Record = serde_json::from_str(&read(&root.join(RECORD)).unwrap()).unwrap();
        let document = read(&root.join(DOCUMENT)).unwrap();
        assert_eq!(with_tables(&document, &record).unwrap(), document);
    }

    #[test]
    fn rows_of_one_side_fail() {
        let (one, none) = (record(&[("aarch64_a_insns", 1)]), record(&[]));
        assert!(Comparison::new(&one, &none, Extent::Boards).failed);
        assert!(Comparison::new(&none, &one, Extent::Boards).failed);
        let bootstrap = record(&[("aarch64_bootstrap_gates_insns", 1)]);
        assert!(Comparison::new(&bootstrap, &none, Extent::All).failed);
        assert!(!Comparison::new(&bootstrap, &none, Extent::Boards).failed);
    }

    #[test]
    fn tables_go_between_the_marks() {
        let made = record(&[
            ("aarch64_a_b_insns", 1_234_567),
            ("cortex_m4_insns", 8),
            ("cortex_m4_ram_bytes", 9),
            ("cortex_m4_ckks_secret_fast_insns", 10),
            ("cortex_m0_frames_c_insns", 11),
        ]);
        let document = format!("before\n{BEGIN}old{END} after");
        let made = with_tables(&document, &made).unwrap();
        assert!(made.starts_with("before\n") && made.ends_with(" after"));
        assert!(made.contains("| a b | 1,234,567 |  |\n"), "{made}");
        assert!(made.contains("| tuniform |  | 8 |"), "{made}");
        assert!(
            made.contains("| Bytes | Cortex-M4F |\n|---|---:|\n| ram | 9 |"),
            "{made}"
        );
        assert!(
            made.contains("| Frames, instructions | Cortex-M0+ |"),
            "{made}"
        );
        assert!(made.contains("| c | 11 |"), "{made}");
        let fast = "| secret fast | 10 | 29,647,904 | 43,570,560 |";
        assert!(made.contains(fast), "{made}");
        assert!(!made.contains("old"));
        assert!(with_tables("nothing", &record(&[])).is_err());
    }
}
