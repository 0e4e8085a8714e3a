//! Files of a line of JSON and bytes behind it, which the line describes.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// More than any first line has.
const LONGEST: u64 = 1 << 10;

/// Returns the content of a file.
pub(crate) fn content(head: &impl Serialize, behind: &[&[u8]]) -> io::Result<Vec<u8>> {
    let mut content = serde_json::to_vec(head)?;
    content.push(b'\n');
    behind
        .iter()
        .for_each(|bytes| content.extend_from_slice(bytes));
    Ok(content)
}

/// Reads the first line of a file, and tells how many bytes are behind it.
pub(crate) fn head<H: DeserializeOwned>(path: &Path) -> io::Result<(H, u64)> {
    let (head, length) = read_line(&mut BufReader::new(File::open(path)?))?;
    Ok((head, fs::metadata(path)?.len().saturating_sub(length)))
}

/// Reads a file: the first line and the bytes behind it.
pub(crate) fn read<H: DeserializeOwned>(path: &Path) -> io::Result<(H, Vec<u8>)> {
    let mut file = BufReader::new(File::open(path)?);
    let (head, _) = read_line(&mut file)?;
    let mut behind = Vec::new();
    file.read_to_end(&mut behind)?;
    Ok((head, behind))
}

fn read_line<H: DeserializeOwned>(file: &mut impl BufRead) -> io::Result<(H, u64)> {
    let mut line = Vec::new();
    file.take(LONGEST).read_until(b'\n', &mut line)?;
    let head = serde_json::from_slice(&line).map_err(io::Error::from)?;
    Ok((head, line.len() as u64))
}
