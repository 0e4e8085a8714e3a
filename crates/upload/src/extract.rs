//! Bulk sample extraction: every plaintext of an uploaded GLWE list, or a range of them,
//! as LWE ciphertexts under the big key.

use std::ops::Range;

use rayon::prelude::*;
use tfhe_sbc_core::glwe::GlweCiphertext;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::torus::Torus;
use tfhe_sbc_core::wire::glwe::{UploadedGlweList, ciphertext_count};

/// The GLWE ciphertexts of a list with their masks, ready for sample extraction.
pub struct ExpandedGlweList<T> {
    ciphertexts: Vec<GlweCiphertext<T>>,
    element_count: usize,
}

impl<T: Torus> ExpandedGlweList<T> {
    /// Expands the masks of a checked list on all threads of the current rayon pool. `parameters`
    /// are those that the list was checked against. A list that carries its masks gives the same
    /// ciphertexts as one that carries their seed.
    ///
    /// # Panics
    /// Panics if `T` is not the torus of the parameters.
    pub fn expand(list: &UploadedGlweList<'_>, parameters: &Parameters) -> Self {
        assert_eq!(parameters.torus_bits(), T::BITS);
        let size = parameters.polynomial_size().get();
        let ciphertexts = (0..ciphertext_count(list.element_count(), size))
            .into_par_iter()
            .filter_map(|index| list.ciphertext(index))
            .collect();
        Self {
            ciphertexts,
            element_count: list.element_count(),
        }
    }

    /// The GLWE ciphertexts; each holds as many plaintexts as a polynomial has coefficients.
    pub fn ciphertexts(&self) -> &[GlweCiphertext<T>] {
        &self.ciphertexts
    }

    /// The GLWE ciphertexts, mutable so that a key switch can bring them under another key in place.
    pub fn ciphertexts_mut(&mut self) -> &mut [GlweCiphertext<T>] {
        &mut self.ciphertexts
    }

    /// The number of plaintexts.
    pub fn element_count(&self) -> usize {
        self.element_count
    }

    /// Extracts the LWE ciphertexts of the plaintexts at the places `elements`, under the big key.
    /// Returns `None` if the list has fewer plaintexts.
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
