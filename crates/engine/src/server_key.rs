//! The server key: the public key with which a server computes on ciphertexts.
//!
//! [`SeededServerKey`] is the form that travels and lies in files. [`ServerKey`] is the form that
//! computes, made from the first once at start.

use std::io;

use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameter_sets::{KeyBodyBits, key_body_bits};
use tfhe_sbc_core::parameters::{KeyFingerprint, PARAMETERS_BYTES, Parameters};
use tfhe_sbc_core::random::{EntropyError, ExpanderKind, MaskSeed, SeedSequence};
use tfhe_sbc_core::wire::key::parameters_of;
use tfhe_sbc_core::wire::{
    ENVELOPE_BYTES, HEADER_BYTES, Header, Kind, MAGIC, Message, WireError, require,
};

use crate::bootstrap_key::{BootstrapKey, SeededBootstrapKey};
use crate::key_switch::{KeySwitchKey, SeededKeySwitchKey};
use crate::nodes::Nodes;
use crate::packing_key::{PackingKey, SeededPackingKey};
use crate::seeded_rows::{Progress, SeededMasks, check_header};

/// The expander of the masks of new server keys. Any part of its streams can be made by itself, and quickly.
const EXPANDER: ExpanderKind = ExpanderKind::Aes128Ctr;
/// The expanders of the masks of server keys. Those of former programs have ChaCha20.
const EXPANDERS: [ExpanderKind; 2] = [EXPANDER, ExpanderKind::ChaCha20];

/// The number of bytes of the seed of the key-switching key's masks in keys of former programs, which have rows of LWE ciphertexts.
const FORMER_SEED_BYTES: usize = 32;

/// The bootstrapping and the key-switching key in seeded form, over the torus `T` of the parameter
/// set; and, if there is one, the packing key, with which the server makes its answers short.
pub struct SeededServerKey<T> {
    parameters: Parameters,
    fingerprint: KeyFingerprint,
    bootstrap: SeededBootstrapKey<T>,
    key_switch: SeededKeySwitchKey,
    packing: Option<SeededPackingKey>,
}

/// The reason for which an evaluation key was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServerKeyError {
    /// The source of randomness failed.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// The parameter set is over another torus.
    #[error("the parameter set is over a {found}-bit torus, this operation is for {expected} bits")]
    TorusBits {
        /// The bits of the torus `T`.
        expected: u32,
        /// The bits of the torus of the parameter set.
        found: u32,
    },
    /// The device key was not issued under this secret key.
    #[error("the device key was not issued under this secret key: issue another")]
    DeviceKey,
    /// The packing key belongs to another key set.
    #[error("the packing key belongs to another key set: make one with this secret key")]
    PackingKey,
    /// Key files have no such decomposition.
    #[error("device switch keys of this parameter set have no such decomposition")]
    Decomposition,
}

impl<T: ProductTorus> SeededServerKey<T> {
    /// The number of steps that [`generate`](Self::generate) and [`prepare`](Self::prepare) report
    /// to their progress.
    pub fn step_count(parameters: &Parameters) -> u64 {
        parameters.lwe_dimension().0 as u64
    }

    /// Makes the server key of a secret key, on all threads of the current rayon pool.
    ///
    /// # Errors
    /// If the secret key is over another torus than `T`, or the source of randomness fails.
    pub fn generate(
        secret: &SecretKey,
        seeds: &mut SeedSequence,
        progress: Progress<'_>,
    ) -> Result<Self, ServerKeyError> {
        let parameters = *secret.parameters();
        check_torus::<T>(&parameters)?;
        // Both keys have their masks from one seed, and a seed of noise of their own.
        let (mask_seed, bootstrap_noise) = seeds.next_pair()?;
        let (_, key_switch_noise) = seeds.next_pair()?;
        let masks = SeededMasks::new(EXPANDER, mask_seed);
        Ok(Self {
            parameters,
            fingerprint: secret.fingerprint(),
            bootstrap: SeededBootstrapKey::generate(
                &parameters,
                secret.lwe().coefficients(),
                secret.glwe(),
                (masks, &bootstrap_noise),
                progress,
            ),
            key_switch: SeededKeySwitchKey::generate(
                &parameters,
                secret.glwe(),
                secret.lwe(),
                (key_switch_masks::<T>(masks, &parameters), &key_switch_noise),
            ),
            packing: None,
        })
    }

    /// Adds a packing key of the same key set.
    ///
    /// # Errors
    /// [`ServerKeyError::PackingKey`] if it belongs to another one.
    pub fn with_packing_key(self, key: SeededPackingKey) -> Result<Self, ServerKeyError> {
        if key.fingerprint() != self.fingerprint || *key.parameters() != self.parameters {
            return Err(ServerKeyError::PackingKey);
        }
        Ok(Self {
            packing: Some(key),
            ..self
        })
    }

