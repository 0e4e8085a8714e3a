//! Every gate on every input, on real parameters, and chained.

use tfhe_sbc_core::encoding::boolean;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameter_sets::{GATES, MESSAGE_2_CARRY_2};
use tfhe_sbc_core::parameters::{GlweSecret, ParameterSet};
use tfhe_sbc_engine::bootstrap::Evaluator;
use tfhe_sbc_engine::gates::{Gate, GateError, Gates};

use crate::common::Keys;

#[test]
fn every_gate_has_its_truth_table() {
    every_gate_has_its_truth_table_under(GATES);
}

/// GLWE keys that are not binary: what the GLWE key enters are plaintexts of the
/// bootstrapping and the key-switching key.
#[test]
fn every_gate_has_its_truth_table_under_a_ternary_key() {
    every_gate_has_its_truth_table_under(ParameterSet {
        glwe_secret: GlweSecret::Ternary,
        ..GATES
    });
}

fn every_gate_has_its_truth_table_under(set: ParameterSet) {
    let (mut keys, server) = Keys::shared(set, 106);
    let evaluator = Evaluator::new(&server);
    let gates = Gates::new(&evaluator).unwrap();
    let mut encrypt = |bit| keys.encrypt::<u64>(boolean::encode(bit));
    let bits = [false, true];
    let encrypted = bits.map(&mut encrypt);
    let mut jobs = Vec::new();
    for gate in Gate::ALL {
        for a in 0..2 {
            for b in 0..2 {
                jobs.push((gate, &encrypted[a], &encrypted[b]));
            }
        }
    }
    let mut outputs = gates.gate_batch(&jobs).unwrap().into_iter();
    for gate in Gate::ALL {
        for a in bits {
            for b in bits {
                let bit = boolean::decode(keys.big.phase(&outputs.next().unwrap()));
                assert_eq!(bit, gate.apply(a, b), "{a} {gate:?} {b}");
            }
        }
    }
    assert_eq!(evaluator.bootstrap_count(), 40);
}

#[test]
fn not_and_mux_and_chains_of_gates() {
    let (mut keys, server) = Keys::shared(GATES, 107);
    let evaluator = Evaluator::new(&server);
    let gates = Gates::new(&evaluator).unwrap();
    let bits = [false, true];
    let encrypted = bits.map(|bit| keys.encrypt::<u64>(boolean::encode(bit)));
    let decrypt = |c: &LweCiphertext<u64>| boolean::decode(keys.big.phase(c));
    let mut choices = Vec::new();
    let mut expected = Vec::new();
    for c in 0..2 {
        for a in 0..2 {
            for b in 0..2 {
                choices.push([&encrypted[c], &encrypted[a], &encrypted[b]]);
                expected.push(bits[if c == 1 { a } else { b }]);
            }
        }
    }
    let chosen = gates.mux_batch(&choices).unwrap();
    for (out, expected) in chosen.iter().zip(&expected) {
        assert_eq!(decrypt(out), *expected);
        assert_eq!(decrypt(&gates.not(out)), !*expected);
    }
    // Gates take the outputs of multiplexers and of each other.
    let mut state = chosen[5].clone();
    let mut clear = expected[5];
    for (i, gate) in Gate::ALL.into_iter().chain(Gate::ALL).enumerate() {
        state = gates.gate(gate, &state, &chosen[i % 8]).unwrap();
        clear = gate.apply(clear, expected[i % 8]);
        assert_eq!(decrypt(&state), clear, "after {gate:?}");
    }
}

#[test]
fn gates_refuse_a_set_for_smaller_sums_than_they_make() {
    let set = ParameterSet {
        max_noise_level: 3,
        ..GATES
    };
    let (_, server) = Keys::generate::<u64>(set, 9);
    assert!(matches!(
        Gates::new(&Evaluator::new(&server)),
        Err(GateError::NoiseLevel { found: 3 })
    ));
}

#[test]
fn gates_refuse_integers_and_foreign_ciphertexts() {
    let (_, server) = Keys::shared(MESSAGE_2_CARRY_2, 108);
    assert!(matches!(
        Gates::new(&Evaluator::new(&server)),
        Err(GateError::NotBoolean)
    ));
    let (mut keys, server) = Keys::shared(GATES, 109);
    let evaluator = Evaluator::new(&server);
    let gates = Gates::new(&evaluator).unwrap();
    let good = keys.encrypt::<u64>(0);
    let small = LweCiphertext::trivial(server.parameters().lwe_dimension(), 0u64);
    assert!(matches!(
        gates.gate(Gate::And, &good, &small),
        Err(GateError::Dimension { .. })
    ));
}
