//! LWE ciphertexts `(a_0, …, a_{n-1}, b)` with phase `b - ⟨a, s⟩`, and their secret keys.

use alloc::vec::Vec;

use zeroize::Zeroizing;

use crate::dimensions::LweDimension;
use crate::random::{self, Expander, NoiseDistribution};
use crate::torus::Torus;

/// An LWE ciphertext: the mask, then the body, in one vector of `n + 1` scalars.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LweCiphertext<T> {
    data: Vec<T>,
}

impl<T: Torus> LweCiphertext<T> {
    /// The ciphertext with zero mask, which everyone can read: a plaintext that takes
    /// part in computations.
    pub fn trivial(dimension: LweDimension, plaintext: T) -> Self {
        let mut data = alloc::vec![T::ZERO; dimension.0 + 1];
        data[dimension.0] = plaintext;
        Self { data }
    }

    /// A ciphertext of mask and body in one vector. `None` if it is empty.
    pub fn from_vec(data: Vec<T>) -> Option<Self> {
        (!data.is_empty()).then_some(Self { data })
    }

    /// Number of mask scalars.
    pub fn dimension(&self) -> LweDimension {
        LweDimension(self.data.len() - 1)
    }

    /// Mask and body.
    pub fn as_slice(&self) -> &[T] {
        &self.data
    }

    /// Mask and body.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data
    }

    /// The mask.
    pub fn mask(&self) -> &[T] {
        &self.data[..self.data.len() - 1]
    }

    /// The body.
    pub fn body(&self) -> T {
        self.data[self.data.len() - 1]
    }

    /// Adds a plaintext.
    pub fn add_plaintext(&mut self, plaintext: T) {
        if let Some(body) = self.data.last_mut() {
            *body = body.add(plaintext);
        }
    }

    /// `self += other`, for ciphertexts under the same key.
    ///
    /// # Panics
    /// If the dimensions differ.
    pub fn add_assign(&mut self, other: &Self) {
        self.zip(other, T::add);
    }

    /// `self -= other`, for ciphertexts under the same key.
    ///
    /// # Panics
    /// If the dimensions differ.
    pub fn sub_assign(&mut self, other: &Self) {
        self.zip(other, T::sub);
    }

    /// `self = -self`.
    pub fn neg_assign(&mut self) {
        self.data.iter_mut().for_each(|x| *x = x.neg());
    }

    /// `self *= factor`, a signed integer.
    pub fn mul_assign(&mut self, factor: i64) {
        let factor = T::from_i64(factor);
        self.data.iter_mut().for_each(|x| *x = x.mul(factor));
    }

    fn zip(&mut self, other: &Self, op: impl Fn(T, T) -> T) {
        assert_eq!(
            self.data.len(),
            other.data.len(),
            "LWE ciphertexts of different dimensions"
        );
        for (x, &y) in self.data.iter_mut().zip(&other.data) {
            *x = op(*x, y);
        }
    }
}

/// A binary LWE secret key. Zeroized on drop; `Debug` shows the dimension only.
pub struct LweSecretKey {
    pub(crate) bits: Zeroizing<Vec<u8>>,
}

impl LweSecretKey {
    /// Draws a uniform binary key.
    pub fn generate(dimension: LweDimension, expander: &mut impl Expander) -> Self {
        let mut bits = Zeroizing::new(alloc::vec![0; dimension.0]);
        random::fill_binary(expander, &mut bits);
        Self { bits }
    }

    /// A key of coefficients in `{0, 1}`. `None` if one is not.
    pub fn from_bits(bits: Zeroizing<Vec<u8>>) -> Option<Self> {
        bits.iter().all(|&bit| bit <= 1).then_some(Self { bits })
    }

    /// The dimension.
    pub fn dimension(&self) -> LweDimension {
        LweDimension(self.bits.len())
    }

    /// The coefficients, each 0 or 1.
    pub fn bits(&self) -> &[u8] {
        &self.bits
    }

    /// `⟨mask, s⟩`. Constant-time.
    ///
    /// # Panics
    /// If the mask's length is not the key's dimension.
    pub fn mask_product<T: Torus>(&self, mask: &[T]) -> T {
        assert_eq!(
            mask.len(),
            self.bits.len(),
            "LWE mask and key differ in dimension"
        );
        mask.iter()
            .zip(self.bits.iter())
            .fold(T::ZERO, |sum, (&a, &s)| {
                sum.add(a.mul(T::from_i64(i64::from(s))))
            })
    }

    /// Encrypts a plaintext with a mask from one stream and noise from another.
    pub fn encrypt<T: Torus>(
        &self,
        plaintext: T,
        noise: NoiseDistribution,
        mask_stream: &mut impl Expander,
        noise_stream: &mut impl Expander,
    ) -> LweCiphertext<T> {
        let mut data = alloc::vec![T::ZERO; self.bits.len() + 1];
        let (mask, body) = data.split_at_mut(self.bits.len());
        random::fill_uniform(mask_stream, mask);
        body[0] = plaintext.add(self.mask_product(mask));
        random::add_noise(noise, noise_stream, body);
        LweCiphertext { data }
    }

    /// The phase `b - ⟨a, s⟩`: plaintext plus noise. Constant-time.
    ///
    /// # Panics
    /// If the dimensions differ.
    pub fn phase<T: Torus>(&self, ciphertext: &LweCiphertext<T>) -> T {
        ciphertext.body().sub(self.mask_product(ciphertext.mask()))
    }
}

impl core::fmt::Debug for LweSecretKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "LweSecretKey(dimension {}, redacted)", self.bits.len())
    }
}
