//! A session inside a struct of C.
//!
//! The first word of the struct tells its state, combined with the struct's address. So a copy of
//! the struct holds no session: otherwise two messages could get the same seeds.

use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_device::{
    ColumnSource, DeviceError, EntropySource, KeyFingerprint, Parameters, PlaintextKind, Session,
    SessionMode, SinkError,
};
use zeroize::Zeroize;

use crate::memory::{self, Region};
use crate::status::Status;

/// The number of words of an encryptor.
pub const ENCRYPTOR_WORDS: usize = 96;

/// An encryption session, without its workspace. Only the library uses its content.
///
/// Before the first use it holds zeros: it is a static variable, or
/// `tfhe_sbc_encryptor e = TFHE_SBC_ENCRYPTOR_INIT;`. It must not move while it holds
/// a session: a copy of it holds none. Only one thread may use it at a time.
#[derive(Debug)]
#[repr(C)]
pub struct Encryptor {
    /// For the library alone.
    opaque: [u64; ENCRYPTOR_WORDS],
}

impl Encryptor {
    /// Makes an encryptor that holds no session.
    pub const fn new() -> Self {
        Self {
            opaque: [0; ENCRYPTOR_WORDS],
        }
    }
}

impl Zeroize for Encryptor {
    fn zeroize(&mut self) {
        self.opaque.zeroize();
    }
}

impl Default for Encryptor {
    fn default() -> Self {
        Self::new()
    }
}

/// A struct of C that can hold a session.
///
/// # Safety
/// It consists of 64-bit words, for which every value is valid.
pub(crate) unsafe trait Holder: Zeroize + Sized {
    /// The interface of its sessions, without their type.
    type Session: ?Sized;
}

// SAFETY: it is an array of words.
unsafe impl Holder for Encryptor {
    type Session = dyn AnySession;
}

/// The beginning of a [`Holder`]. The session itself is [`HEAD_BYTES`] after its start.
#[repr(C, align(8))]
struct Head<S: ?Sized> {
    state: u64,
    workspace: MaybeUninit<Region>,
    key: MaybeUninit<Region>,
    session: MaybeUninit<NonNull<S>>,
}

const HEAD_BYTES: usize = 64;

const READY: u64 = 0x7bc3_59d1_e620_94af;
const BUSY: u64 = 0x2e91_c6f8_0d47_b35b;

/// A session of any torus and kind of key.
pub(crate) trait AnySession {
    fn parameters(&self) -> &Parameters;
    fn key_fingerprint(&self) -> KeyFingerprint;
    fn message_len(&self, element_count: usize) -> usize;
    fn encrypt(
        &mut self,
        kind: PlaintextKind,
        values: &[u8],
        out: &mut [u8],
    ) -> Result<usize, DeviceError>;
    fn encrypt_to(
        &mut self,
        kind: PlaintextKind,
        values: &[u8],
        sink: &mut dyn FnMut(&[u8]) -> Result<(), SinkError>,
    ) -> Result<usize, DeviceError>;
    fn columns_message_len(&self, columns: &dyn ColumnSource) -> usize;
    fn encrypt_columns(
        &mut self,
        columns: &dyn ColumnSource,
        out: &mut [u8],
    ) -> Result<usize, DeviceError>;
    fn encrypt_columns_to(
        &mut self,
        columns: &dyn ColumnSource,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), SinkError>,
    ) -> Result<usize, DeviceError>;
}

impl<T: ProductTorus, K: SessionMode<T>, S: EntropySource> AnySession for Session<'_, T, K, S> {
    fn parameters(&self) -> &Parameters {
        Session::parameters(self)
    }

    fn key_fingerprint(&self) -> KeyFingerprint {
        Session::key_fingerprint(self)
    }

    fn message_len(&self, element_count: usize) -> usize {
        Session::message_len(self, element_count)
    }

    fn encrypt(
        &mut self,
        kind: PlaintextKind,
        values: &[u8],
        out: &mut [u8],
    ) -> Result<usize, DeviceError> {
        match kind {
            PlaintextKind::Boolean => self.encrypt_bits(values, out),
            PlaintextKind::Radix => self.encrypt_blocks(values, out),
        }
    }

    fn encrypt_to(
        &mut self,
        kind: PlaintextKind,
        values: &[u8],
        sink: &mut dyn FnMut(&[u8]) -> Result<(), SinkError>,
    ) -> Result<usize, DeviceError> {
        match kind {
            PlaintextKind::Boolean => self.encrypt_bits_to(values, sink),
            PlaintextKind::Radix => self.encrypt_blocks_to(values, sink),
        }
    }

    fn columns_message_len(&self, columns: &dyn ColumnSource) -> usize {
        self.column_source_message_len(columns)
    }

    fn encrypt_columns(
        &mut self,
        columns: &dyn ColumnSource,
        out: &mut [u8],
    ) -> Result<usize, DeviceError> {
        self.encrypt_column_source(columns, out)
    }

    fn encrypt_columns_to(
        &mut self,
        columns: &dyn ColumnSource,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), SinkError>,
    ) -> Result<usize, DeviceError> {
        self.encrypt_column_source_to(columns, sink)
    }
}

/// Checks at compile time that a session fits behind the head of a holder.
struct Fits<A, H>(PhantomData<(A, H)>);

impl<A, H: Holder> Fits<A, H> {
    const CHECK: () = {
        assert!(size_of::<Head<H::Session>>() <= HEAD_BYTES);
        assert!(HEAD_BYTES + size_of::<A>() <= size_of::<H>() && align_of::<A>() <= 8);
        assert!(align_of::<H>() >= align_of::<Head<H::Session>>());
    };
}

