//! Clear operands, which are not secret.

/// A clear number of up to 256 bits in two's complement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clear([u64; 4]);

impl Clear {
    /// Makes a number of four words, the least significant first.
    pub const fn from_words(words: [u64; 4]) -> Self {
        Self(words)
    }

    /// The four words, the least significant first.
    pub const fn words(self) -> [u64; 4] {
        self.0
    }

    /// Returns `2^bit` mod 2^256.
    pub(super) fn power_of_two(bit: u32) -> Self {
        let mut words = [0; 4];
        if let Some(word) = words.get_mut((bit / 64) as usize) {
            *word = 1 << (bit % 64);
        }
        Self(words)
    }

    /// The negated number mod 2^256.
    pub(super) fn negated(self) -> Self {
        let mut carry = true;
        Self(self.0.map(|word| {
            let (word, more) = (!word).overflowing_add(u64::from(carry));
            carry = more;
            word
        }))
    }

    /// The 64 bits from bit `at` on, with zeros above the number.
    pub(super) fn bits_from(self, at: u32) -> u64 {
        let (word, shift) = ((at / 64) as usize, at % 64);
        let word_at = |i: usize| self.0.get(i).copied().unwrap_or(0);
        match shift {
            0 => word_at(word),
            _ => word_at(word) >> shift | word_at(word + 1) << (64 - shift),
        }
    }
}

impl From<u128> for Clear {
    fn from(value: u128) -> Self {
        Self([value as u64, (value >> 64) as u64, 0, 0])
    }
}

impl From<i128> for Clear {
    fn from(value: i128) -> Self {
        let sign = (value >> 127) as u64;
        Self([value as u64, (value >> 64) as u64, sign, sign])
    }
}

macro_rules! from_small {
    ($wide:ty: $($small:ty)*) => {$(
        impl From<$small> for Clear {
            fn from(value: $small) -> Self {
                <$wide>::from(value).into()
            }
        }
    )*};
}

from_small!(u128: u8 u16 u32 u64 bool);
from_small!(i128: i8 i16 i32 i64);
