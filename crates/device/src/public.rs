//! Public-key encryption: the key does not decrypt, and masks are sent in full.
//!
//! A ciphertext is `Σ_j r_j · (A_j, B_j) + e + (0, m)`: the k rows of the public key, which are
//! GLWE encryptions of zero, are combined with polynomials `r_j` from the distribution of the key,
//! and every component gets fresh noise (Lyubashevsky, Peikert and Regev, 2010). The `r_j` are
//! transformed once for all k + 1 components.
//!
//! The `r_j` decrypt a message, and so does the seed that they are drawn from. Both are
//! overwritten as soon as the message is made or has failed, and the session's root seed is
//! replaced. So an attacker who captures the session with all its memory cannot decrypt what it has
//! already sent.

use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::random::{
    EntropySource, ExpanderKind, MaskSeed, NoSource, SeedSequence, fill_packed_secret,
};
use tfhe_sbc_core::torus::Torus;
use tfhe_sbc_core::wire::Header;
use tfhe_sbc_core::wire::columns::ListMasks;
use tfhe_sbc_core::wire::glwe::{masked_header, masked_payload_len};
use tfhe_sbc_core::wire::public_key::{PublicKeyBytes, read_scalars};

use crate::error::DeviceError;
use crate::masks::SeededMasks;
use crate::output::MaskOutput;
use crate::plaintext::PolynomialPlaintexts;
use crate::plan::{KeyMode, MemoryPlan};
use crate::product::{PIECE, UniformPolynomials};
use crate::session::{MessageSeeds, Mode, Session, State};

/// A session that encrypts under a device public key.
pub type PublicEncryptor<'w, T, S = NoSource> = Session<'w, T, Public<'w, T>, S>;

/// The mode of a [`PublicEncryptor`], with its key.
#[derive(Debug)]
pub struct Public<'w, T> {
    expander: ExpanderKind,
    mask_seed: MaskSeed,
    bodies: &'w [u8],
    /// The rows in full, `k + 1` polynomials each; empty if the plan does not keep them.
    rows: &'w [T],
}

/// Reads the parameter set of a device public key file. The sizes of the workspace and of messages
/// follow from it.
///
/// # Errors
/// Those of the key file's format.
pub fn device_public_key_parameters(public_key: &[u8]) -> Result<Parameters, DeviceError> {
    Ok(PublicKeyBytes::parse(public_key)?.parameters)
}

impl<'w, T: ProductTorus, S: EntropySource> PublicEncryptor<'w, T, S> {
    /// Reads a device public key file and, unless the plan is small, expands its masks.
    ///
    /// `workspace` has at least [`workspace_bytes`](crate::workspace_bytes) for
    /// [`KeyMode::Public`], aligned to 8 bytes or, for speed, to 64; its content is
    /// overwritten. `expander` draws the noise. `seeds` must be fresh, because they alone make this
    /// session's ciphertexts differ from those of any other; a sequence with a source reseeds itself.
    ///
    /// # Errors
    /// If the key file is refused, its set has no public-key uploads or another torus, the build lacks
    /// the plan, or the workspace is too small or misaligned.
    pub fn new(
        public_key: &'w [u8],
        plan: MemoryPlan,
        expander: ExpanderKind,
        seeds: SeedSequence<S>,
        workspace: &'w mut [u8],
    ) -> Result<Self, DeviceError> {
        let key = PublicKeyBytes::parse(public_key)?;
        let parameters = &key.parameters;
        if parameters.public_key_mask_bits() == 0 {
            return Err(DeviceError::NoPublicKeyUploads);
        }
        let header = masked_header(parameters, key.key, 0);
        let mode = KeyMode::Public;
        let (state, mut carver) =
            State::carve(parameters, plan, mode, header, expander, workspace)?;
        let (size, k) = (state.body.len(), parameters.glwe_dimension().0);
        let rows = carver.take(match plan {
            MemoryPlan::Small => 0,
            MemoryPlan::Balanced | MemoryPlan::Fast => k * (k + 1) * size,
        })?;
        expand_rows(&key, rows, size);
        Ok(Self {
            state,
            seeds,
            mode: Public {
                expander: key.expander,
                mask_seed: key.mask_seed,
                bodies: key.bodies,
                rows,
            },
        })
    }
}

