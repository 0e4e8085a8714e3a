//! The variable-time Gaussian samplers: moments with every expander, tight enough for a standard
//! deviation that is wrong by 2 %, tails and shape.

use tfhe_sbc_core::random::{AnyExpander, ExpanderKind, MaskSeed};
use tfhe_sbc_research::samplers::{add_gaussian_polar_vartime, add_gaussian_ziggurat_vartime};

use crate::normal::{check_moments, check_shape, check_tails, within};

/// A sampler over the 64-bit torus, for a standard deviation as a fraction of q.
type Sampler = fn(f64, &mut AnyExpander, &mut [u64]);

const SAMPLERS: [(&str, Sampler); 2] = [
    ("Ziggurat", |standard_deviation, expander, values| {
        add_gaussian_ziggurat_vartime(standard_deviation, expander, values);
    }),
    ("polar", |standard_deviation, expander, values| {
        add_gaussian_polar_vartime(standard_deviation, expander, values);
    }),
];

/// The stream of a fixed seed with the given number.
fn stream(kind: ExpanderKind, number: u32) -> AnyExpander {
    kind.mask_stream(&MaskSeed(core::array::from_fn(|i| 0xe0 + i as u8)), number)
}

/// `len` standard normal variates with 40 bits behind the point.
fn normals(sampler: Sampler, expander: &mut AnyExpander, len: usize) -> Vec<f64> {
    let mut values = vec![0u64; len];
    sampler(2f64.powi(-24), expander, &mut values);
    values
        .into_iter()
        .map(|x| x as i64 as f64 * 2f64.powi(-40))
        .collect()
}

#[test]
fn samples_have_the_moments_with_every_expander() {
    for kind in ExpanderKind::ALL {
        for (name, sampler) in SAMPLERS {
            let sample = normals(sampler, &mut stream(kind, 40), 1 << 18);
            check_moments(&sample).unwrap_or_else(|error| panic!("{name}, {kind}: {error}"));
            // The same sample is refused if its scale is off by 2 %.
            for factor in [0.98, 1.02] {
                let scaled: Vec<f64> = sample.iter().map(|x| x * factor).collect();
                assert!(check_moments(&scaled).is_err(), "{name}, {kind}");
            }
        }
    }
}

#[test]
fn samples_are_normal() {
    for (name, sampler) in SAMPLERS {
        let sample = normals(sampler, &mut stream(ExpanderKind::ChaCha20, 41), 1 << 23);
        let named = |error| panic!("{name}: {error}");
        check_tails(&sample).unwrap_or_else(named);
        check_moments(&sample).unwrap_or_else(named);
        check_shape(sample[..1 << 20].to_vec()).unwrap_or_else(named);
    }
}

#[test]
fn narrow_samples_have_the_variance() {
    for sampler in [
        add_gaussian_polar_vartime::<u32>,
        add_gaussian_ziggurat_vartime::<u32>,
    ] {
        let mut narrow = [0u32; 1001];
        let mut stream = stream(ExpanderKind::ChaCha20, 42);
        sampler(2f64.powi(-25), &mut stream, &mut narrow);
        let square: f64 = narrow.iter().map(|x| f64::from(*x as i32).powi(2)).sum();
        let ratio = square / (128.0 * 128.0 * 1001.0);
        within("variance", ratio, 1.0, 5.0 * (2f64 / 1001.0).sqrt()).unwrap();
    }
}
