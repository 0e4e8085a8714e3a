//! The interface of the page's script to [`decrypt`]: buffers in this module's memory, and JSON as
//! the result. All unsafe code of the crate is here, for the script's numbers are taken as
//! pointers.
//!
//! A script calls [`tfhe_sbc_web_allocate`] for each file, copies the file there, calls
//! [`tfhe_sbc_web_decrypt`] and reads the text that the result points to. An instance of the module
//! is used once: the script overwrites all its memory and drops it, so memory that is allocated
//! here is never freed.
#![allow(unsafe_code)]

use zeroize::Zeroizing;

use crate::decrypt;

/// The place of a text.
#[derive(Debug)]
#[repr(C)]
pub struct Text {
    /// Its first byte.
    pub start: *const u8,
    /// The number of its bytes, which are UTF-8.
    pub len: usize,
}

/// Returns a buffer of `len` zeros; null if there is no memory for it.
// SAFETY of the attribute: no other function has a name with this prefix.
#[unsafe(no_mangle)]
pub extern "C" fn tfhe_sbc_web_allocate(len: usize) -> *mut u8 {
    let mut buffer = Vec::new();
    if buffer.try_reserve_exact(len).is_err() {
        return std::ptr::null_mut();
    }
    buffer.resize(len, 0);
    Box::leak(buffer.into_boxed_slice()).as_mut_ptr()
}

/// Decrypts a result. Takes both buffers and overwrites them. The text is
/// `{"Ok": `[`Decryption`](crate::Decryption)`}` or `{"Err": `[`Failure`](crate::Failure)`}`.
///
/// # Safety
/// Key and result are buffers of [`tfhe_sbc_web_allocate`], of these lengths, not used before.
// SAFETY of the attribute: no other function has a name with this prefix.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfhe_sbc_web_decrypt(
    key: *mut u8,
    key_len: usize,
    result: *mut u8,
    result_len: usize,
) -> *const Text {
    // SAFETY: as the caller promises.
    let (key, result) = unsafe { (taken(key, key_len), taken(result, result_len)) };
    let outcome = decrypt(&key, &result);
    drop((key, result));
    // Strings and numbers become JSON whatever they are.
    let json = serde_json::to_string(&outcome).unwrap_or_default();
    let json: &str = Box::leak(json.into_boxed_str());
    Box::leak(Box::new(Text {
        start: json.as_ptr(),
        len: json.len(),
    }))
}

/// Takes back the buffer that was leaked at `start`.
///
/// # Safety
/// The buffer was leaked by [`tfhe_sbc_web_allocate`], has `len` bytes and no other owner.
unsafe fn taken(start: *mut u8, len: usize) -> Zeroizing<Box<[u8]>> {
    let bytes = std::ptr::slice_from_raw_parts_mut(start, len);
    // SAFETY: it is a boxed slice of this length, by the caller's promise.
    Zeroizing::new(unsafe { Box::from_raw(bytes) })
}
