//! The LWE key switch: from the big key to the small key, mod 2^32 (TFHE: Fast Fully Homomorphic
//! Encryption over the Torus, section 4.1; signed digits).
//!
//! For every coefficient `s_i` of the big key and every digit weight `q / B^j`, the key has a row: an
//! encryption of `s_i · q / B^j`. A key switch goes over it in tiles of columns, all rows of a tile together,
//! so that one pass over a tile serves several ciphertexts whose sums stay in registers.
//!
//! Almost all of the key are masks, which a seed determines. Where the processor makes them as fast as memory would bring them,
//! they are not stored, and every batch of key switches makes them again.

mod tiles;

use std::io;
use std::ops::Range;

use rayon::prelude::*;
use tfhe_sbc_core::dimensions::LweDimension;
use tfhe_sbc_core::lwe::LweSecretKey;
use tfhe_sbc_core::parameters::{Decomposition, Parameters};
use tfhe_sbc_core::random::{self, ExpanderKind, MaskSeed, NoiseSeed, RowMasks};
use tfhe_sbc_core::simd::{self, Isa};
use tfhe_sbc_core::torus::Torus;

use self::tiles::{ByteColumns, Columns, Element, Made, Stored, TILE, Tiles, tile_count};
use crate::filler::filler_words;
use crate::nodes::Nodes;
use crate::seeded_rows::SeededMasks;

/// The number of ciphertexts whose sums of one tile fit the registers.
const LANES: usize = simd::KEY_SWITCH_TILE_CIPHERTEXTS;

/// The key-switching key in seeded form: the bodies only. The mask of row `i · level_count + j` is stream `i · level_count + j` of the
/// expander. Keys of former programs have ChaCha20, of which a mask is the next `n` scalars of stream 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeededKeySwitchKey {
    pub(crate) masks: SeededMasks,
    pub(crate) bodies: Vec<u32>,
}

impl SeededKeySwitchKey {
    /// The number of rows: one for each digit of each coefficient of the big key.
    pub fn row_count(parameters: &Parameters) -> usize {
        parameters.big_lwe_dimension().0 * parameters.key_switch().level_count.0
    }

    /// Makes the key. The expander of `masks` must not be ChaCha20, because keys with it are read as one stream for all rows.
    pub(crate) fn generate(
        parameters: &Parameters,
        from: &[i8],
        to: &LweSecretKey,
        (masks, noise_seed): (SeededMasks, &NoiseSeed),
    ) -> Self {
        debug_assert_ne!(masks.expander, ExpanderKind::ChaCha20);
        let Decomposition {
            base_log,
            level_count,
        } = parameters.key_switch();
        let mut noise_stream = ExpanderKind::ChaCha20.noise_stream(noise_seed, 0);
        let mut bodies: Vec<u32> = from
            .iter()
            .flat_map(|&s| {
                (1..=level_count.0 as u32)
                    .map(move |level| (i32::from(s) as u32) << (u32::BITS - base_log.0 * level))
            })
            .collect();
        random::add_noise(parameters.lwe_noise(), &mut noise_stream, &mut bodies);
        let mut mask = vec![0u32; parameters.lwe_dimension().0];
        for (row, body) in (0..).zip(&mut bodies) {
            random::fill_uniform(&mut masks.stream(row), &mut mask);
            *body = body.wrapping_add(to.mask_product(&mask));
        }
        Self { masks, bodies }
    }
}

/// The key-switching key, ready for use.
pub struct KeySwitchKey {
    isa: Isa,
    input: LweDimension,
    output: LweDimension,
    decomposition: Decomposition,
    rows: Rows,
}

/// The rows in one of their forms.
#[allow(clippy::large_enum_variant, reason = "a key has one of them")]
enum Rows {
    /// Rows in memory, whose columns keep all bits.
    Words(Stored<Columns>),
    /// Rows in memory, whose columns keep 24 bits.
    Bytes(Stored<ByteColumns>),
    /// Rows that each batch of key switches makes again.
    Made(Made),
}

/// A form of rows.
#[derive(Clone, Copy)]
enum Form {
    Words,
    Bytes,
    Made,
}

impl Form {
    /// Returns the fastest form for a processor, or that which takes no memory if it is about as fast.
    fn of(parameters: &Parameters, isa: Isa, expander: ExpanderKind) -> Self {
        // A digit has at most a byte.
        let narrow = parameters.key_switch().base_log.0 <= i8::BITS;
        let fewer_bits = parameters.packed_key_switch_variance() > 0.0;
        if isa.multiplies_bytes() && narrow && fewer_bits {
            Self::Bytes
        } else if expander == ExpanderKind::Aes128Ctr && makes_masks(isa) {
            Self::Made
        } else {
            Self::Words
        }
    }
}

