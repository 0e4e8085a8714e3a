//! The card, with which a server that computes with another library converts uploads for it.
//! It names that library, and contains the parameters and the fingerprint of the key that devices
//! encrypt under. It contains no key.

use crate::parameters::{KeyFingerprint, PARAMETERS_BYTES, Parameters};
use crate::wire::key::parameters_of;
use crate::wire::{ENVELOPE_BYTES, HEADER_BYTES, Header, Kind, Message, WireError};

/// The number of bytes of the message of a card.
pub const CARD_BYTES: usize = ENVELOPE_BYTES + PARAMETERS_BYTES + LIBRARY_BYTES;

const LIBRARY_BYTES: usize = 4;

/// The number of a library that computes on TFHE ciphertexts, at least 1. The crate `foreign` has
/// the list of libraries with their numbers; a reader may meet a number that it does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LibraryNumber(pub u32);

/// The data with which a server converts uploads under an imported key. It is public.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Card {
    /// The parameters that devices encrypt with.
    pub parameters: Parameters,
    /// The fingerprint of the key that they encrypt under.
    pub key: KeyFingerprint,
    /// The library that the key comes from.
    pub library: LibraryNumber,
}

impl Card {
    /// Returns the bytes of a card file.
    pub fn to_bytes(&self) -> [u8; CARD_BYTES] {
        let mut message = [0; CARD_BYTES];
        let payload = &mut message[HEADER_BYTES..];
        payload[..PARAMETERS_BYTES].copy_from_slice(&self.parameters.to_bytes());
        payload[PARAMETERS_BYTES..][..LIBRARY_BYTES].copy_from_slice(&self.library.0.to_le_bytes());
        let sealed =
            Header::new(Kind::Card, self.parameters.fingerprint(), self.key).seal(&mut message);
        debug_assert_eq!(sealed, Ok(()), "the message has room for its envelope");
        message
    }

    /// Reads the bytes of a card file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, WireError> {
        let message = Message::parse_only(bytes, Kind::Card)?;
        Self::read(&message)
    }

    /// Reads a message that [is](Message::expect) a card.
    pub fn read(message: &Message<'_>) -> Result<Self, WireError> {
        message.expect(Kind::Card)?;
        let (parameters, rest) = parameters_of(message)?;
        let library: [u8; LIBRARY_BYTES] =
            rest.try_into().map_err(|_| WireError::PayloadLength {
                expected: (PARAMETERS_BYTES + LIBRARY_BYTES) as u64,
                found: message.payload.len() as u64,
            })?;
        Ok(Self {
            parameters,
            key: message.header.key,
            library: match u32::from_le_bytes(library) {
                0 => return Err(WireError::Field("library")),
                number => LibraryNumber(number),
            },
        })
    }
}
