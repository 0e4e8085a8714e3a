//! Sessions: start, encrypt, wipe.

use core::ffi::c_void;
use core::ptr;

use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_device::{
    device_key_parameters, device_public_key_parameters, DeviceError, EntropySource, ExpanderKind,
    MemoryPlan, Parameters, PlaintextKind, PublicEncryptor, ReseedPolicy, SeedSequence, SinkError,
};

use crate::callbacks::{self, Entropy, Sink};
use crate::memory::{self, check_apart, Region};
use crate::sizes::plan_of;
use crate::status::Status;
use crate::storage::{self, Claimed, Encryptor};

/// The arguments that a session is started with.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Options {
    /// The bytes of the key file. A device key is read once and may be wiped afterwards; a device
    /// public key stays at this place, unchanged, as long as the session lasts.
    pub key: *const u8,
    /// The number of bytes of the key file.
    pub key_len: usize,
    /// The memory plan: a `tfhe_sbc_plan`.
    pub plan: u32,
    /// The generator that expands seeds: a `tfhe_sbc_expander`.
    pub expander: u32,
    /// The source of entropy. It is called twice at the start, for 32 bytes each, and again
    /// every 65536 messages.
    pub entropy: Entropy,
    /// The first argument of the entropy callback; may be NULL.
    pub entropy_context: *mut c_void,
    /// The session's memory, aligned to 8 bytes or, for speed, to
    /// `TFHE_SBC_WORKSPACE_ALIGNMENT`. Nothing else may use it as long as the session lasts.
    pub workspace: *mut c_void,
    /// The number of bytes of the workspace: at least `tfhe_sbc_workspace_bytes`.
    pub workspace_len: usize,
}

/// Starts a session with a device key: seeds replace the masks of its messages, and whoever
/// has the key decrypts them.
///
/// The encryptor must hold no session; after an error it still holds none.
#[no_mangle]
pub unsafe extern "C" fn tfhe_sbc_encryptor_init(
    encryptor: *mut Encryptor,
    options: *const Options,
) -> i32 {
    // SAFETY: what the header asks of every caller.
    Status::of(unsafe { init::<DeviceKey>(encryptor, options) })
}

/// Starts a session with a device public key, so that nothing on the device decrypts its messages.
/// They are larger than those under a device key.
///
/// The encryptor must hold no session; after an error it still holds none.
#[no_mangle]
pub unsafe extern "C" fn tfhe_sbc_encryptor_init_public(
    encryptor: *mut Encryptor,
    options: *const Options,
) -> i32 {
    // SAFETY: what the header asks of every caller.
    Status::of(unsafe { init::<DevicePublicKey>(encryptor, options) })
}

/// Writes to `bytes` the number of bytes of a message of `count` bits or blocks.
#[no_mangle]
pub unsafe extern "C" fn tfhe_sbc_message_bytes(
    encryptor: *mut Encryptor,
    count: usize,
    bytes: *mut usize,
) -> i32 {
    let run = || {
        let region = memory::check(bytes, 1)?;
        // SAFETY: what the header asks of every caller.
        let mut claimed = unsafe { Claimed::session(encryptor)? };
        check_apart(
            &[region],
            &[claimed.region(), claimed.workspace(), claimed.key()],
        )?;
        let len = claimed.get().message_len(count);
        // SAFETY: not NULL, aligned, and apart from our own memory.
        unsafe { bytes.write(len) };
        Ok(())
    };
    Status::of(run())
}

/// Encrypts `count` bits, each a byte of 0 or 1, into the first bytes of `message`, which
/// has room for `capacity`, and writes their number to `message_len`.
#[no_mangle]
pub unsafe extern "C" fn tfhe_sbc_encrypt_bits(
    encryptor: *mut Encryptor,
    bits: *const u8,
    count: usize,
    message: *mut u8,
    capacity: usize,
    message_len: *mut usize,
) -> i32 {
    let output = Output {
        message,
        capacity,
        message_len,
    };
    // SAFETY: what the header asks of every caller.
    Status::of(unsafe { encrypt(encryptor, PlaintextKind::Boolean, bits, count, output) })
}

