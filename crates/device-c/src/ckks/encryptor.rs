//! Sessions of CKKS: start, encrypt, wipe. Their checks of memory are those of `memory` and
//! `storage`; the functions themselves have other arguments than those of `encryptor`.

use core::ffi::c_void;

use tfhe_sbc_ckks::{
    seal, CkksError, Encryptor, EntropySource, Format, MemoryPlan, Parameters, PublicEncryptor,
    PublicKey, ReseedPolicy, SecretKey, SeedSequence, SinkError, Slots,
};
use zeroize::Zeroize;

use super::{ckks_plan, format_of, generator_of, CkksKeyForm, CkksParameters};
use crate::callbacks::{self, Entropy, Sink};
use crate::memory::{self, check_apart, Region};
use crate::status::Status;
use crate::storage::{self, Claimed, Holder};

/// The number of words of a CKKS encryptor.
pub const CKKS_ENCRYPTOR_WORDS: usize = 128;

/// An encryption session, without its workspace. Only the library uses its content. The rules
/// for a `tfhe_sbc_encryptor` apply to it too.
#[derive(Debug)]
#[repr(C)]
pub struct CkksEncryptor {
    /// For the library alone.
    opaque: [u64; CKKS_ENCRYPTOR_WORDS],
}

impl CkksEncryptor {
    /// Makes an encryptor that holds no session.
    pub const fn new() -> Self {
        Self {
            opaque: [0; CKKS_ENCRYPTOR_WORDS],
        }
    }
}

impl Default for CkksEncryptor {
    fn default() -> Self {
        Self::new()
    }
}

impl Zeroize for CkksEncryptor {
    fn zeroize(&mut self) {
        self.opaque.zeroize();
    }
}

// SAFETY: it is an array of words.
unsafe impl Holder for CkksEncryptor {
    type Session = dyn AnySession;
}

/// The arguments that a session is started with.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CkksOptions {
    /// The parameters; they are copied.
    pub parameters: *const CkksParameters,
    /// The key, which stays at this place, unchanged, as long as the session lasts. A secret key is
    /// packed, 2 bits a coefficient: SEAL-Embedded's `sk_N.dat`, or the result of
    /// `tfhe_sbc_ckks_secret_key_pack` for a key of SEAL's.
    pub key: *const u8,
    /// The number of bytes of the key.
    pub key_len: usize,
    /// The form of a public key: a `tfhe_sbc_ckks_key_form`. Ignored for a secret key.
    pub key_form: u32,
    /// The memory plan: a `tfhe_sbc_plan`.
    pub plan: u32,
    /// The generator that expands masks under a secret key: a `tfhe_sbc_ckks_generator`. Ignored for
    /// a public key.
    pub generator: u32,
    /// The source of entropy. It is called twice at the start, for 32 bytes each, and again
    /// every 65536 ciphertexts.
    pub entropy: Entropy,
    /// The first argument of the entropy callback; may be NULL.
    pub entropy_context: *mut c_void,
    /// The session's memory, aligned to 8 bytes or, for speed, to
    /// `TFHE_SBC_WORKSPACE_ALIGNMENT`. Nothing else may use it as long as the session lasts.
    pub workspace: *mut c_void,
    /// The number of bytes of the workspace: at least `tfhe_sbc_ckks_workspace_bytes`.
    pub workspace_len: usize,
}

/// Starts a session with a secret key.
///
/// The encryptor must hold no session; after an error it still holds none.
#[no_mangle]
pub unsafe extern "C" fn tfhe_sbc_ckks_encryptor_init(
    encryptor: *mut CkksEncryptor,
    options: *const CkksOptions,
) -> i32 {
    // SAFETY: what the header asks of every caller.
    Status::of(unsafe { init::<Secret>(encryptor, options) })
}

/// Starts a session with a public key, so that nothing on the device decrypts its ciphertexts.
///
/// The encryptor must hold no session; after an error it still holds none.
#[no_mangle]
pub unsafe extern "C" fn tfhe_sbc_ckks_encryptor_init_public(
    encryptor: *mut CkksEncryptor,
    options: *const CkksOptions,
) -> i32 {
    // SAFETY: what the header asks of every caller.
    Status::of(unsafe { init::<Public>(encryptor, options) })
}

