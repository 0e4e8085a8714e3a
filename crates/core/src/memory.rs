//! Memory that a process has freed, given back to the system.

/// Gives freed memory back to the system, as far as the allocator still holds it. GNU's allocator keeps what was freed by many
/// threads until something like this is called; others give memory back by themselves, and with these nothing happens.
///
/// It takes milliseconds and locks the allocator meanwhile, so it is for the end of a large computation.
pub fn give_back() {
    system::give_back();
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod system {
    #![expect(unsafe_code, reason = "a function of the C library")]

    pub(super) fn give_back() {
        // SAFETY: the function may be called at any time, by any thread; it returns whole free pages of the allocator to the
        // system and touches no memory that is in use.
        unsafe { libc::malloc_trim(0) };
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod system {
    pub(super) fn give_back() {}
}
