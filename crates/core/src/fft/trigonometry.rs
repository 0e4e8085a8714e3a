//! Roots of unity without libm, the same bits on every platform.
//!
//! An angle is an integer number of steps, so the reduction to `[0, pi/4]` is
//! exact. On this interval the polynomials of fdlibm's `__kernel_sin` and `__kernel_cos`
//! (Sun Microsystems, 1993) have errors below an ulp.

/// Returns `(cos, sin)` of `2 pi step / 2^log_steps`, for `3 <= log_steps <= 20`: the same bits on
/// every platform, within two ulps.
pub const fn root_of_unity(step: u32, log_steps: u32) -> (f64, f64) {
    debug_assert!(3 <= log_steps && log_steps <= 20);
    let octant_log = log_steps - 3;
    let octant_steps = 1 << octant_log;
    let octant = (step >> octant_log) % 8;
    let offset = step % octant_steps;
    // Odd octants are counted back from their end, towards the nearest multiple of pi/2.
    let from_axis = match octant % 2 {
        0 => offset,
        _ => octant_steps - offset,
    };
    let (cos, sin) = cos_sin_turn(from_axis as f64 / (1u32 << log_steps) as f64);
    match octant {
        0 => (cos, sin),
        1 => (sin, cos),
        2 => (-sin, cos),
        3 => (-cos, sin),
        4 => (-cos, -sin),
        5 => (-sin, -cos),
        6 => (sin, -cos),
        _ => (cos, -sin),
    }
}

/// Returns `(cos, sin)` of `2 pi turn`, for `turn` in `[0, 1/8]` with at most 20 bits.
const fn cos_sin_turn(turn: f64) -> (f64, f64) {
    /// 2 pi to 33 bits, so that its product with 20 bits is exact.
    const TAU_HIGH: f64 = f64::from_bits(0x4019_21fb_5440_0000);
    /// The rest of 2 pi: four times fdlibm's `pio2_1t`.
    const TAU_LOW: f64 = 4.0 * 6.077_100_506_506_192e-11;
    let (high, low) = (turn * TAU_HIGH, turn * TAU_LOW);
    let x = high + low;
    let tail = (high - x) + low;
    (kernel_cos(x, tail), kernel_sin(x, tail))
}

/// Returns the sine of `x + tail`, by fdlibm's `__kernel_sin`.
const fn kernel_sin(x: f64, tail: f64) -> f64 {
    const S1: f64 = f64::from_bits(0xbfc5_5555_5555_5549);
    const S2: f64 = f64::from_bits(0x3f81_1111_1110_f8a6);
    const S3: f64 = f64::from_bits(0xbf2a_01a0_19c1_61d5);
    const S4: f64 = f64::from_bits(0x3ec7_1de3_57b1_fe7d);
    const S5: f64 = f64::from_bits(0xbe5a_e5e6_8a2b_9ceb);
    const S6: f64 = f64::from_bits(0x3de5_d93a_5acf_d57c);
    let z = x * x;
    let v = z * x;
    let r = S2 + z * (S3 + z * (S4 + z * (S5 + z * S6)));
    x - ((z * (0.5 * tail - v * r) - tail) - v * S1)
}

/// Returns the cosine of `x + tail`, by FreeBSD's revision of fdlibm's `__kernel_cos`.
const fn kernel_cos(x: f64, tail: f64) -> f64 {
    const C1: f64 = f64::from_bits(0x3fa5_5555_5555_554c);
    const C2: f64 = f64::from_bits(0xbf56_c16c_16c1_5177);
    const C3: f64 = f64::from_bits(0x3efa_01a0_19cb_1590);
    const C4: f64 = f64::from_bits(0xbe92_7e4f_809c_52ad);
    const C5: f64 = f64::from_bits(0x3e21_ee9e_bdb4_b1c4);
    const C6: f64 = f64::from_bits(0xbda8_fae9_be88_38d4);
    let z = x * x;
    let w = z * z;
    let r = z * (C1 + z * (C2 + z * C3)) + w * w * (C4 + z * (C5 + z * C6));
    let half_z = 0.5 * z;
    let w = 1.0 - half_z;
    w + (((1.0 - w) - half_z) + (z * r - x * tail))
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    fn ulps(a: f64, b: f64) -> u64 {
        if a == b {
            return 0;
        }
        assert_eq!(a.is_sign_negative(), b.is_sign_negative(), "{a} {b}");
        a.to_bits().abs_diff(b.to_bits())
    }

    #[test]
    fn roots_agree_with_std() {
        for log_steps in [3, 4, 10, 17, 18] {
            let n = 1u32 << log_steps;
            for step in 0..n {
                let (cos, sin) = root_of_unity(step, log_steps);
                // std is exact to an ulp only where its argument is: on the first octant,
                // and from there by symmetry.
                if step <= n / 8 {
                    let angle = core::f64::consts::TAU * f64::from(step) / f64::from(n);
                    assert!(ulps(cos, angle.cos()) <= 1, "cos {step} / {n}");
                    assert!(ulps(sin, angle.sin()) <= 2, "sin {step} / {n}");
                }
                assert_eq!(root_of_unity(n / 4 + step, log_steps), (-sin, cos));
                assert_eq!(root_of_unity((n - step) % n, log_steps), (cos, -sin));
            }
        }
    }

    #[test]
    fn axes_and_diagonals_are_exact() {
        let half_sqrt = core::f64::consts::FRAC_1_SQRT_2;
        assert_eq!(root_of_unity(0, 3), (1.0, 0.0));
        assert_eq!(root_of_unity(1, 3), (half_sqrt, half_sqrt));
        assert_eq!(root_of_unity(2, 3), (0.0, 1.0));
        assert_eq!(root_of_unity(3, 3), (-half_sqrt, half_sqrt));
        assert_eq!(root_of_unity(4, 3), (-1.0, 0.0));
    }
}