/// Encrypts `count` real numbers, multiplied by `scale` and rounded, into the first bytes of
/// `ciphertext`, which has room for `capacity`, and writes their number to `ciphertext_len`.
/// Slots without a value are zero.
#[no_mangle]
pub unsafe extern "C" fn tfhe_sbc_ckks_encrypt_f64(
    encryptor: *mut CkksEncryptor,
    values: *const f64,
    count: usize,
    scale: f64,
    format: u32,
    ciphertext: *mut u8,
    capacity: usize,
    ciphertext_len: *mut usize,
) -> i32 {
    let output = Output(ciphertext, capacity, ciphertext_len);
    // SAFETY: what the header asks of every caller.
    Status::of(unsafe { encrypt(encryptor, values, count, scale, format, output) })
}

/// Does the same as `tfhe_sbc_ckks_encrypt_f64` for numbers in single precision.
#[no_mangle]
pub unsafe extern "C" fn tfhe_sbc_ckks_encrypt_f32(
    encryptor: *mut CkksEncryptor,
    values: *const f32,
    count: usize,
    scale: f64,
    format: u32,
    ciphertext: *mut u8,
    capacity: usize,
    ciphertext_len: *mut usize,
) -> i32 {
    let output = Output(ciphertext, capacity, ciphertext_len);
    // SAFETY: what the header asks of every caller.
    Status::of(unsafe { encrypt(encryptor, values, count, scale, format, output) })
}

/// Does the same as `tfhe_sbc_ckks_encrypt_f64` for `count` complex numbers, each given as its real
/// and then its imaginary part.
#[no_mangle]
pub unsafe extern "C" fn tfhe_sbc_ckks_encrypt_complex(
    encryptor: *mut CkksEncryptor,
    values: *const f64,
    count: usize,
    scale: f64,
    format: u32,
    ciphertext: *mut u8,
    capacity: usize,
    ciphertext_len: *mut usize,
) -> i32 {
    let output = Output(ciphertext, capacity, ciphertext_len);
    // SAFETY: what the header asks of every caller.
    Status::of(unsafe { encrypt(encryptor, values, count, scale, format, output) })
}

/// Encrypts `count` real numbers, multiplied by `scale` and rounded, and passes the ciphertext to
/// `sink` piece by piece while it is made. Everything is checked before the first piece. Slots
/// without a value are zero.
#[no_mangle]
pub unsafe extern "C" fn tfhe_sbc_ckks_encrypt_f64_to(
    encryptor: *mut CkksEncryptor,
    values: *const f64,
    count: usize,
    scale: f64,
    format: u32,
    sink: Sink,
    sink_context: *mut c_void,
) -> i32 {
    let pieces = (sink, sink_context);
    // SAFETY: what the header asks of every caller.
    Status::of(unsafe { encrypt_to(encryptor, values, count, scale, format, pieces) })
}

/// Does the same as `tfhe_sbc_ckks_encrypt_f64_to` for numbers in single precision.
#[no_mangle]
pub unsafe extern "C" fn tfhe_sbc_ckks_encrypt_f32_to(
    encryptor: *mut CkksEncryptor,
    values: *const f32,
    count: usize,
    scale: f64,
    format: u32,
    sink: Sink,
    sink_context: *mut c_void,
) -> i32 {
    let pieces = (sink, sink_context);
    // SAFETY: what the header asks of every caller.
    Status::of(unsafe { encrypt_to(encryptor, values, count, scale, format, pieces) })
}

/// Does the same as `tfhe_sbc_ckks_encrypt_f64_to` for `count` complex numbers, each given as its
/// real and then its imaginary part.
#[no_mangle]
pub unsafe extern "C" fn tfhe_sbc_ckks_encrypt_complex_to(
    encryptor: *mut CkksEncryptor,
    values: *const f64,
    count: usize,
    scale: f64,
    format: u32,
    sink: Sink,
    sink_context: *mut c_void,
) -> i32 {
    let pieces = (sink, sink_context);
    // SAFETY: what the header asks of every caller.
    Status::of(unsafe {
        encrypt_to(
            encryptor,
            values.cast::<[f64; 2]>(),
            count,
            scale,
            format,
            pieces,
        )
    })
}

