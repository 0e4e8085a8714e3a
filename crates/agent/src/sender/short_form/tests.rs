//! Tests against servers that know the short form, lose what they knew, or do not know it.

use std::collections::HashMap;

use tfhe_sbc_core::parameters::{KeyFingerprint, ParameterFingerprint};
use tfhe_sbc_core::wire::{Header, Kind};
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_upload::derived::Derived;
use tfhe_sbc_upload::metadata;
use tfhe_sbc_upload::readings::{Column, ReadingsMetadata};
use tfhe_sbc_upload::short::{ShortUpload, is_short};

use super::*;

const PARAMETERS: ParameterFingerprint = ParameterFingerprint([1; 16]);
const KEY: KeyFingerprint = KeyFingerprint([2; 16]);

/// A batch of one row with this label, of a column in steps of `scale`.
fn batch(label: &str, scale: f64) -> Waiting {
    let column = Column {
        name: "level".to_owned(),
        unit: "m".to_owned(),
        offset: -2.0,
        scale,
        bits: 4,
        compact: None,
        derived: Derived::default(),
    };
    let metadata = ReadingsMetadata {
        columns: vec![column],
        rows: vec![label.to_owned()],
        gaps: Default::default(),
    };
    let mut bytes = metadata::write(PARAMETERS, KEY, &metadata).unwrap();
    let mut list = vec![0; 300];
    Header::new(Kind::SeededGlweList, PARAMETERS, KEY)
        .seal(&mut list)
        .unwrap();
    bytes.extend_from_slice(&list);
    Waiting {
        sequence: 1,
        id: BlobId::of(&bytes),
        bytes,
    }
}

/// A server, and what it was sent.
#[derive(Default)]
struct Server {
    definitions: HashMap<[u8; 16], Definitions>,
    /// True if it keeps definitions, and says so.
    keeps: bool,
    /// True if it restores short uploads; otherwise it takes them for bad input.
    restores: bool,
    /// A failure of everything.
    failure: Option<fn() -> SendFailure>,
    was_short: Vec<bool>,
}

impl Server {
    fn new() -> Self {
        Self {
            keeps: true,
            restores: true,
            ..Self::default()
        }
    }

    /// Returns a server that knows nothing of short uploads.
    fn old() -> Self {
        Self::default()
    }

    fn take(&mut self, upload: &[u8]) -> Result<Acknowledged, SendFailure> {
        self.was_short.push(is_short(upload));
        if let Some(failure) = self.failure {
            return Err(failure());
        }
        let mut definitions = Definitions::of(upload);
        let mut id = BlobId::of(upload);
        if is_short(upload) {
            if !self.restores {
                return Err(SendFailure::refused(422, "this is no upload"));
            }
            let short = ShortUpload::parse(upload).unwrap();
            let Some(known) = self.definitions.get(&short.definitions.0) else {
                return Err(SendFailure::refused(UNKNOWN_DEFINITIONS, "unknown"));
            };
            definitions = Some(known.clone());
            id = BlobId::of(&short.restore(known).unwrap());
        }
        if self.keeps {
            let definitions = definitions.unwrap();
            self.definitions.insert(definitions.id().0, definitions);
        }
        Ok(Acknowledged {
            id,
            definitions_kept: self.keeps,
        })
    }

    /// Takes a batch and returns which of the forms it was sent in, one after the other.
    fn forms(&mut self, form: &mut ShortForm, batch: &Waiting) -> Vec<&'static str> {
        let before = self.was_short.len();
        let bytes = form.send(batch, |upload| self.take(upload)).unwrap();
        let sent = &self.was_short[before..];
        assert_eq!(bytes < batch.bytes.len(), *sent.last().unwrap());
        let words = |&short: &bool| if short { "short" } else { "whole" };
        sent.iter().map(words).collect()
    }
}

#[test]
fn definitions_travel_once_per_version_also_across_runs() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = Server::new();
    let mut form = ShortForm::open(directory.path());
    assert_eq!(server.forms(&mut form, &batch("a", 0.5)), ["whole"]);
    assert_eq!(server.forms(&mut form, &batch("b", 0.5)), ["short"]);
    let mut form = ShortForm::open(directory.path());
    assert_eq!(server.forms(&mut form, &batch("c", 0.5)), ["short"]);
    // Another version of the columns.
    assert_eq!(server.forms(&mut form, &batch("d", 0.25)), ["whole"]);
    assert_eq!(server.forms(&mut form, &batch("e", 0.25)), ["short"]);
    // Other content of the file does no harm.
    for content in [&b""[..], &[7; 15], &[7; 16], &[7; 17]] {
        fs::write(directory.path().join(FILE), content).unwrap();
        let mut form = ShortForm::open(directory.path());
        assert_eq!(server.forms(&mut form, &batch("f", 0.25)), ["whole"]);
        assert_eq!(server.forms(&mut form, &batch("g", 0.25)), ["short"]);
        let mut form = ShortForm::open(directory.path());
        assert_eq!(server.forms(&mut form, &batch("h", 0.25)), ["short"]);
    }
}

