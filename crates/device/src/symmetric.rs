//! Symmetric encryption: bodies under a device key, and a seed in place of the masks.
//!
//! `tfhe_sbc_core::glwe::PreparedGlweSecretKey` encrypts for key
//! owners, with an allocator and always by the Fourier transform; here the memory plan decides.

use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::random::{EntropySource, ExpanderKind, MaskSeed, NoSource, SeedSequence};
use tfhe_sbc_core::wire::Header;
use tfhe_sbc_core::wire::columns::ListMasks;
use tfhe_sbc_core::wire::glwe::{header, payload_len};
use tfhe_sbc_core::wire::key::KeyBytes;

use crate::error::DeviceError;
use crate::masks::SeededMasks;
use crate::output::MaskOutput;
use crate::plaintext::PolynomialPlaintexts;
use crate::plan::{KeyMode, MemoryPlan};
use crate::session::{MessageSeeds, Mode, Session, State};

/// A session that encrypts under a device key.
pub type Encryptor<'w, T, S = NoSource> = Session<'w, T, Symmetric, S>;

/// The mode of an [`Encryptor`].
#[derive(Debug)]
pub struct Symmetric(());

/// Reads the parameter set of a device key file. The sizes of the workspace and of messages follow
/// from it.
///
/// # Errors
/// Those of the key file's format.
pub fn device_key_parameters(device_key: &[u8]) -> Result<Parameters, DeviceError> {
    Ok(KeyBytes::parse_device_key(device_key)?.parameters)
}

impl<'w, T: ProductTorus, S: EntropySource> Encryptor<'w, T, S> {
    /// Reads a device key file and, unless the plan is small, transforms its key.
    ///
    /// `workspace` has at least [`workspace_bytes`](crate::workspace_bytes) for
    /// [`KeyMode::Symmetric`], aligned to 8 bytes or, for speed, to 64; its content is
    /// overwritten. `seeds` must be fresh, because they alone make this session's ciphertexts differ
    /// from those of any other; a sequence with a source reseeds itself.
    ///
    /// # Errors
    /// If the key file is refused, its set has another torus, the build lacks the plan, or the
    /// workspace is too small or misaligned.
    pub fn new(
        device_key: &[u8],
        plan: MemoryPlan,
        expander: ExpanderKind,
        seeds: SeedSequence<S>,
        workspace: &'w mut [u8],
    ) -> Result<Self, DeviceError> {
        let key = KeyBytes::parse_device_key(device_key)?;
        let parameters = &key.parameters;
        let header = header(parameters, key.key, expander, MaskSeed([0; 32]), 0);
        let mode = KeyMode::Symmetric;
        let (mut state, _) = State::carve(parameters, plan, mode, header, expander, workspace)?;
        let mut packed = key.glwe;
        for index in 0..parameters.glwe_dimension().0 {
            state
                .product
                .set_secret(parameters.glwe_secret(), index, &mut |out| {
                    let (piece, rest) = packed.split_at(out.len());
                    out.copy_from_slice(piece);
                    packed = rest;
                });
        }
        Ok(Self {
            state,
            seeds,
            mode: Symmetric(()),
        })
    }
}

impl<T: ProductTorus> Mode<T> for Symmetric {
    const FORGETS: bool = false;

    const MASKED: bool = false;

    fn payload_len(parameters: &Parameters, element_count: usize) -> usize {
        payload_len(
            element_count,
            parameters.polynomial_size().get(),
            parameters.body_bits(),
        )
    }

    fn header(template: &Header, seeds: &MessageSeeds) -> Header {
        Header {
            mask_seed: seeds.mask,
            ..*template
        }
    }

    fn column_masks(template: &Header, seeds: &MessageSeeds, _mask_bits: u32) -> Option<ListMasks> {
        Some(ListMasks::Seeded(template.expander?, seeds.mask))
    }

    /// The body is the sum of plaintext, noise, and the product of key and mask stream `index`.
    fn encrypt_polynomial(
        &self,
        state: &mut State<'_, T>,
        seeds: &MessageSeeds,
        index: u32,
        plaintexts: &PolynomialPlaintexts<'_, T>,
        _masks: MaskOutput<'_, T>,
    ) -> Result<(), DeviceError> {
        let used = plaintexts.used();
        let size = state.body.len();
        // The encoding needs no seed and comes first, so that the processor computes it while the seeds
        // are still being derived. The two streams are opened next to each other, to overlap too.
        plaintexts.encode_into(state.body);
        let mut masks = SeededMasks::new(state.expander, &seeds.mask, index, size);
        let mut noise = state.expander.noise_stream(&seeds.noise, index);
        state.add_noise(&mut noise, used);
        state.product.add_sum(&mut masks, state.body);
        Ok(())
    }
}
