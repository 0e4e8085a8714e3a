//! The values that functions return: numbers that never change their meaning, each with a line of
//! text.

use core::ffi::c_char;

use tfhe_sbc_device::{DeviceError, EntropyError, ReadingError, WireError, WorkspaceError};

/// The result of a function: 0, or the reason why it did nothing. Numbers keep their meaning from
/// version to version; new ones may be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum Status {
    /// The function has done its work.
    Ok = 0,
    /// A pointer or a callback is NULL.
    Null = -1,
    /// A pointer is not aligned for its type, or the workspace not to 8 bytes.
    Misaligned = -2,
    /// Memory that is written overlaps other memory that the function uses.
    Overlap = -3,
    /// A length is larger than any memory.
    Length = -4,
    /// The encryptor holds no session: it was never started, has been wiped, or is a copy.
    NotInitialised = -5,
    /// The encryptor holds a session: wipe it first.
    AlreadyInitialised = -6,
    /// The encryptor is used from within a callback of its own.
    Busy = -7,
    /// The memory plan does not exist.
    UnknownPlan = -8,
    /// The memory plan is not part of this build.
    PlanNotBuilt = -9,
    /// The expander or generator does not exist or is not part of this build.
    Expander = -10,
    /// The workspace is too small.
    WorkspaceTooSmall = -11,
    /// The output buffer is too small.
    OutputTooSmall = -12,
    /// The bytes are not a key file of the kind that is read.
    KeyFormat = -13,
    /// The key file is of a version that this build does not know.
    KeyVersion = -14,
    /// The key file was changed or cut short in transfer.
    KeyDamaged = -15,
    /// The key file is of another kind: a device key, or a device public key, is needed.
    KeyKind = -16,
    /// The key's parameters are not usable in this build, or differ from those that were given.
    KeyParameters = -17,
    /// The key's parameter set has no public-key uploads.
    NoPublicKeyUploads = -18,
    /// The entropy callback returned an error.
    EntropyFailed = -19,
    /// The entropy callback gave bytes that are not random: is the generator switched on?
    EntropyWeak = -20,
    /// The sink returned an error. The bytes that it took are an incomplete message.
    SinkFailed = -21,
    /// The key's parameter set encodes blocks, not bits, or the other way round.
    PlaintextKind = -22,
    /// There are no plaintexts, or too many for one message.
    ElementCount = -23,
    /// A bit is not 0 or 1, or a block is not below the message modulus.
    BlockOutOfRange = -24,
    /// A reading or code is outside the declared range.
    ReadingOutOfRange = -25,
    /// A reading or value is not a finite number.
    ReadingNotFinite = -26,
    /// Offset, scale or bits of a fixed-point encoding are not usable.
    Encoding = -27,
    /// The columns or rows cannot be those of an upload: none, too many, or a text that is too long.
    Description = -28,
    /// The ciphertext format does not exist, or is a seeded one under a public key.
    Format = -29,
    /// The polynomial size or the primes are not usable, or not secure.
    Parameters = -30,
    /// The scale is not a positive number.
    Scale = -31,
    /// The values are too large for the primes at this scale.
    TooLarge = -32,
    /// A key of SEAL's is compressed or seeded.
    KeyCompressed = -33,
    /// Headroom and body bits of a compact column are not usable, or the column holds radix blocks.
    Compact = -34,
    /// There are no columns, or too many for one message.
    ColumnCount = -35,
    /// What is derived from a column is not usable: the column is not compact, or the codes of its flags do not
    /// increase or do not divide its codes.
    Derived = -36,
    /// The session was copied by `fork()`: the parent process goes on with it, and this process starts its own.
    Forked = -37,
    /// Another error, which a later version may give a number of its own.
    Other = -128,
}

impl Status {
    /// Returns the number that C programs get.
    pub(crate) fn of(result: Result<(), Self>) -> i32 {
        result.err().unwrap_or(Self::Ok) as i32
    }