    /// The packing key, if there is one.
    pub fn packing_key(&self) -> Option<&SeededPackingKey> {
        self.packing.as_ref()
    }

    /// The parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The number of bytes of the message of a new server key, without the packing key that may follow.
    pub fn message_len(parameters: &Parameters) -> usize {
        ENVELOPE_BYTES + Self::payload_len(parameters, key_body_bits(parameters))
    }

    /// The number of bytes of the payload of a new server key, for a bootstrapping key with these bits of its body coefficients. A key of a
    /// former program has [`FORMER_SEED_BYTES`] more.
    fn payload_len(parameters: &Parameters, body_bits: KeyBodyBits) -> usize {
        PARAMETERS_BYTES
            + SeededBootstrapKey::<T>::packed_len(parameters, body_bits)
            + SeededKeySwitchKey::bodies_len(parameters)
    }

    /// Returns the bytes of a server key file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let body_bits = self.bootstrap.bits;
        let most =
            ENVELOPE_BYTES + Self::payload_len(&self.parameters, body_bits) + FORMER_SEED_BYTES;
        let mut message = Vec::with_capacity(most);
        message.resize(HEADER_BYTES, 0);
        message.extend_from_slice(&self.parameters.to_bytes());
        if let SeededKeySwitchKey::Rows(rows) = &self.key_switch {
            message.extend_from_slice(&rows.masks.seed.0);
        }
        self.bootstrap.rows.write_bodies(&mut message);
        self.key_switch.write_bodies(&mut message);
        let (body_bits, mask_bits) = fields_of(body_bits, &self.parameters);
        let header = Header {
            polynomial_size: self.parameters.polynomial_size().get() as u32,
            dimension: self.parameters.lwe_dimension().0 as u32,
            torus_bits: T::BITS as u8,
            body_bits,
            mask_bits,
            expander: Some(self.bootstrap.rows.masks.expander),
            mask_seed: self.bootstrap.rows.masks.seed,
            ..Header::new(
                Kind::ServerKey,
                self.parameters.fingerprint(),
                self.fingerprint,
            )
        };
        let mut message = header.sealed(message);
        if let Some(packing) = &self.packing {
            message.extend(packing.to_bytes());
        }
        message
    }

    /// Reads the bytes of a server key file.
    ///
    /// # Errors
    /// If the bytes are not those of a server key over the torus `T`, or more follows than its packing key.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, WireError> {
        let (message, behind) = Message::parse(bytes)?;
        message.expect(Kind::ServerKey)?;
        let (parameters, rest) = parameters_of(&message)?;
        let header = message.header;
        check_header::<T>(&header, &parameters, parameters.lwe_dimension().0)?;
        let masks = SeededMasks::of_header(&header, &EXPANDERS)?;
        let packing = packing_key_behind(behind, &header)?;
        let body_bits = stated_body_bits(&header, &parameters)?;
        let expected = Self::payload_len(&parameters, body_bits);
        let former = message.payload.len() == expected + FORMER_SEED_BYTES;
        if !former {
            message.expect_length(expected)?;
            // Keys of programs that had ChaCha20 are all longer.
            require(masks.expander == EXPANDER, "expander")?;
        }
        let (seed, rest) = rest.split_at(if former { FORMER_SEED_BYTES } else { 0 });
        let (bootstrap, key_switch) =
            rest.split_at(SeededBootstrapKey::<T>::packed_len(&parameters, body_bits));
        Ok(Self {
            parameters,
            fingerprint: header.key,
            bootstrap: SeededBootstrapKey::from_bytes(&parameters, body_bits, masks, bootstrap),
            key_switch: match seed.first_chunk() {
                Some(&seed) => {
                    let masks = SeededMasks::new(masks.expander, MaskSeed(seed));
                    SeededKeySwitchKey::of_former_bytes(masks, key_switch)
                }
                None => SeededKeySwitchKey::from_bytes(
                    &parameters,
                    key_switch_masks::<T>(masks, &parameters),
                    key_switch,
                ),
            },
            packing,
        })
    }

    /// Expands and transforms the key, on all threads of the current rayon pool.
    pub fn prepare(&self, progress: Progress<'_>) -> ServerKey<T> {
        ServerKey {
            parameters: self.parameters,
            fingerprint: self.fingerprint,
            bootstrap: BootstrapKey::prepare(&self.parameters, &self.bootstrap, progress),
            key_switch: KeySwitchKey::prepare(&self.parameters, &self.key_switch),
            packing: self.packing.as_ref().map(SeededPackingKey::prepare),
            torus: std::marker::PhantomData,
        }
    }
}

/// Returns the masks of the key-switching key: those of the bootstrapping key's seed behind its own.
fn key_switch_masks<T: ProductTorus>(masks: SeededMasks, parameters: &Parameters) -> SeededMasks {
    masks.behind(SeededBootstrapKey::<T>::row_count(parameters))
}