/// Returns whether key switches on this processor make the masks of keys whose columns keep all bits. It is true on those of AMD's processors
/// with AVX-512 and VAES, which make masks about as fast as memory brings them.
pub fn makes_masks(isa: Isa) -> bool {
    isa.packs_bootstrap_keys() && RowMasks::are_fast()
}

impl KeySwitchKey {
    /// Makes the key ready for use, on all threads of the current rayon pool.
    pub(crate) fn prepare(parameters: &Parameters, seeded: &SeededKeySwitchKey) -> Self {
        let isa = Isa::detect();
        let form = Form::of(parameters, isa, seeded.masks.expander);
        Self::in_form(form, parameters, isa, seeded)
    }

    fn in_form(form: Form, parameters: &Parameters, isa: Isa, seeded: &SeededKeySwitchKey) -> Self {
        let output = parameters.lwe_dimension();
        let rows = match form {
            Form::Words => Rows::Words(Stored::of(seeded, output)),
            Form::Bytes => Rows::Bytes(Stored::of(seeded, output)),
            Form::Made => Rows::Made(Made::of(seeded, output)),
        };
        Self::with_rows(parameters, isa, rows)
    }

    /// Returns a key that encrypts nothing: every scalar is a filler word.
    pub(crate) fn of_filler_words(parameters: &Parameters) -> Self {
        let (isa, output) = (Isa::detect(), parameters.lwe_dimension());
        let count = SeededKeySwitchKey::row_count(parameters);
        let words = || filler_words().map(|word| word as u32);
        let fill = |columns: &mut [Columns]| {
            let scalars = columns.as_flattened_mut().iter_mut();
            scalars
                .zip(words())
                .for_each(|(scalar, word)| *scalar = word);
        };
        let rows = match Form::of(parameters, isa, ExpanderKind::Aes128Ctr) {
            Form::Words => Rows::Words(Stored::filled(count, output, |columns, _| fill(columns))),
            Form::Bytes => {
                let fill = |columns: &mut [ByteColumns], _| fill(columns.as_flattened_mut());
                Rows::Bytes(Stored::filled(count, output, fill))
            }
            Form::Made => {
                let masks = RowMasks::new(&MaskSeed([0; 32]));
                Rows::Made(Made::new(masks, words().take(count).collect(), output))
            }
        };
        Self::with_rows(parameters, isa, rows)
    }

    fn with_rows(parameters: &Parameters, isa: Isa, rows: Rows) -> Self {
        Self {
            isa,
            input: parameters.big_lwe_dimension(),
            output: parameters.lwe_dimension(),
            decomposition: parameters.key_switch(),
            rows,
        }
    }

    /// Gives each node a copy of what is in memory. Masks that are made again have none.
    ///
    /// # Errors
    /// Those of [`PerNode::copy_to`](crate::nodes::PerNode::copy_to).
    pub(crate) fn copy_to_nodes(&mut self, nodes: &Nodes) -> io::Result<()> {
        match &mut self.rows {
            Rows::Words(stored) => stored.copy_to_nodes(nodes),
            Rows::Bytes(stored) => stored.copy_to_nodes(nodes),
            Rows::Made(_) => Ok(()),
        }
    }

    /// The number of bytes in memory, of all copies.
    pub fn byte_count(&self) -> usize {
        match &self.rows {
            Rows::Words(stored) => stored.byte_count(),
            Rows::Bytes(stored) => stored.byte_count(),
            Rows::Made(made) => made.byte_count(),
        }
    }

    fn row_count(&self) -> usize {
        self.input.0 * self.decomposition.level_count.0
    }

