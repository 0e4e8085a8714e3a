//! The functions as C calls them: what they refuse, and that they make the messages of
//! `tfhe_sbc_device`. `tests/abi.c` does the same from C, under the sanitizers.
#![allow(
    clippy::borrow_as_ptr,
    clippy::undocumented_unsafe_blocks,
    reason = "calls with pointers to what is declared a line before, or refused ones"
)]

use std::collections::HashSet;
use std::ffi::{c_int, c_void, CStr};
use std::ptr::{null, null_mut};

use tfhe_sbc_c::*;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameter_sets::BOOLEAN_1024;
use tfhe_sbc_core::parameters::ParameterSet;
use tfhe_sbc_core::workspace::HeapWorkspace;
use tfhe_sbc_device::{EntropyError, ExpanderKind, MemoryPlan, ReseedPolicy, Seed, SeedSequence};

pub(crate) const OK: i32 = Status::Ok as i32;
const BITS: usize = 1024;

pub(crate) struct Device {
    pub(crate) key: Vec<u8>,
    pub(crate) public_key: Vec<u8>,
    pub(crate) workspace: HeapWorkspace,
    calls: u8,
}

impl Device {
    pub(crate) fn new() -> Self {
        Self::of(
            BOOLEAN_1024,
            WORKSPACE_BYTES_BOOLEAN_1024_BALANCED_PUBLIC + 8,
        )
    }

    pub(crate) fn of(set: ParameterSet, workspace_len: usize) -> Self {
        let mut seeds = SeedSequence::new(Seed::from_bytes([7; 32]));
        let secret = SecretKey::generate(set.validate().unwrap(), &mut seeds).unwrap();
        let public_key = secret.device_public_key(&mut seeds).unwrap();
        Self {
            key: secret.device_key().to_bytes().unwrap().to_vec(),
            public_key: public_key.to_bytes().unwrap(),
            workspace: HeapWorkspace::new(workspace_len),
            calls: 0,
        }
    }

    pub(crate) fn options(&mut self) -> Options {
        Options {
            key: self.key.as_ptr(),
            key_len: self.key.len(),
            plan: Plan::Balanced as u32,
            expander: Expander::Chacha20 as u32,
            entropy: Some(entropy),
            entropy_context: (&raw mut self.calls).cast(),
            workspace: self.workspace.as_mut_slice().as_mut_ptr().cast(),
            workspace_len: WORKSPACE_BYTES_BOOLEAN_1024_BALANCED,
        }
    }
}

/// Every call gives other bytes.
unsafe extern "C" fn entropy(context: *mut c_void, out: *mut u8, len: usize) -> c_int {
    let calls = unsafe { &mut *context.cast::<u8>() };
    unsafe { std::slice::from_raw_parts_mut(out, len) }.copy_from_slice(&known(*calls, len));
    *calls += 1;
    0
}

fn known(call: u8, len: usize) -> Vec<u8> {
    let byte = |i: usize| (i * i * 7 + i * 13 + (i >> 2)) as u8 ^ call.wrapping_mul(0x5b);
    (0..len).map(byte).collect()
}

/// The same source for the library.
pub(crate) fn known_source() -> impl FnMut(&mut [u8]) -> Result<(), EntropyError> {
    let mut call = 0;
    move |out| {
        out.copy_from_slice(&known(call, out.len()));
        call += 1;
        Ok(())
    }
}

unsafe extern "C" fn no_entropy(_: *mut c_void, _: *mut u8, _: usize) -> c_int {
    5
}

unsafe extern "C" fn silent_entropy(_: *mut c_void, _: *mut u8, _: usize) -> c_int {
    0
}

pub(crate) unsafe extern "C" fn collect(
    context: *mut c_void,
    piece: *const u8,
    len: usize,
) -> c_int {
    let piece = unsafe { std::slice::from_raw_parts(piece, len) };
    unsafe { &mut *context.cast::<Vec<u8>>() }.extend_from_slice(piece);
    0
}

pub(crate) unsafe extern "C" fn full(_: *mut c_void, _: *const u8, _: usize) -> c_int {
    -1
}

pub(crate) fn init(encryptor: &mut Encryptor, options: &Options) -> i32 {
    unsafe { tfhe_sbc_encryptor_init(encryptor, options) }
}

