//! The single-precision Gaussian: the kernel against the standard library's functions,
//! and what a chunk consumes.

use super::continuous::gaussian;
use super::noise::add_noise_on;
use super::*;
use crate::simd::box_muller::{ROOT, SignMask, low_fraction, pair_of_radius, radius};
use crate::simd::{Isa, Simd, dispatch};
use crate::torus::Torus;

const CHUNK_BYTES: usize = 1088;

/// Computes a pair by the documentation of [`add_noise`], with the functions of the standard
/// library.
fn reference(radius: u32, extension: u32, angle: u32) -> [f64; 2] {
    let word = u64::from(radius << 1 >> 1) << 32 | u64::from(extension);
    let v = (word as f64 + 0.5) * 2f64.powi(-64);
    let ln = if radius >> 31 == 0 {
        v.ln()
    } else {
        (-v).ln_1p()
    };
    let radius = (-2.0 * ln).sqrt();
    let turn = f64::from(angle as i32) * 2f64.powi(-31) * core::f64::consts::FRAC_PI_4;
    let (sine, cosine) = turn.sin_cos();
    let cosine = if angle & 2 == 0 { cosine } else { -cosine };
    if angle & 1 == 0 {
        [radius * cosine, radius * sine]
    } else {
        [radius * sine, radius * cosine]
    }
}

fn kernel(radius: u32, extension: u32, angle: u32) -> [f64; 2] {
    let low = low_fraction(extension);
    let sign = SignMask::new();
    pair_of_radius(self::radius(radius, low, &ROOT, sign), angle, sign).map(f64::from)
}

/// Words of all magnitudes, from both ends, and arbitrary ones.
fn telling_words() -> Vec<u32> {
    let mut words: Vec<u32> = (0..32)
        .flat_map(|i| [1 << i, !(1 << i), (1 << i) - 1, !0 << i, 3 << i, !(3 << i)])
        .collect();
    words.extend((1..400u32).map(|i| i.wrapping_mul(0x9e37_79b9)));
    words
}

#[test]
fn a_variate_is_accurate_to_2_to_the_minus_19() {
    let words = telling_words();
    let mut worst = 0f64;
    for &radius in &words {
        for &extension in words.iter().step_by(7) {
            for &angle in words.iter().step_by(3) {
                let expected = reference(radius, extension, angle);
                for (seen, expected) in kernel(radius, extension, angle).into_iter().zip(expected) {
                    if expected == 0.0 {
                        assert_eq!(seen, 0.0);
                    } else {
                        worst = worst.max((seen / expected - 1.0).abs());
                    }
                }
            }
        }
    }
    assert!(worst < 2f64.powf(-19.5), "2^{}", worst.log2());
}

#[test]
fn the_tail_reaches_nine_standard_deviations() {
    let largest = (130f64 * 2f64.ln()).sqrt();
    let [x, y] = kernel(0, 0, 0x1234_5678);
    within("radius", x.hypot(y), largest, 1e-5).unwrap();
    let [x, y] = kernel(1 << 31, 0, 0x1234_5678);
    within("radius", x.hypot(y) * 2f64.powi(32), 1.0, 1e-5).unwrap();
    for angle in telling_words() {
        for radius in [0, 1, 1 << 31, (1 << 31) - 1, u32::MAX] {
            for extension in [0, u32::MAX] {
                let [x, y] = kernel(radius, extension, angle);
                assert!(x.hypot(y) < 1.00001 * largest);
            }
        }
    }
}

/// The bits of variates on any platform: a sum over many words that only exact
/// IEEE arithmetic in the kernel's order gives.
#[test]
fn the_bits_are_pinned() {
    let mut words = vec![0u32; 3 << 16];
    fill_uniform(&mut stream(ExpanderKind::ChaCha20, 8), &mut words);
    let sign = SignMask::new();
    let digest = words
        .as_chunks::<3>()
        .0
        .iter()
        .flat_map(|&[radius, extension, angle]| {
            let low = low_fraction(extension);
            // Every second radius deep in a tail.
            let radius = (radius as i32 >> ((angle & 1) * 28)) as u32;
            pair_of_radius(self::radius(radius, low, &ROOT, sign), angle, sign)
        })
        .fold(0u64, |sum, x| {
            sum.rotate_left(5).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(x.to_bits())
        });
    assert_eq!(digest, PINNED, "{digest:#x}");
}

const PINNED: u64 = 0xc587_33c2_65d3_575c;

/// The values are those that a reader in Python (`mpmath`, 50 digits) gave from the documentation
/// of [`add_noise`].
#[test]
fn golden_values_of_an_independent_reader() {
    let seen = gaussian::<u32>(&mut stream(ExpanderKind::ChaCha20, 7), 2f64.powi(-25), 600);
    assert_eq!(seen[..8], GOLDEN[0]);
    assert_eq!(seen[128..136], GOLDEN[1]);
    assert_eq!(seen[512..520], GOLDEN[2]);
    let wide = gaussian::<u64>(&mut stream(ExpanderKind::ChaCha20, 7), 2f64.powi(-57), 600);
    assert_eq!(wide, seen);
}

const GOLDEN: [[i64; 8]; 3] = [
    [-37, 32, 56, -6, 216, 91, 160, 141],
    [-140, 246, 312, -307, 103, -88, -121, -56],
    [-117, 73, 50, 40, 203, 41, 102, -148],
];

/// A stream of the given words, and then of its end.
struct Words(Vec<u32>);

impl Expander for Words {
    fn fill(&mut self, out: &mut [u8]) {
        let rest = self.0.split_off(out.len() / 4);
        for (bytes, word) in out.as_chunks_mut().0.iter_mut().zip(&self.0) {
            *bytes = word.to_le_bytes();
        }
        self.0 = rest;
    }
}