/// Ends a session: overwrites all secrets with zeros, in the encryptor and in the workspace. An
/// encryptor without a session is only overwritten.
#[no_mangle]
pub unsafe extern "C" fn tfhe_sbc_ckks_encryptor_wipe(encryptor: *mut CkksEncryptor) -> i32 {
    // SAFETY: what the header asks of every caller.
    Status::of(unsafe { storage::wipe(encryptor) })
}

/// A session with either kind of key.
pub(crate) trait AnySession {
    fn parameters(&self) -> &Parameters;
    fn encrypt(
        &mut self,
        slots: Slots<'_>,
        scale: f64,
        format: Format,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), SinkError>,
    ) -> Result<usize, CkksError>;
}

macro_rules! impl_session {
    ($session:ident) => {
        impl<S: EntropySource> AnySession for $session<'_, S> {
            fn parameters(&self) -> &Parameters {
                $session::parameters(self)
            }

            fn encrypt(
                &mut self,
                slots: Slots<'_>,
                scale: f64,
                format: Format,
                sink: &mut dyn FnMut(&[u8]) -> Result<(), SinkError>,
            ) -> Result<usize, CkksError> {
                $session::encrypt(self, slots, scale, format, sink)
            }
        }
    };
}

impl_session!(Encryptor);
impl_session!(PublicEncryptor);

/// The checked arguments of a session.
struct Opening<S> {
    parameters: Parameters,
    key: &'static [u8],
    plan: MemoryPlan,
    seeds: SeedSequence<S>,
    workspace: &'static mut [u8],
}

impl<S> Opening<S> {
    /// The regions of the workspace and of the key.
    fn regions(&self) -> (Region, Region) {
        (Region::of(self.workspace), Region::of(self.key))
    }
}

/// A kind of key.
trait KeyKind {
    /// Starts a session in `claimed`.
    fn start<S: EntropySource + 'static>(
        claimed: &mut Claimed<CkksEncryptor>,
        options: &CkksOptions,
        opening: Opening<S>,
    ) -> Result<(), Status>;
}

enum Secret {}

impl KeyKind for Secret {
    fn start<S: EntropySource + 'static>(
        claimed: &mut Claimed<CkksEncryptor>,
        options: &CkksOptions,
        opening: Opening<S>,
    ) -> Result<(), Status> {
        let parameters = &opening.parameters;
        let regions = opening.regions();
        let session = Encryptor::new(
            parameters,
            SecretKey::from_packed(parameters, opening.key)?,
            opening.plan,
            generator_of(options.generator)?,
            opening.seeds,
            opening.workspace,
        )?;
        claimed.start(session, |session| session, regions.0, regions.1);
        Ok(())
    }
}

enum Public {}

impl KeyKind for Public {
    fn start<S: EntropySource + 'static>(
        claimed: &mut Claimed<CkksEncryptor>,
        options: &CkksOptions,
        opening: Opening<S>,
    ) -> Result<(), Status> {
        const SEAL: u32 = CkksKeyForm::Seal as u32;
        const SEAL_EMBEDDED: u32 = CkksKeyForm::SealEmbedded as u32;
        let parameters = &opening.parameters;
        let key = match options.key_form {
            SEAL => seal::public_key(parameters, opening.key)?,
            SEAL_EMBEDDED => PublicKey::from_joined_parts(parameters, opening.key)?,
            _ => return Err(Status::KeyKind),
        };
        let regions = opening.regions();
        let (plan, seeds) = (opening.plan, opening.seeds);
        let session = PublicEncryptor::new(parameters, key, plan, seeds, opening.workspace)?;
        claimed.start(session, |session| session, regions.0, regions.1);
        Ok(())
    }
}

