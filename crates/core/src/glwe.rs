//! GLWE ciphertexts `(A_1, …, A_k, B)` with phase `B - Σ A_i · S_i` in
//! `Z_q[X]/(X^N + 1)`, and their secret keys.

use alloc::vec::Vec;

use aligned_vec::{AVec, ConstAlign};
use zeroize::{Zeroize, Zeroizing};

use crate::dimensions::{GlweDimension, PolynomialSize};
use crate::fft::OwnedFftPlan;
use crate::glwe_product::{
    MaskProduct, ProductTorus, mask_product_scratch_len, prepare_key_polynomial,
};
use crate::lwe::{LweCiphertext, LweSecretKey};
use crate::memcheck::disclosed;
use crate::parameters::GlweSecret;
use crate::random::{self, Expander, ExpanderKind, MaskSeed, NoiseDistribution};
use crate::sample_extract::sample_extract_into;
use crate::torus::Torus;

/// A GLWE ciphertext: `k` mask polynomials, then the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlweCiphertext<T> {
    data: Vec<T>,
    polynomial_size: PolynomialSize,
}

impl<T: Torus> GlweCiphertext<T> {
    /// Makes a ciphertext from masks and body in one vector. Returns `None` if the length is not a
    /// multiple of the polynomial size, or leaves no mask.
    pub fn from_vec(data: Vec<T>, polynomial_size: PolynomialSize) -> Option<Self> {
        let size = polynomial_size.get();
        (data.len() > size && data.len().is_multiple_of(size)).then_some(Self {
            data,
            polynomial_size,
        })
    }

    /// Expands a seeded ciphertext: its masks are, in order, stream `stream` of the expander under
    /// `seed`. `body` has N scalars.
    ///
    /// # Panics
    /// If `body` does not have N scalars.
    pub fn expand(
        glwe_dimension: GlweDimension,
        polynomial_size: PolynomialSize,
        expander: ExpanderKind,
        seed: &MaskSeed,
        stream: u32,
        body: &[T],
    ) -> Self {
        let size = polynomial_size.get();
        assert_eq!(body.len(), size, "a GLWE body has N coefficients");
        let mut data = alloc::vec![T::ZERO; (glwe_dimension.0 + 1) * size];
        let (mask, out) = data.split_at_mut(glwe_dimension.0 * size);
        random::fill_uniform(&mut expander.mask_stream(seed, stream), mask);
        out.copy_from_slice(body);
        Self {
            data,
            polynomial_size,
        }
    }

    /// The mask polynomials and the body.
    pub fn as_slice(&self) -> &[T] {
        &self.data
    }

    /// The mask polynomials and the body.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data
    }

    /// The polynomial size.
    pub fn polynomial_size(&self) -> PolynomialSize {
        self.polynomial_size
    }

    /// The number of mask polynomials.
    pub fn glwe_dimension(&self) -> GlweDimension {
        GlweDimension(self.data.len() / self.polynomial_size.get() - 1)
    }

    /// Extracts the LWE ciphertext of coefficient `degree`, under the flattened GLWE key.
    ///
    /// # Panics
    /// If `degree >= N`.
    pub fn sample_extract(&self, degree: usize) -> LweCiphertext<T> {
        let dimension = self
            .glwe_dimension()
            .extracted_lwe_dimension(self.polynomial_size);
        let mut lwe = LweCiphertext::trivial(dimension, T::ZERO);
        sample_extract_into(
            lwe.as_mut_slice(),
            &self.data,
            self.polynomial_size.get(),
            degree,
        );
        lwe
    }
}

/// A GLWE secret key. Zeroized on drop; `Debug` shows the dimensions only.
#[derive(Clone)]
pub struct GlweSecretKey {
    coefficients: Zeroizing<Vec<i8>>,
    polynomial_size: PolynomialSize,
}

impl GlweSecretKey {
    /// Draws a uniform key. Constant-time.
    pub fn generate(
        secret: GlweSecret,
        glwe_dimension: GlweDimension,
        polynomial_size: PolynomialSize,
        expander: &mut impl Expander,
    ) -> Self {
        let len = glwe_dimension.0 * polynomial_size.get();
        let mut coefficients = Zeroizing::new(alloc::vec![0; len]);
        random::fill_secret(secret, expander, &mut coefficients);
        Self {
            coefficients,
            polynomial_size,
        }
    }

    /// Makes a key from its coefficients, polynomial after polynomial. Returns `None` if a coefficient is
    /// not one of such a key, or the length is not a positive multiple of the polynomial size.
    /// Constant-time, except that the key may be refused.
    pub fn from_coefficients(
        secret: GlweSecret,
        coefficients: Zeroizing<Vec<i8>>,
        polynomial_size: PolynomialSize,
    ) -> Option<Self> {
        let whole =
            !coefficients.is_empty() && coefficients.len().is_multiple_of(polynomial_size.get());
        let all = coefficients
            .iter()
            .fold(true, |all, &coefficient| all & secret.holds(coefficient));
        (whole && disclosed(all)).then_some(Self {
            coefficients,
            polynomial_size,
        })
    }