pub(crate) fn wipe(encryptor: &mut Encryptor) -> i32 {
    unsafe { tfhe_sbc_encryptor_wipe(encryptor) }
}

#[test]
fn messages_are_those_of_the_library() {
    let bits: Vec<u8> = (0..BITS).map(|i| u8::from(i % 5 == 2)).collect();
    let (mut device, mut encryptor) = (Device::new(), Encryptor::new());
    assert_eq!(init(&mut encryptor, &device.options()), OK);
    let (mut message, mut len) = (vec![0; 2000], 0);
    let (out, capacity) = (message.as_mut_ptr(), message.len());
    let status = unsafe {
        tfhe_sbc_encrypt_bits(&mut encryptor, bits.as_ptr(), BITS, out, capacity, &mut len)
    };
    assert_eq!(status, OK);
    let mut streamed = Vec::new();
    let context = (&raw mut streamed).cast();
    let status = unsafe {
        tfhe_sbc_encrypt_bits_to(&mut encryptor, bits.as_ptr(), BITS, Some(collect), context)
    };
    assert_eq!(status, OK);
    assert_eq!(wipe(&mut encryptor), OK);

    let seeds = SeedSequence::with_reseeding(known_source(), ReseedPolicy::default()).unwrap();
    let mut session = tfhe_sbc_device::Encryptor::<u32, _>::new(
        &device.key,
        MemoryPlan::Balanced,
        ExpanderKind::ChaCha20,
        seeds,
        device.workspace.as_mut_slice(),
    )
    .unwrap();
    let mut expected = vec![0; session.message_len(BITS)];
    for found in [&message[..len], &streamed] {
        session.encrypt_bits(&bits, &mut expected).unwrap();
        assert_eq!(found, expected);
    }
}

#[test]
fn what_cannot_start_is_refused_with_its_reason() {
    let mut device = Device::new();
    let mut encryptor = Encryptor::new();
    let good = device.options();
    let own = (&raw mut encryptor).cast::<c_void>();
    let workspace = good.workspace.cast::<u8>();
    let cases: [(Status, Options); 15] = [
        (
            Status::Null,
            Options {
                key: null(),
                ..good
            },
        ),
        (
            Status::Null,
            Options {
                entropy: None,
                ..good
            },
        ),
        (
            Status::Null,
            Options {
                workspace: null_mut(),
                ..good
            },
        ),
        (
            Status::Misaligned,
            Options {
                workspace: workspace.wrapping_add(4).cast(),
                ..good
            },
        ),
        (
            Status::Overlap,
            Options {
                workspace: own,
                ..good
            },
        ),
        (
            Status::Overlap,
            Options {
                key: workspace,
                ..good
            },
        ),
        (
            Status::Length,
            Options {
                workspace_len: usize::MAX,
                ..good
            },
        ),
        (
            Status::Length,
            Options {
                key_len: isize::MAX as usize + 1,
                ..good
            },
        ),
        (
            Status::WorkspaceTooSmall,
            Options {
                workspace_len: good.workspace_len - 1,
                ..good
            },
        ),
        (
            Status::KeyDamaged,
            Options {
                key_len: good.key_len - 1,
                ..good
            },
        ),
        (
            Status::KeyKind,
            Options {
                key: device.public_key.as_ptr(),
                key_len: device.public_key.len(),
                ..good
            },
        ),
        (Status::UnknownPlan, Options { plan: 3, ..good }),
        (
            Status::Expander,
            Options {
                expander: 7,
                ..good
            },
        ),
        (
            Status::EntropyFailed,
            Options {
                entropy: Some(no_entropy),
                ..good
            },
        ),
        (
            Status::EntropyWeak,
            Options {
                entropy: Some(silent_entropy),
                ..good
            },
        ),
    ];
    for (status, options) in cases {
        assert_eq!(init(&mut encryptor, &options), status as i32, "{options:?}");
    }
    let public = unsafe { tfhe_sbc_encryptor_init_public(&mut encryptor, &good) };
    assert_eq!(public, Status::KeyKind as i32);
    // None of it is left.
    assert_eq!(init(&mut encryptor, &good), OK);
    assert_eq!(
        init(&mut encryptor, &good),
        Status::AlreadyInitialised as i32
    );
    assert_eq!(wipe(&mut encryptor), OK);
    assert_eq!(init(&mut encryptor, &good), OK);
    assert_eq!(wipe(&mut encryptor), OK);
}

