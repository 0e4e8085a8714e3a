//! The masks of sums of uploaded ciphertexts, made again from the seeds of the uploads.

use std::collections::HashMap;

use tfhe_sbc_core::glwe::GlweCiphertext;
use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters};
use tfhe_sbc_core::random::fill_uniform;
use tfhe_sbc_core::wire::bodies::{Bodies, MaskWindow, SeededMasks};

use crate::window::add_window;

/// The number of expanded polynomials that are kept.
const MAX_KEPT: usize = 256;

/// Makes the masks of sums from the seeds of uploads. Sums of the same uploads share expanded masks.
pub struct MaskMaker {
    parameters: Parameters,
    expanded: HashMap<(SeededMasks, u32), GlweCiphertext<u64>>,
}

/// A sum with its masks. It encrypts its codes once the masks of devices are brought under its key and added.
pub struct Completed {
    /// The bodies, with the masks of uploads under the key of the key set.
    pub own: GlweCiphertext<u64>,
    /// The masks of uploads under keys that devices have of their own, by key, with bodies of zeros.
    pub under_devices: Vec<(KeyFingerprint, GlweCiphertext<u64>)>,
}

impl MaskMaker {
    /// Makes masks for ciphertexts under `parameters`, which are over the 64-bit torus.
    pub fn new(parameters: &Parameters) -> Self {
        Self {
            parameters: *parameters,
            expanded: HashMap::new(),
        }
    }

    /// Returns the sum with its masks. The body coefficients behind its codes are 0.
    ///
    /// Returns `None` if there are more codes than a polynomial has coefficients.
    pub fn complete(&mut self, sum: &Bodies) -> Option<Completed> {
        let size = self.parameters.polynomial_size().get();
        let mut own = self.zero()?;
        let mut under_devices: Vec<(KeyFingerprint, GlweCiphertext<u64>)> = Vec::new();
        for window in &sum.windows {
            let Some(key) = window.masks.key else {
                self.add(&mut own, window)?;
                continue;
            };
            let known = under_devices.iter().position(|(known, _)| *known == key);
            let place = match known {
                Some(place) => place,
                None => {
                    under_devices.push((key, self.zero()?));
                    under_devices.len() - 1
                }
            };
            let (_, masks) = under_devices.get_mut(place)?;
            self.add(masks, window)?;
        }
        let body = own.as_mut_slice().rchunks_exact_mut(size).next()?;
        body.fill(0);
        body.get_mut(..sum.codes.len())?.copy_from_slice(&sum.codes);
        Some(Completed { own, under_devices })
    }

    fn zero(&self) -> Option<GlweCiphertext<u64>> {
        let size = self.parameters.polynomial_size();
        let words = (self.parameters.glwe_dimension().0 + 1) * size.get();
        GlweCiphertext::from_vec(vec![0; words], size)
    }

    fn add(&mut self, sum: &mut GlweCiphertext<u64>, window: &MaskWindow) -> Option<()> {
        let size = self.parameters.polynomial_size().get();
        let mut first = window.first;
        let end = first.checked_add(window.count)?;
        while first < end {
            let (polynomial, place) = (first / size, first % size);
            let places = place..size.min(place + (end - first));
            first += places.len();
            let masks = self.expanded(window.masks, u32::try_from(polynomial).ok()?)?;
            add_window(sum, masks, places, window.weight);
        }
        Some(())
    }

    /// The masks of a ciphertext of an upload, with a body of zeros.
    fn expanded(&mut self, masks: SeededMasks, index: u32) -> Option<&GlweCiphertext<u64>> {
        if self.expanded.len() >= MAX_KEPT && !self.expanded.contains_key(&(masks, index)) {
            self.expanded.clear();
        }
        let mut ciphertext = self.zero()?;
        Some(self.expanded.entry((masks, index)).or_insert_with(|| {
            let size = self.parameters.polynomial_size().get();
            let mask_len = self.parameters.glwe_dimension().0 * size;
            let mut stream = masks.expander.mask_stream(&masks.seed, index);
            let (mask, _) = ciphertext.as_mut_slice().split_at_mut(mask_len);
            fill_uniform(&mut stream, mask);
            ciphertext
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
    use tfhe_sbc_core::random::{ExpanderKind, MaskSeed};

    /// The reference adds extracted masks of single elements, and multiplies them in the clear.
    #[test]
    fn masks_are_those_of_the_sum_of_the_elements() {
        let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
        let size = parameters.polynomial_size().get();
        let mut maker = MaskMaker::new(&parameters);
        let masks = |byte| SeededMasks {
            expander: ExpanderKind::ChaCha20,
            seed: MaskSeed([byte; 32]),
            key: None,
        };
        let window = |byte, first, count, weight| MaskWindow {
            masks: masks(byte),
            first,
            count,
            weight,
        };
        // Within a polynomial, across the end of one, and over several.
        let windows = vec![
            window(1, 5, 3, -2),
            window(2, size - 1, 2, 7),
            window(1, 10, 2 * size + 4, 1),
        ];
        let found = maker
            .complete(&Bodies {
                codes: vec![3],
                windows: windows.clone(),
            })
            .unwrap();
        assert!(found.under_devices.is_empty());
        // The masks of a device come by themselves.
        let key = KeyFingerprint([4; 16]);
        let mut of_device = windows.clone();
        of_device[1].masks.key = Some(key);
        let parts = maker
            .complete(&Bodies {
                codes: vec![3],
                windows: of_device,
            })
            .unwrap();
        let [(of, masks_of_device)] = &parts.under_devices[..] else {
            panic!("{} keys", parts.under_devices.len());
        };
        assert_eq!(*of, key);
        let both = parts.own.as_slice().iter().zip(masks_of_device.as_slice());
        let both: Vec<u64> = both.map(|(a, b)| a.wrapping_add(*b)).collect();
        assert_eq!(both, found.own.as_slice());
        let mut expected = maker.zero().unwrap().sample_extract(0);
        for window in &windows {
            for element in window.first..window.first + window.count {
                let masks = maker.expanded(window.masks, (element / size) as u32);
                let mut one = masks.unwrap().sample_extract(element % size);
                one.mul_assign(window.weight);
                expected.add_assign(&one);
            }
        }
        let found = found.own.sample_extract(0);
        let (mask, body) = found.as_slice().split_at(found.as_slice().len() - 1);
        assert_eq!(body, [3]);
        assert_eq!(mask, &expected.as_slice()[..mask.len()]);
    }

    #[test]
    fn more_codes_than_coefficients_are_refused() {
        let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
        let sum = Bodies {
            codes: vec![0; parameters.polynomial_size().get() + 1],
            windows: Vec::new(),
        };
        assert!(MaskMaker::new(&parameters).complete(&sum).is_none());
    }
}
