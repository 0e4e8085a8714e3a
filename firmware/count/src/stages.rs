//! The stages of an encryption, each by itself.

use core::hint::black_box;

use tfhe_sbc_core::dimensions::{GlweDimension, PolynomialSize};
use tfhe_sbc_core::fft::OwnedFftPlan;
use tfhe_sbc_core::glwe_product::{MaskProduct, mask_product_scratch_len, prepare_key_polynomial};
use tfhe_sbc_core::random::{ExpanderKind, NoiseDistribution, add_noise, fill_uniform};
use tfhe_sbc_core::wire::bits::{pack_top_bits, packed_len};

use crate::marker::counted;
use crate::{BITS, GAUSSIAN, RUNS, TUNIFORM, readings, seeds};

const EXPANDER: ExpanderKind = ExpanderKind::ChaCha20;

/// Counts the instructions of every stage.
pub(crate) fn run() {
    let (mask_seed, noise_seed) = seeds(3).next_pair().expect("fresh seeds");
    let mut mask = [0u32; BITS];
    let mut body = [0u32; BITS];

    stage::<2>("mask", || {
        counted::<2, _>(|| fill_uniform(&mut EXPANDER.mask_stream(&mask_seed, 0), &mut mask));
    });
    let mut noise = |distribution: NoiseDistribution| {
        let mut stream = EXPANDER.noise_stream(&noise_seed, 0);
        add_noise(black_box(distribution), &mut stream, &mut body);
    };
    stage::<3>("gaussian_noise", || counted::<3, _>(|| noise(GAUSSIAN)));
    stage::<4>("tuniform_noise", || counted::<4, _>(|| noise(TUNIFORM)));

    let size = PolynomialSize::new(BITS).expect("a power of two");
    let plan = OwnedFftPlan::new(size);
    let mut key = readings().map(f64::from);
    prepare_key_polynomial(plan.plan(), &mut key);
    let mut scratch = vec![0.0; mask_product_scratch_len::<u32>(size, GlweDimension(1))];
    stage::<5>("product", || {
        counted::<5, _>(|| {
            MaskProduct::new(plan.plan(), &mut scratch).finish_into(&mask, &key, &mut body);
        });
    });

    let mut packed = [0; packed_len(BITS, 9)];
    stage::<6>("pack", || {
        counted::<6, _>(|| pack_top_bits(&body, black_box(9), &mut packed));
    });
    black_box(packed);
}

fn stage<const ID: u32>(name: &str, mut work: impl FnMut()) {
    println!("region {ID} {name}");
    for _ in 0..RUNS {
        work();
    }
}
