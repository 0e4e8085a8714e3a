//! The messages of `firmware/same-bytes`, made in Rust: the same keys, seeds and plaintexts, one
//! line for each key, kind of session and memory plan.
//!
//! Given the name of a folder, it writes the keys there instead: all of them as C arrays in
//! `keys.h`, those of CKKS in `ckks_keys.h`, those for the C firmware in `device_key.h` and
//! `secret_key.h`, and one as the file `device.tsbc`.

mod ckks;

use std::error::Error;
use std::path::Path;

use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameter_sets::{BOOLEAN_1024, BOOLEAN_1024_TUNIFORM, MESSAGE_2_CARRY_2};
use tfhe_sbc_core::parameters::ParameterSet;
use tfhe_sbc_core::workspace::HeapWorkspace;
use tfhe_sbc_device::{
    encode_readings, workspace_bytes, BodyRounding, ColumnValues, CompactEncoding, Derivation,
    DeviceError, Encryptor, EntropyError, EntropySource, ExpanderKind, FixedPoint, KeyMode,
    MemoryPlan, PlaintextKind, PublicEncryptor, ReseedPolicy, Seed, SeedSequence, Session,
    SessionMode,
};

const SETS: [ParameterSet; 3] = [BOOLEAN_1024, BOOLEAN_1024_TUNIFORM, MESSAGE_2_CARRY_2];
const BITS: usize = 1024;
const READINGS: usize = 100;
const READING_BITS: u32 = 10;

fn main() -> Result<(), Box<dyn Error>> {
    if let Some(folder) = std::env::args_os().nth(1) {
        return write_keys(Path::new(&folder));
    }
    for set in SETS {
        let keys = Keys::new(set)?;
        for mode in [KeyMode::Symmetric, KeyMode::Public] {
            for plan in MemoryPlan::ALL {
                let line = match set.torus_bits {
                    32 => keys.run::<u32>(mode, plan, Content::Plaintexts)?,
                    _ => keys.run::<u64>(mode, plan, Content::Plaintexts)?,
                };
                println!("{line}");
            }
        }
    }
    let keys = Keys::new(MESSAGE_2_CARRY_2)?;
    for mode in [KeyMode::Symmetric, KeyMode::Public] {
        for plan in MemoryPlan::ALL {
            println!("{}", keys.run::<u64>(mode, plan, Content::Columns)?);
        }
    }
    ckks::run()
}

/// The content that a session encrypts.
#[derive(Clone, Copy)]
enum Content {
    /// Bits or blocks.
    Plaintexts,
    /// Columns of all encodings, with squares and flags.
    Columns,
}

/// The key files of a device, which are known to everybody.
struct Keys {
    set: ParameterSet,
    device: Vec<u8>,
    public: Vec<u8>,
}

impl Keys {
    fn new(set: ParameterSet) -> Result<Self, Box<dyn Error>> {
        let mut seeds = SeedSequence::new(Seed::from_bytes([0x6b; 32]));
        let secret = SecretKey::generate(set.validate()?, &mut seeds)?;
        Ok(Self {
            set,
            device: secret.device_key().to_bytes()?.to_vec(),
            public: secret.device_public_key(&mut seeds)?.to_bytes()?,
        })
    }

    fn run<T: ProductTorus>(
        &self,
        mode: KeyMode,
        plan: MemoryPlan,
        content: Content,
    ) -> Result<String, DeviceError> {
        let mut workspace = HeapWorkspace::new(workspace_bytes(&self.set, plan, mode));
        let workspace = workspace.as_mut_slice();
        let seeds = SeedSequence::with_reseeding(entropy(), ReseedPolicy::default())?;
        let expander = ExpanderKind::ChaCha20;
        let (name, (len, hash)) = match mode {
            KeyMode::Symmetric => {
                let session =
                    Encryptor::<T, _>::new(&self.device, plan, expander, seeds, workspace);
                ("device", two_messages(session?, content)?)
            }
            KeyMode::Public => {
                let session =
                    PublicEncryptor::<T, _>::new(&self.public, plan, expander, seeds, workspace);
                ("public", two_messages(session?, content)?)
            }
        };
        let suffix = match content {
            Content::Plaintexts => "",
            Content::Columns => "-columns",
        };
        Ok(format!(
            "{} {name}{suffix} {plan} {len} {hash:016x}",
            self.set.name.as_str()
        ))
    }
}

/// The bytes of a message, and their FNV-1a hash.
struct Sent(usize, u64);

