//! The destinations of data: a file, or stdout.

use std::fmt::Display;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tfhe_sbc_transport::files;

use crate::failure::{Explain, Outcome, failure};

/// Checks that output can be written to its destination, before any work is done for it: a file in
/// a directory that exists, or stdout unless that is a terminal.
pub(crate) fn check(path: Option<&Path>) -> Outcome<()> {
    match file(path) {
        Some(path) => check_file(path),
        None if std::io::stdout().is_terminal() => Err(failure(
            "the output is binary and would disturb this terminal",
            "name a file with --out, or send it on with | or >",
        )),
        None => Ok(()),
    }
}

/// Checks that a file can be written at a path.
pub(crate) fn check_file(path: &Path) -> Outcome<()> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if path.is_dir() {
        Err(failure(
            format_args!("cannot write {}: it is a directory", path.display()),
            "name a file",
        ))
    } else if directory.is_dir() {
        Ok(())
    } else {
        Err(failure(
            format_args!(
                "cannot write {}: there is no directory {}",
                path.display(),
                directory.display()
            ),
            "make the directory, or choose one that exists",
        ))
    }
}

/// Returns the path of one of several files: `day-2.tsbc` for `day.tsbc` and the mark 2.
pub(crate) fn marked(path: &Path, mark: impl Display) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = match path.extension() {
        Some(extension) => format!("{stem}-{mark}.{}", extension.to_string_lossy()),
        None => format!("{stem}-{mark}"),
    };
    path.with_file_name(name)
}

/// Writes binary data to a file, or to stdout unless that is a terminal.
pub(crate) fn write(path: Option<&Path>, bytes: &[u8]) -> Outcome<()> {
    check(path)?;
    match file(path) {
        Some(path) => write_file(path, bytes),
        None => to_stdout(bytes),
    }
}

/// Writes binary data that `make` makes piece by piece to a file, or to stdout unless that is
/// a terminal.
pub(crate) fn write_with(
    path: Option<&Path>,
    make: impl FnOnce(&mut (dyn Write + Send)) -> std::io::Result<()>,
) -> Outcome<()> {
    check(path)?;
    match file(path) {
        Some(path) => write_file_with(path, make),
        None => to_stdout_with(make),
    }
}

/// Writes text that is nobody else's business and that `make` makes piece by piece: to a file that only its owner can read, which
/// gets its name once it is whole, or to stdout. A reader of stdout that goes away ends the work, and that is no failure.
pub(crate) fn write_private_text_with(
    path: Option<&Path>,
    make: impl FnOnce(&mut (dyn Write + Send)) -> Outcome<()>,
) -> Outcome<()> {
    let mut failed = None;
    let mut stdout = Stdout::default();
    let is_gone = Arc::clone(&stdout.is_gone);
    let make = |out: &mut (dyn Write + Send)| {
        make(out).map_err(|failure| {
            failed = Some(failure);
            std::io::Error::other("the work ended")
        })
    };
    let written = match file(path) {
        Some(path) => to_file_with(path, Readers::Owner, make),
        None => make(&mut stdout).explain("no output"),
    };
    match failed {
        _ if is_gone.load(Ordering::Relaxed) => Ok(()),
        Some(failure) => Err(failure),
        None => written,
    }
}

/// Stdout, and whether its reader has gone away.
#[derive(Default)]
struct Stdout {
    is_gone: Arc<AtomicBool>,
}

impl Stdout {
    fn note<T>(&self, done: std::io::Result<T>) -> std::io::Result<T> {
        if let Err(error) = &done
            && error.kind() == ErrorKind::BrokenPipe
        {
            self.is_gone.store(true, Ordering::Relaxed);
        }
        done
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = std::io::stdout().write(bytes);
        self.note(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let flushed = std::io::stdout().flush();
        self.note(flushed)
    }
}

/// Checks that a new file can be written at a path, before any work is done for it; `replace` says that one that is there may be
/// replaced.
pub(crate) fn check_new(path: Option<&Path>, replace: bool) -> Outcome<()> {
    let Some(path) = file(path) else {
        return Ok(());
    };
    check_file(path)?;
    // Devices and pipes are written into.
    match path.is_file() && !replace {
        true => Err(failure(
            format_args!("{} exists already", path.display()),
            "name another file, or have it replaced with --force",
        )),
        false => Ok(()),
    }
}

/// Writes a file, replacing it in one step. A device or a pipe is written into.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Outcome<()> {
    write_file_with(path, |file| file.write_all(bytes))
}

