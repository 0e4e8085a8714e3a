//! The file with the key owner's record of check uploads.

use std::fs::File;
use std::path::{Path, PathBuf};

use tfhe_sbc_query::checks::Checks;
use tfhe_sbc_transport::files;
use zeroize::Zeroizing;

use crate::failure::{Explain, Outcome, failure};

const ADVICE: &str = "name a record that `tfhe-sbc checks make` made";

/// Returns the record in a file.
pub(crate) fn read(path: &Path) -> Outcome<Checks> {
    let text = std::fs::read_to_string(path).map(Zeroizing::new);
    let text = text.advise(format_args!("cannot read {}", path.display()), ADVICE)?;
    Checks::from_json(&text).advise(path.display(), ADVICE)
}

/// Changes the record in a file, which is made (mode 0600) if it is not there and `is_new_allowed`. Changes by several
/// processes wait for each other.
pub(crate) fn change<R>(
    path: &Path,
    is_new_allowed: bool,
    change: impl FnOnce(&mut Checks) -> Outcome<R>,
) -> Outcome<R> {
    let lock = lock_path(path);
    let locked = File::create(&lock).and_then(|file| file.lock().map(|()| file));
    let _locked = locked.explain(format_args!("cannot lock {}", lock.display()))?;
    let is_new = is_new_allowed && !path.exists();
    let mut checks = match is_new {
        true => Checks::default(),
        false => read(path)?,
    };
    let returned = change(&mut checks)?;
    let text = checks.to_json().map(Zeroizing::new);
    let text = text.explain(path.display())?;
    let written = match is_new {
        true => files::write_private_new(path, text.as_bytes()),
        false => files::write_atomic(path, text.as_bytes()),
    };
    written.explain("the record of check uploads was not changed")?;
    Ok(returned)
}

fn lock_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".lock");
    path.with_file_name(name)
}

/// Reads a file that a question names.
pub(crate) fn read_named(path: &str) -> Result<String, String> {
    use std::io::Read;
    /// The limit is more than any tree takes.
    const MAX_BYTES: u64 = 1 << 20;
    let mut text = String::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    let read = file.take(MAX_BYTES).read_to_string(&mut text);
    read.map(|_| text).map_err(|error| error.to_string())
}

/// Returns a number that nobody can guess.
pub(crate) fn random() -> Outcome<u64> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).explain("no randomness")?;
    Ok(u64::from_le_bytes(bytes))
}

/// The share of questions that come with a check question, from 0 to 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate(f64);

impl Rate {
    /// Returns whether this question comes with one.
    pub(crate) fn draw(self) -> Outcome<bool> {
        // 53 bits are a double's.
        let drawn = (random()? >> 11) as f64 / (1u64 << 53) as f64;
        Ok(drawn < self.0)
    }
}

/// Parses a rate.
pub(crate) fn rate(text: &str) -> Result<Rate, String> {
    let rate: Option<f64> = text.parse().ok();
    let rate = rate.filter(|rate| (0.0..=1.0).contains(rate));
    rate.map(Rate)
        .ok_or_else(|| "a rate is a number from 0 to 1, such as 0.1".to_owned())
}

/// Returns the failure of answers that were wrong.
pub(crate) fn wrong(count: usize, all: usize) -> Box<crate::failure::Failure> {
    failure(
        format_args!("{count} of {all} answers to check questions are wrong"),
        "the server did not compute what was asked, or not on what was uploaded: do not rely on its other answers, and do not tell it which were wrong",
    )
}
