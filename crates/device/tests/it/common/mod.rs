//! A device and the key owner who reads what it sends.

#[path = "../../../../core/tests/common/mod.rs"]
pub(crate) mod frozen;

use std::marker::PhantomData;

use tfhe_sbc_core::encoding::boolean;
use tfhe_sbc_core::glwe::{GlweCiphertext, GlweSecretKey, PreparedGlweSecretKey};
use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameters::{GlweSecret, ParameterSet, Parameters, PlaintextKind};
use tfhe_sbc_core::wire::Message;
use tfhe_sbc_core::wire::glwe::UploadedGlweList;
use tfhe_sbc_core::workspace::HeapWorkspace;
use tfhe_sbc_device::{
    ColumnValues, DeviceError, Encryptor, ExpanderKind, KeyMode, MemoryPlan, PublicEncryptor,
    Session, SessionMode, SinkError, workspace_bytes,
};

/// The frozen sets with public-key uploads, masks and bodies in full.
pub(crate) const PUBLIC_RADIX: ParameterSet = ParameterSet {
    body_bits: 64,
    public_key_mask_bits: 64,
    ..frozen::FROZEN_RADIX
};
pub(crate) const PUBLIC_BOOLEAN: ParameterSet = ParameterSet {
    body_bits: 32,
    public_key_mask_bits: 32,
    ..frozen::FROZEN_BOOLEAN
};

pub(crate) const PUBLIC_TERNARY: ParameterSet = ParameterSet {
    glwe_secret: GlweSecret::Ternary,
    ..PUBLIC_BOOLEAN
};

/// A device's key file and workspace, and the key that reads what it encrypts.
pub(crate) struct Device<T> {
    pub(crate) secret: SecretKey,
    pub(crate) key_file: Vec<u8>,
    pub(crate) public_key_file: Vec<u8>,
    plan: MemoryPlan,
    workspace: HeapWorkspace,
    public_workspace: HeapWorkspace,
    torus: PhantomData<T>,
}

impl<T: ProductTorus> Device<T> {
    /// A device with a key set of known seed and the recommended plan.
    pub(crate) fn new(set: ParameterSet, seed: u8) -> Self {
        Self::with_plan(set, seed, MemoryPlan::recommended())
    }

    /// A device with a key set of known seed. Its workspace has just the bytes that the
    /// plan wants, none of them zero.
    pub(crate) fn with_plan(set: ParameterSet, seed: u8, plan: MemoryPlan) -> Self {
        let secret = frozen::secret_key(set, seed);
        let workspace = |mode| {
            let mut workspace = HeapWorkspace::new(workspace_bytes(&set, plan, mode));
            workspace.as_mut_slice().fill(0xff);
            workspace
        };
        let public_key = secret.device_public_key(&mut frozen::seeds(seed ^ 0x80));
        Self {
            key_file: secret.device_key().to_bytes().unwrap().to_vec(),
            public_key_file: public_key.unwrap().to_bytes().unwrap(),
            secret,
            plan,
            workspace: workspace(KeyMode::Symmetric),
            public_workspace: workspace(KeyMode::Public),
            torus: PhantomData,
        }
    }

    /// A session of known seed.
    pub(crate) fn session(&mut self, expander: ExpanderKind, seed: u8) -> Encryptor<'_, T> {
        Encryptor::new(
            &self.key_file,
            self.plan,
            expander,
            frozen::seeds(seed),
            self.workspace.as_mut_slice(),
        )
        .unwrap()
    }

    /// A public-key session of known seed.
    pub(crate) fn public_session(
        &mut self,
        expander: ExpanderKind,
        seed: u8,
    ) -> PublicEncryptor<'_, T> {
        PublicEncryptor::new(
            &self.public_key_file,
            self.plan,
            expander,
            frozen::seeds(seed),
            self.public_workspace.as_mut_slice(),
        )
        .unwrap()
    }

    /// The workspace of a mode, without a session.
    pub(crate) fn workspace(&mut self, mode: KeyMode) -> &mut [u8] {
        match mode {
            KeyMode::Symmetric => self.workspace.as_mut_slice(),
            KeyMode::Public => self.public_workspace.as_mut_slice(),
        }
    }

    /// The message of these plaintexts in a new session of a mode.
    pub(crate) fn send_in(
        &mut self,
        mode: KeyMode,
        expander: ExpanderKind,
        seed: u8,
        values: &[u8],
    ) -> Vec<u8> {
        match mode {
            KeyMode::Symmetric => send(&mut self.session(expander, seed), values),
            KeyMode::Public => send(&mut self.public_session(expander, seed), values),
        }
    }

    /// The message of these plaintexts in a new session.
    pub(crate) fn send(&mut self, expander: ExpanderKind, seed: u8, values: &[u8]) -> Vec<u8> {
        self.send_in(KeyMode::Symmetric, expander, seed, values)
    }

    /// Reads a message with the right key.
    pub(crate) fn open(&self, message: &[u8]) -> Opened<T> {
        Opened::new(message, &self.secret, self.secret.glwe())
    }
}

/// The plaintexts' message, blocks or bits as the parameter set wants.
pub(crate) fn send<T: ProductTorus, K: SessionMode<T>>(
    encryptor: &mut Session<'_, T, K>,
    values: &[u8],
) -> Vec<u8> {
    let mut out = vec![0x5a; encryptor.message_len(values.len()) + 3];
    let written = encrypt(encryptor, values, &mut out).unwrap();
    assert_eq!(out[written..], [0x5a; 3], "wrote behind the message");
    out.truncate(written);
    out
}

