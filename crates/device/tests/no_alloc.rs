//! Proof that a device needs no allocator: this binary counts every allocation.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::frozen::{FROZEN_BOOLEAN, FROZEN_RADIX, seeds};
use common::{Device, encrypt, stream, varied_values};
use tfhe_sbc_core::glwe_product::MaskTorus;
use tfhe_sbc_core::parameter_sets::{GATES, MESSAGE_2_CARRY_2};
use tfhe_sbc_core::parameters::ParameterSet;
use tfhe_sbc_core::workspace::HeapWorkspace;
use tfhe_sbc_device::{
    Encryptor, ExpanderKind, FixedPoint, KeyMode, MemoryPlan, encode_readings, workspace_bytes,
};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count_one() {
    // Fails only while a thread goes down, when no test measures.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: every call goes to the system allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count_one();
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count_one();
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count_one();
        // SAFETY: the caller's promise, passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count_one();
        // SAFETY: the caller's promise, passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How many times this thread asked the allocator for something during `work`.
fn allocations(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

fn a_whole_session_allocates_nothing<T: MaskTorus>(set: ParameterSet) {
    let key_file = Device::<T>::new(set, 1).key_file;
    let values = varied_values(&set, 2 * set.polynomial_size + 5);
    let mut out = vec![0; 1 << 16];
    for plan in MemoryPlan::ALL {
        let mut workspace = HeapWorkspace::new(workspace_bytes(&set, plan, KeyMode::Symmetric));
        for expander in ExpanderKind::ALL {
            let count = allocations(|| {
                let workspace = workspace.as_mut_slice();
                let mut session =
                    Encryptor::<T>::new(&key_file, plan, expander, seeds(1), workspace).unwrap();
                encrypt(&mut session, &values, &mut out).unwrap();
                encrypt(&mut session, &values[..1], &mut out).unwrap();
                let mut sent = 0;
                stream(&mut session, &values, &mut |piece| {
                    sent += piece.len();
                    Ok(())
                })
                .unwrap();
                assert_eq!(sent, session.message_len(values.len()));
                // Refusals neither.
                assert!(encrypt(&mut session, &[255], &mut out).is_err());
                assert!(encrypt(&mut session, &values, &mut out[..8]).is_err());
            });
            assert_eq!(count, 0, "{} with {expander}, {plan}", set.name);
        }
    }
}

#[test]
fn sessions_allocate_nothing() {
    a_whole_session_allocates_nothing::<u64>(MESSAGE_2_CARRY_2);
    a_whole_session_allocates_nothing::<u32>(GATES);
    a_whole_session_allocates_nothing::<u64>(FROZEN_RADIX);
    a_whole_session_allocates_nothing::<u32>(FROZEN_BOOLEAN);
}

#[test]
fn encoding_readings_allocates_nothing() {
    let celsius = FixedPoint::new(-50.0, 0.1, 10).unwrap();
    let encoding = FROZEN_RADIX.validate().unwrap().block_encoding();
    let (readings, mut blocks) = ([21.5; 40], [0; 200]);
    let count = allocations(|| {
        encode_readings(encoding, &celsius, &readings, &mut blocks).unwrap();
    });
    assert_eq!(count, 0);
}

#[test]
fn the_count_notices_an_allocation() {
    assert!(allocations(|| drop(std::hint::black_box(Box::new(7)))) >= 2);
}
