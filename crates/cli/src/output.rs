//! Where data goes: a file, or stdout.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use tfhe_sbc_service::files;

use crate::failure::{Explain, Outcome, failure};

/// Writes binary data to a file, replacing it whole, or to stdout unless that is a
/// terminal.
pub(crate) fn write(path: Option<&Path>, bytes: &[u8]) -> Outcome<()> {
    match path {
        Some(path) if path != Path::new("-") => files::write_atomic(path, bytes).advise(
            "the output was not written",
            "choose a directory that exists and has room",
        ),
        _ => {
            let mut stdout = std::io::stdout().lock();
            if stdout.is_terminal() {
                return Err(failure(
                    "the output is binary and would disturb this terminal",
                    "name a file with --out, or send it on with | or >",
                ));
            }
            stdout
                .write_all(bytes)
                .and_then(|()| stdout.flush())
                .advise("the output was not written", "check what reads it")
        }
    }
}

/// Reads a file, or stdin for `-`.
pub(crate) fn read_input(path: &Path) -> Outcome<Vec<u8>> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin().lock(), &mut bytes)
            .advise("cannot read stdin", "name a file instead")?;
        Ok(bytes)
    } else {
        std::fs::read(path).advise(
            format_args!("cannot read {}", path.display()),
            "check the path",
        )
    }
}

/// Prints a line of text to stdout; a reader that has gone away is no failure.
pub(crate) fn print(text: impl std::fmt::Display) {
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}

/// Prints a value as one JSON object.
pub(crate) fn print_json(value: &impl serde::Serialize) -> Outcome<()> {
    let text = serde_json::to_string_pretty(value).explain("no JSON of it")?;
    print(text);
    Ok(())
}

/// An empty table for people.
pub(crate) fn text_table() -> comfy_table::Table {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::UTF8_HORIZONTAL_ONLY);
    table
}

/// How a path is shown where it may be stdout.
pub(crate) fn shown(path: Option<&PathBuf>) -> String {
    path.map_or_else(|| "stdout".to_owned(), |path| path.display().to_string())
}
