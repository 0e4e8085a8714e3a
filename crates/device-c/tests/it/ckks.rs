//! The functions of CKKS as C calls them make the ciphertexts of `tfhe_sbc_ckks`. `tests/ckks.c`
//! does what they refuse, from C, under the sanitizers.
#![allow(
    clippy::borrow_as_ptr,
    clippy::undocumented_unsafe_blocks,
    reason = "calls with pointers to what is declared a line before"
)]

use std::ffi::{c_int, c_void};

use tfhe_sbc_c::*;
use tfhe_sbc_ckks as ckks;
use tfhe_sbc_ckks::{Format, KeyMode, MemoryPlan, ReseedPolicy, SeedSequence, Slots};
use tfhe_sbc_core::workspace::HeapWorkspace;

const OK: i32 = Status::Ok as i32;
const PARAMETERS: ckks::Parameters = ckks::Parameters::N1024;
const SCALE: f64 = 1024.0;

/// Every call gives other bytes.
fn known(call: u8, out: &mut [u8]) {
    for (i, byte) in out.iter_mut().enumerate() {
        *byte = (i * i * 7 + i * 13 + (i >> 2)) as u8 ^ call.wrapping_mul(0x5b);
    }
}

unsafe extern "C" fn entropy(context: *mut c_void, out: *mut u8, len: usize) -> c_int {
    let calls = unsafe { &mut *context.cast::<u8>() };
    known(*calls, unsafe { std::slice::from_raw_parts_mut(out, len) });
    *calls += 1;
    0
}

unsafe extern "C" fn collect(context: *mut c_void, piece: *const u8, len: usize) -> c_int {
    let piece = unsafe { std::slice::from_raw_parts(piece, len) };
    unsafe { &mut *context.cast::<Vec<u8>>() }.extend_from_slice(piece);
    0
}

#[test]
fn ciphertexts_are_those_of_the_library() {
    let packed = vec![0b00_01_10_01; 256];
    let doubles: Vec<f64> = (0..512).map(|i| f64::from(i) / 32.0 - 7.0).collect();
    let singles: Vec<f32> = doubles.iter().map(|&v| v as f32).collect();
    let plan = MemoryPlan::Balanced;
    let mut workspace = HeapWorkspace::new(20 * 1024);
    let mut parameters = std::mem::MaybeUninit::uninit();
    let status = unsafe { tfhe_sbc_ckks_standard_parameters(1024, parameters.as_mut_ptr()) };
    assert_eq!(status, OK);
    let parameters = unsafe { parameters.assume_init() };
    let mut bytes = 0;
    let status = unsafe { tfhe_sbc_ckks_workspace_bytes(&parameters, 1, 0, &mut bytes) };
    let expected = ckks::workspace_bytes(&PARAMETERS, plan, KeyMode::Symmetric);
    assert_eq!((status, bytes), (OK, expected));

    let mut calls = 0u8;
    let options = CkksOptions {
        parameters: &parameters,
        key: packed.as_ptr(),
        key_len: packed.len(),
        key_form: 0,
        plan: Plan::Balanced as u32,
        generator: CkksGenerator::Blake2xb as u32,
        entropy: Some(entropy),
        entropy_context: (&raw mut calls).cast(),
        workspace: workspace.as_mut_slice().as_mut_ptr().cast(),
        workspace_len: bytes,
    };
    let mut encryptor = CkksEncryptor::new();
    assert_eq!(
        unsafe { tfhe_sbc_ckks_encryptor_init(&mut encryptor, &options) },
        OK
    );
    let mut found = Vec::new();
    for format in [CkksFormat::Seal, CkksFormat::SealSeeded, CkksFormat::Raw] {
        let format = format as u32;
        let mut len = 0;
        let status = unsafe { tfhe_sbc_ckks_ciphertext_bytes(&parameters, format, &mut len) };
        assert_eq!(status, OK);
        let (mut ciphertext, mut made) = (vec![0; len + 5], 0);
        let (out, capacity) = (ciphertext.as_mut_ptr(), ciphertext.len());
        let (values, count) = (doubles.as_ptr(), doubles.len());
        let status = unsafe {
            tfhe_sbc_ckks_encrypt_f64(
                &mut encryptor,
                values,
                count,
                SCALE,
                format,
                out,
                capacity,
                &mut made,
            )
        };
        assert_eq!((status, made), (OK, len));
        ciphertext.truncate(len);
        found.push(ciphertext);
        let (mut single, mut complex) = (Vec::new(), Vec::new());
        let status = unsafe {
            let (values, context) = (singles.as_ptr(), (&raw mut single).cast());
            tfhe_sbc_ckks_encrypt_f32_to(
                &mut encryptor,
                values,
                count,
                SCALE,
                format,
                Some(collect),
                context,
            )
        };
        assert_eq!(status, OK);
        let status = unsafe {
            let context = (&raw mut complex).cast();
            tfhe_sbc_ckks_encrypt_complex_to(
                &mut encryptor,
                values,
                count / 2,
                SCALE,
                format,
                Some(collect),
                context,
            )
        };
        assert_eq!(status, OK);
        found.extend([single, complex]);
    }
    assert_eq!(unsafe { tfhe_sbc_ckks_encryptor_wipe(&mut encryptor) }, OK);
    // The table of roots is public; all that is secret is gone.
    let left = workspace.as_mut_slice()[..bytes]
        .iter()
        .filter(|&&byte| byte != 0);
    assert!(left.count() <= 4 * 1024);

    let mut call = 0;
    let source = |out: &mut [u8]| {
        known(call, out);
        call += 1;
        Ok(())
    };
    let mut session = ckks::Encryptor::new(
        &PARAMETERS,
        ckks::SecretKey::from_packed(&PARAMETERS, &packed).unwrap(),
        plan,
        ckks::SealGenerator::Blake2xb,
        SeedSequence::with_reseeding(source, ReseedPolicy::default()).unwrap(),
        workspace.as_mut_slice(),
    )
    .unwrap();
    let mut found = found.into_iter();
    for format in [Format::Seal, Format::SealSeeded, Format::Raw] {
        for slots in [
            Slots::Real(&doubles),
            Slots::RealF32(&singles),
            Slots::Complex(doubles.as_chunks().0),
        ] {
            let mut expected = Vec::new();
            let sink = &mut |piece: &[u8]| {
                expected.extend_from_slice(piece);
                Ok(())
            };
            session.encrypt(slots, SCALE, format, sink).unwrap();
            assert!(found.next() == Some(expected), "{format:?} {slots:?}");
        }
    }
}
