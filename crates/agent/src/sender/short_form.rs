//! Uploads in their short form, to a server that keeps the definitions of this board.

use std::fs;
use std::path::{Path, PathBuf};

use tfhe_sbc_transport::files;
use tfhe_sbc_transport::protocol::UNKNOWN_DEFINITIONS;
use tfhe_sbc_upload::short::{Definitions, DefinitionsId, shorten};

use super::{Acknowledged, SendFailure};
use crate::spool::Waiting;

/// The file in the spool with the id of the definitions that the server keeps.
const FILE: &str = "definitions";

/// The tries of one short upload that may fail before it is sent whole, in case it is the form that fails.
const TRIES: u32 = 3;

/// The definitions that the server keeps, as far as this board knows.
///
/// The board learns them from the answer to a whole upload, and forgets them when a short one is refused. So a
/// server without short uploads gets none, and one that lost its definitions gets the next upload whole.
pub(super) struct ShortForm {
    file: PathBuf,
    /// The content of the file.
    written: Option<DefinitionsId>,
    kept: Option<DefinitionsId>,
    /// True once the server refused a short upload for another reason than unknown definitions. It gets no more of
    /// them from this process.
    is_refused: bool,
    /// The tries of short uploads that failed since the last one that did not.
    failed: u32,
}

impl ShortForm {
    /// Reads what an earlier run of the agent wrote into the spool's directory, which need not exist.
    pub(super) fn open(spool: &Path) -> Self {
        let file = spool.join(FILE);
        let id = fs::read(&file).ok();
        let id = id.and_then(|bytes| <[u8; 16]>::try_from(bytes).ok());
        let kept = id.map(DefinitionsId);
        Self {
            file,
            written: kept,
            kept,
            is_refused: false,
            failed: 0,
        }
    }

    /// Sends a batch with `carry`: in the short form if the server knows the definitions, and otherwise, or if
    /// the server refuses that, whole. Returns the number of bytes of the form that the server has accepted.
    ///
    /// # Errors
    /// Returns the failure of `carry`. A short upload that is refused is not a failure.
    pub(super) fn send(
        &mut self,
        waiting: &Waiting,
        mut carry: impl FnMut(&[u8]) -> Result<Acknowledged, SendFailure>,
    ) -> Result<usize, SendFailure> {
        let mut refusal = None;
        if let Some(kept) = self.kept
            && self.failed < TRIES
            && let Some(short) = shorten(&waiting.bytes)
            && short.definitions == kept
        {
            match carry(&short.bytes) {
                Ok(acknowledged) if acknowledged.id == waiting.id => {
                    self.failed = 0;
                    return Ok(short.bytes.len());
                }
                Ok(acknowledged) => {
                    tracing::warn!(sent = %waiting.id, acknowledged = %acknowledged.id, "the server restored a short upload to something else: it is sent whole");
                    refusal = Some(0);
                }
                Err(SendFailure::Refused { status, words }) => {
                    tracing::info!(?words, "a short upload was refused: it is sent whole");
                    refusal = Some(status);
                }
                Err(failure) => {
                    self.failed += 1;
                    return Err(failure);
                }
            }
            self.kept = None;
        }
        let acknowledged = carry(&waiting.bytes)?;
        if acknowledged.id != waiting.id {
            return Err(SendFailure::later(format_args!(
                "the server acknowledged {}, not {}",
                acknowledged.id, waiting.id
            )));
        }
        self.failed = 0;
        // The whole upload was accepted, so the refusal was of the form.
        self.is_refused |= refusal.is_some_and(|status| status != UNKNOWN_DEFINITIONS);
        let definitions = match acknowledged.definitions_kept && !self.is_refused {
            true => Definitions::of(&waiting.bytes),
            false => None,
        };
        self.set(definitions.map(|definitions| definitions.id()));
        Ok(waiting.bytes.len())
    }

    fn set(&mut self, kept: Option<DefinitionsId>) {
        self.kept = kept;
        if self.written == kept {
            return;
        }
        let id = kept.map(|id| id.0);
        let bytes = id.as_ref().map_or(&[][..], |id| id);
        match files::write_atomic(&self.file, bytes) {
            Ok(()) => self.written = kept,
            // Another run of the agent then sends one upload whole, or one short in vain.
            Err(error) => tracing::warn!(%error, "the spool's definitions were not written"),
        }
    }
}

#[cfg(test)]
mod tests;
