//! Ring and moduli, validated once: every [`Parameters`] value can be used.

use thiserror::Error;

/// log2 of the smallest polynomial size.
pub(crate) const MIN_LOG_N: u32 = 10;
/// log2 of the largest polynomial size.
pub(crate) const MAX_LOG_N: u32 = 14;
/// The largest number of primes that ciphertexts are made modulo.
pub const MAX_DATA_PRIMES: usize = 16;
/// log2 of the bound that data primes are below.
const MAX_DATA_PRIME_BITS: u32 = 31;
/// SEAL's bound on the number of bits of the special prime.
const MAX_SPECIAL_PRIME_BITS: u32 = 60;
/// The largest number of bits of the product of all primes that gives 128 bits of security with
/// ternary secrets, for the polynomial sizes 1024, 2048, …, 16384: HomomorphicEncryption.org
/// security standard (2018), table 1. SEAL enforces it too.
const MAX_MODULUS_BITS: [u32; 5] = [27, 54, 109, 218, 438];

/// The reason why parameters were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ParametersError {
    /// The polynomial size is not one of those supported.
    #[error("a polynomial size of {0} is not one of 1024, 2048, 4096, 8192, 16384")]
    PolynomialSize(usize),
    /// The number of data primes is zero or too large.
    #[error("{0} data primes: give between 1 and {MAX_DATA_PRIMES}")]
    PrimeCount(usize),
    /// A modulus is out of range.
    #[error(
        "the modulus {0} has too many bits: data primes have at most {MAX_DATA_PRIME_BITS}, the special prime {MAX_SPECIAL_PRIME_BITS}"
    )]
    TooLarge(u64),
    /// A modulus is not a prime.
    #[error("the modulus {0} is not a prime")]
    NotPrime(u64),
    /// A prime has no roots of unity for the transform.
    #[error("the prime {0} is not 1 modulo twice the polynomial size: no transform exists")]
    NoTransform(u64),
    /// A prime occurs twice.
    #[error("the prime {0} is there twice")]
    Repeated(u64),
    /// The moduli are too large for the polynomial size to be secure.
    #[error(
        "moduli of {found} bits in all: 128 bits of security allow {allowed} at this polynomial size"
    )]
    Insecure {
        /// The number of bits of all primes.
        found: u32,
        /// The largest number of bits allowed.
        allowed: u32,
    },
}

/// A polynomial size, the primes of ciphertexts, and the special prime of keys.
///
/// The polynomial size `n` is a power of two from 1024 to 16384; there are `n / 2` slots.
/// Every prime is 1 modulo `2n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    log_n: u32,
    count: usize,
    data: [u32; MAX_DATA_PRIMES],
    special: Option<u64>,
}

impl Parameters {
    /// SEAL-Embedded's parameters of polynomial size 1024: one prime, no special one.
    pub const N1024: Self = shipped(1024, &[134012929], None);
    /// SEAL-Embedded's parameters of polynomial size 2048.
    pub const N2048: Self = shipped(2048, &[134012929], Some(134176769));
    /// SEAL-Embedded's parameters of polynomial size 4096.
    pub const N4096: Self = shipped(4096, &[1053818881, 1054015489, 1054212097], Some(417793));
    /// SEAL-Embedded's parameters of polynomial size 8192.
    pub const N8192: Self = shipped(
        8192,
        &[
            1053818881, 1054015489, 1054212097, 1055260673, 1056178177, 1056440321,
        ],
        Some(274877562881),
    );
    /// SEAL-Embedded's parameters of polynomial size 16384.
    pub const N16384: Self = shipped(
        16384,
        &[
            1053818881, 1054015489, 1054212097, 1055260673, 1056178177, 1056440321, 1058209793,
            1060175873, 1060700161, 1060765697, 1061093377, 1062469633, 1062535169,
        ],
        Some(281474976546817),
    );
    /// All of SEAL-Embedded's parameters.
    pub const SEAL_EMBEDDED: [Self; 5] = [
        Self::N1024,
        Self::N2048,
        Self::N4096,
        Self::N8192,
        Self::N16384,
    ];

