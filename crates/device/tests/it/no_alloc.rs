//! Proof that a device needs no allocator: an allocator that counts what each thread allocates. It is
//! the allocator of all the integration tests, which it does not disturb.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::parameter_sets::{GATES, MESSAGE_2_CARRY_2};
use tfhe_sbc_core::parameters::ParameterSet;
use tfhe_sbc_core::workspace::HeapWorkspace;
use tfhe_sbc_device::{
    BodyRounding, ColumnValues, CompactEncoding, Encryptor, ExpanderKind, FixedPoint, KeyMode,
    MemoryPlan, PublicEncryptor, Session, SessionMode, encode_readings, workspace_bytes,
};

use crate::common::frozen::{FROZEN_RADIX, seeds};
use crate::common::{Device, PUBLIC_BOOLEAN, PUBLIC_RADIX, encrypt, stream, varied_values};

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

/// Returns how many times this thread asked the allocator for memory during `work`.
fn allocations(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

/// Everything that a session can do, refusals too.
fn use_it<T: ProductTorus, K: SessionMode<T>>(
    session: &mut Session<'_, T, K>,
    values: &[u8],
    out: &mut [u8],
) {
    encrypt(session, values, out).unwrap();
    encrypt(session, &values[..1], out).unwrap();
    let mut sent = 0;
    stream(session, values, &mut |piece| {
        sent += piece.len();
        Ok(())
    })
    .unwrap();
    assert_eq!(sent, session.message_len(values.len()));
    assert!(encrypt(session, &[255], out).is_err());
    assert!(encrypt(session, values, &mut out[..8]).is_err());
}

fn a_whole_session_allocates_nothing<T: ProductTorus>(set: ParameterSet) {
    let device = Device::<T>::new(set, 1);
    let values = varied_values(&set, 2 * set.polynomial_size + 5);
    let mut out = vec![0; 1 << 18];
    for plan in MemoryPlan::ALL {
        let bytes = |mode| workspace_bytes(&set, plan, mode);
        let mut memory = HeapWorkspace::new(bytes(KeyMode::Symmetric));
        let mut public_memory = HeapWorkspace::new(bytes(KeyMode::Public));
        for expander in ExpanderKind::ALL {
            let count = allocations(|| {
                let (key, memory) = (&device.key_file, memory.as_mut_slice());
                let session = Encryptor::<T>::new(key, plan, expander, seeds(1), memory);
                use_it(&mut session.unwrap(), &values, &mut out);
                let (key, memory) = (&device.public_key_file, public_memory.as_mut_slice());
                let session = PublicEncryptor::<T>::new(key, plan, expander, seeds(1), memory);
                use_it(&mut session.unwrap(), &values, &mut out);
            });
            assert_eq!(count, 0, "{} with {expander}, {plan}", set.name);
        }
    }
}

#[test]
fn sessions_allocate_nothing() {
    a_whole_session_allocates_nothing::<u64>(MESSAGE_2_CARRY_2);
    a_whole_session_allocates_nothing::<u64>(GATES);
    a_whole_session_allocates_nothing::<u64>(PUBLIC_RADIX);
    a_whole_session_allocates_nothing::<u32>(PUBLIC_BOOLEAN);
}

/// Columns of all forms, into a buffer and in pieces, refusals too.
fn use_columns<K: SessionMode<u64>>(
    session: &mut Session<'_, u64, K>,
    columns: &[ColumnValues<'_>],
    out: &mut [u8],
) {
    let len = session.columns_message_len(columns);
    assert_eq!(session.encrypt_columns(columns, out), Ok(len));
    let mut sent = 0;
    let written = session.encrypt_columns_to(columns, &mut |piece| {
        sent += piece.len();
        Ok(())
    });
    assert_eq!((written, sent), (Ok(len), len));
    assert!(session.encrypt_columns(columns, &mut out[..8]).is_err());
    let too_large = [ColumnValues::Blocks(&[255])];
    assert!(session.encrypt_columns(&too_large, out).is_err());
}

#[test]
fn columns_allocate_nothing() {
    let set = PUBLIC_RADIX;
    let device = Device::<u64>::new(set, 1);
    let encoding = |bits, rounding| CompactEncoding::new(bits, 8, 30, rounding).unwrap();
    let celsius = FixedPoint::new(-50.0, 0.1, 10).unwrap();
    let (codes, readings) = ([7; 300], [21.5; 300]);
    let columns = [
        ColumnValues::Codes(encoding(12, BodyRounding::ErrorFeedback), &codes),
        ColumnValues::Readings(encoding(10, BodyRounding::Nearest), celsius, &readings),
        ColumnValues::Blocks(&[1; 5]),
    ];
    let mut out = vec![0; 1 << 14];
    for plan in MemoryPlan::ALL {
        let bytes = |mode| workspace_bytes(&set, plan, mode);
        let mut memory = HeapWorkspace::new(bytes(KeyMode::Symmetric));
        let mut public_memory = HeapWorkspace::new(bytes(KeyMode::Public));
        let expander = ExpanderKind::ChaCha20;
        let count = allocations(|| {
            let (key, memory) = (&device.key_file, memory.as_mut_slice());
            let session = Encryptor::<u64>::new(key, plan, expander, seeds(1), memory);
            use_columns(&mut session.unwrap(), &columns, &mut out);
            let (key, memory) = (&device.public_key_file, public_memory.as_mut_slice());
            let session = PublicEncryptor::<u64>::new(key, plan, expander, seeds(1), memory);
            use_columns(&mut session.unwrap(), &columns, &mut out);
        });
        assert_eq!(count, 0, "{plan}");
    }
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
