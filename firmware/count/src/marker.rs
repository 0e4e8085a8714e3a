//! Marks of the regions whose instructions `firmware/qemu/count.c` counts. The marks are hints that
//! do nothing on an Arm processor; on others there are no marks.

/// Runs `work` as region `ID` of the counter, 0 to 14.
#[inline(always)]
pub(crate) fn counted<const ID: u32, R>(work: impl FnOnce() -> R) -> R {
    const { assert!(ID < 15) };
    begin::<ID>();
    let result = work();
    end();
    result
}

#[inline(always)]
fn begin<const ID: u32>() {
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a hint that no architecture version has given a meaning.
    unsafe {
        core::arch::asm!("hint #{}", const 96 + ID, options(nostack, preserves_flags));
    }
    #[cfg(target_arch = "arm")]
    // SAFETY: a hint for a debugger.
    unsafe {
        core::arch::asm!("dbg #{}", const ID, options(nostack, preserves_flags));
    }
}

#[inline(always)]
fn end() {
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a hint that no architecture version has given a meaning.
    unsafe {
        core::arch::asm!("hint #111", options(nostack, preserves_flags));
    }
    #[cfg(target_arch = "arm")]
    // SAFETY: a hint for a debugger.
    unsafe {
        core::arch::asm!("dbg #15", options(nostack, preserves_flags));
    }
}
