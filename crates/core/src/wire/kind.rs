//! The version of the format, and the kinds of messages.

use core::fmt;

/// The version of the format that this build writes and reads.
pub const FORMAT_VERSION: u16 = 1;
/// The flag of messages that have a seed in place of the masks.
pub const FLAG_SEEDED: u8 = 1;

/// The kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// CBOR that describes the ciphertexts after it.
    Metadata = 1,
    /// Bodies of GLWE ciphertexts, with a seed in place of the masks.
    SeededGlweList = 2,
    /// LWE ciphertexts under the small key.
    LweList = 3,
    /// The key owner's secret keys.
    SecretKey = 4,
    /// The key with which a device encrypts.
    DeviceKey = 5,
    /// The keys with which a server computes, seeded.
    ServerKey = 6,
    /// The key with which a device encrypts but cannot decrypt, seeded.
    DevicePublicKey = 7,
    /// GLWE ciphertexts with their masks, made with a public key.
    GlweList = 8,
    /// The key with which a server brings a device's ciphertexts under the evaluation key,
    /// seeded.
    DeviceSwitchKey = 9,
    /// The data with which a server that has another library converts uploads. It contains no key.
    Card = 10,
    /// Bodies of GLWE ciphertexts whose columns have encodings of their own, with a seed in place of
    /// the masks.
    SeededColumnList = 11,
    /// The same with masks, made with a public key.
    ColumnList = 12,
    /// GLWE ciphertexts of compact codes that a server has added up.
    CompactValues = 13,
    /// The key with which a server packs answers, seeded.
    PackingKey = 14,
    /// Answers in the slots of few GLWE ciphertexts, for decryption only.
    PackedList = 15,
    /// Bodies of linear functions of uploaded codes, with the uploads' seeds in place of the masks.
    LinearBodies = 16,
    /// Answers under the small key, cut to the bits that decryption needs.
    CutLweList = 17,
    /// The same as [`LinearBodies`](Self::LinearBodies), of uploads some of which are under keys that devices have of their own.
    DeviceBodies = 18,
}

impl Kind {
    pub(super) fn from_u8(byte: u8) -> Option<Self> {
        Some(match byte {
            1 => Self::Metadata,
            2 => Self::SeededGlweList,
            3 => Self::LweList,
            4 => Self::SecretKey,
            5 => Self::DeviceKey,
            6 => Self::ServerKey,
            7 => Self::DevicePublicKey,
            8 => Self::GlweList,
            9 => Self::DeviceSwitchKey,
            10 => Self::Card,
            11 => Self::SeededColumnList,
            12 => Self::ColumnList,
            13 => Self::CompactValues,
            14 => Self::PackingKey,
            15 => Self::PackedList,
            16 => Self::LinearBodies,
            17 => Self::CutLweList,
            18 => Self::DeviceBodies,
            _ => return None,
        })
    }

    /// Returns whether messages of this kind are secret.
    pub(super) const fn is_secret(self) -> bool {
        matches!(self, Self::SecretKey | Self::DeviceKey)
    }

    pub(super) const fn flags(self) -> u8 {
        match self {
            Self::SeededGlweList
            | Self::SeededColumnList
            | Self::ServerKey
            | Self::DevicePublicKey
            | Self::DeviceSwitchKey
            | Self::PackingKey => FLAG_SEEDED,
            _ => 0,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Metadata => "metadata message",
            Self::SeededGlweList => "seeded GLWE ciphertext list",
            Self::LweList => "LWE ciphertext list",
            Self::SecretKey => "secret key",
            Self::DeviceKey => "device key",
            Self::ServerKey => "server key",
            Self::DevicePublicKey => "device public key",
            Self::GlweList => "GLWE ciphertext list",
            Self::DeviceSwitchKey => "device switch key",
            Self::Card => "card",
            Self::SeededColumnList => "seeded column list",
            Self::ColumnList => "column list",
            Self::CompactValues => "list of compact codes",
            Self::PackingKey => "packing key",
            Self::PackedList => "list of packed answers",
            Self::LinearBodies => "list of bodies of linear answers",
            Self::CutLweList => "list of cut answers",
            Self::DeviceBodies => "list of bodies of linear answers under devices' keys",
        })
    }
}