/// An encryptor of C whose pointer is aligned and not NULL. It is marked as busy while a
/// `Claimed` lives, so that a callback cannot claim it again.
pub(crate) struct Claimed<H: Holder> {
    slot: *mut Head<H::Session>,
    /// The state of the encryptor after it is released.
    after: u64,
}

impl<H: Holder> Claimed<H> {
    /// Claims an encryptor that holds no session, to start one.
    ///
    /// # Safety
    /// If it is not NULL, `encryptor` points to an encryptor that no other thread uses.
    pub(crate) unsafe fn empty(encryptor: *mut H) -> Result<Self, Status> {
        // SAFETY: the caller's promise.
        match unsafe { Self::claim(encryptor)? } {
            (_, READY) => Err(Status::AlreadyInitialised),
            (claimed, _) => Ok(claimed.busy(0)),
        }
    }

    /// Claims an encryptor that holds a session.
    ///
    /// # Safety
    /// As [`empty`](Self::empty), and the memory that its session borrows still exists.
    pub(crate) unsafe fn session(encryptor: *mut H) -> Result<Self, Status> {
        // SAFETY: the caller's promise.
        match unsafe { Self::claim(encryptor)? } {
            (claimed, READY) => Ok(claimed.busy(READY)),
            _ => Err(Status::NotInitialised),
        }
    }

    /// # Safety
    /// The conditions are those of [`empty`](Self::empty).
    unsafe fn claim(encryptor: *mut H) -> Result<(Unclaimed<H>, u64), Status> {
        memory::check(encryptor, 1)?;
        let unclaimed = Unclaimed::<H>(encryptor.cast());
        // SAFETY: not NULL, aligned, and an encryptor, whose memory has been written.
        let state = unsafe { (*unclaimed.0).state };
        match state ^ unclaimed.address() {
            BUSY => Err(Status::Busy),
            state => Ok((unclaimed, state)),
        }
    }

    /// The memory of the encryptor itself.
    pub(crate) fn region(&self) -> Region {
        Region::new(self.slot.cast::<H>(), size_of::<H>())
    }

    /// Starts `session`, which borrows `workspace` and the bytes at `key`. `erase` converts a pointer to
    /// it into one without its type.
    pub(crate) fn start<A: 'static>(
        &mut self,
        session: A,
        erase: fn(NonNull<A>) -> NonNull<H::Session>,
        workspace: Region,
        key: Region,
    ) {
        let () = Fits::<A, H>::CHECK;
        // SAFETY: the slot is claimed, not NULL, and what is behind the head is large enough and
        // aligned for A.
        unsafe {
            let room = NonNull::new_unchecked(self.slot.byte_add(HEAD_BYTES).cast::<A>());
            room.write(session);
            (*self.slot).session.write(erase(room));
            (*self.slot).workspace.write(workspace);
            (*self.slot).key.write(key);
        }
        self.after = READY;
    }

    /// The memory that the session borrows and writes.
    pub(crate) fn workspace(&self) -> Region {
        // SAFETY: written with the session, which the state says is there.
        unsafe { (*self.slot).workspace.assume_init() }
    }

    /// The memory that the session borrows and only reads: the public key, or nothing.
    pub(crate) fn key(&self) -> Region {
        // SAFETY: as above.
        unsafe { (*self.slot).key.assume_init() }
    }

    /// Returns the session.
    pub(crate) fn get(&mut self) -> &mut H::Session {
        // SAFETY: the state says that a session was started at this very address and not
        // ended; nobody else claims it while `self` lives.
        unsafe { (*self.slot).session.assume_init().as_mut() }
    }

    /// Ends the session; its drop wipes the workspace.
    pub(crate) fn end(mut self) {
        self.after = 0;
        // SAFETY: written with the session, which the state said is there.
        let session = unsafe { (*self.slot).session.assume_init() };
        // SAFETY: it is there, nobody has a reference to it, and it is not used again. Then
        // the encryptor is claimed by us, and any bytes are words.
        unsafe {
            session.drop_in_place();
            (*self.slot.cast::<H>()).zeroize();
        }
    }
}

/// Ends the session of an encryptor, or only overwrites an encryptor that holds none.
///
/// # Safety
/// As [`Claimed::session`].
pub(crate) unsafe fn wipe<H: Holder>(encryptor: *mut H) -> Result<(), Status> {
    // SAFETY: the caller's promise.
    match unsafe { Claimed::session(encryptor) } {
        Ok(claimed) => {
            claimed.end();
            Ok(())
        }
        Err(Status::NotInitialised) => {
            // SAFETY: not NULL and aligned; a copy has secrets too.
            unsafe { (*encryptor).zeroize() };
            Ok(())
        }
        Err(status) => Err(status),
    }
}

impl<H: Holder> Drop for Claimed<H> {
    fn drop(&mut self) {
        let state = match self.after {
            0 => 0,
            after => after ^ self.slot.addr() as u64,
        };
        // SAFETY: the slot is claimed.
        unsafe { (*self.slot).state = state };
    }
}

/// An encryptor that is not marked as busy yet.
struct Unclaimed<H: Holder>(*mut Head<H::Session>);

impl<H: Holder> Unclaimed<H> {
    fn address(&self) -> u64 {
        self.0.addr() as u64
    }

    fn busy(self, after: u64) -> Claimed<H> {
        // SAFETY: not NULL, aligned, and an encryptor.
        unsafe { (*self.0).state = BUSY ^ self.address() };
        Claimed {
            slot: self.0,
            after,
        }
    }
}
