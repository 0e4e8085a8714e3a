//! Keys and conversions that the engine's tests share.

use std::sync::{Arc, Mutex, OnceLock};

use tfhe_sbc_core::device_issue::{DeviceId, DeviceIssue, Epoch};
use tfhe_sbc_core::dimensions::{CarryBits, GlweDimension, LweDimension, MessageBits};
use tfhe_sbc_core::glwe::GlweCiphertext;
use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::keys::{DeviceKey, SecretKey};
use tfhe_sbc_core::lwe::{LweCiphertext, LweSecretKey};
use tfhe_sbc_core::parameter_sets::{MESSAGE_1_CARRY_1, MESSAGE_2_CARRY_2, MESSAGE_3_CARRY_3};
use tfhe_sbc_core::parameters::{
    Decomposition, GlweSecret, ModulusSwitch, ParameterName, ParameterSet, Parameters,
    PlaintextKind,
};
use tfhe_sbc_core::random::{
    ExpanderKind, MaskSeed, NoiseDistribution, Seed, SeedSequence, fill_uniform,
};
use tfhe_sbc_engine::circuit::Circuit;
use tfhe_sbc_engine::gadget_product::GadgetProduct;
use tfhe_sbc_engine::glwe_key_switch::SeededDeviceSwitchKey;
use tfhe_sbc_engine::integer::FheBool;
use tfhe_sbc_engine::server_key::{SeededServerKey, ServerKey};

/// A key set of known seed, and a stream of fresh encryptions under its big key.
pub(crate) struct Keys {
    pub(crate) secret: Arc<SecretKey>,
    pub(crate) big: LweSecretKey,
    seeds: SeedSequence,
}

/// A small key dimension, where the small key does not matter.
pub(crate) const FEW: LweDimension = LweDimension(75);

/// A set small enough for slow comparisons, with noise so low that everything decrypts. It has no
/// security at all.
pub(crate) fn small_set(
    torus_bits: u32,
    glwe_dimension: usize,
    lwe_dimension: usize,
) -> ParameterSet {
    let quiet = NoiseDistribution::TUniform { bound_log2: 2 };
    ParameterSet {
        name: ParameterName::new("small"),
        torus_bits,
        lwe_dimension: LweDimension(lwe_dimension),
        lwe_block_size: 1,
        lwe_noise: quiet,
        glwe_dimension: GlweDimension(glwe_dimension),
        polynomial_size: 256,
        glwe_secret: GlweSecret::Binary,
        glwe_noise: quiet,
        pbs: Decomposition::new(8, 2),
        pbs_body: Decomposition::new(8, 2),
        key_switch: Decomposition::new(4, 4),
        message_bits: MessageBits(1),
        carry_bits: CarryBits(1),
        plaintext: PlaintextKind::Radix,
        max_noise_level: 3,
        modulus_switch: ModulusSwitch::MeanCompensated,
        body_bits: 16,
        public_key_mask_bits: 0,
        log2_p_fail: 0.0,
        security_bits: 0.0,
    }
}

impl Keys {
    pub(crate) fn generate<T: ProductTorus>(set: ParameterSet, seed: u8) -> (Self, ServerKey<T>) {
        let (seeded, keys) = Self::seeded(set, seed);
        (keys, seeded.prepare(&|_| ()))
    }

    pub(crate) fn seeded<T: ProductTorus>(
        set: ParameterSet,
        seed: u8,
    ) -> (SeededServerKey<T>, Self) {
        let parameters = set.validate().unwrap();
        let mut seeds = SeedSequence::new(Seed::from_bytes([seed; 32]));
        let secret = SecretKey::generate(parameters, &mut seeds).unwrap();
        let server = SeededServerKey::generate(&secret, &mut seeds, &|_| ()).unwrap();
        let keys = Self {
            big: secret.glwe().to_lwe_secret_key(),
            secret: Arc::new(secret),
            seeds,
        };
        (server, keys)
    }

    /// The key set of a shipped parameter set that all tests of this program share, with a stream of
    /// encryptions from `seed`. It is made once, by the first test that asks for it.
    pub(crate) fn shared(set: ParameterSet, seed: u8) -> (Self, Arc<ServerKey<u64>>) {
        type Shared = Arc<OnceLock<(Arc<SecretKey>, Arc<ServerKey<u64>>)>>;
        static SETS: Mutex<Vec<(ParameterSet, Shared)>> = Mutex::new(Vec::new());
        let shared = {
            let mut sets = SETS.lock().unwrap();
            let known = sets.iter().position(|(known, _)| *known == set);
            let at = known.unwrap_or_else(|| {
                sets.push((set, Shared::default()));
                sets.len() - 1
            });
            sets[at].1.clone()
        };
        let (secret, server) = shared.get_or_init(|| {
            let (keys, server) = Self::generate(set, 1);
            (keys.secret, Arc::new(server))
        });
        let keys = Self {
            big: secret.glwe().to_lwe_secret_key(),
            secret: secret.clone(),
            seeds: SeedSequence::new(Seed::from_bytes([seed; 32])),
        };
        (keys, server.clone())
    }

