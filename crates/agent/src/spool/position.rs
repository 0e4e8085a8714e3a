//! The place up to which the sources were read, while no batch has it.

use super::record::Header;
use super::{POSITION, Spool, State, seconds_now};
use crate::error::AgentError;

impl Spool {
    /// Returns the cursor of the newest batch that there ever was, or before the first batch the one
    /// given to [`Spool::begin`].
    pub fn cursor(&self) -> Option<Vec<u8>> {
        let cursor = self.state().cursor.clone();
        (!cursor.is_empty()).then_some(cursor)
    }

    /// Returns whether no cursor is known.
    pub fn is_new(&self) -> bool {
        self.state().cursor.is_empty()
    }

    /// Remembers the cursor at which reading begins, until there is a batch. Otherwise an agent
    /// that is killed before its first batch would not know a file again that is rotated meanwhile.
    /// If the position cannot be written, an error is logged and [`Spool::is_new`] stays true.
    pub fn begin(&self, cursor: &[u8]) {
        let mut state = self.state();
        state.cursor = cursor.to_vec();
        if !self.write_position(&mut state) {
            state.cursor.clear();
        }
    }

    /// Refuses to go on if the sources' place cannot be known: lines would be sent twice.
    ///
    /// # Errors
    /// If the spool's position is there and cannot be read.
    pub fn require_cursor(&self) -> Result<(), AgentError> {
        let Some(why) = self.state().lost.clone() else {
            return Ok(());
        };
        let path = self.directory.join(POSITION);
        Err(AgentError::new(
            format_args!(
                "{} cannot be read ({why}): it says up to where the CSV file was sent",
                path.display()
            ),
            "make it readable; or take the lines that the server has out of the CSV file, and delete it: then the file is read from its beginning",
        ))
    }

    /// Returns whether the position could be written.
    pub(super) fn write_position(&self, state: &mut State) -> bool {
        let header = Header {
            sequence: state.newest,
            rows: 0,
            created: seconds_now(),
            len: 0,
            hash: *blake3::hash(&[]).as_bytes(),
            cursor: state.cursor.clone(),
        };
        let path = self.directory.join(POSITION);
        let written = (self.replace)(&path, &header.to_bytes());
        match &written {
            Ok(()) => state.on_disk = state.newest,
            Err(error) => tracing::error!(%error, "the spool's position was not written"),
        }
        written.is_ok()
    }
}
