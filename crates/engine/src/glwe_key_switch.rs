//! The GLWE key switch of whole polynomials, from a device's own key to the evaluation key
//! (Chillotti, Ligier, Orfila, Tap: Improved Programmable Bootstrapping with Larger Precision and
//! Efficient Arithmetic Circuits for TFHE, 2021: GLWE-to-GLWE key switch).
//!
//! For every polynomial `S'_i` of the device's key and every digit weight `q / B^j`, the key holds
//! an encryption of `S'_i · q / B^j` under the evaluation key. The switch takes `(A'_1, …, A'_k,
//! B')` to `(0, …, 0, B') - Σ digit_j(A'_i) · row_(i,j)`, which is the work of one external
//! product for N readings.
//!
//! [`SeededDeviceSwitchKey`] is the form that the key owner makes beside a device's key and that
//! files hold; [`DeviceSwitchKey`] is the form in memory. Both are public, as server keys are.

use rayon::prelude::*;
use tfhe_sbc_core::device_issue::DeviceIssue;
use tfhe_sbc_core::glwe::GlweCiphertext;
use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::keys::{DeviceKey, SecretKey};
use tfhe_sbc_core::parameters::{Decomposition, KeyFingerprint, PARAMETERS_BYTES, Parameters};
use tfhe_sbc_core::random::{ExpanderKind, SeedSequence};
use tfhe_sbc_core::simd::Isa;
use tfhe_sbc_core::torus::Torus;
use tfhe_sbc_core::wire::key::{BINDING_BYTES, Binding, parameters_of};
use tfhe_sbc_core::wire::{ENVELOPE_BYTES, HEADER_BYTES, Header, Kind, Message, WireError};

use crate::gadget_product::{GadgetProduct, GadgetProductScratch};
use crate::large_buffer::LargeBuffer;
use crate::seeded_rows::{
    Precision, Rows, SeededMasks, SeededRows, check_header, digit_weight, weighted_key_polynomial,
};
use crate::server_key::{ServerKeyError, check_torus};

/// The keys that a switch key connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceSwitch {
    /// The fingerprint of the device's key, which its uploads carry.
    pub from: KeyFingerprint,
    /// The key set of the evaluation key.
    pub to: KeyFingerprint,
    /// The device and the epoch that the key was issued for.
    pub issue: DeviceIssue,
}

/// A switch key in seeded form, over the torus `T` of the parameter set.
pub struct SeededDeviceSwitchKey<T> {
    parameters: Parameters,
    switch: DeviceSwitch,
    decomposition: Decomposition,
    rows: SeededRows<T>,
}

/// The precision of the bodies: switch keys keep every bit.
fn all_bits<T: Torus>(parameters: &Parameters) -> Precision {
    Precision::same(parameters.polynomial_size(), T::BITS)
}

/// The number of rows of a switch key: one for each digit of each polynomial, the least
/// significant digit of a polynomial first.
fn row_count(parameters: &Parameters, decomposition: Decomposition) -> usize {
    parameters.glwe_dimension().0 * decomposition.level_count.0
}

impl<T: ProductTorus> SeededDeviceSwitchKey<T> {
    /// Makes the switch key of a device's own key, issued under `secret`.
    ///
    /// # Errors
    /// If the device key belongs to another key set, or is the key that all devices share, which
    /// is the evaluation key already.
    pub fn generate(
        secret: &SecretKey,
        device: &DeviceKey,
        seeds: &mut SeedSequence,
    ) -> Result<Self, ServerKeyError> {
        let decomposition = secret.parameters().device_switch();
        Self::generate_with(secret, device, decomposition, seeds)
    }

    /// Makes a switch key as [`generate`](Self::generate) with another decomposition of
    /// [`device_switches`](Parameters::device_switches), for servers of older versions.
    ///
    /// # Errors
    /// Those of [`generate`](Self::generate), and [`ServerKeyError::Decomposition`] if key files have no
    /// such decomposition.
    pub fn generate_with(
        secret: &SecretKey,
        device: &DeviceKey,
        decomposition: Decomposition,
        seeds: &mut SeedSequence,
    ) -> Result<Self, ServerKeyError> {
        let parameters = *secret.parameters();
        check_torus::<T>(&parameters)?;
        let binding = device.binding();
        let of_this_key_set = binding.key_set == secret.fingerprint()
            && device.parameters().fingerprint() == parameters.fingerprint();
        let Some(issue) = binding.issue.filter(|_| of_this_key_set) else {
            return Err(ServerKeyError::DeviceKey);
        };
        if !parameters.device_switches().contains(&decomposition) {
            return Err(ServerKeyError::Decomposition);
        }
        let (mask_seed, noise_seed) = seeds.next_pair()?;
        let Decomposition {
            base_log,
            level_count,
        } = decomposition;
        let levels = level_count.0;
        let plaintext = |row: usize, out: &mut [T]| {
            let weight = digit_weight(base_log.0, levels - row % levels);
            weighted_key_polynomial(out, device.glwe(), row / levels, weight);
        };
        Ok(Self {
            parameters,
            switch: DeviceSwitch {
                from: device.fingerprint(),
                to: secret.fingerprint(),
                issue,
            },
            decomposition,
            rows: SeededRows::encrypt(
                parameters.glwe_noise(),
                secret.glwe(),
                (
                    SeededMasks::new(ExpanderKind::ChaCha20, mask_seed),
                    &noise_seed,
                ),
                Rows {
                    count: row_count(&parameters, decomposition),
                    a_step: 1,
                    precision: all_bits::<T>(&parameters),
                },
                plaintext,
                &|_| (),
            ),
        })
    }

    /// The parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The keys that it connects.
    pub fn switch(&self) -> &DeviceSwitch {
        &self.switch
    }

