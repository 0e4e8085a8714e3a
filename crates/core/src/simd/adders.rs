//! The processors whose additions have ports of their own.

/// Returns whether the additions of this processor have ports apart from those of products, as they do on AMD's. Without the
/// `std` feature, and on Miri, the processor is not asked, and the answer is no.
pub(super) fn found() -> bool {
    #[cfg(all(feature = "std", not(miri)))]
    {
        use core::arch::x86_64::__cpuid;
        static FOUND: std::sync::LazyLock<bool> = std::sync::LazyLock::new(|| {
            // The vendor's name, in three registers.
            let vendor = __cpuid(0);
            [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes)
                == [*b"Auth", *b"enti", *b"cAMD"]
        });
        *FOUND
    }
    #[cfg(any(not(feature = "std"), miri))]
    false
}
