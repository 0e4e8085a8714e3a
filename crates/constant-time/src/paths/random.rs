//! Streams of secret seeds, and everything that is drawn from them.

use std::error::Error;
use std::num::NonZeroU64;

use tfhe_sbc_core::memcheck::{disclose, mark_secret};
use tfhe_sbc_core::parameters::GlweSecret;
use tfhe_sbc_core::random::{
    Expander, ExpanderKind, NoiseDistribution, NoiseSeed, ReseedPolicy, SeedSequence, add_noise,
    add_uniform, fill_packed_secret, fill_secret, fill_uniform,
};
use tfhe_sbc_core::torus::Torus;

use super::{bytes, secret_bytes};
use crate::check::{Check, Outcome};

pub(super) fn run(check: &mut Check) {
    for kind in ExpanderKind::ALL {
        check.path(&format!("stream of {kind}"), || {
            let seed = NoiseSeed::from_bytes(secret_bytes(1));
            let mut stream = kind.noise_stream(&seed, 3);
            let mut out = vec![0; 5000];
            // Pieces that begin and end within blocks.
            for piece in out.chunks_mut(997) {
                stream.fill(piece);
            }
            disclose(&mut out);
            Ok(())
        });
    }
    let noises = [
        (
            "Gaussian, single precision",
            NoiseDistribution::Gaussian {
                standard_deviation: 1e-7,
            },
        ),
        (
            "Gaussian, double precision",
            NoiseDistribution::Gaussian {
                standard_deviation: 1e-3,
            },
        ),
        (
            "TUniform, 2 bytes",
            NoiseDistribution::TUniform { bound_log2: 9 },
        ),
        (
            "TUniform, 4 bytes",
            NoiseDistribution::TUniform { bound_log2: 17 },
        ),
        (
            "binomial, 2 bytes",
            NoiseDistribution::CenteredBinomial { eta: 8 },
        ),
        (
            "binomial, 4 bytes",
            NoiseDistribution::CenteredBinomial { eta: 16 },
        ),
        (
            "binomial, 8 bytes",
            NoiseDistribution::CenteredBinomial { eta: 21 },
        ),
    ];
    for (name, distribution) in noises {
        check.path(&format!("noise of 32 bits: {name}"), || {
            noise::<u32>(distribution)
        });
        check.path(&format!("noise of 64 bits: {name}"), || {
            noise::<u64>(distribution)
        });
    }
    check.path("noise of 64 bits: TUniform, 8 bytes", || {
        noise::<u64>(NoiseDistribution::TUniform { bound_log2: 45 })
    });
    for (name, secret) in [
        ("binary", GlweSecret::Binary),
        ("ternary", GlweSecret::Ternary),
    ] {
        check.path(&format!("{name} coefficients"), || {
            let mut out = vec![0i8; 2051];
            fill_secret(secret, &mut stream(), &mut out);
            disclose(&mut out);
            Ok(())
        });
        check.path(&format!("packed {name} coefficients"), || {
            let mut out = vec![0u8; 515];
            fill_packed_secret(secret, &mut stream(), &mut out);
            disclose(&mut out);
            Ok(())
        });
    }
    check.path("uniform numbers", || {
        let mut out = vec![0u64; 1027];
        fill_uniform(&mut stream(), &mut out);
        add_uniform(&mut stream(), &mut out);
        disclose(&mut out);
        Ok(())
    });
    check.path(
        "seeds from a source of entropy, renewed and forgotten",
        seeds,
    );
}

/// A stream of a secret seed.
fn stream() -> impl Expander {
    let seed = NoiseSeed::from_bytes(secret_bytes(2));
    ExpanderKind::ChaCha20.noise_stream(&seed, 0)
}

fn noise<T: Torus>(distribution: NoiseDistribution) -> Outcome {
    // Whole chunks of every sampler, and a part of one.
    let mut values = vec![T::ONE; 1024 + 77];
    add_noise(distribution, &mut stream(), &mut values);
    disclose(&mut values);
    Ok(())
}

fn seeds() -> Result<(), Box<dyn Error>> {
    let mut calls = 0;
    let source = |out: &mut [u8]| {
        calls += 1;
        out.copy_from_slice(&bytes::<32>(calls));
        mark_secret(out);
        Ok(())
    };
    let policy = ReseedPolicy {
        max_ciphertexts: NonZeroU64::MIN,
    };
    let mut seeds = SeedSequence::with_reseeding(source, policy)?;
    for _ in 0..3 {
        let (_, noise) = seeds.next_pair()?;
        seeds.forget_past();
        let mut out = [0; 64];
        ExpanderKind::ChaCha20
            .noise_stream(&noise, 0)
            .fill(&mut out);
        disclose(&mut out);
    }
    Ok(())
}
