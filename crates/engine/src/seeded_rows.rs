//! Lists of GLWE ciphertexts whose masks come from a seed; the evaluation keys of this crate
//! consist of them. Every mask is a stream of an expander under the seed.

use rayon::prelude::*;
use tfhe_sbc_core::dimensions::PolynomialSize;
use tfhe_sbc_core::fft::external_product::{PackedKey, ProductShape};
use tfhe_sbc_core::glwe::GlweSecretKey;
use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::parameters::{PackedWidth, Parameters};
use tfhe_sbc_core::random::{
    self, AnyExpander, ExpanderKind, MaskSeed, NoiseDistribution, NoiseSeed,
};
use tfhe_sbc_core::wire::bits::{pack_top_bits, packed_len, unpack_top_bits};
use tfhe_sbc_core::wire::{Header, WireError};
use zeroize::Zeroizing;

use crate::cache_aligned::{CacheAligned, cache_aligned};
use crate::gadget_product::GadgetProduct;
use crate::large_buffer::LargeBuffer;

/// A callback that receives the number of steps done since its last call.
pub type Progress<'a> = &'a (dyn Fn(u64) + Sync);

/// The seed of masks, and what expands it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SeededMasks {
    pub(crate) expander: ExpanderKind,
    pub(crate) seed: MaskSeed,
    /// The stream of the expander that is mask 0.
    first_stream: u32,
}

impl SeededMasks {
    /// Returns the masks of a seed, from stream 0 on.
    pub(crate) const fn new(expander: ExpanderKind, seed: MaskSeed) -> Self {
        Self {
            expander,
            seed,
            first_stream: 0,
        }
    }

    /// Returns the masks of the same seed from `count` streams later on.
    pub(crate) const fn behind(self, count: usize) -> Self {
        Self {
            first_stream: self.first_stream + count as u32,
            ..self
        }
    }

    /// Returns the masks that a header states.
    ///
    /// # Errors
    /// [`WireError::Field`] if their expander is none of `expanders`.
    pub(crate) fn of_header(
        header: &Header,
        expanders: &[ExpanderKind],
    ) -> Result<Self, WireError> {
        match header.expander {
            Some(expander) if expanders.contains(&expander) => {
                Ok(Self::new(expander, header.mask_seed))
            }
            _ => Err(WireError::Field("expander")),
        }
    }

    /// Opens the stream of mask `number`.
    pub(crate) fn stream(&self, number: u32) -> AnyExpander {
        self.expander
            .mask_stream(&self.seed, self.first_stream + number)
    }
}

/// The rows: the seed of their masks, and their bodies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SeededRows<T> {
    pub(crate) masks: SeededMasks,
    /// The precision of the bodies, whose lower bits are 0.
    pub(crate) precision: Precision,
    pub(crate) bodies: Vec<T>,
}

/// The number of upper bits that are kept of the body coefficients of each row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Precision {
    /// The number of coefficients of a row's body, a multiple of 8.
    polynomial_size: usize,
    /// The bits of the first rows; the rows that follow repeat them in turn.
    bits: Vec<u32>,
}

impl Precision {
    /// Makes the precision of rows that all keep `bits` bits.
    pub(crate) fn same(polynomial_size: PolynomialSize, bits: u32) -> Self {
        Self::repeated(polynomial_size, vec![bits])
    }

    /// Makes the precision of rows that keep as many bits as `bits` says, in turn. `bits` must not be empty.
    pub(crate) fn repeated(polynomial_size: PolynomialSize, bits: Vec<u32>) -> Self {
        Self {
            polynomial_size: polynomial_size.get(),
            bits,
        }
    }

    /// The bits of each row, without end.
    fn rows(&self) -> impl Iterator<Item = u32> {
        self.bits.iter().copied().cycle()
    }

    /// The number of bytes of `rows` packed bodies.
    pub(crate) fn packed_len(&self, rows: usize) -> usize {
        let of_row = |bits| packed_len(self.polynomial_size, bits);
        self.rows().take(rows).map(of_row).sum()
    }
}

/// The number and the precision of the rows to make.
pub(crate) struct Rows {
    /// The number of rows.
    pub(crate) count: usize,
    /// The number of rows after which progress is reported.
    pub(crate) a_step: usize,
    /// The bits to keep of the body coefficients.
    pub(crate) precision: Precision,
}