/// Encrypts `count` radix blocks, each a byte below the message modulus, into the first
/// bytes of `message`, which has room for `capacity`, and writes their number to
/// `message_len`.
#[no_mangle]
pub unsafe extern "C" fn tfhe_sbc_encrypt_blocks(
    encryptor: *mut Encryptor,
    blocks: *const u8,
    count: usize,
    message: *mut u8,
    capacity: usize,
    message_len: *mut usize,
) -> i32 {
    let output = Output {
        message,
        capacity,
        message_len,
    };
    // SAFETY: what the header asks of every caller.
    Status::of(unsafe { encrypt(encryptor, PlaintextKind::Radix, blocks, count, output) })
}

/// Encrypts `count` bits, each a byte of 0 or 1, and passes the message to `sink` piece by
/// piece while it is made. Everything is checked before the first piece.
#[no_mangle]
pub unsafe extern "C" fn tfhe_sbc_encrypt_bits_to(
    encryptor: *mut Encryptor,
    bits: *const u8,
    count: usize,
    sink: Sink,
    sink_context: *mut c_void,
) -> i32 {
    // SAFETY: what the header asks of every caller.
    Status::of(unsafe {
        encrypt_to(
            encryptor,
            PlaintextKind::Boolean,
            bits,
            count,
            sink,
            sink_context,
        )
    })
}

/// Encrypts `count` radix blocks, each a byte below the message modulus, and passes the
/// message to `sink` piece by piece while it is made. Everything is checked before the
/// first piece.
#[no_mangle]
pub unsafe extern "C" fn tfhe_sbc_encrypt_blocks_to(
    encryptor: *mut Encryptor,
    blocks: *const u8,
    count: usize,
    sink: Sink,
    sink_context: *mut c_void,
) -> i32 {
    // SAFETY: what the header asks of every caller.
    Status::of(unsafe {
        encrypt_to(
            encryptor,
            PlaintextKind::Radix,
            blocks,
            count,
            sink,
            sink_context,
        )
    })
}

/// Ends a session: overwrites all secrets with zeros, in the encryptor and in the workspace. An
/// encryptor without a session is only overwritten.
#[no_mangle]
pub unsafe extern "C" fn tfhe_sbc_encryptor_wipe(encryptor: *mut Encryptor) -> i32 {
    // SAFETY: what the header asks of every caller.
    Status::of(unsafe { storage::wipe(encryptor) })
}

/// A kind of key.
trait KeyKind {
    fn parameters(key: &[u8]) -> Result<Parameters, DeviceError>;

    /// Starts a session in `claimed`.
    fn start<T: ProductTorus>(
        claimed: &mut Claimed<Encryptor>,
        opening: Opening,
        seeds: SeedSequence<impl EntropySource + 'static>,
    ) -> Result<(), DeviceError>;
}

/// The checked arguments of a session.
struct Opening {
    key: &'static [u8],
    plan: MemoryPlan,
    expander: ExpanderKind,
    workspace: &'static mut [u8],
}

enum DeviceKey {}

impl KeyKind for DeviceKey {
    fn parameters(key: &[u8]) -> Result<Parameters, DeviceError> {
        device_key_parameters(key)
    }

    fn start<T: ProductTorus>(
        claimed: &mut Claimed<Encryptor>,
        opening: Opening,
        seeds: SeedSequence<impl EntropySource + 'static>,
    ) -> Result<(), DeviceError> {
        let Opening {
            key,
            plan,
            expander,
            workspace,
        } = opening;
        let region = Region::of(workspace);
        let session =
            tfhe_sbc_device::Encryptor::<T, _>::new(key, plan, expander, seeds, workspace)?;
        // The session does not refer to the key any more.
        claimed.start(session, |session| session, region, Region::NONE);
        Ok(())
    }
}

enum DevicePublicKey {}

impl KeyKind for DevicePublicKey {
    fn parameters(key: &[u8]) -> Result<Parameters, DeviceError> {
        device_public_key_parameters(key)
    }

    fn start<T: ProductTorus>(
        claimed: &mut Claimed<Encryptor>,
        opening: Opening,
        seeds: SeedSequence<impl EntropySource + 'static>,
    ) -> Result<(), DeviceError> {
        let Opening {
            key,
            plan,
            expander,
            workspace,
        } = opening;
        let region = Region::of(workspace);
        let session = PublicEncryptor::<T, _>::new(key, plan, expander, seeds, workspace)?;
        claimed.start(session, |session| session, region, Region::of(key));
        Ok(())
    }
}