/// # Safety
/// The caller keeps what the header demands of every caller.
unsafe fn init<K: KeyKind>(
    encryptor: *mut CkksEncryptor,
    options: *const CkksOptions,
) -> Result<(), Status> {
    let options_region = memory::check(options, 1)?;
    // SAFETY: the caller's promise.
    let options = unsafe { options.read() };
    // SAFETY: the caller's promise.
    let mut claimed = unsafe { Claimed::empty(encryptor)? };
    let parameters = memory::check(options.parameters, 1)?;
    let key = memory::check(options.key, options.key_len)?;
    let workspace = options.workspace.cast::<u8>();
    let region = memory::check(workspace, options.workspace_len)?;
    let read = [key, options_region, parameters];
    check_apart(&[region, claimed.region()], &read)?;
    let source = callbacks::entropy(options.entropy, options.entropy_context)?;
    let plan = ckks_plan(options.plan)?;
    let opening = Opening {
        // SAFETY: the caller's promise.
        parameters: unsafe { options.parameters.read() }.validated()?,
        // SAFETY: 'static stands for as long as the session; the session borrows them until
        // it is wiped, as the header says.
        key: unsafe { memory::input(options.key, options.key_len)? },
        plan,
        seeds: SeedSequence::with_reseeding(source, ReseedPolicy::default())?,
        // SAFETY: as above, and nothing that is used here overlaps it.
        workspace: unsafe { memory::output(workspace, options.workspace_len)? },
    };
    K::start(&mut claimed, &options, opening)
}

/// The type of a slot's value.
trait Value: Sized {
    fn slots(values: &[Self]) -> Slots<'_>;
}

impl Value for f64 {
    fn slots(values: &[Self]) -> Slots<'_> {
        Slots::Real(values)
    }
}

impl Value for f32 {
    fn slots(values: &[Self]) -> Slots<'_> {
        Slots::RealF32(values)
    }
}

impl Value for [f64; 2] {
    fn slots(values: &[Self]) -> Slots<'_> {
        Slots::Complex(values)
    }
}

/// A buffer for a ciphertext, its capacity, and the place for the number of bytes written.
struct Output(*mut u8, usize, *mut usize);

/// # Safety
/// The caller keeps what the header demands of every caller.
unsafe fn encrypt<V: Value>(
    encryptor: *mut CkksEncryptor,
    values: *const V,
    count: usize,
    scale: f64,
    format: u32,
    Output(ciphertext, capacity, ciphertext_len): Output,
) -> Result<(), Status> {
    let read = memory::check(values, count)?;
    let out = memory::check(ciphertext, capacity)?;
    let len = memory::check(ciphertext_len, 1)?;
    // SAFETY: the caller's promise.
    let mut claimed = unsafe { Claimed::session(encryptor)? };
    let (own, workspace) = (claimed.region(), claimed.workspace());
    check_apart(&[out, len, own, workspace], &[read, claimed.key()])?;
    let format = format_of(format)?;
    // SAFETY: the caller's promise.
    let values = unsafe { memory::input(values, count)? };
    // SAFETY: it overlaps nothing that is used here.
    let mut rest = unsafe { memory::output(ciphertext, capacity)? };
    let session = claimed.get();
    if capacity < format.ciphertext_bytes(session.parameters()) {
        return Err(Status::OutputTooSmall);
    }
    let made = session.encrypt(V::slots(values), scale, format, &mut |piece| {
        let (place, behind) = core::mem::take(&mut rest)
            .split_at_mut_checked(piece.len())
            .ok_or(SinkError("no room"))?;
        place.copy_from_slice(piece);
        rest = behind;
        Ok(())
    })?;
    // SAFETY: not NULL, aligned, and apart from all other memory.
    unsafe { ciphertext_len.write(made) };
    Ok(())
}

/// # Safety
/// The caller keeps what the header demands of every caller.
unsafe fn encrypt_to<V: Value>(
    encryptor: *mut CkksEncryptor,
    values: *const V,
    count: usize,
    scale: f64,
    format: u32,
    (sink, context): (Sink, *mut c_void),
) -> Result<(), Status> {
    let mut sink = callbacks::pieces(sink, context)?;
    let read = memory::check(values, count)?;
    // SAFETY: the caller's promise.
    let mut claimed = unsafe { Claimed::session(encryptor)? };
    check_apart(&[claimed.region(), claimed.workspace()], &[read])?;
    let format = format_of(format)?;
    // SAFETY: the caller's promise.
    let values = unsafe { memory::input(values, count)? };
    claimed
        .get()
        .encrypt(V::slots(values), scale, format, &mut |piece| {
            sink(piece).map_err(|()| SinkError(callbacks::REFUSED))
        })?;
    Ok(())
}