    /// Switches every input to the small key. `outputs` receives the ciphertexts one after the
    /// other, `n + 1` scalars each. The threads of the current rayon pool share the work.
    ///
    /// # Panics
    /// If an input is not under the big key, or `outputs` has another length.
    pub fn switch_batch_into<T: Torus>(&self, inputs: &[&[T]], outputs: &mut [u32]) {
        let out_len = self.output.0 + 1;
        assert_eq!(outputs.len(), inputs.len() * out_len);
        let shares = Shares::new(inputs.len(), tile_count(self.output), self.row_count());
        let sums = match &self.rows {
            Rows::Words(stored) => self.sums(stored, inputs, shares),
            Rows::Bytes(stored) => self.sums(stored, inputs, shares),
            Rows::Made(made) => self.sums(made, inputs, shares),
        };
        let outputs = outputs.par_chunks_exact_mut(out_len).enumerate();
        outputs.zip(inputs).for_each(|((c, out), lwe)| {
            let (group, place) = (c / shares.ciphertexts, c % shares.ciphertexts);
            let of_group = &sums[group * shares.tasks_of_group()..][..shares.tasks_of_group()];
            let of_tiles = of_group.chunks_exact(shares.parts());
            for (out, parts) in out.chunks_mut(TILE).zip(of_tiles) {
                out.fill(0);
                for sums in parts {
                    for (out, &sum) in out.iter_mut().zip(&sums[place]) {
                        *out = out.wrapping_add(sum);
                    }
                }
            }
            let body = lwe[self.input.0].round_to_bits(u32::BITS) as u32;
            out[self.output.0] = out[self.output.0].wrapping_add(body);
        });
    }

    /// The signed digits of every mask scalar, the most significant first.
    fn digits<T: Torus>(&self, lwe: &[T]) -> Vec<i32> {
        assert_eq!(
            lwe.len(),
            self.input.0 + 1,
            "the ciphertext is not under the big key"
        );
        let levels = self.decomposition.level_count.0;
        let base_log = self.decomposition.base_log.0;
        let represented = self.decomposition.represented_bits();
        let (base, half) = (1i64 << base_log, 1i64 << (base_log - 1));
        let mut digits = vec![0i32; self.row_count()];
        for (digits, a) in digits.chunks_exact_mut(levels).zip(lwe) {
            let mut rest = a.round_to_bits(represented) as i64;
            for digit in digits.iter_mut().rev() {
                let low = rest & (base - 1);
                let balanced = if low >= half { low - base } else { low };
                *digit = balanced as i32;
                rest = (rest - balanced) >> base_log;
            }
        }
        digits
    }

    /// The sums `-Σ digit · row` of every task, in their order, for every ciphertext of its group.
    fn sums<T: Torus, E: Element, S: Tiles<E>>(
        &self,
        source: &S,
        inputs: &[&[T]],
        shares: Shares,
    ) -> Vec<Vec<Columns>> {
        let digits = inputs.par_iter().map(|lwe| E::arrange(self.digits(lwe)));
        let digits: Vec<Vec<E::Digits>> = digits.collect();
        let of_task = |task: usize| {
            let (digits, tile, rows) = shares.task(task, &digits);
            let places = rows.start / E::ROWS..rows.end / E::ROWS;
            let at_a_time = S::ROWS_AT_A_TIME / E::ROWS;
            let mut made = Vec::new();
            let mut sums = vec![[0u32; TILE]; digits.len()];
            for start in places.clone().step_by(at_a_time) {
                let places = start..places.end.min(start + at_a_time);
                let elements = source.elements(tile, places.clone(), &mut made);
                for (sums, digits) in sums.chunks_mut(LANES).zip(digits.chunks(LANES)) {
                    let mut lanes = [&[][..]; LANES];
                    for (lane, digits) in lanes.iter_mut().zip(digits) {
                        *lane = &digits[places.clone()];
                    }
                    E::subtract(self.isa, sums, elements, &lanes[..digits.len()]);
                }
            }
            sums
        };
        (0..shares.tasks()).into_par_iter().map(of_task).collect()
    }
}

/// The division of a batch of key switches into tasks. A tile is a task. If these are fewer than four for each thread, they are divided by
/// groups of ciphertexts; and by rows, whose sums are added afterwards, if there are too few ciphertexts for groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shares {
    /// The number of ciphertexts of the batch.
    batch: usize,
    tiles: usize,
    rows: usize,
    /// The number of ciphertexts of a group. The last group may have fewer.
    ciphertexts: usize,
    /// The number of rows of a task. The last part of a tile may have fewer.
    rows_of_task: usize,
}

impl Shares {
    /// The fewest ciphertexts of a group on average, so that reading or making the rows takes little of the time.
    const GROUP: usize = 64;
    /// The rows of a task are a multiple of this.
    const ROWS: usize = 64;

    /// Returns the division for the threads of the current rayon pool.
    fn new(batch: usize, tiles: usize, rows: usize) -> Self {
        Self::among(rayon::current_num_threads(), batch, tiles, rows)
    }