impl<T: ProductTorus> SeededRows<T> {
    /// Encrypts `rows.count` plaintext polynomials under `key` with `noise`, on all threads of the current
    /// rayon pool. `plaintext(r, out)` writes the plaintext of row `r` to a polynomial of zeros.
    /// `progress` is called after every `rows.a_step` rows.
    pub(crate) fn encrypt(
        noise: NoiseDistribution,
        key: &GlweSecretKey,
        (masks, noise_seed): (SeededMasks, &NoiseSeed),
        Rows {
            count: row_count,
            a_step: rows_a_step,
            precision,
        }: Rows,
        plaintext: impl Fn(usize, &mut [T]) + Sync,
        progress: Progress<'_>,
    ) -> Self {
        let size = key.polynomial_size().get();
        let mask_len = key.coefficients().len();
        let prepared = key.prepare();
        let mut bodies = vec![T::ZERO; row_count * size];
        bodies
            .par_chunks_mut(rows_a_step * size)
            .enumerate()
            .for_each_init(
                || {
                    (
                        vec![T::ZERO; mask_len],
                        // The scratch memory holds products with the key, so it is zeroized.
                        Zeroizing::new(vec![0.0; prepared.scratch_len::<T>()]),
                    )
                },
                |(mask, scratch), (step, bodies)| {
                    let first = step * rows_a_step;
                    let rows = (first..).zip(precision.rows().skip(first % precision.bits.len()));
                    for (body, (row, kept)) in bodies.chunks_exact_mut(size).zip(rows) {
                        plaintext(row, body);
                        let number = row as u32;
                        random::fill_uniform(&mut masks.stream(number), mask);
                        prepared.encrypt_body_into(
                            body,
                            mask,
                            noise,
                            &mut ExpanderKind::ChaCha20.noise_stream(noise_seed, number),
                            scratch,
                        );
                        for b in &mut *body {
                            *b = T::from_top_bits(b.round_to_bits(kept), kept);
                        }
                    }
                    progress(1);
                },
            );
        Self {
            masks,
            precision,
            bodies,
        }
    }

    /// Returns the transforms of all polynomials of all rows, masks and then body, multiplied by
    /// `sign`, in the order in which gadget products of this kind read them. Runs on all threads
    /// of the current rayon pool; `progress` is called for every step with its number of key bits. The
    /// last step may have fewer rows than the others; the key of those that are missing is 0.
    pub(crate) fn prepare(
        &self,
        product: &GadgetProduct,
        sign: f64,
        progress: Progress<'_>,
    ) -> LargeBuffer<f64> {
        let mut fourier = LargeBuffer::zeroed(self.steps(product).len() * product.key_len());
        fourier
            .par_chunks_mut(product.key_len())
            .zip(self.steps(product))
            .enumerate()
            .for_each_init(
                || StepScratch::of(product),
                |scratch, (step, (key, bodies))| {
                    self.prepare_step(product, sign, (step, bodies), key, scratch);
                    progress(product.shape().block_size as u64);
                },
            );
        fourier
    }

    /// Does the same as [`prepare`](Self::prepare) with a sign of 1, and rounds the transforms to integers of `width`.
    pub(crate) fn prepare_packed(
        &self,
        product: &GadgetProduct,
        width: PackedWidth,
        progress: Progress<'_>,
    ) -> PackedSteps {
        let step_len = product.packed_key_len(width);
        let block_size = product.shape().block_size;
        let steps = self.steps(product).len();
        let mut packed = PackedSteps {
            width,
            block_size,
            integers: LargeBuffer::zeroed(steps * step_len + PackedKey::BEHIND),
            units: vec![0.0; steps * block_size],
        };
        packed
            .integers
            .par_chunks_exact_mut(step_len)
            .zip(packed.units.par_chunks_exact_mut(block_size))
            .zip(self.steps(product))
            .enumerate()
            .for_each_init(
                || {
                    let key = cache_aligned(0.0, product.key_len());
                    (key, StepScratch::of(product))
                },
                |(key, scratch), (step, ((integers, units), bodies))| {
                    key.fill(0.0);
                    self.prepare_step(product, 1.0, (step, bodies), key, scratch);
                    product.pack_key(width, key, integers, units);
                    progress(block_size as u64);
                },
            );
        packed
    }

