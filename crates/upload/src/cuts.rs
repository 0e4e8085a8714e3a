//! Numbers between the codes of an encoding: where a threshold or an edge cuts the codes into those below it
//! and those from it on.

use tfhe_sbc_core::encoding::FixedPoint;

/// Returns a number in steps of an encoding: the largest whole number not above it, and whether that is the
/// number itself.
pub fn whole_steps(encoding: &FixedPoint, number: f64) -> (f64, bool) {
    let steps = (number - encoding.minimum()) / encoding.scale();
    let nearest = steps.round();
    if (steps - nearest).abs() < slack(number, encoding.minimum(), encoding.scale()) {
        (nearest, true)
    } else {
        (steps.floor(), false)
    }
}

/// Returns the largest difference of a distance of two numbers from a whole number of steps that
/// still means that number: a millionth of a step, or what rounding takes from numbers that are
/// large beside it. Less than half a step.
pub fn slack(a: f64, b: f64, scale: f64) -> f64 {
    let rounding = 4.0 * f64::EPSILON * (a.abs() + b.abs()) / scale;
    rounding.clamp(1e-6, 0.49)
}

/// The first code whose reading is at least `number`; one above the largest code if there is
/// none.
pub fn first_code_from(encoding: &FixedPoint, number: f64) -> u64 {
    let (floor, exact) = whole_steps(encoding, number);
    first_code(encoding, if exact { floor } else { floor + 1.0 })
}

/// The first code whose reading is above `number`; one above the largest code if there is none.
pub fn first_code_above(encoding: &FixedPoint, number: f64) -> u64 {
    first_code(encoding, whole_steps(encoding, number).0 + 1.0)
}

fn first_code(encoding: &FixedPoint, steps: f64) -> u64 {
    steps.clamp(0.0, largest_code(encoding) + 1.0) as u64
}

/// The largest code of an encoding, exact because a code has at most 52 bits.
pub fn largest_code(encoding: &FixedPoint) -> f64 {
    ((1u64 << encoding.bits()) - 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_code_from_a_number_is_at_least_that() {
        let encoding = FixedPoint::new(-1.0, 0.1, 4).unwrap();
        for (number, from, above) in [
            (-7.0, 0, 0),
            (-1.0, 0, 1),
            (-0.95, 1, 1),
            (-0.7, 3, 4),
            (0.5, 15, 16),
            (0.51, 16, 16),
            (1e300, 16, 16),
            (-1e300, 0, 0),
        ] {
            assert_eq!(first_code_from(&encoding, number), from, "{number}");
            assert_eq!(first_code_above(&encoding, number), above, "{number}");
        }
    }

    proptest! {
        /// Numbers on a grid finer than the codes, and codes that are exact in binary.
        #[test]
        fn cuts_have_every_reading_on_its_side(eighths in -100i32..300) {
            let encoding = FixedPoint::new(-4.0, 0.5, 5).unwrap();
            let number = f64::from(eighths) / 8.0;
            let (from, above) = (first_code_from(&encoding, number), first_code_above(&encoding, number));
            for code in 0..32u64 {
                let reading = encoding.decode(code as f64);
                prop_assert_eq!(code >= from, reading >= number);
                prop_assert_eq!(code >= above, reading > number);
            }
        }
    }
}