fn write_file_with(
    path: &Path,
    make: impl FnOnce(&mut (dyn Write + Send)) -> std::io::Result<()>,
) -> Outcome<()> {
    to_file_with(path, Readers::All, make)
}

/// The users of this machine who may read a file.
#[derive(Clone, Copy)]
enum Readers {
    All,
    Owner,
}

/// Writes a file, replacing it in one step. A device or a pipe is written into.
fn to_file_with(
    path: &Path,
    readers: Readers,
    make: impl FnOnce(&mut (dyn Write + Send)) -> std::io::Result<()>,
) -> Outcome<()> {
    let doing = "the output was not written";
    let advice = "choose a directory that you can write to and that has room";
    // Links are followed, so that their target is replaced.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if target.exists() && !target.is_file() {
        let written = std::fs::OpenOptions::new()
            .write(true)
            .open(&target)
            .and_then(|mut file| make(&mut file));
        written.advise(format_args!("{doing} to {}", path.display()), advice)
    } else {
        let written = match readers {
            Readers::All => files::write_atomic_with(&target, |file| make(file)),
            Readers::Owner => files::write_private_with(&target, |file| make(file)),
        };
        written.advise(doing, advice)
    }
}

fn file(path: Option<&Path>) -> Option<&Path> {
    path.filter(|path| *path != Path::new("-"))
}

fn to_stdout(bytes: &[u8]) -> Outcome<()> {
    to_stdout_with(|stdout| stdout.write_all(bytes))
}

fn to_stdout_with(
    make: impl FnOnce(&mut (dyn Write + Send)) -> std::io::Result<()>,
) -> Outcome<()> {
    let mut stdout = std::io::stdout();
    make(&mut stdout).and_then(|()| stdout.flush()).advise(
        "the output was not written to stdout",
        "check where it goes: a full disk, or a reader that has gone away",
    )
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

/// Opens a file, or stdin for `-`, to read it piece by piece.
pub(crate) fn open_input(path: &Path) -> Outcome<Box<dyn std::io::Read>> {
    if path == Path::new("-") {
        return Ok(Box::new(std::io::stdin().lock()));
    }
    let file = std::fs::File::open(path).advise(
        format_args!("cannot read {}", path.display()),
        "check the path",
    )?;
    Ok(Box::new(std::io::BufReader::new(file)))
}

/// Prints a line of a report to stdout; it is no failure if the reader has gone away.
pub(crate) fn print(text: impl Display) {
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}

/// Prints a command's output to stdout. It is no failure if the reader has gone away, but a full
/// disk is one.
pub(crate) fn emit(text: impl Display) -> Outcome<()> {
    let mut stdout = std::io::stdout().lock();
    match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error).advise(
            "the output was not written to stdout",
            "check where it goes: is the disk full?",
        ),
        _ => Ok(()),
    }
}

/// Prints a message on stderr, beside the output.
pub(crate) fn note(text: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Prints a value as one JSON object.
pub(crate) fn print_json(value: &impl serde::Serialize) -> Outcome<()> {
    emit(serde_json::to_string_pretty(value).explain("no JSON of it")?)
}

/// Returns an empty table for people: with lines below the header and at the ends, none between
/// rows.
pub(crate) fn text_table() -> comfy_table::Table {
    let style = comfy_table::presets::UTF8_HORIZONTAL_ONLY;
    let mut table = comfy_table::Table::new();
    table.load_style(style.row_separator(comfy_table::LineStyle::none()));
    table
}

/// Returns a path as text, or "stdout".
pub(crate) fn shown(path: Option<&PathBuf>) -> String {
    path.map_or_else(|| "stdout".to_owned(), |path| path.display().to_string())
}
