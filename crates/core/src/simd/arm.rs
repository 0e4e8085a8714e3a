//! 32-bit ARM with long multiplications. All processors with a floating-point unit have them; of the
//! others Cortex-M23 does not. Nothing here needs more than ARMv5.
//!
//! The functions are whole butterflies, because the compiler makes twice as many instructions of the
//! portable ones: when it moves a factor out of a loop, it loses the information that the factor is
//! a sign extension, and it runs out of registers.

use core::arch::asm;

/// Does the same as the portable function.
#[inline(always)]
pub(crate) fn montgomery_mul<const P: i32, const MINUS_P_INVERSE: i32>(a: i32, b: i32) -> i32 {
    let product;
    // SAFETY: arithmetic on registers that leaves the flags alone.
    unsafe {
        asm!(
            "smull {low}, {a}, {b}, {a}",
            "mul {m}, {low}, {minus_p_inverse}",
            "smlal {low}, {a}, {m}, {p}",
            a = inout(reg) a => product,
            b = in(reg) b,
            p = in(reg) P,
            minus_p_inverse = in(reg) MINUS_P_INVERSE,
            low = out(reg) _,
            m = out(reg) _,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    product
}

/// Does the same as the portable function. `a - 2b` makes the difference from the sum without a
/// further register.
#[inline(always)]
pub(crate) fn ntt_forward_butterfly<const P: i32, const MINUS_P_INVERSE: i32>(
    [mut x0, mut x1, mut x2, mut x3]: [i32; 4],
    z: i32,
    [left, right]: [i32; 2],
) -> [i32; 4] {
    // SAFETY: arithmetic on registers that leaves the flags alone.
    unsafe {
        asm!(
            "smull {low}, {x2}, {z}, {x2}",
            "mul {m}, {low}, {minus_p_inverse}",
            "smlal {low}, {x2}, {m}, {p}",
            "smull {low}, {x3}, {z}, {x3}",
            "mul {m}, {low}, {minus_p_inverse}",
            "smlal {low}, {x3}, {m}, {p}",
            "add {x0}, {x0}, {x2}",
            "sub {x2}, {x0}, {x2}, lsl #1",
            "add {x1}, {x1}, {x3}",
            "sub {x3}, {x1}, {x3}, lsl #1",
            "smull {low}, {x1}, {left}, {x1}",
            "mul {m}, {low}, {minus_p_inverse}",
            "smlal {low}, {x1}, {m}, {p}",
            "smull {low}, {x3}, {right}, {x3}",
            "mul {m}, {low}, {minus_p_inverse}",
            "smlal {low}, {x3}, {m}, {p}",
            "add {x0}, {x0}, {x1}",
            "sub {x1}, {x0}, {x1}, lsl #1",
            "add {x2}, {x2}, {x3}",
            "sub {x3}, {x2}, {x3}, lsl #1",
            x0 = inout(reg) x0,
            x1 = inout(reg) x1,
            x2 = inout(reg) x2,
            x3 = inout(reg) x3,
            z = in(reg) z,
            left = in(reg) left,
            right = in(reg) right,
            p = in(reg) P,
            minus_p_inverse = in(reg) MINUS_P_INVERSE,
            low = out(reg) _,
            m = out(reg) _,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    [x0, x1, x2, x3]
}

/// Does the same as the portable function. `b + 2a` makes the sum from the difference `b - a`.
#[inline(always)]
pub(crate) fn ntt_inverse_butterfly<const P: i32, const MINUS_P_INVERSE: i32>(
    [mut x0, mut x1, mut x2, mut x3]: [i32; 4],
    z: i32,
    [left, right]: [i32; 2],
) -> [i32; 4] {
    // SAFETY: arithmetic on registers that leaves the flags alone.
    unsafe {
        asm!(
            "sub {x1}, {x1}, {x0}",
            "add {x0}, {x1}, {x0}, lsl #1",
            "sub {x3}, {x3}, {x2}",
            "add {x2}, {x3}, {x2}, lsl #1",
            "smull {low}, {x1}, {left}, {x1}",
            "mul {m}, {low}, {minus_p_inverse}",
            "smlal {low}, {x1}, {m}, {p}",
            "smull {low}, {x3}, {right}, {x3}",
            "mul {m}, {low}, {minus_p_inverse}",
            "smlal {low}, {x3}, {m}, {p}",
            "sub {x2}, {x2}, {x0}",
            "add {x0}, {x2}, {x0}, lsl #1",
            "sub {x3}, {x3}, {x1}",
            "add {x1}, {x3}, {x1}, lsl #1",
            "smull {low}, {x2}, {z}, {x2}",
            "mul {m}, {low}, {minus_p_inverse}",
            "smlal {low}, {x2}, {m}, {p}",
            "smull {low}, {x3}, {z}, {x3}",
            "mul {m}, {low}, {minus_p_inverse}",
            "smlal {low}, {x3}, {m}, {p}",
            "add {m}, {x0}, #0x08000000",
            "asr {m}, {m}, #28",
            "mul {m}, {m}, {p}",
            "sub {x0}, {x0}, {m}",
            x0 = inout(reg) x0,
            x1 = inout(reg) x1,
            x2 = inout(reg) x2,
            x3 = inout(reg) x3,
            z = in(reg) z,
            left = in(reg) left,
            right = in(reg) right,
            p = in(reg) P,
            minus_p_inverse = in(reg) MINUS_P_INVERSE,
            low = out(reg) _,
            m = out(reg) _,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    [x0, x1, x2, x3]
}