fn chunk(words: &[u32]) -> Vec<i64> {
    gaussian::<u32>(&mut Words(words.into()), 2f64.powi(-18), 256)
}

/// Every word is used, and in its place.
#[test]
fn the_words_of_a_chunk_make_the_values_that_they_should() {
    let mut words = vec![0u32; CHUNK_BYTES / 4];
    fill_uniform(&mut stream(ExpanderKind::ChaCha20, 40), &mut words);
    // Some radii so small that extensions tell, with each extension among them.
    for (i, radius) in words[16..144].iter_mut().enumerate().step_by(3) {
        *radius = i as u32 / 50;
    }
    let expected: Vec<[f64; 2]> = (0..128)
        .map(|p| reference(words[16 + p], words[p % 16], words[144 + p]))
        .collect();
    let seen = chunk(&words);
    for (p, expected) in expected.iter().enumerate() {
        for (half, expected) in expected.iter().enumerate() {
            let seen = seen[p + 128 * half] as f64;
            within("a value", seen, expected * 16384.0, 0.65).unwrap();
        }
    }
    for place in 0..words.len() {
        let mut changed = words.clone();
        changed[place] ^= 1 << 30;
        let differing: Vec<usize> = (0..256)
            .filter(|&i| chunk(&changed)[i] != seen[i])
            .map(|i| i % 128)
            .collect();
        let at_most = |p| {
            if place < 16 {
                p % 16 == place
            } else {
                p == (place - 16) % 128
            }
        };
        assert!(differing.iter().all(|&p| at_most(p)), "{place}");
        assert!(!differing.is_empty(), "{place}");
    }
}

#[test]
fn values_of_a_chunk_and_of_chunks_are_different_draws() {
    let mut seen = gaussian::<u64>(
        &mut stream(ExpanderKind::ChaCha20, 41),
        2f64.powi(-50),
        1 << 14,
    );
    // 2^14 draws of a standard deviation of 2^14 have 2^27 pairs, each equal with
    // probability 2^-14 / sqrt(4 pi): 2311 coincidences, some of them threefold.
    seen.sort_unstable();
    seen.dedup();
    within("coincidences", (16384 - seen.len()) as f64, 2150.0, 250.0).unwrap();
}

#[test]
fn cuts_at_whole_chunks_do_not_matter_and_a_part_is_a_prefix() {
    for kind in ExpanderKind::ALL {
        let whole = gaussian::<u64>(&mut stream(kind, 4), 1e-17, 3000);
        for step in [256, 512, 1024, 1280] {
            let mut expander = stream(kind, 4);
            let mut pieces = Vec::new();
            while pieces.len() < whole.len() {
                let len = step.min(whole.len() - pieces.len());
                pieces.extend(gaussian::<u64>(&mut expander, 1e-17, len));
            }
            assert_eq!(pieces, whole);
        }
        for len in [0, 1, 2, 15, 127, 128, 129, 255, 256, 257, 1023, 1025] {
            let mut expander = stream(kind, 4);
            assert_eq!(gaussian::<u64>(&mut expander, 1e-17, len), whole[..len]);
            let consumed = CHUNK_BYTES * len.div_ceil(256);
            let bytes = read(&mut stream(kind, 4), consumed + 16);
            assert_eq!(read(&mut expander, 16), bytes[consumed..]);
        }
    }
}

/// Radii from both tails and angles at the ends of octants, on every instruction set.
#[test]
fn every_instruction_set_gives_the_same_kernel() {
    let telling = telling_words();
    let mut words = telling.iter().cycle().step_by(7);
    for scale in [0.0, 1.0, 300.0, 65_536.0] {
        let root = ROOT.map(|coefficient| coefficient * scale);
        for _ in 0..if cfg!(miri) { 1 } else { 100 } {
            let input: [u32; CHUNK_BYTES / 4] = core::array::from_fn(|_| *words.next().unwrap());
            let of = |isa| {
                let mut output = input;
                let words = &mut output;
                dispatch!(isa, |simd| simd.replace_by_normals(words, &root));
                output
            };
            for isa in Isa::available() {
                assert_eq!(of(isa), of(Isa::Portable), "{scale} {}", isa.name());
            }
        }
    }
}

/// All noise, on every instruction set, to lengths about its vectors, with memory of the caller and without.
#[test]
fn every_instruction_set_gives_the_same_values() {
    fn check<T: Torus>(noise: NoiseDistribution) {
        for len in [0, 1, 5, 31, 32, 33, 255, 256, 700, 1024, 1500, 2100] {
            let of = |isa, memory| {
                let mut values = vec![T::ONE; len];
                let mut words = vec![T::ONE; memory];
                let mut stream = stream(ExpanderKind::ChaCha20, 50);
                add_noise_on(isa, noise, &mut stream, &mut values, &mut words);
                values
            };
            for isa in Isa::available() {
                for memory in [0, 1, 271, 272, 700, 1024, 4000] {
                    assert!(
                        of(isa, memory) == of(Isa::Portable, 0),
                        "{noise:?} {len} {} {memory}",
                        isa.name()
                    );
                }
            }
        }
    }
    for standard_deviation in [
        0.0,
        1e-20,
        2f64.powi(-50),
        2f64.powi(-25),
        2f64.powi(-18),
        1e-3,
    ] {
        check::<u32>(NoiseDistribution::Gaussian { standard_deviation });
        check::<u64>(NoiseDistribution::Gaussian { standard_deviation });
    }
    for bound_log2 in [0, 8, 14, 15, 30] {
        check::<u32>(NoiseDistribution::TUniform { bound_log2 });
        check::<u64>(NoiseDistribution::TUniform {
            bound_log2: 2 * bound_log2 + 2,
        });
    }
}
