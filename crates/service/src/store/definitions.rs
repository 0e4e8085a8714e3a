//! Definitions of uploads, kept for the short uploads that refer to them.
//!
//! They belong to the uploader that sent them: no uploader can refer to another's, or push another's out.
//! They are a convenience: an uploader that refers to definitions which are not here any more sends the
//! whole upload again.

use rusqlite::{Connection, OptionalExtension, params};
use tfhe_sbc_upload::short::{Definitions, DefinitionsId};

/// The most definitions of one uploader. Further ones take the place of the oldest.
const MOST: i64 = 8;

/// The table. Programs that do not know it use the same index without it.
pub(super) const LAYOUT: &str = "
    CREATE TABLE IF NOT EXISTS definitions (
        sequence INTEGER PRIMARY KEY AUTOINCREMENT,
        uploader TEXT NOT NULL,
        id       BLOB NOT NULL,
        bytes    BLOB NOT NULL,
        UNIQUE (uploader, id)
    ) STRICT;
";

/// Keeps definitions for an uploader.
pub(super) fn keep(
    index: &Connection,
    uploader: &str,
    definitions: &Definitions,
) -> rusqlite::Result<()> {
    let id = definitions.id();
    let mut insert = index.prepare_cached(
        "INSERT INTO definitions (uploader, id, bytes) VALUES (?1, ?2, ?3)
         ON CONFLICT (uploader, id) DO UPDATE SET bytes = excluded.bytes
         WHERE bytes != excluded.bytes",
    )?;
    if insert.execute(params![uploader, id.0, definitions.as_bytes()])? > 0 {
        let mut remove = index.prepare_cached(
            "DELETE FROM definitions WHERE uploader = ?1 AND sequence NOT IN
             (SELECT sequence FROM definitions WHERE uploader = ?1 ORDER BY sequence DESC LIMIT ?2)",
        )?;
        remove.execute(params![uploader, MOST])?;
    }
    Ok(())
}

/// Returns an uploader's definitions of this id. Damaged ones count as lost.
pub(super) fn find(
    index: &Connection,
    uploader: &str,
    id: DefinitionsId,
) -> rusqlite::Result<Option<Definitions>> {
    let mut select =
        index.prepare_cached("SELECT bytes FROM definitions WHERE uploader = ?1 AND id = ?2")?;
    let bytes = select.query_row(params![uploader, id.0], |row| row.get(0));
    let definitions = bytes.optional()?.and_then(Definitions::from_bytes);
    Ok(definitions.filter(|definitions| definitions.id() == id))
}