    /// A fresh encryption under the big key.
    pub(crate) fn encrypt<T: ProductTorus>(&mut self, plaintext: T) -> LweCiphertext<T> {
        let (mask, noise) = self.seeds.next_pair().unwrap();
        self.big.encrypt(
            plaintext,
            self.secret.parameters().glwe_noise(),
            &mut ExpanderKind::ChaCha20.mask_stream(&mask, 0),
            &mut ExpanderKind::ChaCha20.noise_stream(&noise, 0),
        )
    }

    /// A fresh encryption under the small key.
    pub(crate) fn encrypt_small(&mut self, plaintext: u32) -> LweCiphertext<u32> {
        let (mask, noise) = self.seeds.next_pair().unwrap();
        self.secret.lwe().encrypt(
            plaintext,
            self.secret.parameters().lwe_noise(),
            &mut ExpanderKind::ChaCha20.mask_stream(&mask, 0),
            &mut ExpanderKind::ChaCha20.noise_stream(&noise, 0),
        )
    }
}

/// A key set, the key of one of its devices, and the switch key between them.
pub(crate) fn device_switch<T: ProductTorus>(
    set: ParameterSet,
    seed: u8,
) -> (SecretKey, DeviceKey, SeededDeviceSwitchKey<T>) {
    let decomposition = set.validate().unwrap().device_switch();
    device_switch_with(set, seed, decomposition)
}

/// The same with any of the decompositions that key files have.
pub(crate) fn device_switch_with<T: ProductTorus>(
    set: ParameterSet,
    seed: u8,
    decomposition: Decomposition,
) -> (SecretKey, DeviceKey, SeededDeviceSwitchKey<T>) {
    let mut seeds = SeedSequence::new(Seed::from_bytes([seed; 32]));
    let secret = SecretKey::generate(set.validate().unwrap(), &mut seeds).unwrap();
    let issue = DeviceIssue {
        device: DeviceId::new("station-7"),
        epoch: Epoch::new(3).unwrap(),
    };
    let device = secret.issue_device_key(issue, &mut seeds).unwrap();
    let switch =
        SeededDeviceSwitchKey::generate_with(&secret, &device, decomposition, &mut seeds).unwrap();
    (secret, device, switch)
}

/// GLWE ciphertexts of uniform scalars, which are what they are under any key.
pub(crate) fn uniform_glwes<T: ProductTorus>(
    parameters: &Parameters,
    count: usize,
) -> Vec<GlweCiphertext<T>> {
    let mut stream = ExpanderKind::ChaCha20.mask_stream(&MaskSeed([4; 32]), 0);
    let size = parameters.polynomial_size();
    (0..count)
        .map(|_| {
            let mut data = vec![T::ZERO; parameters.big_lwe_dimension().0 + size.get()];
            fill_uniform(&mut stream, &mut data);
            GlweCiphertext::from_vec(data, size).unwrap()
        })
        .collect()
}

/// The key of one step of a blind rotation from GGSW ciphertexts in the standard domain.
pub(crate) fn place_key<T: ProductTorus>(
    product: &GadgetProduct,
    ggsws: &[Vec<Vec<Vec<T>>>],
    size: usize,
) -> Vec<f64> {
    let mut key = vec![0.0; product.key_len()];
    let mut scratch = vec![0.0; size];
    for (bit, rows) in ggsws.iter().enumerate() {
        for (row, polynomials) in rows.iter().enumerate() {
            for (output, polynomial) in polynomials.iter().enumerate() {
                let place = (bit, row, output);
                product.place_key_polynomial(&mut key, place, polynomial, 1.0, &mut scratch);
            }
        }
    }
    key
}

/// Returns an empty circuit for each shipped set of radix blocks.
pub(crate) fn circuits() -> impl Iterator<Item = Circuit> {
    [MESSAGE_1_CARRY_1, MESSAGE_2_CARRY_2, MESSAGE_3_CARRY_3]
        .into_iter()
        .map(|set| Circuit::new(&set.validate().unwrap()).unwrap())
}

/// Returns the value of a truth value of stand-ins.
pub(crate) fn read_bool(circuit: &Circuit, x: &FheBool) -> bool {
    circuit.rehearse(&[&circuit.bit(x)]).unwrap() == [1]
}

/// Runs `f` on a rayon pool of so many threads.
pub(crate) fn on_threads<R: Send>(threads: usize, f: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap()
        .install(f)
}