    /// Returns a division into about four tasks for each thread, or more if there are more tiles.
    fn among(threads: usize, batch: usize, tiles: usize, rows: usize) -> Self {
        let wanted = match threads {
            1 => 1,
            threads => (4 * threads).div_ceil(tiles),
        };
        let groups = wanted.min(batch / Self::GROUP).max(1);
        let parts = wanted.div_ceil(groups);
        Self {
            batch,
            tiles,
            rows,
            ciphertexts: batch.div_ceil(groups).max(1),
            rows_of_task: rows.div_ceil(parts).next_multiple_of(Self::ROWS),
        }
    }

    /// The number of tasks of a tile and group, one for each part of the rows.
    fn parts(&self) -> usize {
        self.rows.div_ceil(self.rows_of_task)
    }

    fn tasks_of_group(&self) -> usize {
        self.tiles * self.parts()
    }

    fn tasks(&self) -> usize {
        self.batch.div_ceil(self.ciphertexts) * self.tasks_of_group()
    }

    /// Returns what belongs to a task: the ciphertexts of its group, a tile, and some rows.
    fn task<'d, D>(&self, task: usize, all: &'d [D]) -> (&'d [D], usize, Range<usize>) {
        let (group, of_group) = (task / self.tasks_of_group(), task % self.tasks_of_group());
        let first = group * self.ciphertexts;
        let start = of_group % self.parts() * self.rows_of_task;
        (
            &all[first..self.batch.min(first + self.ciphertexts)],
            of_group / self.parts(),
            start..self.rows.min(start + self.rows_of_task),
        )
    }
}

#[cfg(test)]
mod tests {
    use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;

    use super::*;

    /// On every processor, whichever form it has.
    #[test]
    fn rows_that_are_made_are_those_in_memory() {
        let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
        let count = SeededKeySwitchKey::row_count(&parameters);
        let seeded = SeededKeySwitchKey {
            masks: SeededMasks {
                expander: ExpanderKind::Aes128Ctr,
                seed: MaskSeed([0x5a; 32]),
            },
            bodies: filler_words().map(|word| word as u32).take(count).collect(),
        };
        let big = parameters.big_lwe_dimension().0 + 1;
        let words = filler_words().map(|word| word as u64);
        let scalars: Vec<u64> = words.take(big + 130).collect();
        // Two groups of ciphertexts on many threads, of 66 and 65.
        let inputs: Vec<&[u64]> = scalars.windows(big).collect();
        let shares = Shares::among(16, inputs.len(), 15, count);
        assert_eq!((shares.batch, shares.ciphertexts), (131, 66));
        let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let switched = [Form::Words, Form::Made].map(|form| {
            [Isa::Portable, Isa::detect()].map(|isa| {
                let key = KeySwitchKey::in_form(form, &parameters, isa, &seeded);
                let mut outputs = vec![0; inputs.len() * (parameters.lwe_dimension().0 + 1)];
                let threads = if isa == Isa::Portable { 1 } else { 16 };
                let pool = pool(threads).unwrap();
                pool.install(|| key.switch_batch_into(&inputs, &mut outputs));
                outputs
            })
        });
        let [expected, others @ ..] = switched.as_flattened() else {
            unreachable!("four outputs");
        };
        assert!(others.iter().all(|outputs| outputs == expected));
        assert!(expected.iter().any(|&scalar| scalar != 0));
    }

    #[test]
    fn every_row_of_every_tile_meets_every_ciphertext_once() {
        for threads in [1, 2, 3, 16, 64, 192] {
            for batch in [0, 1, 2, 63, 64, 65, 127, 512, 6144] {
                for (tiles, rows) in [(1, 64), (13, 4608), (15, 6144), (15, 6144 - 4)] {
                    let shares = Shares::among(threads, batch, tiles, rows);
                    let all: Vec<usize> = (0..batch).collect();
                    let mut met = vec![0; batch * tiles];
                    for task in 0..shares.tasks() {
                        let (ciphertexts, tile, rows) = shares.task(task, &all);
                        assert!(rows.start % Shares::ROWS == 0 && !rows.is_empty());
                        for &c in ciphertexts {
                            met[c * tiles + tile] += rows.len();
                        }
                    }
                    assert!(met.iter().all(|&met| met == rows), "{shares:?}");
                    if tiles > 1 && batch >= threads * Shares::GROUP {
                        assert!(shares.tasks() >= 2 * threads, "{threads} {shares:?}");
                    }
                }
            }
        }
    }
}