impl Sent {
    fn new() -> Self {
        Self(0, 0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, piece: &[u8]) {
        self.0 += piece.len();
        for &byte in piece {
            self.1 = (self.1 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// Returns the bytes of two messages of a session, and their hash.
fn two_messages<T: ProductTorus, K: SessionMode<T>, S: EntropySource>(
    mut session: Session<'_, T, K, S>,
    content: Content,
) -> Result<(usize, u64), DeviceError> {
    let mut sent = Sent::new();
    let mut sink = |piece: &[u8]| {
        sent.add(piece);
        Ok(())
    };
    match (content, session.parameters().plaintext()) {
        (Content::Columns, _) => {
            let columns = TestColumns::new();
            let columns = columns.values();
            session.encrypt_columns_to(&columns, &mut sink)?;
            session.encrypt_columns_to(&columns, &mut sink)?;
        }
        (Content::Plaintexts, PlaintextKind::Boolean) => {
            let bits: Vec<u8> = (0..BITS).map(|i| (i * i / 5 % 2) as u8).collect();
            session.encrypt_bits_to(&bits, &mut sink)?;
            session.encrypt_bits_to(&bits, &mut sink)?;
        }
        (Content::Plaintexts, PlaintextKind::Radix) => {
            let encoding = session.parameters().block_encoding();
            let codes =
                FixedPoint::new(0.0, 1.0, READING_BITS).map_err(|_| DeviceError::PlaintextKind)?;
            let readings: Vec<f64> = (0..READINGS)
                .map(|i| ((i * 37 + 11) % 1024) as f64)
                .collect();
            let mut blocks = vec![0; READINGS * encoding.block_count(READING_BITS)];
            encode_readings(encoding, &codes, &readings, &mut blocks)?;
            session.encrypt_blocks_to(&blocks, &mut sink)?;
            session.encrypt_blocks_to(&blocks, &mut sink)?;
        }
    }
    Ok((sent.0, sent.1))
}

/// The values of columns of all encodings, some with squares and flags, in several polynomials.
struct TestColumns {
    codes: Vec<u64>,
    blocks: Vec<u8>,
    readings: Vec<f64>,
}

impl TestColumns {
    fn new() -> Self {
        Self {
            codes: (0..700).map(|i| (i * 37 + 11) % 4096).collect(),
            blocks: (0..BITS).map(|i| (i * i / 5 % 4) as u8).collect(),
            readings: (0..20).map(|i| f64::from(i * 37 % 90) - 40.0).collect(),
        }
    }

    fn values(&self) -> [ColumnValues<'_>; 9] {
        let means = |bits, body_bits| {
            let encoding = CompactEncoding::new(bits, 14, body_bits, BodyRounding::ErrorFeedback);
            encoding.expect("an encoding")
        };
        let alarms = CompactEncoding::new(12, 1, 18, BodyRounding::Nearest);
        let celsius = FixedPoint::new(-40.0, 0.1, READING_BITS).expect("an encoding");
        let of_codes =
            |form, derivation| ColumnValues::DerivedCodes(form, derivation, 12, &self.codes);
        let (square, flag) = (means(24, 45), means(1, 21));
        let flag_of_readings =
            |first| ColumnValues::Derived(flag, Derivation::From(first), celsius, &self.readings);
        [
            ColumnValues::Codes(means(12, 29), &self.codes),
            of_codes(square, Derivation::Square),
            of_codes(flag, Derivation::From(1)),
            of_codes(flag, Derivation::From(500)),
            ColumnValues::Blocks(&self.blocks),
            ColumnValues::Readings(means(READING_BITS, 29), celsius, &self.readings),
            flag_of_readings(500),
            flag_of_readings(1023),
            ColumnValues::Codes(alarms.expect("an encoding"), &self.codes),
        ]
    }
}

/// A source of bytes that are known to everybody, of SplitMix64: the same in every session.
fn entropy() -> impl FnMut(&mut [u8]) -> Result<(), EntropyError> {
    let mut state = 0x5eedu64;
    move |out| {
        for byte in out {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut word = state;
            word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            *byte = (word ^ (word >> 31)) as u8;
        }
        Ok(())
    }
}

fn write_keys(folder: &Path) -> Result<(), Box<dyn Error>> {
    let mut text = String::new();
    for set in SETS {
        let keys = Keys::new(set)?;
        let name = set.name.as_str();
        text += &in_c(&format!("{name}_device"), &keys.device);
        text += &in_c(&format!("{name}_public"), &keys.public);
    }
    std::fs::write(folder.join("keys.h"), text)?;
    std::fs::write(folder.join("ckks_keys.h"), ckks::keys_in_c()?)?;
    let secret = in_c("secret_key", ckks::SECRET_KEY);
    std::fs::write(folder.join("secret_key.h"), secret)?;
    let board = Keys::new(BOOLEAN_1024)?.device;
    std::fs::write(folder.join("device_key.h"), in_c("device_key", &board))?;
    std::fs::write(
        folder.join("device.tsbc"),
        Keys::new(MESSAGE_2_CARRY_2)?.device,
    )?;
    Ok(())
}

/// Returns bytes as an array of C.
fn in_c(name: &str, bytes: &[u8]) -> String {
    let mut text = format!("#include <stdint.h>\nstatic const uint8_t {name}[] = {{");
    for (index, byte) in bytes.iter().enumerate() {
        text += if index % 16 == 0 { "\n    " } else { " " };
        text += &format!("{byte},");
    }
    text + "\n};\n"
}
