//! Signs.

use rayon::prelude::*;
use tfhe_sbc_core::encoding::chunks::{View, sign_views};
use tfhe_sbc_core::lwe::LweCiphertext;

use super::{CompactEvaluateError, Inputs, see};
use crate::bootstrap::{Evaluator, Job, round_len};
use crate::chunk_table::ChunkTable;

/// The number of bootstraps of [`Evaluator::compact_signs`] for one value: one for each chunk.
pub fn sign_bootstraps(chunks: &[u32]) -> u64 {
    chunks.len() as u64
}

impl Evaluator<'_, u64> {
    /// Returns whether numbers are negative, as radix blocks: 1 if a number is, 0 if not, each of the
    /// noise of one bootstrap output. `values` are ciphertexts under the big key. Each holds a number
    /// of `n` bits in two's complement at the phase `number / 2^n`, where `n` is the sum of `chunks`,
    /// the lengths of the chunks from the lowest bits up. One value takes [`sign_bootstraps`] bootstraps.
    ///
    /// `go_on` is called before every round of bootstraps, and the evaluation stops if it returns
    /// false. The result does not depend on the number of threads.
    ///
    /// # Errors
    /// If the parameter set does not carry radix blocks, the chunks are no chunks of a number, a
    /// ciphertext is not under the big key, or `go_on` returned false.
    pub fn compact_signs(
        &self,
        values: &[LweCiphertext<u64>],
        chunks: &[u32],
        go_on: &dyn Fn() -> bool,
    ) -> Result<Vec<LweCiphertext<u64>>, CompactEvaluateError> {
        let views = sign_views(chunks)?;
        self.check_compact(values)?;
        let mut signs = Vec::with_capacity(values.len());
        for some in values.chunks(round_len()) {
            signs.extend(self.signs_of_round(some, &views, go_on, None)?);
        }
        Ok(signs)
    }

    /// Evaluates [`compact_signs`](Self::compact_signs) and returns the ciphertexts before every lookup
    /// instead, lookup by lookup, for measurements of their noise.
    ///
    /// # Errors
    /// Those of [`compact_signs`](Self::compact_signs).
    pub fn compact_sign_inputs(
        &self,
        values: &[LweCiphertext<u64>],
        chunks: &[u32],
    ) -> Result<Vec<Vec<LweCiphertext<u64>>>, CompactEvaluateError> {
        let views = sign_views(chunks)?;
        self.check_compact(values)?;
        let mut inputs = Inputs::new(views.len());
        for some in values.chunks(round_len()) {
            self.signs_of_round(some, &views, &|| true, Some(&mut inputs))?;
        }
        Ok(inputs.finish())
    }

    /// The signs of the values of one round. `inputs` receives those of every lookup.
    fn signs_of_round(
        &self,
        values: &[LweCiphertext<u64>],
        views: &[View],
        go_on: &dyn Fn() -> bool,
        mut inputs: Option<&mut Inputs>,
    ) -> Result<Vec<LweCiphertext<u64>>, CompactEvaluateError> {
        let parameters = self.parameters();
        let scales = views.iter().skip(1).map(View::bit_below_log2);
        let scales = scales.chain([parameters.block_encoding().plaintext_bits()]);
        let mut bits: Vec<LweCiphertext<u64>> = Vec::new();
        for (&view, scale) in views.iter().zip(scales) {
            if !go_on() {
                return Err(CompactEvaluateError::Cancelled);
            }
            let table = ChunkTable::of_top_bit(parameters, scale);
            let jobs: Vec<Job<'_, u64, u64>> = (0..values.len())
                .into_par_iter()
                .map(|at| {
                    let mut input = see(parameters, &values[at], view, 0);
                    if let Some(bit) = bits.get(at) {
                        input.sub_assign(bit);
                    }
                    Job {
                        input,
                        table: &table.polynomial,
                    }
                })
                .collect();
            bits = self.bootstrap_all(&jobs);
            for bit in &mut bits {
                bit.add_plaintext(table.offset);
            }
            if let Some(inputs) = &mut inputs {
                inputs.keep(jobs);
            }
        }
        Ok(bits)
    }
}
