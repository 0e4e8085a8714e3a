//! Booleans at ±1/8 of the torus, the encoding of the two-input gates (TFHE: Fast
//! Fully Homomorphic Encryption over the Torus, section 4.2).

use crate::torus::Torus;

/// Returns `+1/8` for true and `-1/8` for false.
pub fn encode<T: Torus>(bit: bool) -> T {
    let eighth = T::ONE << (T::BITS - 3);
    if bit { eighth } else { eighth.neg() }
}

/// Returns the bit nearest to a phase, which is its sign.
pub fn decode<T: Torus>(phase: T) -> bool {
    phase.to_i64() >= 0
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_published_constants() {
        assert_eq!(super::encode::<u32>(true), 0x2000_0000);
        assert_eq!(super::encode::<u32>(false), 0xe000_0000);
        assert!(super::decode(1u32) && !super::decode(u32::MAX));
    }
}