/// Overwrites `rows` with the masks and the body of every row.
fn expand_rows<T: Torus>(key: &PublicKeyBytes<'_>, rows: &mut [T], size: usize) {
    let k = key.parameters.glwe_dimension().0;
    let bodies = key.bodies.chunks_exact(size * (T::BITS as usize / 8));
    for ((stream, row), bytes) in (0..).zip(rows.chunks_exact_mut((k + 1) * size)).zip(bodies) {
        let (masks, body) = row.split_at_mut(k * size);
        let mut drawn = SeededMasks::new(key.expander, &key.mask_seed, stream, size);
        for (index, mask) in masks.chunks_exact_mut(size).enumerate() {
            drawn.fill(index, mask);
        }
        read_scalars(bytes, body);
    }
}

/// One component of every row: mask polynomial `component`, or the body if it is `dimension`.
struct Column<'k, 'w, T> {
    key: &'k Public<'w, T>,
    component: usize,
    dimension: usize,
    size: usize,
}

impl<T: Torus> UniformPolynomials<T> for Column<'_, '_, T> {
    fn whole<'a>(&'a mut self, index: usize, _buffer: &'a mut [T]) -> &'a [T] {
        let place = index * (self.dimension + 1) + self.component;
        &self.key.rows[place * self.size..][..self.size]
    }

    fn pieces(&mut self, index: usize, take: &mut dyn FnMut(&[T])) {
        let Public {
            expander,
            mask_seed,
            bodies,
            ..
        } = self.key;
        if self.component < self.dimension {
            SeededMasks::new(*expander, mask_seed, index as u32, self.size)
                .pieces(self.component, take);
            return;
        }
        let width = T::BITS as usize / 8;
        let bytes = &bodies[index * self.size * width..][..self.size * width];
        let mut piece = [T::ZERO; PIECE];
        for bytes in bytes.chunks_exact(PIECE * width) {
            read_scalars(bytes, &mut piece);
            take(&piece);
        }
    }
}

impl<T: ProductTorus> Mode<T> for Public<'_, T> {
    const FORGETS: bool = true;

    const MASKED: bool = true;

    fn payload_len(parameters: &Parameters, element_count: usize) -> usize {
        masked_payload_len(parameters.as_set(), element_count)
    }

    fn header(template: &Header, _seeds: &MessageSeeds) -> Header {
        *template
    }

    fn column_masks(_: &Header, _: &MessageSeeds, mask_bits: u32) -> Option<ListMasks> {
        Some(ListMasks::Sent { mask_bits })
    }

    /// Encrypts one polynomial. Stream `index · (k + 2)` of the noise seed draws the `r_j`, and the
    /// k + 1 streams after it draw the noise of the components.
    fn encrypt_polynomial(
        &self,
        state: &mut State<'_, T>,
        seeds: &MessageSeeds,
        index: u32,
        plaintexts: &PolynomialPlaintexts<'_, T>,
        masks: MaskOutput<'_, T>,
    ) -> Result<(), DeviceError> {
        let (size, dimension) = (state.body.len(), state.parameters.glwe_dimension().0);
        let first_stream = index * (dimension as u32 + 2);
        let mut random = state.expander.noise_stream(&seeds.noise, first_stream);
        let secret = state.parameters.glwe_secret();
        for row in 0..dimension {
            let fill = &mut |packed: &mut [u8]| fill_packed_secret(secret, &mut random, packed);
            state.product.set_secret(secret, row, fill);
        }
        for (component, stream) in (0..=dimension).zip(first_stream + 1..) {
            let is_mask = component < dimension;
            let used = if is_mask {
                state.body.fill(T::ZERO);
                size
            } else {
                plaintexts.encode_into(state.body);
                plaintexts.used()
            };
            let mut noise = state.expander.noise_stream(&seeds.noise, stream);
            state.add_noise(&mut noise, used);
            let mut column = Column {
                key: self,
                component,
                dimension,
                size,
            };
            state.product.add_sum(&mut column, state.body);
            if is_mask {
                masks.out.packed(state.body, masks.bits)?;
            }
        }
        Ok(())
    }
}
