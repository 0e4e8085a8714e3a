//! A board that encrypts, and an owner that decrypts the board's messages.

use tfhe_sbc_core::encoding::boolean;
use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameters::{ParameterSet, Parameters, PlaintextKind};
use tfhe_sbc_core::random::{Seed, SeedSequence};
use tfhe_sbc_core::wire::Message;
use tfhe_sbc_core::wire::glwe::UploadedGlweList;
use tfhe_sbc_core::workspace::HeapWorkspace;
use tfhe_sbc_device::{
    Encryptor, ExpanderKind, KeyMode, MemoryPlan, PublicEncryptor, workspace_bytes,
};

use crate::error::BenchError;

/// The configuration of a board's encryption.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    /// The parameter set.
    pub(crate) set: ParameterSet,
    /// The kind of key.
    pub(crate) mode: KeyMode,
    /// The memory plan.
    pub(crate) plan: MemoryPlan,
    /// The generator of masks and noise.
    pub(crate) expander: ExpanderKind,
}

/// A board with its key, its workspace and room for a message.
pub(crate) struct Board<T: ProductTorus> {
    secret: SecretKey,
    session: Session<T>,
    state_bytes: usize,
    message: Vec<u8>,
    message_len: usize,
}

enum Session<T: ProductTorus> {
    Symmetric(Encryptor<'static, T>),
    Public(PublicEncryptor<'static, T>),
}

impl<T: ProductTorus> Board<T> {
    /// Makes keys, and a board that holds its own. From a fixed seed: nothing is kept
    /// secret with it. The workspace is never given back: a run makes a few dozen.
    pub(crate) fn new(setup: Setup) -> Result<Self, BenchError> {
        let Setup {
            set,
            mode,
            plan,
            expander,
        } = setup;
        let mut seeds = SeedSequence::new(Seed::from_bytes(*b"tfhe-sbc-bench: not for secrets!"));
        let secret = SecretKey::generate(set.validate()?, &mut seeds)?;
        let len = workspace_bytes(&set, plan, mode);
        let workspace = Box::leak(Box::new(HeapWorkspace::new(len))).as_mut_slice();
        let session_seeds = SeedSequence::new(Seed::from_bytes([expander.id(); 32]));
        let session = match mode {
            KeyMode::Symmetric => {
                let key = secret.device_key().to_bytes()?;
                Session::Symmetric(Encryptor::new(
                    &key,
                    plan,
                    expander,
                    session_seeds,
                    workspace,
                )?)
            }
            KeyMode::Public => {
                let key = secret.device_public_key(&mut seeds)?.to_bytes()?;
                Session::Public(PublicEncryptor::new(
                    key.leak(),
                    plan,
                    expander,
                    session_seeds,
                    workspace,
                )?)
            }
        };
        let session_bytes = match &session {
            Session::Symmetric(session) => size_of_val(session),
            Session::Public(session) => size_of_val(session),
        };
        Ok(Self {
            secret,
            session,
            state_bytes: len + session_bytes,
            message: Vec::new(),
            message_len: 0,
        })
    }

    /// The parameters.
    pub(crate) fn parameters(&self) -> &Parameters {
        self.secret.parameters()
    }

    /// The bytes of the workspace and of the encryptor itself.
    pub(crate) fn state_bytes(&self) -> usize {
        self.state_bytes
    }

    /// Blocks or bits, all values among them.
    pub(crate) fn values(&self, count: usize) -> Vec<u8> {
        let parameters = self.parameters();
        let modulus = match parameters.plaintext() {
            PlaintextKind::Boolean => 2,
            PlaintextKind::Radix => parameters.block_encoding().message_modulus(),
        };
        (0..count as u64)
            .map(|i| ((i + i / 7) % modulus) as u8)
            .collect()
    }

    /// Encrypts blocks or bits into the board's buffer, and gives the message's length.
    pub(crate) fn encrypt(&mut self, values: &[u8]) -> Result<usize, BenchError> {
        let plaintext = self.secret.parameters().plaintext();
        let needed = match &self.session {
            Session::Symmetric(session) => session.message_len(values.len()),
            Session::Public(session) => session.message_len(values.len()),
        };
        if self.message.len() < needed {
            self.message.resize(needed, 0);
        }
        let out = &mut self.message[..];
        self.message_len = match (&mut self.session, plaintext) {
            (Session::Symmetric(session), PlaintextKind::Boolean) => {
                session.encrypt_bits(values, out)?
            }
            (Session::Symmetric(session), PlaintextKind::Radix) => {
                session.encrypt_blocks(values, out)?
            }
            (Session::Public(session), PlaintextKind::Boolean) => {
                session.encrypt_bits(values, out)?
            }
            (Session::Public(session), PlaintextKind::Radix) => {
                session.encrypt_blocks(values, out)?
            }
        };
        Ok(self.message_len)
    }

    /// Decrypts the last message.
    pub(crate) fn decrypt(&self) -> Result<Vec<u8>, BenchError> {
        let parameters = self.parameters();
        let (message, _) = Message::parse(&self.message[..self.message_len])?;
        let list = UploadedGlweList::check(message, parameters, self.secret.fingerprint())?;
        let key = self.secret.glwe().prepare();
        let mut values = Vec::with_capacity(list.element_count());
        for index in 0.. {
            let Some(ciphertext) = list.ciphertext::<T>(index) else {
                break;
            };
            let phases = key.phase(&ciphertext);
            values.extend(phases.iter().map(|&phase| match parameters.plaintext() {
                PlaintextKind::Boolean => u8::from(boolean::decode(phase)),
                PlaintextKind::Radix => parameters.block_encoding().decode(phase) as u8,
            }));
        }
        values.truncate(list.element_count());
        Ok(values)
    }
}
