//! 1024 readings for a server with TFHE-rs: the time on the device and the bytes sent, beside
//! those of TFHE-rs's own client under the same key.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use tfhe_sbc_core::keys::DeviceKey;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::random::{ExpanderKind, Seed, SeedSequence};
use tfhe_sbc_core::wire::Message;
use tfhe_sbc_core::wire::glwe::UploadedGlweList;
use tfhe_sbc_core::workspace::HeapWorkspace;
use tfhe_sbc_device::{
    Encryptor, KeyMode, MemoryPlan, PublicEncryptor, Session, SessionMode, workspace_bytes,
};
use tfhe_sbc_foreign::tfhe_rs::client_key::read_client_key;
use tfhe_sbc_oracle::adopted::adopt;

use super::client::{CLIENT_KEY, READINGS, Sent, TheirForm, reading};
#[cfg(not(feature = "tfhe-rs"))]
use super::no_peer as peer;
#[cfg(feature = "tfhe-rs")]
use super::tfhe_rs as peer;
use crate::error::BenchError;
use crate::report::{Row, Unit};
use crate::timing::{Subject, Work, interleave};

/// The widths of the readings in bits.
const WIDTHS: [u32; 2] = [8, 32];
const SEED: [u8; 32] = *b"tfhe-sbc-bench: not for secrets!";

/// All rows, of both sides on one thread.
pub(super) fn rows(budget: Duration) -> Result<Vec<Row>, BenchError> {
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    one_thread.install(|| measure(budget))
}

fn measure(budget: Duration) -> Result<Vec<Row>, BenchError> {
    let theirs = read_client_key(CLIENT_KEY)?;
    let key = DeviceKey::import(adopt(&theirs.parameters)?, theirs.glwe)
        .ok_or(BenchError::WrongAnswer("the import of a key".to_owned()))?;
    let peer = peer::client()?;
    let modes = [
        (KeyMode::Symmetric, ExpanderKind::Aes128Ctr),
        (KeyMode::Symmetric, ExpanderKind::Aes128CtrLe),
        (KeyMode::Symmetric, ExpanderKind::ChaCha20),
        (KeyMode::Public, ExpanderKind::Aes128Ctr),
        (KeyMode::Public, ExpanderKind::ChaCha20),
    ];
    let each = budget / (WIDTHS.len() * (modes.len() + 1)) as u32;
    let mut rows = Vec::new();
    for bits in WIDTHS {
        for (mode, expander) in modes {
            let device = Device::new(&key, mode, bits)?;
            let mut workspace =
                HeapWorkspace::new(workspace_bytes(device.parameters.as_set(), PLAN, mode));
            let (mut ours, bytes) = device.subject(expander, workspace.as_mut_slice())?;
            let name = format!(
                "tfhe_rs_1024x{bits}_{}_{}",
                mode_name(mode),
                expander.name()
            );
            // One expander stands for the others beside the peer.
            let forms: &[TheirForm] = match (mode, expander) {
                (KeyMode::Symmetric, ExpanderKind::Aes128Ctr) => {
                    &[TheirForm::Expanded, TheirForm::Compressed]
                }
                (KeyMode::Public, ExpanderKind::Aes128Ctr) => &[TheirForm::Compact],
                _ => &[],
            };
            let theirs: Vec<Box<dyn Sent + '_>> = forms
                .iter()
                .filter_map(|&form| peer.as_ref()?.subject(form, bits).transpose())
                .collect::<Result<_, BenchError>>()?;
            if theirs.is_empty() {
                let [time] = interleave([(&mut *ours, 1)], each)?;
                rows.push(Row::times(&name, time, None, 1, "encrypted, ready to send"));
                let size =
                    Row::figures(format!("{name}_bytes"), Unit::Bytes, bytes as f64, None, "");
                rows.push(size);
            }
            for mut peer in theirs {
                let note = format!("beside TFHE-rs's {}", peer.name());
                let row = format!("{name}_beside_{}", peer.name());
                let [time, peer_time] = interleave([(&mut *ours, 1), (peer.subject(), 1)], each)?;
                rows.push(Row::times(&row, time, Some(peer_time), 1, &note));
                let peer_bytes = Some(peer.bytes() as f64);
                let row = format!("{row}_bytes");
                rows.push(Row::figures(
                    row,
                    Unit::Bytes,
                    bytes as f64,
                    peer_bytes,
                    note,
                ));
            }
        }
    }
    Ok(rows)
}