#[test]
fn what_cannot_be_encrypted_is_refused_with_its_reason() {
    let (mut device, mut encryptor) = (Device::new(), Encryptor::new());
    let mut encrypt = |bits: *const u8, count, out: *mut u8, capacity| {
        let mut len = 77;
        let status =
            unsafe { tfhe_sbc_encrypt_bits(&mut encryptor, bits, count, out, capacity, &mut len) };
        assert_eq!(len == 77, status != OK, "a length for {status}");
        status
    };
    let (bits, mut out) = ([1, 0, 1, 2], [0; 200]);
    let (bits, out) = (bits.as_ptr(), out.as_mut_ptr());
    assert_eq!(encrypt(bits, 3, out, 200), Status::NotInitialised as i32);
    let options = device.options();
    assert_eq!(
        unsafe { tfhe_sbc_encryptor_init(&mut encryptor, &options) },
        OK
    );
    let mut encrypt = |bits: *const u8, count, out: *mut u8, capacity| unsafe {
        tfhe_sbc_encrypt_bits(&mut encryptor, bits, count, out, capacity, &mut 0)
    };
    assert_eq!(encrypt(null(), 3, out, 200), Status::Null as i32);
    assert_eq!(encrypt(bits, 3, null_mut(), 200), Status::Null as i32);
    assert_eq!(encrypt(bits, 0, out, 200), Status::ElementCount as i32);
    assert_eq!(encrypt(bits, usize::MAX, out, 200), Status::Length as i32);
    assert_eq!(encrypt(bits, 4, out, 200), Status::BlockOutOfRange as i32);
    assert_eq!(encrypt(bits, 3, out, 105), Status::OutputTooSmall as i32);
    assert_eq!(encrypt(out, 3, out, 200), Status::Overlap as i32);
    let inside = options.workspace.cast();
    assert_eq!(encrypt(bits, 3, inside, 200), Status::Overlap as i32);
    assert_eq!(encrypt(bits, 3, out, 106), OK);

    let refused = [
        (Status::Null, None),
        (
            Status::SinkFailed,
            Some(full as unsafe extern "C" fn(_, _, _) -> _),
        ),
    ];
    for (status, sink) in refused {
        let got = unsafe { tfhe_sbc_encrypt_bits_to(&mut encryptor, bits, 3, sink, null_mut()) };
        assert_eq!(got, status as i32);
    }
    let got =
        unsafe { tfhe_sbc_encrypt_blocks_to(&mut encryptor, bits, 3, Some(full), null_mut()) };
    assert_eq!(got, Status::PlaintextKind as i32);
}

/// A session with a public key reads it for every message.
#[test]
fn what_would_be_written_over_the_public_key_is_refused() {
    let (mut device, mut encryptor) = (Device::new(), Encryptor::new());
    let options = Options {
        key: device.public_key.as_ptr(),
        key_len: device.public_key.len(),
        workspace_len: WORKSPACE_BYTES_BOOLEAN_1024_BALANCED_PUBLIC,
        ..device.options()
    };
    let status = unsafe { tfhe_sbc_encryptor_init_public(&mut encryptor, &options) };
    assert_eq!(status, OK);
    let key = device.public_key.as_mut_ptr();
    let key_before = device.public_key.clone();
    let (bits, mut message, mut len) = ([1, 0, 1], vec![0; 4000], 0_usize);
    let capacity = message.len();
    let mut encrypt = |message: *mut u8, capacity, len: *mut usize| unsafe {
        tfhe_sbc_encrypt_bits(
            &mut encryptor,
            bits.as_ptr(),
            bits.len(),
            message,
            capacity,
            len,
        )
    };
    let overlap = Status::Overlap as i32;
    let last = key.wrapping_add(device.public_key.len() - 1);
    assert_eq!(encrypt(key, capacity, &mut len), overlap);
    assert_eq!(encrypt(last, 1, &mut len), overlap);
    let inside = key.wrapping_add(key.align_offset(align_of::<usize>()));
    assert_eq!(
        encrypt(message.as_mut_ptr(), capacity, inside.cast()),
        overlap
    );
    assert_eq!(encrypt(message.as_mut_ptr(), capacity, &mut len), OK);

    let status = unsafe { tfhe_sbc_message_bytes(&mut encryptor, 3, inside.cast()) };
    assert_eq!(status, overlap);
    let codes = [0_u64];
    let status =
        unsafe { tfhe_sbc_encode_codes(&mut encryptor, 8, codes.as_ptr(), 1, key, capacity) };
    assert_eq!(status, overlap);
    assert_eq!(device.public_key, key_before);
    assert_eq!(wipe(&mut encryptor), OK);
}