    /// The bodies of the rows of each step. The last step may have fewer rows than the others.
    fn steps(&self, product: &GadgetProduct) -> rayon::slice::Chunks<'_, T> {
        let ProductShape {
            block_size, rows, ..
        } = product.shape();
        self.bodies
            .par_chunks(block_size * rows * product.polynomial_size())
    }

    /// Writes the transforms of the rows of one step, whose bodies are `bodies`, to `key`.
    fn prepare_step(
        &self,
        product: &GadgetProduct,
        sign: f64,
        (step, bodies): (usize, &[T]),
        key: &mut [f64],
        StepScratch { mask, polynomial }: &mut StepScratch<T>,
    ) {
        let ProductShape {
            block_size, rows, ..
        } = product.shape();
        let size = product.polynomial_size();
        for (r, body) in bodies.chunks_exact(size).enumerate() {
            let stream = (step * block_size * rows + r) as u32;
            random::fill_uniform(&mut self.masks.stream(stream), mask);
            let polynomials = mask.chunks_exact(size).chain([body]);
            for (output, coefficients) in polynomials.enumerate() {
                let place = (r / rows, r % rows, output);
                product.place_key_polynomial(key, place, coefficients, sign, polynomial);
            }
        }
    }

    /// Appends the kept bits of the bodies, packed.
    pub(crate) fn write_bodies(&self, out: &mut Vec<u8>) {
        let size = self.precision.polynomial_size;
        for (body, bits) in self.bodies.chunks_exact(size).zip(self.precision.rows()) {
            let start = out.len();
            out.resize(start + packed_len(size, bits), 0);
            pack_top_bits(body, bits, &mut out[start..]);
        }
    }

    /// Returns the `count` rows of a seed and of bytes that [`write_bodies`](Self::write_bodies) wrote.
    ///
    /// # Panics
    /// If `packed` does not have [`packed_len`](Precision::packed_len) bytes for that many rows.
    pub(crate) fn from_bytes(
        masks: SeededMasks,
        precision: Precision,
        mut packed: &[u8],
        count: usize,
    ) -> Self {
        let size = precision.polynomial_size;
        assert_eq!(packed.len(), precision.packed_len(count));
        let mut bodies = vec![T::ZERO; count * size];
        for (body, bits) in bodies.chunks_exact_mut(size).zip(precision.rows()) {
            let (row, rest) = packed.split_at(packed_len(size, bits));
            unpack_top_bits(row, bits, body);
            packed = rest;
        }
        Self {
            masks,
            precision,
            bodies,
        }
    }
}

/// The scratch memory for the transforms of a step.
struct StepScratch<T> {
    mask: Vec<T>,
    polynomial: CacheAligned<f64>,
}

impl<T: ProductTorus> StepScratch<T> {
    fn of(product: &GadgetProduct) -> Self {
        let size = product.polynomial_size();
        Self {
            mask: vec![T::ZERO; (product.shape().outputs - 1) * size],
            polynomial: cache_aligned(0.0, size),
        }
    }
}

/// The transforms of the rows of all steps, as integers.
#[derive(Clone)]
pub(crate) struct PackedSteps {
    pub(crate) width: PackedWidth,
    /// The number of key bits of a step.
    pub(crate) block_size: usize,
    /// The integers, step by step, and the bytes [behind](PackedKey::BEHIND) those of the last one.
    pub(crate) integers: LargeBuffer<u8>,
    /// The unit of each key bit.
    pub(crate) units: Vec<f64>,
}

impl PackedSteps {
    /// The number of steps.
    pub(crate) fn len(&self) -> usize {
        self.units.len() / self.block_size
    }

    /// The key of a step.
    pub(crate) fn step(&self, step: usize) -> PackedKey<'_> {
        let step_len = (self.integers.len() - PackedKey::BEHIND) / self.len();
        PackedKey {
            width: self.width,
            bytes: &self.integers[step * step_len..][..step_len + PackedKey::BEHIND],
            units: &self.units[step * self.block_size..][..self.block_size],
        }
    }
}

/// Checks that the header of a key message agrees with the parameters. `dimension` is the value of
/// the header's field of that name for this kind of key.
pub(crate) fn check_header<T: ProductTorus>(
    header: &Header,
    parameters: &Parameters,
    dimension: usize,
) -> Result<(), WireError> {
    let wrong = |what| Err(WireError::Field(what));
    if parameters.torus_bits() != T::BITS || u32::from(header.torus_bits) != T::BITS {
        return wrong("torus bits");
    }
    if header.polynomial_size as usize != parameters.polynomial_size().get() {
        return wrong("polynomial size");
    }
    if header.dimension as usize != dimension {
        return wrong("dimension");
    }
    Ok(())
}

/// Writes the plaintext `s · weight` of polynomial `component` of the key, whose coefficients are
/// small.
pub(crate) fn weighted_key_polynomial<T: ProductTorus>(
    out: &mut [T],
    key: &GlweSecretKey,
    component: usize,
    weight: T,
) {
    let size = key.polynomial_size().get();
    for (out, &s) in out.iter_mut().zip(&key.coefficients()[component * size..]) {
        *out = weight.mul(T::from_i64(i64::from(s)));
    }
}

/// The weight `q / B^level` of a digit of a decomposition.
pub(crate) fn digit_weight<T: ProductTorus>(base_log: u32, level: usize) -> T {
    T::ONE << (T::BITS - base_log * level as u32)
}
