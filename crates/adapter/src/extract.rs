//! Bulk sample extraction: every plaintext of a seeded GLWE list, or a range of them,
//! as LWE ciphertexts under the big key.

use std::ops::Range;

use rayon::prelude::*;
use tfhe_sbc_core::glwe::GlweCiphertext;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::torus::Torus;
use tfhe_sbc_core::wire::bits::unpack_top_bits;
use tfhe_sbc_core::wire::glwe::SeededGlweList;

/// The ciphertexts of a list with their masks expanded, ready for extraction.
pub struct ExpandedGlweList<T> {
    ciphertexts: Vec<GlweCiphertext<T>>,
    element_count: usize,
}

impl<T: Torus> ExpandedGlweList<T> {
    /// Expands a checked list, whose parameters are `parameters`, on all threads of
    /// the current rayon pool.
    ///
    /// # Panics
    /// If `T` is not the torus of the parameters.
    pub fn expand(list: &SeededGlweList<'_>, parameters: &Parameters) -> Self {
        assert_eq!(parameters.torus_bits, T::BITS);
        let size = parameters.polynomial_size();
        let (expander, seed) = (list.expander(), list.mask_seed());
        let bodies: Vec<_> = list.bodies().enumerate().collect();
        let ciphertexts = bodies
            .into_par_iter()
            .map(|(stream, (used, packed))| {
                let mut body = vec![T::ZERO; size.get()];
                unpack_top_bits(packed, parameters.body_bits, &mut body[..used]);
                GlweCiphertext::expand(
                    parameters.glwe_dimension,
                    size,
                    expander,
                    &seed,
                    stream as u32,
                    &body,
                )
            })
            .collect();
        Self {
            ciphertexts,
            element_count: list.element_count(),
        }
    }

    /// The ciphertexts, to be brought under another key.
    pub fn ciphertexts_mut(&mut self) -> &mut [GlweCiphertext<T>] {
        &mut self.ciphertexts
    }

    /// Number of plaintexts.
    pub fn element_count(&self) -> usize {
        self.element_count
    }

    /// The LWE ciphertexts of the plaintexts in `elements`. `None` if there are not so
    /// many.
    pub fn extract(&self, elements: Range<usize>) -> Option<Vec<LweCiphertext<T>>> {
        let size = self.ciphertexts.first()?.polynomial_size().get();
        (elements.end <= self.element_count).then(|| {
            elements
                .into_par_iter()
                .map(|i| self.ciphertexts[i / size].sample_extract(i % size))
                .collect()
        })
    }
}
