//! The programmable bootstrap in both orders, on real parameters.

mod common;

use common::Keys;
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_engine::bootstrap::{Evaluator, Job};
use tfhe_sbc_engine::lookup_table::LookupTable;

#[test]
fn every_value_comes_back_as_its_table_says_in_both_orders() {
    let (mut keys, server) = Keys::generate::<u64>(MESSAGE_2_CARRY_2, 1);
    let parameters = *keys.secret.parameters();
    let encoding = parameters.block_encoding();
    let f = |x: u64| (x * x + 3) % 16;
    let table = LookupTable::from_fn(encoding, parameters.polynomial_size(), |x| f(x) as i64);

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
    for (x, out) in evaluator.bootstrap_batch(&big).iter().enumerate() {
        assert_eq!(encoding.decode(keys.big.phase(out)), f(x as u64));
    }
    for (x, out) in evaluator
        .bootstrap_key_switch_batch(&small)
        .iter()
        .enumerate()
    {
        assert_eq!(keys.secret.decrypt_block(out), f(x as u64));
    }
    assert_eq!(evaluator.bootstrap_count(), 32);
}