/// The message of columns.
pub(crate) fn send_columns<K: SessionMode<u64>>(
    session: &mut Session<'_, u64, K>,
    columns: &[ColumnValues<'_>],
) -> Vec<u8> {
    let mut message = vec![0; session.columns_message_len(columns)];
    let written = session.encrypt_columns(columns, &mut message);
    assert_eq!(written, Ok(message.len()));
    message
}

/// Blocks or bits, as the parameter set wants.
pub(crate) fn encrypt<T: ProductTorus, K: SessionMode<T>>(
    encryptor: &mut Session<'_, T, K>,
    values: &[u8],
    out: &mut [u8],
) -> Result<usize, DeviceError> {
    match encryptor.parameters().plaintext() {
        PlaintextKind::Radix => encryptor.encrypt_blocks(values, out),
        PlaintextKind::Boolean => encryptor.encrypt_bits(values, out),
    }
}

/// Blocks or bits piece by piece, as the parameter set wants.
pub(crate) fn stream<T: ProductTorus, K: SessionMode<T>>(
    encryptor: &mut Session<'_, T, K>,
    values: &[u8],
    sink: &mut dyn FnMut(&[u8]) -> Result<(), SinkError>,
) -> Result<usize, DeviceError> {
    match encryptor.parameters().plaintext() {
        PlaintextKind::Radix => encryptor.encrypt_blocks_to(values, sink),
        PlaintextKind::Boolean => encryptor.encrypt_bits_to(values, sink),
    }
}

/// An expanded message and the phases of its plaintexts under some key.
pub(crate) struct Opened<T> {
    pub(crate) parameters: Parameters,
    pub(crate) ciphertexts: Vec<GlweCiphertext<T>>,
    pub(crate) phases: Vec<T>,
}

impl<T: ProductTorus> Opened<T> {
    /// Parses and expands a message of `owner`'s device, and decrypts it with `key`.
    pub(crate) fn new(message: &[u8], owner: &SecretKey, key: &GlweSecretKey) -> Self {
        let parameters = *owner.parameters();
        let (message, rest) = Message::parse(message).unwrap();
        assert!(rest.is_empty());
        let list = UploadedGlweList::check(message, &parameters, owner.fingerprint()).unwrap();
        let prepared: PreparedGlweSecretKey = key.prepare();
        let (mut ciphertexts, mut phases) = (Vec::new(), Vec::new());
        while let Some(ciphertext) = list.ciphertext(ciphertexts.len()) {
            let used =
                (list.element_count() - phases.len()).min(ciphertext.polynomial_size().get());
            phases.extend_from_slice(&prepared.phase(&ciphertext)[..used]);
            ciphertexts.push(ciphertext);
        }
        assert_eq!(phases.len(), list.element_count());
        Self {
            parameters,
            ciphertexts,
            phases,
        }
    }

    /// The plaintexts nearest to the phases.
    pub(crate) fn values(&self) -> Vec<u8> {
        let encoding = self.parameters.block_encoding();
        self.phases
            .iter()
            .map(|&phase| match self.parameters.plaintext() {
                PlaintextKind::Radix => encoding.decode(phase) as u8,
                PlaintextKind::Boolean => u8::from(boolean::decode(phase)),
            })
            .collect()
    }

    /// Returns the phases less the plaintexts, in steps of the torus.
    pub(crate) fn noises(&self, values: &[u8]) -> Vec<f64> {
        assert_eq!(values.len(), self.phases.len());
        self.phases
            .iter()
            .zip(values)
            .map(|(&phase, &value)| {
                let plaintext = plaintext::<T>(&self.parameters, value);
                phase.sub(plaintext).to_i64() as f64
            })
            .collect()
    }

    /// All mask scalars, ciphertext after ciphertext.
    pub(crate) fn masks(&self) -> impl Iterator<Item = T> {
        let size = self.parameters.polynomial_size().get();
        self.ciphertexts.iter().flat_map(move |ciphertext| {
            let words = ciphertext.as_slice();
            words[..words.len() - size].iter().copied()
        })
    }

    /// The body scalars that were sent.
    pub(crate) fn bodies(&self) -> impl Iterator<Item = T> {
        let size = self.parameters.polynomial_size().get();
        self.ciphertexts
            .iter()
            .flat_map(move |ciphertext| {
                let words = ciphertext.as_slice();
                words[words.len() - size..].iter().copied()
            })
            .take(self.phases.len())
    }
}

/// The torus element of a plaintext.
pub(crate) fn plaintext<T: ProductTorus>(parameters: &Parameters, value: u8) -> T {
    match parameters.plaintext() {
        PlaintextKind::Radix => parameters.block_encoding().encode(i64::from(value)),
        PlaintextKind::Boolean => boolean::encode(value == 1),
    }
}

/// Plaintexts that take all values of the parameter set, in no regular order.
pub(crate) fn varied_values(parameters: &ParameterSet, count: usize) -> Vec<u8> {
    let modulus = parameters.message_bits.modulus() as usize;
    (0..count)
        .map(|i| ((i * i + i / 7 + i / 64) % modulus) as u8)
        .collect()
}

/// Pearson's chi-square of counts against equal expectations, as a distance from its
/// mean in standard deviations.
pub(crate) fn chi_square_score(counts: &[u64], freedom: usize) -> f64 {
    let mean = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    assert!(mean > 20.0, "too few samples for a chi-square");
    let statistic: f64 = counts
        .iter()
        .map(|&count| (count as f64 - mean).powi(2) / mean)
        .sum();
    (statistic - freedom as f64) / (2.0 * freedom as f64).sqrt()
}
