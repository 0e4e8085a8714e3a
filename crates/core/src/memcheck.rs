//! Secrets as Valgrind's memcheck sees them, and the places where values made of secrets become public.
//!
//! Memcheck reports each branch and each address that depends on undefined memory. The check of constant time
//! marks secrets as undefined ([`mark_secret`]), runs the library on them, and counts the reports ([`reports`]), as
//! Langley's ctgrind did (2010). Some values that are computed from secrets are public by design: a mask seed, the
//! bytes of a ciphertext, the refusal of a key. The library states each of them with [`disclose`] or [`disclosed`], so
//! the calls of these two functions are the list of everything that leaves the secret part.
//!
//! All of this needs the Cargo feature `memcheck`, which only the check (`crates/constant-time`) switches on, and
//! x86-64. Without it, and outside of Valgrind, no function has an effect, and [`disclose`] and [`disclosed`] are
//! compiled to nothing.

use core::sync::atomic::{AtomicUsize, Ordering};

use crate::workspace::Number;

/// True in a build that asks Valgrind.
const ON: bool = cfg!(all(feature = "memcheck", target_arch = "x86_64"));

/// The number of bytes that were undefined when they were disclosed.
static DISCLOSED_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Declares that numbers are public, although they were computed from secrets.
#[inline(always)]
pub fn disclose<N: Number>(values: &mut [N]) {
    if ON {
        DISCLOSED_BYTES.fetch_add(undefined_bytes(values), Ordering::Relaxed);
        request(MAKE_MEM_DEFINED, address(values), size_of_val(values), 0);
    }
}

/// Returns `outcome`, and declares that it is public, although it was computed from secrets: a key is refused, a
/// block is out of range.
#[inline(always)]
pub fn disclosed(outcome: bool) -> bool {
    if !ON {
        return outcome;
    }
    let mut byte = [u8::from(outcome)];
    disclose(&mut byte);
    byte[0] != 0
}

/// Returns a number, and keeps it out of vector registers in a build that asks Valgrind. A shift of vectors by a secret
/// number of bits takes the same time for every number, but memcheck reports it as a use of an undefined value; one of
/// scalars it does not report.
#[inline(always)]
pub fn scalar(number: u64) -> u64 {
    match ON {
        true => core::hint::black_box(number),
        false => number,
    }
}

/// Returns whether this program runs on Valgrind, in a build that asks it.
pub fn is_running() -> bool {
    ON && request(RUNNING_ON_VALGRIND, 0, 0, 0) != 0
}

/// Marks numbers as secret: memcheck takes them for undefined from now on. Their values stay.
pub fn mark_secret<N: Number>(values: &mut [N]) {
    request(MAKE_MEM_UNDEFINED, address(values), size_of_val(values), 0);
}

/// Marks the lowest `bits` bits of numbers as secret, and the others as public. `bits` is at most 64.
pub fn mark_secret_bits(values: &mut [u64], bits: u32) {
    let mut undefined = u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0);
    let mask = address(core::slice::from_mut(&mut undefined));
    for value in values {
        let value = address(core::slice::from_mut(value));
        request(SET_VBITS, value, mask, size_of::<u64>());
    }
}

/// Returns the number of bytes with a bit that depends on a secret.
pub fn undefined_bytes<N: Number>(values: &mut [N]) -> usize {
    const CHUNK: usize = 256;
    let (start, len) = (address(values), size_of_val(values));
    let mut undefined = 0;
    for at in (0..len).step_by(CHUNK) {
        let mut bits = [0u8; CHUNK];
        let part = CHUNK.min(len - at);
        request(GET_VBITS, start + at, address(&mut bits), part);
        undefined += bits.iter().take(part).filter(|&&bits| bits != 0).count();
    }
    undefined
}

/// The number of bytes with a bit that depended on a secret when they were disclosed, since the program started.
pub fn disclosed_bytes() -> usize {
    DISCLOSED_BYTES.load(Ordering::Relaxed)
}

/// The number of reports of memcheck since the program started: branches and addresses that depended on a secret.
pub fn reports() -> usize {
    request(COUNT_ERRORS, 0, 0, 0)
}

/// Returns the address of numbers, which a request may then read and write.
fn address<N: Number>(values: &mut [N]) -> usize {
    values.as_mut_ptr().expose_provenance()
}

/// The requests of `valgrind.h` and `memcheck.h` that are used here.
const RUNNING_ON_VALGRIND: usize = 0x1001;
const COUNT_ERRORS: usize = 0x1201;
const MAKE_MEM_UNDEFINED: usize = 0x4d43_0001;
const MAKE_MEM_DEFINED: usize = 0x4d43_0002;
const GET_VBITS: usize = 0x4d43_0008;
const SET_VBITS: usize = 0x4d43_0009;

/// Asks Valgrind, and returns its answer; 0 outside of Valgrind.
#[cfg(all(feature = "memcheck", target_arch = "x86_64"))]
#[expect(
    unsafe_code,
    reason = "the instructions by which a program asks Valgrind"
)]
#[inline(always)]
fn request(code: usize, first: usize, second: usize, third: usize) -> usize {
    let arguments = [code, first, second, third, 0, 0];
    let answer;
    // SAFETY: on a processor the instructions change the flags only: they rotate a register by 3 + 13 + 61 + 51 = 128
    // places and exchange another one with itself. Valgrind recognises the sequence (`VALGRIND_DO_CLIENT_REQUEST_EXPR` in
    // `valgrind.h`), reads the six words at rax and answers in rdx. The requests of this module write only what
    // memcheck knows about memory, and to buffers that the callers borrow mutably.
    unsafe {
        core::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            inout("rdx") 0usize => answer,
            in("rax") arguments.as_ptr(),
            options(nostack),
        );
    }
    answer
}

/// Asks nobody.
#[cfg(not(all(feature = "memcheck", target_arch = "x86_64")))]
fn request(_: usize, _: usize, _: usize, _: usize) -> usize {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests do not run on Valgrind: nothing changes, whether the feature is on or not.
    #[test]
    fn without_valgrind_nothing_is_marked_or_counted() {
        assert!(!is_running());
        let mut values = [1u64, u64::MAX];
        mark_secret(&mut values);
        mark_secret_bits(&mut values, 12);
        disclose(&mut values);
        assert_eq!(values, [1, u64::MAX]);
        assert!(disclosed(true) && !disclosed(false));
        assert_eq!(
            (undefined_bytes(&mut values), disclosed_bytes(), reports()),
            (0, 0, 0)
        );
    }
}