#[test]
fn a_server_that_lost_the_definitions_gets_one_upload_whole() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = Server::new();
    let mut form = ShortForm::open(directory.path());
    server.forms(&mut form, &batch("a", 0.5));
    server.definitions.clear();
    assert_eq!(
        server.forms(&mut form, &batch("b", 0.5)),
        ["short", "whole"]
    );
    assert_eq!(server.forms(&mut form, &batch("c", 0.5)), ["short"]);
}

#[test]
fn an_old_server_gets_whole_uploads() {
    let directory = tempfile::tempdir().unwrap();
    let mut old = Server::old();
    let mut form = ShortForm::open(directory.path());
    for label in ["a", "b"] {
        assert_eq!(old.forms(&mut form, &batch(label, 0.5)), ["whole"]);
    }
    // In place of one that keeps definitions it refuses one short upload.
    Server::new().forms(&mut form, &batch("c", 0.5));
    assert_eq!(old.forms(&mut form, &batch("d", 0.5)), ["short", "whole"]);
    assert_eq!(old.forms(&mut form, &batch("e", 0.5)), ["whole"]);
    let mut form = ShortForm::open(directory.path());
    assert_eq!(old.forms(&mut form, &batch("f", 0.5)), ["whole"]);
}

#[test]
fn a_server_that_refuses_the_form_is_not_tried_again() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = Server {
        restores: false,
        ..Server::new()
    };
    let mut form = ShortForm::open(directory.path());
    assert_eq!(server.forms(&mut form, &batch("a", 0.5)), ["whole"]);
    assert_eq!(
        server.forms(&mut form, &batch("b", 0.5)),
        ["short", "whole"]
    );
    assert_eq!(server.forms(&mut form, &batch("c", 0.5)), ["whole"]);
}

#[test]
fn a_batch_that_is_refused_whole_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = Server::new();
    let mut form = ShortForm::open(directory.path());
    server.forms(&mut form, &batch("a", 0.5));
    server.failure = Some(|| SendFailure::refused(422, "another key"));
    let refused = form.send(&batch("b", 0.5), |upload| server.take(upload));
    assert!(
        matches!(refused, Err(SendFailure::Refused { status: 422, .. })),
        "{refused:?}"
    );
    assert_eq!(server.was_short, [false, true, false]);
    // The refusal was of the batch, and not of the form.
    server.failure = None;
    assert_eq!(server.forms(&mut form, &batch("c", 0.5)), ["whole"]);
    assert_eq!(server.forms(&mut form, &batch("d", 0.5)), ["short"]);
}

#[test]
fn a_failure_is_tried_again_and_at_last_whole() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = Server::new();
    let mut form = ShortForm::open(directory.path());
    server.forms(&mut form, &batch("a", 0.5));
    server.failure = Some(|| SendFailure::later("no network"));
    for _ in 0..5 {
        let failed = form.send(&batch("b", 0.5), |upload| server.take(upload));
        assert!(
            matches!(failed, Err(SendFailure::Later { .. })),
            "{failed:?}"
        );
    }
    assert_eq!(server.was_short[1..], [true, true, true, false, false]);
    server.failure = None;
    assert_eq!(server.forms(&mut form, &batch("b", 0.5)), ["whole"]);
    assert_eq!(server.forms(&mut form, &batch("c", 0.5)), ["short"]);
}

#[test]
fn only_the_whole_uploads_id_is_an_acknowledgement() {
    let directory = tempfile::tempdir().unwrap();
    let mut form = ShortForm::open(directory.path());
    let mut server = Server::new();
    server.forms(&mut form, &batch("a", 0.5));
    // A server that stores the short bytes as they are.
    let mut was_short = Vec::new();
    let careless = |upload: &[u8]| {
        was_short.push(is_short(upload));
        Ok(Acknowledged {
            id: BlobId::of(upload),
            definitions_kept: true,
        })
    };
    let sent = batch("b", 0.5);
    assert_eq!(form.send(&sent, careless).unwrap(), sent.bytes.len());
    assert_eq!(was_short, [true, false]);
    let failed = form.send(&batch("c", 0.5), |_| {
        Ok(Acknowledged {
            id: BlobId::of(b"something else"),
            definitions_kept: true,
        })
    });
    assert!(
        matches!(failed, Err(SendFailure::Later { .. })),
        "{failed:?}"
    );
}
