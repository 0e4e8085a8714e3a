//! Recovery from what a crash left.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use tfhe_sbc_transport::files;

use super::record::{FIXED_BYTES, Header, HeaderError, MAX_CURSOR};
use super::{
    DAMAGED, EXTENSION, POSITION, REFUSED, Spool, State, failed, file_name, listed, remove_file,
    words_of,
};
use crate::error::AgentError;
use crate::metrics::Dropped;

impl Spool {
    /// Finds the files in the spool. Removes files that are half-written, and sets aside damaged
    /// ones.
    pub(super) fn recover(&self) -> Result<State, AgentError> {
        let mut state = State::default();
        let position = self.directory.join(POSITION);
        state.lost = match fs::read(&position) {
            Ok(bytes) => match Header::parse(&bytes) {
                Ok((header, _)) => {
                    (state.newest, state.cursor) = (header.sequence, header.cursor);
                    None
                }
                Err(HeaderError::Version(version)) => return Err(newer(&position, version)),
                Err(error) => Some(error.to_string()),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => Some(error.to_string()),
        };
        if let Some(error) = &state.lost {
            tracing::error!(%error, "the spool's position is not known");
        }
        for path in listed(&self.directory).map_err(failed)? {
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .unwrap_or_default();
            if files::is_temporary(name) {
                remove_file(&path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == EXTENSION)
            {
                match read_header(&path) {
                    Ok((header, len)) if name == file_name(header.sequence) => {
                        // The position of the same number may be of a source that came later.
                        if header.sequence > state.newest {
                            (state.newest, state.cursor) = (header.sequence, header.cursor);
                        }
                        state.queue.insert(header.sequence, len);
                        state.bytes += len;
                    }
                    Err(HeaderError::Version(version)) => {
                        return Err(newer(&path, version));
                    }
                    _ => {
                        tracing::error!(file = %path.display(), "a file of the spool is damaged and set aside");
                        self.metrics.dropped(Dropped::Damaged);
                        let _ = fs::rename(&path, self.directory.join(DAMAGED).join(name));
                    }
                }
            }
        }
        let mut aside = Vec::new();
        for place in [DAMAGED, REFUSED] {
            aside.extend(listed(&self.directory.join(place)).map_err(failed)?);
        }
        let (batches, words): (Vec<_>, Vec<_>) = aside.into_iter().partition(|path| {
            path.extension()
                .is_some_and(|extension| extension == EXTENSION)
        });
        for path in words {
            if !path.with_extension(EXTENSION).exists() {
                remove_file(&path);
            }
        }
        let mut aside = batches;
        aside.sort_by_key(|path| path.file_name().map(ToOwned::to_owned));
        let len = |path: &Path| path.metadata().map_or(0, |metadata| metadata.len());
        for path in aside {
            let len = len(&path) + len(&words_of(&path));
            state.bytes += len;
            state.aside.push_back((path, len));
        }
        state.on_disk = state.newest;
        Ok(state)
    }
}

fn newer(path: &Path, version: u16) -> AgentError {
    AgentError::new(
        format_args!("the spool file {} has version {version}", path.display()),
        "use the newer program that wrote it, or move the spool away",
    )
}

/// Returns the header of a file whose length is right, and that length.
pub(super) fn read_header(path: &Path) -> Result<(Header, u64), HeaderError> {
    let read = || {
        let mut bytes = Vec::new();
        let file = File::open(path)?;
        let len = file.metadata()?.len();
        file.take((FIXED_BYTES + MAX_CURSOR) as u64)
            .read_to_end(&mut bytes)?;
        io::Result::Ok((bytes, len))
    };
    let (bytes, len) = read().map_err(|_| HeaderError::Damaged)?;
    let (header, start) = Header::parse(&bytes)?;
    if len.checked_sub(start as u64) != Some(header.len) {
        return Err(HeaderError::Damaged);
    }
    Ok((header, len))
}
