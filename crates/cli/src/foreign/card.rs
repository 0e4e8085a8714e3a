//! Cards and keys of imported keys: what `keys import` writes for boards and servers, and what `convert`
//! reads of it.

use std::path::Path;

use tfhe_sbc_core::keys::DeviceKey;
use tfhe_sbc_core::wire::card::{Card, LibraryNumber};
use tfhe_sbc_foreign::Library;

use super::library::ImportRequest;
use crate::failure::{Explain, Outcome, failure};
use crate::keys::new_files::NewFiles;
use crate::keys::{self, read_file};

/// Writes what boards and servers need of a key that was imported from `library`: `device.tsbc`,
/// `public.tsbc` if it is asked for, and `card.tsbc` for a library that needs one.
pub(super) fn write_keys(
    key: &DeviceKey,
    library: &Library,
    request: &ImportRequest,
) -> Outcome<()> {
    let path = |name| request.out.join(name);
    let mut files = NewFiles::default();
    files.add_secret(
        &path("device.tsbc"),
        key.to_bytes().explain("no key file")?,
        "device key: goes to the boards, mode 0600",
    );
    if request.public {
        let public = key.public_key(&mut keys::fresh_seeds()?);
        let public = public.explain("no public key")?;
        files.add_public(
            &path("public.tsbc"),
            public.to_bytes().explain("no key file")?,
            "public key: goes to the boards, holds no secret",
        );
    }
    if let Some(number) = library.number {
        let card = Card {
            parameters: *key.parameters(),
            key: key.fingerprint(),
            library: number,
        };
        files.add_public(
            &path("card.tsbc"),
            card.to_bytes().to_vec(),
            format_args!(
                "card: goes to the server with {}, holds no secret",
                library.title
            ),
        );
    }
    files.write()?;
    files.say();
    Ok(())
}

/// Reads the card, which must be of a key of `library`.
pub(super) fn read_card(path: Option<&Path>, library: &Library) -> Outcome<Card> {
    let path = path.unwrap_or(Path::new("keys/card.tsbc"));
    let card = Card::from_bytes(&read_file(path)?).explain(path.display())?;
    if library.number == Some(card.library) {
        return Ok(card);
    }
    Err(failure(
        format_args!(
            "{} is of a key of {}, not of {}",
            path.display(),
            title(card.library),
            library.title
        ),
        "convert to the library that the key comes from: uploads are under that key",
    ))
}

/// The name of the library with that number, or what to say of one that is not known.
pub(crate) fn title(number: LibraryNumber) -> String {
    match Library::with_number(number) {
        Some(library) => library.title.to_owned(),
        None => format!("library {}, which this version does not know", number.0),
    }
}
