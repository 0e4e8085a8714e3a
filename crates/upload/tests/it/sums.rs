//! Sums of rows on polynomials: the same as sums of extracted rows, from fewer ciphertexts.

use std::time::Instant;

use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::lwe::{LweCiphertext, LweSecretKey};
use tfhe_sbc_core::parameter_sets::{MESSAGE_1_CARRY_1, MESSAGE_2_CARRY_2};
use tfhe_sbc_core::parameters::{ParameterSet, Parameters};
use tfhe_sbc_core::torus::Torus;
use tfhe_sbc_core::wire::Message;
use tfhe_sbc_core::wire::glwe::UploadedGlweList;
use tfhe_sbc_core::workspace::HeapWorkspace;
use tfhe_sbc_device::{
    Encryptor, ExpanderKind, KeyMode, MemoryPlan, Seed, SeedSequence, workspace_bytes,
};
use tfhe_sbc_engine::analytics::AnalyticsError;
use tfhe_sbc_engine::analytics::parts::{PartialSum, SumInput};
use tfhe_sbc_engine::circuit::{Circuit, CircuitError};
use tfhe_sbc_engine::integer::Width;
use tfhe_sbc_upload::extract::ExpandedGlweList;
use tfhe_sbc_upload::sums::{ColumnBlocks, SumPlan, sum_rows};

struct Owner {
    parameters: Parameters,
    secret: SecretKey,
    big: LweSecretKey,
    seed: u8,
}

impl Owner {
    fn new(set: ParameterSet) -> Self {
        let parameters = set.validate().unwrap();
        let mut seeds = SeedSequence::new(Seed::from_bytes([9; 32]));
        let secret = SecretKey::generate(parameters, &mut seeds).unwrap();
        Self {
            parameters,
            big: secret.glwe().to_lwe_secret_key(),
            secret,
            seed: 20,
        }
    }

    fn upload(&mut self, blocks: &[u8]) -> ExpandedGlweList<u64> {
        let key = self.secret.device_key().to_bytes().unwrap();
        let plan = MemoryPlan::recommended();
        let bytes = workspace_bytes(self.parameters.as_set(), plan, KeyMode::Symmetric);
        let mut workspace = HeapWorkspace::new(bytes);
        self.seed += 1;
        let seeds = SeedSequence::new(Seed::from_bytes([self.seed; 32]));
        let kind = ExpanderKind::ChaCha20;
        let mut encryptor =
            Encryptor::<u64>::new(&key, plan, kind, seeds, workspace.as_mut_slice()).unwrap();
        let mut message = vec![0; encryptor.message_len(blocks.len())];
        encryptor.encrypt_blocks(blocks, &mut message).unwrap();
        let (message, _) = Message::parse(&message).unwrap();
        let key = self.secret.fingerprint();
        let list = UploadedGlweList::check(message, &self.parameters, key).unwrap();
        ExpandedGlweList::expand(&list, &self.parameters)
    }

    fn block(&self, ciphertext: &LweCiphertext<u64>) -> u64 {
        let bits = self.parameters.block_encoding().plaintext_bits();
        self.big.phase(ciphertext).round_to_bits(bits)
    }
}

fn random_digits(count: usize, modulus: u8) -> Vec<u8> {
    let mut state = count as u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
        (state >> 40) as u8 % modulus
    };
    (0..count).map(|_| next()).collect()
}

/// Columns that begin in the middle of polynomials, of rows that reach into the next, from
/// several uploads.
#[test]
fn sums_on_polynomials_are_sums_of_rows() {
    for (set, most) in [(MESSAGE_1_CARRY_1, 3), (MESSAGE_2_CARRY_2, 5)] {
        let mut owner = Owner::new(set);
        let modulus = owner.parameters.block_encoding().message_modulus();
        let circuit = Circuit::new(&owner.parameters).unwrap();
        assert_eq!(circuit.most_in_a_part(), most);
        let size = owner.parameters.polynomial_size().get();
        for (row_blocks, uploads) in [
            (1, vec![(3, 0..3)]),
            (4, vec![(7, 0..4)]),
            (5, vec![(2 * size + 100, 13..13 + 5 * 700), (50, 0..50)]),
            (3, vec![(size, 1..size), (size, 1..size), (size, 1..size)]),
        ] {
            let lists: Vec<_> = uploads
                .into_iter()
                .map(|(len, mut blocks)| {
                    let len = len.max(blocks.end);
                    blocks.end -= blocks.len() % row_blocks;
                    let digits = random_digits(len, modulus as u8);
                    (owner.upload(&digits), digits, blocks)
                })
                .collect();
            let columns: Vec<_> = lists
                .iter()
                .map(|(list, _, blocks)| ColumnBlocks {
                    list,
                    blocks: blocks.clone(),
                })
                .collect();
            let sums = sum_rows(&columns, row_blocks, most).unwrap();
            let mut expected = vec![(0, 0); row_blocks];
            for (_, digits, blocks) in &lists {
                for (i, &digit) in digits[blocks.clone()].iter().enumerate() {
                    let (sum, rows) = &mut expected[i % row_blocks];
                    *sum += u64::from(digit);
                    *rows += 1;
                }
            }
            // Each of the rows that were planned.
            let places: Vec<_> = columns.iter().map(|column| column.blocks.clone()).collect();
            let plan = SumPlan::new(&places, size, row_blocks, most).unwrap();
            assert_eq!(plan.sum_count(), sums.len());
            assert_eq!(plan.sums().count(), sums.len());
            for (planned, sum) in plan.sums().zip(&sums) {
                let digit = |&(column, row): &(usize, usize)| {
                    let (_, digits, blocks) = &lists[column];
                    u64::from(digits[blocks.start + row * row_blocks + planned.place])
                };
                let value = planned.rows.iter().map(digit).sum::<u64>();
                assert_eq!(owner.block(&sum.ciphertext), value);
                assert_eq!(
                    (planned.place, planned.rows.len() as u32),
                    (sum.place, sum.rows)
                );
            }
            let mut found = vec![(0, 0); row_blocks];
            for sum in &sums {
                assert!((1..=most).contains(&sum.rows));
                let value = owner.block(&sum.ciphertext);
                assert!(value <= u64::from(sum.rows) * (modulus - 1));
                found[sum.place].0 += value;
                found[sum.place].1 += sum.rows;
            }
            assert_eq!(found, expected);
            // As few as there can be, but for ends of polynomials.
            let rows = expected[0].1 as usize;
            let fewest = rows.div_ceil(most as usize) * row_blocks;
            assert!(sums.len() <= fewest + 40 * row_blocks, "{}", sums.len());
        }
    }
}

