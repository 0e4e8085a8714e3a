//! The programmable bootstrap in both orders, on real parameters.

use tfhe_sbc_core::dimensions::{LweDimension, MessageBits};
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_core::parameters::ParameterSet;
use tfhe_sbc_engine::bootstrap::{BootstrapError, Evaluator, Job};
use tfhe_sbc_engine::lookup_table::LookupTable;

use crate::common::{Keys, small_set};

#[test]
fn every_value_comes_back_as_its_table_says_in_both_orders() {
    let (mut keys, server) = Keys::shared(MESSAGE_2_CARRY_2, 101);
    let parameters = *keys.secret.parameters();
    let encoding = parameters.block_encoding();
    let f = |x: u64| (x * x + 3) % 16;
    let table = LookupTable::from_fn(&parameters, |x| f(x) as i64);

    let big: Vec<_> = (0..16)
        .map(|x| Job {
            input: keys.encrypt(encoding.encode::<u64>(x)),
            table: &table,
        })
        .collect();
    let small: Vec<_> = (0..16)
        .map(|x| Job {
            input: keys.encrypt_small(encoding.encode(x)),
            table: &table,
        })
        .collect();
    let evaluator = Evaluator::new(&server);
    for (x, out) in evaluator.bootstrap_batch(&big).unwrap().iter().enumerate() {
        assert_eq!(encoding.decode(keys.big.phase(out)), f(x as u64));
    }
    for (x, out) in evaluator
        .bootstrap_key_switch_batch(&small)
        .unwrap()
        .iter()
        .enumerate()
    {
        assert_eq!(keys.secret.decrypt_block(out), f(x as u64));
    }
    // Outputs under the small key can be looked up without a key switch, and their outputs again.
    let on = evaluator.bootstrap_switched_batch(&small).unwrap();
    let again: Vec<_> = on
        .into_iter()
        .map(|input| Job {
            input,
            table: &table,
        })
        .collect();
    for (x, job) in again.iter().enumerate() {
        assert_eq!(encoding.decode(keys.big.phase(&job.input)), f(x as u64));
    }
    for (x, out) in evaluator
        .bootstrap_batch(&again)
        .unwrap()
        .iter()
        .enumerate()
    {
        assert_eq!(encoding.decode(keys.big.phase(out)), f(f(x as u64)));
    }
    assert_eq!(evaluator.bootstrap_count(), 64);
}

#[test]
fn what_does_not_fit_the_key_is_refused() {
    let set = small_set(64, 1, 64);
    let (_, server) = Keys::generate::<u64>(set, 2);
    let evaluator = Evaluator::new(&server);
    let parameters = *evaluator.parameters();
    let big = parameters.big_lwe_dimension();
    let table_of =
        |set: ParameterSet| LookupTable::<u64>::from_fn(&set.validate().unwrap(), |x| x as i64);
    let (fitting, large, other) = (
        table_of(set),
        table_of(ParameterSet {
            polynomial_size: 512,
            ..set
        }),
        table_of(ParameterSet {
            message_bits: MessageBits(2),
            ..set
        }),
    );
    let job = |dimension, table| Job {
        input: LweCiphertext::trivial(dimension, 0u64),
        table,
    };
    let refusal = |odd: Job<'_, u64, u64>| {
        let jobs = [job(big, &fitting), odd];
        evaluator.bootstrap_batch(&jobs).unwrap_err()
    };
    let small = LweDimension(64);
    let dimension = BootstrapError::Dimension {
        index: 1,
        expected: 256,
        found: 64,
    };
    assert_eq!(refusal(job(small, &fitting)), dimension);
    let size = BootstrapError::TableSize {
        index: 1,
        expected: 256,
        found: 512,
    };
    assert_eq!(refusal(job(big, &large)), size);
    let blocks = BootstrapError::TableBlocks {
        index: 1,
        expected: 4,
        found: 8,
    };
    assert_eq!(refusal(job(big, &other)), blocks);

    let mixed = [
        LweCiphertext::trivial(big, 0u64),
        LweCiphertext::trivial(small, 0),
    ];
    assert_eq!(evaluator.key_switch_batch(&mixed).unwrap_err(), dimension);
    let wrong_order = Job {
        input: LweCiphertext::trivial(big, 0u32),
        table: &fitting,
    };
    let refused = evaluator.bootstrap_key_switch_batch(&[wrong_order]);
    let dimension = BootstrapError::Dimension {
        index: 0,
        expected: 64,
        found: 256,
    };
    assert_eq!(refused.unwrap_err(), dimension);
    assert_eq!(
        evaluator.bootstrap_count(),
        0,
        "a refused batch is not begun"
    );
}