/// Returns the header's fields for body bits and mask bits of a key with these bits. The first is the number of the
/// rows of the body, the second that of the rows of masks, or 0 if it is the same. Both are 0 for the number that the
/// parameter set implies.
fn fields_of(bits: KeyBodyBits, parameters: &Parameters) -> (u8, u8) {
    let KeyBodyBits {
        mask_rows,
        body_rows,
    } = bits;
    if bits == KeyBodyBits::same(parameters.implied_key_body_bits()) {
        (0, 0)
    } else if mask_rows == body_rows {
        (body_rows as u8, 0)
    } else {
        (body_rows as u8, mask_rows as u8)
    }
}

/// Returns the bits of the body coefficients of the bootstrapping key. Fewer than those of new keys are refused, because
/// they would add more noise than the parameter set allows for.
///
/// # Errors
/// [`WireError::Field`] if the fields are none that [`fields_of`] gives, or state too few bits.
fn stated_body_bits(header: &Header, parameters: &Parameters) -> Result<KeyBodyBits, WireError> {
    let fields = (header.body_bits, header.mask_bits);
    let bits = match fields {
        (0, _) => KeyBodyBits::same(parameters.implied_key_body_bits()),
        (body, 0) => KeyBodyBits::same(body.into()),
        (body, mask) => KeyBodyBits {
            mask_rows: mask.into(),
            body_rows: body.into(),
        },
    };
    let fewest = key_body_bits(parameters);
    let most = parameters.torus_bits();
    require(
        (fewest.body_rows..=most).contains(&bits.body_rows),
        "body bits",
    )?;
    require(
        (fewest.mask_rows..=most).contains(&bits.mask_rows),
        "mask bits",
    )?;
    let (body, mask) = fields_of(bits, parameters);
    require(header.body_bits == body, "body bits")?;
    require(header.mask_bits == mask, "mask bits")?;
    Ok(bits)
}

/// Reads the packing key behind a server key with this header, if there is one.
fn packing_key_behind(
    bytes: &[u8],
    server: &Header,
) -> Result<Option<SeededPackingKey>, WireError> {
    if bytes.is_empty() {
        return Ok(None);
    }
    if !bytes.starts_with(&MAGIC) {
        return Err(WireError::TrailingBytes(bytes.len()));
    }
    let key = SeededPackingKey::from_bytes(bytes)?;
    let found = Header {
        key: key.fingerprint(),
        parameters: key.parameters().fingerprint(),
        ..*server
    };
    found.check_belongs(server.parameters, server.key)?;
    Ok(Some(key))
}

pub(crate) fn check_torus<T: ProductTorus>(parameters: &Parameters) -> Result<(), ServerKeyError> {
    if parameters.torus_bits() == T::BITS {
        Ok(())
    } else {
        Err(ServerKeyError::TorusBits {
            expected: T::BITS,
            found: parameters.torus_bits(),
        })
    }
}

/// The bootstrapping and the key-switching key in memory, ready for use, and the packing key if there is one.
/// They are never serialised.
pub struct ServerKey<T> {
    pub(crate) parameters: Parameters,
    pub(crate) fingerprint: KeyFingerprint,
    pub(crate) bootstrap: BootstrapKey,
    pub(crate) key_switch: KeySwitchKey,
    pub(crate) packing: Option<PackingKey>,
    pub(crate) torus: std::marker::PhantomData<T>,
}

impl<T> ServerKey<T> {
    /// The parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The fingerprint of the key set.
    pub fn fingerprint(&self) -> KeyFingerprint {
        self.fingerprint
    }

    /// Gives each memory node a copy of its own, which the threads that run there read. With one node it does nothing. Results are the same, bit for
    /// bit.
    ///
    /// # Errors
    /// If no thread can be started or bound to the processors of a node, as where a sandbox forbids it. The key can be used all the same.
    pub fn copy_to_nodes(&mut self, nodes: &Nodes) -> io::Result<()> {
        self.bootstrap.copy_to_nodes(nodes)?;
        self.key_switch.copy_to_nodes(nodes)
    }

    /// The number of bytes of the bootstrapping key in memory, of all copies.
    pub fn bootstrap_key_bytes(&self) -> usize {
        self.bootstrap.byte_count()
    }

    /// The packing key, if the server key came with one.
    pub fn packing_key(&self) -> Option<&PackingKey> {
        self.packing.as_ref()
    }

    /// Returns the key without its packing key, so that answers can be computed on again.
    #[must_use]
    pub fn without_packing_key(self) -> Self {
        Self {
            packing: None,
            ..self
        }
    }

    /// The number of bytes of the key-switching key in memory, of all copies.
    pub fn key_switch_key_bytes(&self) -> usize {
        self.key_switch.byte_count()
    }
}