    /// Returns a line of text about the status, terminated by a zero byte.
    const fn text(self) -> &'static str {
        match self {
            Self::Ok => "done\0",
            Self::Null => "a pointer or a callback is NULL\0",
            Self::Misaligned => {
                "a pointer is not aligned: workspaces to 8 bytes or, for speed, 64\0"
            }
            Self::Overlap => "memory that is written overlaps other memory in use\0",
            Self::Length => "a length is larger than any memory\0",
            Self::NotInitialised => {
                "the encryptor holds no session: start one, and do not copy it\0"
            }
            Self::AlreadyInitialised => "the encryptor holds a session: wipe it first\0",
            Self::Busy => "the encryptor is used from within its own callback\0",
            Self::UnknownPlan => "there is no such memory plan\0",
            Self::PlanNotBuilt => "this build leaves the memory plan out\0",
            Self::Expander => "there is no such generator, or this build leaves it out\0",
            Self::WorkspaceTooSmall => "the workspace is too small\0",
            Self::OutputTooSmall => "the output buffer is too small\0",
            Self::KeyFormat => "these bytes are no key file\0",
            Self::KeyVersion => "the key file is of a version that is not known here\0",
            Self::KeyDamaged => "the key file is damaged or cut short: transfer it again\0",
            Self::KeyKind => "the key file is of another kind than is needed here\0",
            Self::KeyParameters => "the key file's parameters cannot be used\0",
            Self::NoPublicKeyUploads => "the parameter set has no public-key uploads\0",
            Self::EntropyFailed => "the source of entropy failed\0",
            Self::EntropyWeak => {
                "the source of entropy gives no random bytes: is the generator switched on?\0"
            }
            Self::SinkFailed => "the sink failed: the message was not sent to its end\0",
            Self::PlaintextKind => "the parameter set does not encode this kind of plaintext\0",
            Self::ElementCount => "no plaintexts, or too many for one message\0",
            Self::BlockOutOfRange => "a bit or block is out of range\0",
            Self::ReadingOutOfRange => "a reading is outside the declared range\0",
            Self::ReadingNotFinite => "a value is not a finite number\0",
            Self::Encoding => "the offset, scale or bits of the encoding cannot work\0",
            Self::Description => "columns or rows, or their texts, that no upload can have\0",
            Self::Format => "there is no such format, or not under this kind of key\0",
            Self::Parameters => "the polynomial size or the primes cannot be used\0",
            Self::Scale => "the scale is not a positive number\0",
            Self::TooLarge => "the values do not fit: take a smaller scale, or more primes\0",
            Self::KeyCompressed => {
                "the key is compressed or seeded: save it with compr_mode_type::none\0"
            }
            Self::Compact => {
                "the compact form cannot work: body bits above code and headroom, of at most 48 bits\0"
            }
            Self::ColumnCount => "no columns, or too many for one message\0",
            Self::Derived => {
                "squares or flags of a column that is not compact, or flags that do not increase\0"
            }
            Self::Forked => "the session belongs to the parent process: start one in this process\0",
            Self::Other => "something else went wrong\0",
        }
    }

    const ALL: [Self; 39] = [
        Self::Ok,
        Self::Null,
        Self::Misaligned,
        Self::Overlap,
        Self::Length,
        Self::NotInitialised,
        Self::AlreadyInitialised,
        Self::Busy,
        Self::UnknownPlan,
        Self::PlanNotBuilt,
        Self::Expander,
        Self::WorkspaceTooSmall,
        Self::OutputTooSmall,
        Self::KeyFormat,
        Self::KeyVersion,
        Self::KeyDamaged,
        Self::KeyKind,
        Self::KeyParameters,
        Self::NoPublicKeyUploads,
        Self::EntropyFailed,
        Self::EntropyWeak,
        Self::SinkFailed,
        Self::PlaintextKind,
        Self::ElementCount,
        Self::BlockOutOfRange,
        Self::ReadingOutOfRange,
        Self::ReadingNotFinite,
        Self::Encoding,
        Self::Description,
        Self::Format,
        Self::Parameters,
        Self::Scale,
        Self::TooLarge,
        Self::KeyCompressed,
        Self::Compact,
        Self::ColumnCount,
        Self::Derived,
        Self::Forked,
        Self::Other,
    ];
}

impl From<WireError> for Status {
    fn from(error: WireError) -> Self {
        match error {
            WireError::Magic => Self::KeyFormat,
            WireError::Version(_) | WireError::UnknownKind(_) | WireError::Flags(_) => {
                Self::KeyVersion
            }
            WireError::Expander(_) => Self::Expander,
            WireError::WrongKind { .. } => Self::KeyKind,
            WireError::Parameters(_) => Self::KeyParameters,
            WireError::BufferTooSmall { .. } => Self::OutputTooSmall,
            _ => Self::KeyDamaged,
        }
    }
}

impl From<EntropyError> for Status {
    fn from(error: EntropyError) -> Self {
        match error {
            EntropyError::Constant | EntropyError::Biased | EntropyError::Repeated => {
                Self::EntropyWeak
            }
            EntropyError::Forked => Self::Forked,
            _ => Self::EntropyFailed,
        }
    }
}

impl From<ReadingError> for Status {
    fn from(error: ReadingError) -> Self {
        match error {
            ReadingError::NotFinite => Self::ReadingNotFinite,
            ReadingError::OutOfRange { .. } => Self::ReadingOutOfRange,
        }
    }
}

impl From<DeviceError> for Status {
    fn from(error: DeviceError) -> Self {
        match error {
            DeviceError::Wire(error) => error.into(),
            DeviceError::Entropy(error) => error.into(),
            DeviceError::Workspace(WorkspaceError::TooSmall { .. }) => Self::WorkspaceTooSmall,
            DeviceError::Workspace(WorkspaceError::Misaligned) => Self::Misaligned,
            DeviceError::Sink(_) => Self::SinkFailed,
            DeviceError::PlanNotBuilt(_) => Self::PlanNotBuilt,
            DeviceError::Reading { error, .. } => error.into(),
            DeviceError::BlockBuffer { .. } => Self::OutputTooSmall,
            DeviceError::TorusBits(_) => Self::KeyParameters,
            DeviceError::PlaintextKind => Self::PlaintextKind,
            DeviceError::NoPublicKeyUploads => Self::NoPublicKeyUploads,
            DeviceError::BlockOutOfRange { .. } => Self::BlockOutOfRange,
            DeviceError::Description(_) => Self::Description,
            DeviceError::ElementCount(_) => Self::ElementCount,
            DeviceError::ColumnReading { error, .. } => error.into(),
            DeviceError::ColumnCount(_) => Self::ColumnCount,
            DeviceError::CodeWidth { .. } => Self::Compact,
            _ => Self::Other,
        }
    }
}

/// Returns the meaning of a return value, in a line of English without a full stop. Never NULL; the
/// text lives as long as the program.
#[no_mangle]
pub extern "C" fn tfhe_sbc_error_text(status: i32) -> *const c_char {
    let known = Status::ALL
        .iter()
        .find(|&&known| known as i32 == status)
        .map(|known| known.text());
    known.unwrap_or("an unknown error\0").as_ptr().cast()
}

/// Returns the version of the library, such as "0.1.0".
#[no_mangle]
pub extern "C" fn tfhe_sbc_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
