//! Symmetric encryption: bodies under a device key, masks as a seed.

use tfhe_sbc_core::glwe_product::MaskTorus;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::random::{ExpanderKind, MaskSeed, SeedSequence, add_noise};
use tfhe_sbc_core::wire::Header;
use tfhe_sbc_core::wire::glwe::{header, message_len, payload_len};
use tfhe_sbc_core::wire::key::KeyBytes;
use tfhe_sbc_core::workspace::{Carver, wipe};

use crate::error::{DeviceError, SinkError};
use crate::masks::SeededMasks;
use crate::output::{BufferOutput, Output, SinkOutput};
use crate::plaintext::Plaintexts;
use crate::plan::{KeyMode, MemoryPlan, workspace_bytes};
use crate::product::Product;

/// A symmetric encryptor in a borrowed workspace. `T` is the torus of the key's parameter
/// set: `u32` or `u64`. Drop zeroizes everything secret that the workspace holds.
pub struct Encryptor<'w, T: MaskTorus> {
    parameters: Parameters,
    header: Header,
    expander: ExpanderKind,
    seeds: SeedSequence,
    product: Product<'w, T>,
    body: &'w mut [T],
}

impl<T: MaskTorus> Drop for Encryptor<'_, T> {
    fn drop(&mut self) {
        wipe(self.body);
    }
}

/// The parameter set of a device key file, from which the sizes of the workspace and of
/// messages follow.
pub fn device_key_parameters(device_key: &[u8]) -> Result<Parameters, DeviceError> {
    Ok(KeyBytes::parse_device_key(device_key)?.parameters)
}

impl<'w, T: MaskTorus> Encryptor<'w, T> {
    /// Reads a device key file and, unless the plan is small, transforms its key.
    ///
    /// `workspace` has at least [`workspace_bytes`] for [`KeyMode::Symmetric`], aligned to
    /// 8 bytes or, for speed, to 64; what it holds is lost. `seeds` must be fresh: it is
    /// what makes this session's ciphertexts different from any other's.
    pub fn new(
        device_key: &[u8],
        plan: MemoryPlan,
        expander: ExpanderKind,
        seeds: SeedSequence,
        workspace: &'w mut [u8],
    ) -> Result<Self, DeviceError> {
        let key = KeyBytes::parse_device_key(device_key)?;
        let parameters = key.parameters;
        if parameters.torus_bits != T::BITS {
            return Err(DeviceError::TorusBits(parameters.torus_bits));
        }
        if !plan.is_built() {
            return Err(DeviceError::PlanNotBuilt(plan));
        }
        let needed = workspace_bytes(&parameters, plan, KeyMode::Symmetric);
        let mut carver = Carver::new(workspace, needed)?;
        let size = parameters.polynomial_size().get();
        let body = carver.take(size)?;
        let mut product = Product::carve(plan, &parameters, size, &mut carver)?;
        let mut packed = key.glwe;
        for index in 0..parameters.glwe_dimension.0 {
            product.set_binary(index, &mut |out| {
                let (piece, rest) = packed.split_at(out.len());
                out.copy_from_slice(piece);
                packed = rest;
            });
        }
        Ok(Self {
            header: header(&parameters, key.key, expander, MaskSeed([0; 32]), 0),
            parameters,
            expander,
            seeds,
            product,
            body,
        })
    }

    /// The parameter set of the key.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Number of bytes of the message that encrypts `element_count` blocks or bits.
    pub fn message_len(&self, element_count: usize) -> usize {
        message_len(
            element_count,
            self.parameters.polynomial_size().get(),
            self.parameters.body_bits,
        )
    }

    /// Encrypts radix blocks, each below the message modulus, into the first
    /// [`message_len`](Self::message_len) bytes of `out`, and gives their number.
    pub fn encrypt_blocks(&mut self, blocks: &[u8], out: &mut [u8]) -> Result<usize, DeviceError> {
        let plaintexts = Plaintexts::blocks(&self.parameters, blocks)?;
        self.encrypt_into(plaintexts, out)
    }

    /// Encrypts bits, each 0 or 1, into the first [`message_len`](Self::message_len)
    /// bytes of `out`, and gives their number.
    pub fn encrypt_bits(&mut self, bits: &[u8], out: &mut [u8]) -> Result<usize, DeviceError> {
        let plaintexts = Plaintexts::bits(&self.parameters, bits)?;
        self.encrypt_into(plaintexts, out)
    }

    /// [`encrypt_blocks`](Self::encrypt_blocks) piece by piece: `sink` gets the message in
    /// order, at most [`MAX_PIECE_BYTES`](crate::MAX_PIECE_BYTES) at a time, while it is
    /// made. Everything is checked before the first piece. Gives the number of bytes.
    pub fn encrypt_blocks_to(
        &mut self,
        blocks: &[u8],
        sink: &mut dyn FnMut(&[u8]) -> Result<(), SinkError>,
    ) -> Result<usize, DeviceError> {
        let plaintexts = Plaintexts::blocks(&self.parameters, blocks)?;
        self.encrypt(plaintexts, &mut SinkOutput::new(sink))
    }

    /// [`encrypt_bits`](Self::encrypt_bits) piece by piece, as
    /// [`encrypt_blocks_to`](Self::encrypt_blocks_to).
    pub fn encrypt_bits_to(
        &mut self,
        bits: &[u8],
        sink: &mut dyn FnMut(&[u8]) -> Result<(), SinkError>,
    ) -> Result<usize, DeviceError> {
        let plaintexts = Plaintexts::bits(&self.parameters, bits)?;
        self.encrypt(plaintexts, &mut SinkOutput::new(sink))
    }

    fn encrypt_into(
        &mut self,
        plaintexts: Plaintexts<'_, T>,
        out: &mut [u8],
    ) -> Result<usize, DeviceError> {
        let mut out = BufferOutput::new(out, self.message_len(plaintexts.len()))?;
        self.encrypt(plaintexts, &mut out)
    }

    fn encrypt(
        &mut self,
        plaintexts: Plaintexts<'_, T>,
        out: &mut dyn Output<T>,
    ) -> Result<usize, DeviceError> {
        let (mask_seed, noise_seed) = self.seeds.next_pair()?;
        let size = self.parameters.polynomial_size().get();
        let body_bits = self.parameters.body_bits;
        let header = Header {
            element_count: plaintexts.len() as u32,
            mask_seed,
            ..self.header
        };
        out.bytes(&header.to_bytes(payload_len(plaintexts.len(), size, body_bits) as u64))?;
        for (stream, plaintexts) in (0..).zip(plaintexts.polynomials(size)) {
            let used = plaintexts.len();
            plaintexts.encode_into(self.body);
            add_noise(
                self.parameters.glwe_noise,
                &mut self.expander.noise_stream(&noise_seed, stream),
                &mut self.body[..used],
            );
            let mut masks = SeededMasks::new(self.expander, &mask_seed, stream, size);
            self.product.add_sum(&mut masks, self.body);
            out.packed(&self.body[..used], body_bits)?;
        }
        out.finish()?;
        Ok(self.message_len(plaintexts.len()))
    }
}