#[test]
fn a_copy_is_no_session_and_wiping_leaves_no_secret() {
    let (mut device, mut encryptor) = (Device::new(), Encryptor::new());
    assert_eq!(init(&mut encryptor, &device.options()), OK);
    let mut copy = Encryptor::new();
    unsafe { std::ptr::copy_nonoverlapping(&encryptor, &mut copy, 1) };
    let mut bytes = 0;
    let status = unsafe { tfhe_sbc_message_bytes(&mut copy, 1, &mut bytes) };
    assert_eq!(status, Status::NotInitialised as i32);
    let status = unsafe { tfhe_sbc_message_bytes(&mut encryptor, BITS, &mut bytes) };
    assert_eq!((status, bytes), (OK, 744));
    for one in [&mut copy, &mut encryptor] {
        assert_eq!(wipe(one), OK);
        let bytes = (&raw const *one).cast::<u8>();
        let bytes = unsafe { std::slice::from_raw_parts(bytes, size_of::<Encryptor>()) };
        assert!(bytes.iter().all(|&byte| byte == 0));
    }
    // The transformed key was there; no mask has been drawn.
    let workspace = &device.workspace.as_mut_slice()[..WORKSPACE_BYTES_BOOLEAN_1024_BALANCED];
    assert!(workspace.iter().all(|&byte| byte == 0));
}

#[test]
fn a_key_file_tells_what_it_needs() {
    let device = Device::new();
    let (key, len) = (device.key.as_ptr(), device.key.len());
    let mut info = std::mem::MaybeUninit::<KeyInfo>::uninit();
    assert_eq!(
        unsafe { tfhe_sbc_key_info_read(key, len, info.as_mut_ptr()) },
        OK
    );
    let info = unsafe { info.assume_init() };
    let name = unsafe { CStr::from_ptr(info.parameters.as_ptr()) };
    assert_eq!(name.to_str(), Ok("boolean_1024"));
    assert_eq!(
        (info.is_public, info.is_boolean, info.torus_bits),
        (0, 1, 32)
    );
    assert_eq!((info.polynomial_size, info.glwe_dimension), (1024, 1));
    let mut bytes = 0;
    let plan = Plan::Small as u32;
    assert_eq!(
        unsafe { tfhe_sbc_workspace_bytes(key, len, plan, &mut bytes) },
        OK
    );
    assert_eq!(bytes, WORKSPACE_BYTES_BOOLEAN_1024_SMALL);
    assert_eq!(
        unsafe { tfhe_sbc_upload_bytes(key, len, 128, 8, &mut bytes) },
        OK
    );
    assert_eq!(bytes, 744);
    let status = unsafe { tfhe_sbc_upload_bytes(key, len, 0, 8, &mut bytes) };
    assert_eq!(status, Status::ElementCount as i32);
    let (public, len) = (device.public_key.as_ptr(), device.public_key.len());
    assert_eq!(
        unsafe { tfhe_sbc_upload_bytes(public, len, 128, 8, &mut bytes) },
        OK
    );
    assert_eq!(bytes, 744 + 1024 * 12 / 8);
}

#[test]
fn every_status_has_a_text_of_its_own() {
    let text = |status| {
        unsafe { CStr::from_ptr(tfhe_sbc_error_text(status)) }
            .to_str()
            .unwrap()
    };
    let texts: HashSet<_> = (-37..=0).chain([-128, 1]).map(text).collect();
    assert_eq!(texts.len(), 40);
    for unknown in [1, -38, i32::MIN, i32::MAX] {
        assert_eq!(text(unknown), "an unknown error");
    }
}
