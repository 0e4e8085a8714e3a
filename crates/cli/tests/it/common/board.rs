//! Boards: the agent's settings, and runs of it.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use tfhe_sbc_core::wire::Message;
use tfhe_sbc_service::store::segments::uploads_in;
use tfhe_sbc_upload::metadata;
use tfhe_sbc_upload::readings::ReadingsMetadata;

use super::{Run, tfhe_sbc};

pub(crate) const LEVEL: &str = r#"
[[column]]
name = "level"
unit = "m"
offset = -2.0
scale = 0.5
bits = 4
"#;

/// Settings for the keys of the desk; `more` begins with sections and ends in columns.
pub(crate) fn settings(desk: &Path, url: &str, more: &str) {
    let text = format!(
        r#"
        [server]
        url = "{url}"
        [device]
        key = "keys/device.tsbc"
        [tls]
        ca = "tls/ca.pem"
        certificate = "tls/device.pem"
        key = "tls/device.key"
        {more}
        "#
    );
    fs::write(desk.join("agent.toml"), text).unwrap();
}

pub(crate) fn append(path: &Path, text: &str) {
    let mut options = fs::OpenOptions::new();
    let mut file = options.create(true).append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

pub(crate) fn agent(desk: &Path, arguments: &[&str]) -> Run {
    tfhe_sbc(desk, &[&["agent"], arguments].concat())
}

/// The uploads in the server's store, in their order, with their names. The server may be running.
pub(crate) fn stored_uploads(desk: &Path) -> Vec<(String, Vec<u8>)> {
    let uploads = uploads_in(&desk.join("store")).unwrap().into_iter();
    uploads.map(|(id, bytes)| (id.to_string(), bytes)).collect()
}

pub(crate) fn ids(desk: &Path) -> String {
    let ids = stored_uploads(desk).into_iter().map(|(id, _)| id);
    ids.collect::<Vec<_>>().join(",")
}

/// Settings for a CSV file `log.csv` with the fields `time` and `level`.
pub(crate) fn csv_settings(desk: &Path, url: &str, more: &str) {
    let more = format!(
        r#"
        [csv]
        path = "log.csv"
        label = "time"
        every = "20ms"
        {more}
        {LEVEL}
        source = {{ kind = "csv" }}
        "#
    );
    settings(desk, url, &more);
}

/// Returns how often each row is in the server's store.
pub(crate) fn stored(desk: &Path) -> BTreeMap<String, usize> {
    let mut rows = BTreeMap::new();
    for (_, bytes) in stored_uploads(desk) {
        let (message, _) = Message::parse(&bytes).unwrap();
        let metadata: ReadingsMetadata = metadata::read(message).unwrap();
        for row in metadata.rows {
            *rows.entry(row).or_default() += 1;
        }
    }
    rows
}
