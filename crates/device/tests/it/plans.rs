//! Memory plans: what they cost, and that nobody can tell which one made a message.

use tfhe_sbc_core::dimensions::GlweDimension;
use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::parameter_sets::{GATES, MESSAGE_2_CARRY_2};
use tfhe_sbc_core::parameters::{GlweSecret, ParameterSet};
use tfhe_sbc_core::workspace::ALIGNMENT;
use tfhe_sbc_device::{
    Encryptor, ExpanderKind, KeyMode, MAX_PIECE_BYTES, MemoryPlan, Workspace, workspace_bytes,
};

use crate::common::frozen::{FROZEN_BOOLEAN, FROZEN_RADIX};
use crate::common::{self, Device, PUBLIC_TERNARY, send, stream, varied_values};

/// The size that boards are meant for: N = 1024, k = 1, q = 2^32.
const BOARD: ParameterSet = ParameterSet {
    glwe_dimension: GlweDimension(1),
    polynomial_size: 1024,
    ..FROZEN_BOOLEAN
};

fn all_plans_give_the_same_bytes<T: ProductTorus>(set: ParameterSet) {
    let values = varied_values(&set, 2 * set.polynomial_size + 77);
    for expander in ExpanderKind::ALL {
        let messages: Vec<Vec<u8>> = MemoryPlan::ALL
            .into_iter()
            .map(|plan| Device::<T>::with_plan(set, 61, plan).send(expander, 3, &values))
            .collect();
        assert!(messages[0] == messages[1] && messages[1] == messages[2]);
    }
}

#[test]
fn all_plans_give_the_same_bytes_for_every_set() {
    all_plans_give_the_same_bytes::<u64>(MESSAGE_2_CARRY_2);
    all_plans_give_the_same_bytes::<u64>(GATES);
    all_plans_give_the_same_bytes::<u32>(BOARD);
    // Whole bodies show every bit of the product.
    all_plans_give_the_same_bytes::<u64>(ParameterSet {
        body_bits: 64,
        ..FROZEN_RADIX
    });
    all_plans_give_the_same_bytes::<u32>(ParameterSet {
        body_bits: 32,
        ..FROZEN_BOOLEAN
    });
    all_plans_give_the_same_bytes::<u32>(PUBLIC_TERNARY);
    all_plans_give_the_same_bytes::<u64>(ParameterSet {
        glwe_secret: GlweSecret::Ternary,
        ..MESSAGE_2_CARRY_2
    });
    all_plans_give_the_same_bytes::<u64>(ParameterSet {
        body_bits: 64,
        glwe_dimension: GlweDimension(3),
        polynomial_size: 8192,
        ..FROZEN_RADIX
    });
}

#[test]
fn a_streamed_message_is_the_same() {
    for plan in MemoryPlan::ALL {
        for body_bits in [6, 9, 13, 31, 32] {
            let set = ParameterSet {
                body_bits,
                ..FROZEN_BOOLEAN
            };
            let mut device = Device::<u32>::with_plan(set, 62, plan);
            for count in [1, 31, 255, 256, 257, 600] {
                let values = varied_values(&set, count);
                let whole = send(&mut device.session(ExpanderKind::ChaCha20, 4), &values);
                let mut pieces = Vec::new();
                let mut session = device.session(ExpanderKind::ChaCha20, 4);
                let len = stream(&mut session, &values, &mut |piece| {
                    assert!((1..=MAX_PIECE_BYTES).contains(&piece.len()));
                    pieces.extend_from_slice(piece);
                    Ok(())
                });
                assert_eq!(len, Ok(whole.len()));
                assert!(pieces == whole, "{plan}, {body_bits} bits, {count}");
            }
        }
    }
}

/// State and scratch of a symmetric session, as a board sees them.
const fn memory(plan: MemoryPlan) -> usize {
    workspace_bytes(&BOARD, plan, KeyMode::Symmetric) + size_of::<Encryptor<'_, u32>>()
}

#[test]
fn plans_keep_their_promises_of_memory() {
    for plan in MemoryPlan::ALL {
        println!("{plan}: {} bytes", memory(plan));
    }
    assert!(memory(MemoryPlan::Small) <= 16 << 10);
    assert!(memory(MemoryPlan::Balanced) <= 20 << 10);
    assert!(memory(MemoryPlan::Fast) <= 48 << 10);
}

#[test]
fn a_workspace_can_be_an_array() {
    const BYTES: usize = workspace_bytes(&GATES, MemoryPlan::Small, KeyMode::Symmetric);
    static WORKSPACE: std::sync::Mutex<Workspace<BYTES>> = std::sync::Mutex::new(Workspace::new());
    let mut device = Device::<u64>::with_plan(GATES, 63, MemoryPlan::Small);
    let mut workspace = WORKSPACE.lock().unwrap();
    let bytes = workspace.as_mut_slice();
    assert_eq!(bytes.len(), BYTES);
    assert_eq!(bytes.as_ptr().addr() % ALIGNMENT, 0);
    let mut session = Encryptor::<u64>::new(
        &device.key_file,
        MemoryPlan::Small,
        ExpanderKind::ChaCha20,
        common::frozen::seeds(5),
        bytes,
    )
    .unwrap();
    let message = send(&mut session, &[1, 0, 1]);
    drop(session);
    assert_eq!(message, device.send(ExpanderKind::ChaCha20, 5, &[1, 0, 1]));
}

#[test]
fn the_recommended_plan_is_in_this_build() {
    assert!(MemoryPlan::recommended().is_built());
    assert!(MemoryPlan::ALL.iter().all(|plan| plan.is_built()));
}