#[test]
fn blocks_that_are_no_rows_are_refused() {
    let mut owner = Owner::new(MESSAGE_1_CARRY_1);
    let list = owner.upload(&[1; 10]);
    let sum = |blocks, row_blocks, most| {
        let column = ColumnBlocks {
            list: &list,
            blocks,
        };
        sum_rows(&[column], row_blocks, most)
    };
    assert!(sum(0..10, 2, 3).is_some());
    assert_eq!(sum(4..4, 2, 3).unwrap().len(), 0);
    assert!(sum(0..11, 1, 3).is_none());
    assert!(sum(0..10, 3, 3).is_none());
    assert!(sum(0..10, 0, 3).is_none());
    assert!(sum(0..10, 2, 0).is_none());
}

#[test]
fn parts_that_make_no_sum_are_refused() {
    let mut owner = Owner::new(MESSAGE_2_CARRY_2);
    let list = owner.upload(&[1; 10]);
    let width = Width::new(4).unwrap();
    let ciphertext = list.extract(0..1).unwrap().remove(0);
    let part = |place, count| PartialSum {
        place,
        count,
        sum: SumInput::Ciphertext(ciphertext.clone()),
    };
    for parts in [
        vec![],
        vec![part(0, 2)],
        vec![part(0, 2), part(1, 3)],
        vec![part(0, 6), part(1, 6)],
        vec![part(0, 1), part(1, 1), part(2, 1)],
        vec![part(0, 0), part(1, 0)],
    ] {
        let circuit = Circuit::new(&owner.parameters).unwrap();
        let found = circuit.sum_of_parts(parts, width);
        assert_eq!(found.unwrap_err(), AnalyticsError::Parts);
    }
    let circuit = Circuit::new(&owner.parameters).unwrap();
    for (degree, level) in [(16, 1), (3, 0), (3, 6), (u64::MAX, 1)] {
        let found = circuit.input_sum(ciphertext.clone(), degree, level);
        assert_eq!(found, Err(CircuitError::Input { degree, level }));
    }
    let sum = circuit.sum_of_parts(vec![part(0, 5), part(1, 5)], width);
    assert_eq!(sum.unwrap().width().bits(), 4 + 3);
}

/// Prints what sums on polynomials save. `cargo test --release -p tfhe-sbc-upload --test it sums --
/// --ignored --nocapture`
#[test]
#[ignore = "prints times and sizes"]
fn what_sums_on_polynomials_save() {
    let mut owner = Owner::new(MESSAGE_2_CARRY_2);
    for rows in [1_000usize, 4_000] {
        let list = owner.upload(&random_digits(rows * 5, 4));
        let most = 5;
        let time = |work: &mut dyn FnMut() -> usize| {
            let mut best = f64::INFINITY;
            let mut count = 0;
            for _ in 0..7 {
                let start = Instant::now();
                count = work();
                best = best.min(start.elapsed().as_secs_f64());
            }
            (1e3 * best, count)
        };
        let (apart, all) = time(&mut || {
            let extracted = list.extract(0..rows * 5).unwrap();
            // Five rows at a time, as a circuit would add them.
            for column in extracted.chunks(25) {
                for digit in 0..5 {
                    let mut sum = column[digit].clone();
                    for row in column.iter().skip(digit + 5).step_by(5) {
                        sum.add_scaled(row, 1);
                    }
                    std::hint::black_box(&sum);
                }
            }
            extracted.len()
        });
        let (before, few) = time(&mut || {
            let column = ColumnBlocks {
                list: &list,
                blocks: 0..rows * 5,
            };
            let sums = sum_rows(&[column], 5, most).unwrap();
            std::hint::black_box(&sums).len()
        });
        let mebibytes = |count: usize| (count * 2049 * 8) as f64 / f64::from(1 << 20);
        println!(
            "{rows} rows of 5 blocks: extracted {all} ({:.0} MiB) and added in {apart:.1} ms; \
             added on polynomials, {few} extracted ({:.0} MiB) in {before:.1} ms",
            mebibytes(all),
            mebibytes(few)
        );
    }
}