    /// Checks parameters of one's own choice.
    ///
    /// `data` are the primes of ciphertexts, in SEAL's order. `special` is the last prime of
    /// SEAL's `EncryptionParameters`, which only keys have. SEAL takes the last of several
    /// primes as special in any case, so a special prime is needed with several data primes.
    ///
    /// # Errors
    /// A [`ParametersError`] that says what is wrong; insecure parameters are refused too.
    pub const fn new(
        polynomial_size: usize,
        data: &[u32],
        special: Option<u64>,
    ) -> Result<Self, ParametersError> {
        if !polynomial_size.is_power_of_two()
            || polynomial_size.ilog2() < MIN_LOG_N
            || polynomial_size.ilog2() > MAX_LOG_N
        {
            return Err(ParametersError::PolynomialSize(polynomial_size));
        }
        if data.is_empty() || data.len() > MAX_DATA_PRIMES {
            return Err(ParametersError::PrimeCount(data.len()));
        }
        let mut parameters = Self {
            log_n: polynomial_size.ilog2(),
            count: data.len(),
            data: [0; MAX_DATA_PRIMES],
            special,
        };
        let mut bits = 0;
        let mut i = 0;
        while i < data.len() {
            let prime = data[i];
            if prime >> MAX_DATA_PRIME_BITS != 0 {
                return Err(ParametersError::TooLarge(prime as u64));
            }
            if let Err(error) = parameters.check_prime(prime as u64) {
                return Err(error);
            }
            parameters.data[i] = prime;
            bits += prime.ilog2() + 1;
            i += 1;
        }
        if let Some(prime) = special {
            if prime >> MAX_SPECIAL_PRIME_BITS != 0 {
                return Err(ParametersError::TooLarge(prime));
            }
            if let Err(error) = parameters.check_prime(prime) {
                return Err(error);
            }
            bits += prime.ilog2() + 1;
        }
        let allowed = MAX_MODULUS_BITS[(parameters.log_n - MIN_LOG_N) as usize];
        if bits > allowed {
            return Err(ParametersError::Insecure {
                found: bits,
                allowed,
            });
        }
        Ok(parameters)
    }

    /// Checks a prime against the ring and against the primes before it.
    const fn check_prime(&self, prime: u64) -> Result<(), ParametersError> {
        if !is_prime(prime) {
            return Err(ParametersError::NotPrime(prime));
        }
        if prime % (2 << self.log_n) != 1 {
            return Err(ParametersError::NoTransform(prime));
        }
        let mut i = 0;
        while i < self.count {
            if self.data[i] as u64 == prime {
                return Err(ParametersError::Repeated(prime));
            }
            i += 1;
        }
        Ok(())
    }

    /// The number of coefficients.
    pub const fn polynomial_size(&self) -> usize {
        1 << self.log_n
    }

    /// log2 of the number of coefficients.
    pub(crate) const fn log_n(&self) -> u32 {
        self.log_n
    }

    /// The number of values that a ciphertext holds, `n / 2`.
    pub const fn slot_count(&self) -> usize {
        self.polynomial_size() / 2
    }

    /// The primes of ciphertexts.
    pub fn data_primes(&self) -> &[u32] {
        &self.data[..self.count]
    }

    /// The number of data primes.
    pub const fn data_prime_count(&self) -> usize {
        self.count
    }

    /// The special prime, which only keys have.
    pub const fn special_prime(&self) -> Option<u64> {
        self.special
    }

    /// Returns whether the special prime is larger than data primes may be.
    pub(crate) const fn special_is_wide(&self) -> bool {
        match self.special {
            Some(prime) => prime >> MAX_DATA_PRIME_BITS != 0,
            None => false,
        }
    }

    /// The primes of keys: the data primes, then the special one.
    pub fn key_primes(&self) -> impl Iterator<Item = u64> + Clone {
        let data = self.data[..self.count]
            .iter()
            .map(|&prime| u64::from(prime));
        data.chain(self.special)
    }

    /// The number of primes of keys.
    pub const fn key_prime_count(&self) -> usize {
        self.count + self.special.is_some() as usize
    }