const PLAN: MemoryPlan = MemoryPlan::Fast;

const fn mode_name(mode: KeyMode) -> &'static str {
    match mode {
        KeyMode::Symmetric => "device_key",
        KeyMode::Public => "public_key",
    }
}

/// A board's key and the readings that it encrypts.
struct Device<'k> {
    key: &'k DeviceKey,
    parameters: Parameters,
    mode: KeyMode,
    bytes: Vec<u8>,
    blocks: Vec<u8>,
}

impl<'k> Device<'k> {
    fn new(key: &'k DeviceKey, mode: KeyMode, bits: u32) -> Result<Self, BenchError> {
        let parameters = *key.parameters();
        let encoding = parameters.block_encoding();
        let each = encoding.block_count(bits);
        let mut blocks = vec![0; READINGS * each];
        for (index, blocks) in blocks.chunks_exact_mut(each).enumerate() {
            encoding.split(reading(index, bits), blocks)?;
        }
        let bytes = match mode {
            KeyMode::Symmetric => key.to_bytes()?.to_vec(),
            KeyMode::Public => key.public_key(&mut seeds())?.to_bytes()?,
        };
        Ok(Self {
            key,
            parameters,
            mode,
            bytes,
            blocks,
        })
    }

    /// The timed work, and the bytes that are sent.
    fn subject<'s>(
        &'s self,
        expander: ExpanderKind,
        workspace: &'s mut [u8],
    ) -> Result<(Box<dyn Subject + 's>, usize), BenchError> {
        let key = &self.bytes;
        match self.mode {
            KeyMode::Symmetric => {
                Encryptor::new(key, PLAN, expander, seeds(), workspace).map(|s| self.timed(s))
            }
            KeyMode::Public => {
                PublicEncryptor::new(key, PLAN, expander, seeds(), workspace).map(|s| self.timed(s))
            }
        }
        .map_err(BenchError::from)
    }

    fn timed<'s, K: SessionMode<u64> + 's>(
        &'s self,
        mut session: Session<'s, u64, K>,
    ) -> (Box<dyn Subject + 's>, usize) {
        let len = session.message_len(self.blocks.len());
        let message = Rc::new(RefCell::new(vec![0; len]));
        let encrypted = Rc::clone(&message);
        let work = Work {
            name: "the device library".to_owned(),
            run: move || {
                session.encrypt_blocks(&self.blocks, &mut message.borrow_mut())?;
                Ok(())
            },
            check: move |()| self.is_right(&encrypted.borrow()),
        };
        (Box::new(work), len)
    }

    /// Returns whether a message decrypts to the readings.
    fn is_right(&self, message: &[u8]) -> Result<bool, BenchError> {
        let (message, _) = Message::parse(message)?;
        let list = UploadedGlweList::check(message, &self.parameters, self.key.fingerprint())?;
        let lwe_key = self.key.glwe().to_lwe_secret_key();
        let size = self.parameters.polynomial_size().get();
        let encoding = self.parameters.block_encoding();
        // A block of every ciphertext, and the last one.
        let places = (0..self.blocks.len())
            .step_by(size)
            .chain([self.blocks.len() - 1]);
        Ok(places.into_iter().all(|place| {
            list.ciphertext::<u64>(place / size).is_some_and(|glwe| {
                let lwe = glwe.sample_extract(place % size);
                encoding.decode(lwe_key.phase(&lwe)) == u64::from(self.blocks[place])
            })
        }))
    }
}

fn seeds() -> SeedSequence {
    SeedSequence::new(Seed::from_bytes(SEED))
}