/// # Safety
/// The caller keeps what the header demands of every caller.
unsafe fn init<K: KeyKind>(
    encryptor: *mut Encryptor,
    options: *const Options,
) -> Result<(), Status> {
    let options_region = memory::check(options, 1)?;
    // SAFETY: the caller's promise.
    let options = unsafe { options.read() };
    // SAFETY: the caller's promise.
    let mut claimed = unsafe { Claimed::empty(encryptor)? };
    let key = memory::check(options.key, options.key_len)?;
    let workspace = options.workspace.cast::<u8>();
    let region = memory::check(workspace, options.workspace_len)?;
    check_apart(&[region, claimed.region()], &[key, options_region])?;
    let source = callbacks::entropy(options.entropy, options.entropy_context)?;
    let opening = Opening {
        // SAFETY: 'static stands for as long as the session; the session borrows them until
        // it is wiped, as the header says.
        key: unsafe { memory::input(options.key, options.key_len)? },
        plan: plan_of(options.plan)?,
        expander: expander_of(options.expander)?,
        // SAFETY: as above, and nothing that is used here overlaps it.
        workspace: unsafe { memory::output(workspace, options.workspace_len)? },
    };
    let torus_bits = K::parameters(opening.key)?.torus_bits();
    let seeds = SeedSequence::with_reseeding(source, ReseedPolicy::default())?;
    match torus_bits {
        #[cfg(feature = "torus-32")]
        32 => K::start::<u32>(&mut claimed, opening, seeds)?,
        #[cfg(feature = "torus-64")]
        64 => K::start::<u64>(&mut claimed, opening, seeds)?,
        _ => return Err(Status::KeyParameters),
    }
    Ok(())
}

fn expander_of(id: u32) -> Result<ExpanderKind, Status> {
    ExpanderKind::ALL
        .into_iter()
        .find(|kind| u32::from(kind.id()) == id)
        .ok_or(Status::Expander)
}

/// The destination of a message.
struct Output {
    message: *mut u8,
    capacity: usize,
    message_len: *mut usize,
}

/// # Safety
/// The caller keeps what the header demands of every caller.
unsafe fn encrypt(
    encryptor: *mut Encryptor,
    kind: PlaintextKind,
    values: *const u8,
    count: usize,
    output: Output,
) -> Result<(), Status> {
    let Output {
        message,
        capacity,
        message_len,
    } = output;
    let region = memory::check(values, count)?;
    let written = [
        memory::check(message, capacity)?,
        memory::check(message_len, 1)?,
    ];
    // SAFETY: the caller's promise.
    let mut claimed = unsafe { Claimed::session(encryptor)? };
    let [message_region, len_region] = written;
    let (own, workspace) = (claimed.region(), claimed.workspace());
    check_apart(
        &[message_region, len_region, own, workspace],
        &[region, claimed.key()],
    )?;
    // SAFETY: the caller's promise.
    let values = unsafe { memory::input(values, count)? };
    // SAFETY: it overlaps nothing that is used here.
    let message = unsafe { memory::output(message, capacity)? };
    let len = claimed.get().encrypt(kind, values, message)?;
    // SAFETY: not NULL, aligned, and apart from all other memory.
    unsafe { ptr::write(message_len, len) };
    Ok(())
}

/// # Safety
/// The caller keeps what the header demands of every caller.
unsafe fn encrypt_to(
    encryptor: *mut Encryptor,
    kind: PlaintextKind,
    values: *const u8,
    count: usize,
    sink: Sink,
    context: *mut c_void,
) -> Result<(), Status> {
    let mut sink = callbacks::pieces(sink, context)?;
    let region = memory::check(values, count)?;
    // SAFETY: the caller's promise.
    let mut claimed = unsafe { Claimed::session(encryptor)? };
    check_apart(&[claimed.region(), claimed.workspace()], &[region])?;
    // SAFETY: the caller's promise.
    let values = unsafe { memory::input(values, count)? };
    claimed.get().encrypt_to(kind, values, &mut |piece| {
        sink(piece).map_err(|()| SinkError(callbacks::REFUSED))
    })?;
    Ok(())
}