    /// Returns the largest coefficient that a plaintext may have: half the modulus of ciphertexts, less
    /// room for noise.
    pub(crate) fn largest_coefficient(&self) -> f64 {
        /// More than eight standard deviations of the noise under a public key at the largest size.
        const NOISE: f64 = 4096.0;
        let modulus = self.data_primes().iter().map(|&prime| f64::from(prime));
        modulus.product::<f64>() / 2.0 - NOISE
    }
}

/// Makes the parameters that are part of this crate, at compile time: invalid ones do not compile.
const fn shipped(polynomial_size: usize, data: &[u32], special: Option<u64>) -> Parameters {
    match Parameters::new(polynomial_size, data, special) {
        Ok(parameters) => parameters,
        Err(_) => panic!("shipped parameters that are not valid"),
    }
}

/// Returns whether `number` is a prime, by the Miller–Rabin test with the bases that decide every
/// `u64` (Sorenson and Webster, "Strong pseudoprimes to twelve prime bases", 2017).
const fn is_prime(number: u64) -> bool {
    const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    if number < 2 {
        return false;
    }
    let twos = (number - 1).trailing_zeros();
    let mut i = 0;
    'bases: while i < BASES.len() {
        let base = BASES[i];
        i += 1;
        if number.is_multiple_of(base) {
            return number == base;
        }
        let mut x = power_mod(base, (number - 1) >> twos, number);
        if x == 1 {
            continue;
        }
        let mut squarings = 0;
        while squarings < twos {
            if x == number - 1 {
                continue 'bases;
            }
            x = mul_mod(x, x, number);
            squarings += 1;
        }
        return false;
    }
    true
}

const fn mul_mod(a: u64, b: u64, modulus: u64) -> u64 {
    (a as u128 * b as u128 % modulus as u128) as u64
}

const fn power_mod(base: u64, mut exponent: u64, modulus: u64) -> u64 {
    let (mut square, mut result) = (base % modulus, 1);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = mul_mod(result, square, modulus);
        }
        square = mul_mod(square, square, modulus);
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes_are_told_from_others() {
        let by_division = |n: u64| {
            n > 1
                && (2..n)
                    .take_while(|d| d * d <= n)
                    .all(|d| !n.is_multiple_of(d))
        };
        for number in 0..5000 {
            assert_eq!(is_prime(number), by_division(number), "{number}");
        }
        // A strong pseudoprime to the first nine bases, and a large prime.
        assert!(!is_prime(3_825_123_056_546_413_051));
        assert!(is_prime(18_446_744_073_709_551_557));
    }

    #[test]
    fn every_rule_is_enforced() {
        use ParametersError::*;
        let new = |n, data: &[u32], special| Parameters::new(n, data, special);
        assert_eq!(new(512, &[12289], None), Err(PolynomialSize(512)));
        assert_eq!(new(32768, &[786433], None), Err(PolynomialSize(32768)));
        assert_eq!(new(3000, &[786433], None), Err(PolynomialSize(3000)));
        assert_eq!(new(0, &[786433], None), Err(PolynomialSize(0)));
        assert_eq!(new(4096, &[], None), Err(PrimeCount(0)));
        assert_eq!(new(4096, &[40961; 17], None), Err(PrimeCount(17)));
        assert_eq!(new(4096, &[0x8000_0001], None), Err(TooLarge(0x8000_0001)));
        assert_eq!(new(4096, &[40961], Some(1 << 60)), Err(TooLarge(1 << 60)));
        assert_eq!(new(4096, &[8193], None), Err(NotPrime(8193)));
        assert_eq!(new(4096, &[12289], None), Err(NoTransform(12289)));
        assert_eq!(new(4096, &[40961, 40961], None), Err(Repeated(40961)));
        assert_eq!(new(4096, &[40961], Some(40961)), Err(Repeated(40961)));
        assert_eq!(
            new(2048, &[134012929, 12289], Some(134176769)),
            Err(Insecure {
                found: 68,
                allowed: 54
            })
        );
        assert!(new(4096, &[40961, 65537], Some(114689)).is_ok());
        assert!(new(1024, &[12289], None).is_ok());
    }
}