    /// The decomposition of the masks that it switches.
    pub fn decomposition(&self) -> Decomposition {
        self.decomposition
    }

    /// The number of bytes of the message of a switch key with a decomposition.
    pub fn message_len(parameters: &Parameters, decomposition: Decomposition) -> usize {
        let rows = row_count(parameters, decomposition);
        ENVELOPE_BYTES
            + PARAMETERS_BYTES
            + BINDING_BYTES
            + rows * parameters.polynomial_size().get() * size_of::<T>()
    }

    /// The largest number of bytes that the message of a switch key may have.
    pub fn longest_message_len(parameters: &Parameters) -> usize {
        let switches = parameters.device_switches().iter();
        let lengths = switches.map(|&switch| Self::message_len(parameters, switch));
        lengths.max().unwrap_or(0)
    }

    /// Returns the bytes of a switch key file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut message =
            Vec::with_capacity(Self::message_len(&self.parameters, self.decomposition));
        message.resize(HEADER_BYTES, 0);
        message.extend_from_slice(&self.parameters.to_bytes());
        let binding = Binding {
            key_set: self.switch.to,
            issue: Some(self.switch.issue),
        };
        message.extend_from_slice(&binding.to_bytes());
        self.rows.write_bodies(&mut message);
        let header = Header {
            polynomial_size: self.parameters.polynomial_size().get() as u32,
            dimension: self.parameters.glwe_dimension().0 as u32,
            torus_bits: T::BITS as u8,
            expander: Some(self.rows.masks.expander),
            mask_seed: self.rows.masks.seed,
            ..Header::new(
                Kind::DeviceSwitchKey,
                self.parameters.fingerprint(),
                self.switch.from,
            )
        };
        header.sealed(message)
    }

    /// Reads the bytes of a switch key file.
    ///
    /// # Errors
    /// If the bytes are not those of a switch key over the torus `T`.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, WireError> {
        let message = Message::parse_only(bytes, Kind::DeviceSwitchKey)?;
        let (parameters, rest) = parameters_of(&message)?;
        let header = message.header;
        check_header::<T>(&header, &parameters, parameters.glwe_dimension().0)?;
        let masks = SeededMasks::of_header(&header, &[ExpanderKind::ChaCha20])?;
        let (binding, bodies) = Binding::parse(header.key, rest)?;
        let mut switches = parameters.device_switches().iter().copied();
        let fits = |switch: &_| bytes.len() == Self::message_len(&parameters, *switch);
        let Some(decomposition) = switches.find(fits) else {
            let expected = Self::message_len(&parameters, parameters.device_switch());
            return Err(message.wrong_length(expected - ENVELOPE_BYTES));
        };
        Ok(Self {
            parameters,
            switch: DeviceSwitch {
                from: header.key,
                to: binding.key_set,
                issue: binding.issue.ok_or(WireError::Field("device"))?,
            },
            decomposition,
            rows: SeededRows::from_bytes(
                masks,
                all_bits::<T>(&parameters),
                bodies,
                row_count(&parameters, decomposition),
            ),
        })
    }

    /// Expands and transforms the key, on all threads of the current rayon pool.
    pub fn prepare(&self) -> DeviceSwitchKey<T> {
        let product =
            GadgetProduct::of_device_switch(&self.parameters, self.decomposition, Isa::detect());
        // The switch subtracts the sum from the body.
        let fourier = self.rows.prepare(&product, -1.0, &|_| ());
        DeviceSwitchKey {
            parameters: self.parameters,
            switch: self.switch,
            decomposition: self.decomposition,
            product,
            fourier,
            torus: std::marker::PhantomData,
        }
    }
}

/// A switch key in memory, expanded and transformed. It is never serialised.
pub struct DeviceSwitchKey<T> {
    parameters: Parameters,
    switch: DeviceSwitch,
    decomposition: Decomposition,
    product: GadgetProduct,
    fourier: LargeBuffer<f64>,
    torus: std::marker::PhantomData<T>,
}

impl<T: ProductTorus> DeviceSwitchKey<T> {
    /// The keys that it connects.
    pub fn switch(&self) -> &DeviceSwitch {
        &self.switch
    }

    /// The decomposition of the masks that it switches, on which its noise depends.
    pub fn decomposition(&self) -> Decomposition {
        self.decomposition
    }

    /// The number of bytes in memory.
    pub fn byte_count(&self) -> usize {
        size_of_val(&*self.fourier)
    }

    /// Switches ciphertexts in place, on all threads of the current rayon pool. The result does
    /// not depend on the number of threads.
    ///
    /// # Panics
    /// If a ciphertext has other dimensions than the key.
    pub fn switch_batch(&self, ciphertexts: &mut [GlweCiphertext<T>]) {
        ciphertexts.par_iter_mut().for_each_init(
            || self.scratch(),
            |scratch, glwe| self.switch_glwe(glwe.as_mut_slice(), scratch),
        );
    }

    /// Returns scratch memory for [`switch_glwe`](Self::switch_glwe).
    pub fn scratch(&self) -> GadgetProductScratch {
        self.product.scratch()
    }

    /// Switches one ciphertext in place. `glwe` holds the masks, then the body.
    ///
    /// # Panics
    /// If the ciphertext or `scratch` has other dimensions than the key.
    pub fn switch_glwe(&self, glwe: &mut [T], scratch: &mut GadgetProductScratch) {
        let size = self.parameters.polynomial_size().get();
        assert_eq!(
            glwe.len(),
            self.parameters.big_lwe_dimension().0 + size,
            "the ciphertext is not under such a key"
        );
        self.product.switch(glwe, &self.fourier, scratch);
    }
}