    /// Returns the partial key of an LWE key: the key of the fewest polynomials that hold its coefficients, followed by zeros
    /// (ePrint 2023/979, partial secret keys). Constant-time.
    pub fn partial(key: &LweSecretKey, polynomial_size: PolynomialSize) -> Self {
        let len = key
            .coefficients
            .len()
            .next_multiple_of(polynomial_size.get());
        let mut coefficients = Zeroizing::new(alloc::vec![0; len]);
        coefficients[..key.coefficients.len()].copy_from_slice(&key.coefficients);
        Self {
            coefficients,
            polynomial_size,
        }
    }

    /// The coefficients, polynomial after polynomial: each 0 or 1, or, of a ternary key, -1, 0 or 1.
    pub fn coefficients(&self) -> &[i8] {
        &self.coefficients
    }

    /// The number of key polynomials.
    pub fn glwe_dimension(&self) -> GlweDimension {
        GlweDimension(self.coefficients.len() / self.polynomial_size.get())
    }

    /// The polynomial size.
    pub fn polynomial_size(&self) -> PolynomialSize {
        self.polynomial_size
    }

    /// Returns the LWE key with the same coefficients, under which sample extraction yields
    /// ciphertexts.
    pub fn to_lwe_secret_key(&self) -> LweSecretKey {
        LweSecretKey {
            coefficients: self.coefficients.clone(),
        }
    }

    /// Transforms the key, for many encryptions or decryptions.
    pub fn prepare(&self) -> PreparedGlweSecretKey {
        let size = self.polynomial_size.get();
        let plan = OwnedFftPlan::new(self.polynomial_size);
        let mut fourier = AVec::from_iter(64, self.coefficients.iter().map(|&s| f64::from(s)));
        for polynomial in fourier.chunks_exact_mut(size) {
            prepare_key_polynomial(plan.plan(), polynomial);
        }
        PreparedGlweSecretKey { plan, fourier }
    }
}

impl core::fmt::Debug for GlweSecretKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "GlweSecretKey(k = {}, N = {}, redacted)",
            self.glwe_dimension(),
            self.polynomial_size
        )
    }
}

/// A GLWE secret key in the Fourier domain. Zeroized on drop.
pub struct PreparedGlweSecretKey {
    plan: OwnedFftPlan,
    fourier: AVec<f64, ConstAlign<64>>,
}

impl Drop for PreparedGlweSecretKey {
    fn drop(&mut self) {
        self.fourier.as_mut_slice().zeroize();
    }
}

impl PreparedGlweSecretKey {
    /// The polynomial size.
    pub fn polynomial_size(&self) -> PolynomialSize {
        self.plan.plan().polynomial_size()
    }

    /// The number of key polynomials.
    pub fn glwe_dimension(&self) -> GlweDimension {
        GlweDimension(self.fourier.len() / self.polynomial_size().get())
    }

    /// Returns the number of doubles of scratch that encryption and decryption need.
    pub fn scratch_len<T: ProductTorus>(&self) -> usize {
        mask_product_scratch_len::<T>(self.polynomial_size(), self.glwe_dimension())
    }

    /// Encrypts `body`, a plaintext polynomial of N scalars, in place: adds noise and the product of
    /// the key and the masks `mask` (`k · N` scalars). Constant-time if the noise is. `scratch`
    /// holds secrets afterwards.
    ///
    /// Devices encrypt with `tfhe-sbc-device`, which does the same without an allocator and with the
    /// product of a memory plan.
    ///
    /// # Panics
    /// If a length is wrong.
    pub fn encrypt_body_into<T: ProductTorus>(
        &self,
        body: &mut [T],
        mask: &[T],
        noise: NoiseDistribution,
        noise_stream: &mut impl Expander,
        scratch: &mut [f64],
    ) {
        random::add_noise(noise, noise_stream, body);
        self.add_mask_product(mask, scratch, body);
    }

    /// Returns the phase `B - Σ A_i · S_i` of a ciphertext: plaintext plus noise, N scalars.
    /// Constant-time.
    ///
    /// # Panics
    /// If the ciphertext's dimensions are not the key's.
    pub fn phase<T: ProductTorus>(&self, ciphertext: &GlweCiphertext<T>) -> Vec<T> {
        let size = self.polynomial_size().get();
        let (mask, body) = ciphertext.data.split_at(ciphertext.data.len() - size);
        let mut scratch = Zeroizing::new(alloc::vec![0.0; self.scratch_len::<T>()]);
        let mut product = alloc::vec![T::ZERO; size];
        self.add_mask_product(mask, &mut scratch, &mut product);
        for (phase, &b) in product.iter_mut().zip(body) {
            *phase = b.sub(*phase);
        }
        product
    }

    fn add_mask_product<T: ProductTorus>(&self, mask: &[T], scratch: &mut [f64], out: &mut [T]) {
        assert_eq!(
            mask.len(),
            self.fourier.len(),
            "GLWE mask and key differ in dimensions"
        );
        let size = self.polynomial_size().get();
        let mut product = MaskProduct::new(self.plan.plan(), scratch);
        let (first, last) = mask.split_at(mask.len() - size);
        let (first_keys, last_key) = self.fourier.split_at(first.len());
        for (mask, key) in first.chunks_exact(size).zip(first_keys.chunks_exact(size)) {
            product.add(mask, key);
        }
        product.finish_into(last, last_key, out);
    }
}
