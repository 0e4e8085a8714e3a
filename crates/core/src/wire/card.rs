//! The card: what a server that computes with another library needs to convert uploads for it.
//! It names that library and holds the parameters and the fingerprint of the key that devices
//! encrypt under; it holds no key.

use core::fmt;

use crate::parameters::{KeyFingerprint, PARAMETERS_BYTES, Parameters};
use crate::wire::key::parameters_of;
use crate::wire::{ENVELOPE_BYTES, HEADER_BYTES, Header, Kind, Message, WireError};

/// Number of bytes of the message of a card.
pub const CARD_BYTES: usize = ENVELOPE_BYTES + PARAMETERS_BYTES + PEER_BYTES;

const PEER_BYTES: usize = 4;

/// A library that computes on TFHE ciphertexts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Peer {
    /// TFHE-rs.
    TfheRs = 1,
    /// TFHEpp.
    Tfhepp = 2,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::TfheRs => "TFHE-rs",
            Self::Tfhepp => "TFHEpp",
        })
    }
}

/// What a server needs to convert uploads under an imported key. Public.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Card {
    /// The parameters that devices encrypt with.
    pub parameters: Parameters,
    /// The fingerprint of the key that they encrypt under.
    pub key: KeyFingerprint,
    /// The library that the key comes from.
    pub peer: Peer,
}

impl Card {
    /// The bytes of a card file.
    pub fn to_bytes(&self) -> [u8; CARD_BYTES] {
        let mut message = [0; CARD_BYTES];
        let payload = &mut message[HEADER_BYTES..];
        payload[..PARAMETERS_BYTES].copy_from_slice(&self.parameters.to_bytes());
        payload[PARAMETERS_BYTES..][..PEER_BYTES]
            .copy_from_slice(&(self.peer as u32).to_le_bytes());
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
        let peer: [u8; PEER_BYTES] = rest.try_into().map_err(|_| WireError::PayloadLength {
            expected: (PARAMETERS_BYTES + PEER_BYTES) as u64,
            found: message.payload.len() as u64,
        })?;
        Ok(Self {
            parameters,
            key: message.header.key,
            peer: match u32::from_le_bytes(peer) {
                1 => Peer::TfheRs,
                2 => Peer::Tfhepp,
                _ => return Err(WireError::Field("peer")),
            },
        })
    }
}
