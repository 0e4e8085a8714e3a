//! Tables 4 to 7 and figure 3: the parts of an encryption, each by itself.

use std::time::Duration;

use tfhe_sbc_core::dimensions::{GlweDimension, PolynomialSize};
use tfhe_sbc_core::fft::OwnedFftPlan;
use tfhe_sbc_core::glwe::GlweCiphertext;
use tfhe_sbc_core::polynomial::reference_multiply_add;
use tfhe_sbc_core::random::{
    Expander, ExpanderKind, MaskSeed, NoiseDistribution, add_noise, fill_uniform,
};
use tfhe_sbc_core::simd::fourier_mul;

use crate::error::BenchError;
use crate::report::Unit;
use crate::timing::{Timing, Work, interleave};

use super::table::{Cell, Line, PaperTable};
use tfhe_sbc_research::paper::configuration::{SIZE, STANDARD_DEVIATION, Sampler, Trlwe};
use tfhe_sbc_research::paper::figures::{self, accuracy, product, sampling, trlwe_breakdown};
use tfhe_sbc_research::paper::single_precision::negacyclic_product;
use tfhe_sbc_research::paper::urandom::Urandom;

/// Products whose error Table 5 averages.
const PRODUCTS: usize = 20;
/// Subjects that share the budget.
const SUBJECTS: u32 = 48;

/// Tables 4, 5, 6, 7 and figure 3.
pub(super) fn tables(key: &[u8], budget: Duration) -> Result<Vec<PaperTable>, BenchError> {
    let share = budget / SUBJECTS;
    Ok(vec![
        table_4(key, share)?,
        table_5(key),
        table_6(share)?,
        table_7(key, share)?,
        figure_3(share)?,
    ])
}

/// The median time of something whose answer has no check beside those of the tests.
fn time(name: &str, share: Duration, mut run: impl FnMut()) -> Result<f64, BenchError> {
    let mut work = Work {
        name: name.to_owned(),
        run: || {
            run();
            Ok(())
        },
        check: |()| Ok(true),
    };
    let [Timing { median, .. }] = interleave([(&mut work, 1)], share)?;
    Ok(median)
}

/// An open stream of a generator.
fn stream(kind: ExpanderKind) -> impl Expander {
    kind.mask_stream(&MaskSeed([kind.id(); 32]), 0)
}

const SECONDS: fn(f64, Option<f64>) -> Cell = |ours, paper| Cell::new(Unit::Seconds, ours, paper);

fn table_4(key: &[u8], share: Duration) -> Result<PaperTable, BenchError> {
    let mut urandom = Urandom::open().map_err(BenchError::Urandom)?;
    let mut words = vec![0; SIZE];
    let mut body = vec![0; SIZE];
    let mut trlwe = Trlwe::new(key);
    let baseline = [
        time("uniform", share, || fill_uniform(&mut urandom, &mut words))?,
        time("polar", share, || {
            Sampler::Polar.add(&mut urandom, &mut body);
        })?,
        time("product, both transformed", share, || {
            trlwe.transform_key();
            trlwe.add_product(&words, &mut body);
        })?,
    ];
    let mut blake2 = stream(ExpanderKind::Blake2xb);
    let paper = [
        time("uniform", share, || fill_uniform(&mut blake2, &mut words))?,
        time("Ziggurat", share, || {
            Sampler::Ziggurat.add(&mut blake2, &mut body);
        })?,
        time("product, key kept", share, || {
            trlwe.add_product(&words, &mut body);
        })?,
    ];
    let gaussian = NoiseDistribution::Gaussian {
        standard_deviation: STANDARD_DEVIATION,
    };
    let mut aes = stream(ExpanderKind::Aes128Ctr);
    let ours = [
        time("uniform", share, || fill_uniform(&mut aes, &mut words))?,
        time("Box-Muller", share, || {
            add_noise(gaussian, &mut aes, &mut body);
        })?,
        paper[2],
    ];
    let line = |name: &str, key: &str, times: [f64; 3], paper: [Option<f64>; 3], note: &str| Line {
        name: name.to_owned(),
        key: key.to_owned(),
        cells: times
            .into_iter()
            .zip(paper)
            .map(|(ours, paper)| SECONDS(ours, paper))
            .collect(),
        note: note.to_owned(),
    };
    Ok(PaperTable {
        key: "table_4",
        title: "Table 4. Encryption of 1024 bits in parts".to_owned(),
        columns: [
            ("uniform mask", "uniform"),
            ("Gaussian noise", "gaussian"),
            ("product", "product"),
        ]
        .map(|(head, key)| (head.to_owned(), key))
        .into(),
        lines: vec![
            line(
                "TRLWE as TFHEpp",
                "trlwe",
                baseline,
                [
                    Some(trlwe_breakdown::UNIFORM),
                    Some(trlwe_breakdown::GAUSSIAN),
                    Some(trlwe_breakdown::PRODUCT),
                ],
                "reproduction: /dev/urandom, polar, key transformed every time",
            ),
            line(
                "TFHE-SBC",
                "tfhe_sbc_paper",
                paper,
                [
                    Some(sampling::UNIFORM_BLAKE2),
                    Some(sampling::ZIGGURAT_BLAKE2),
                    Some(product::FORWARD_KEPT + product::POINTWISE + product::INVERSE),
                ],
                "reproduction: BLAKE2X, Ziggurat, key kept",
            ),
            line(
                "ours",
                "ours",
                ours,
                [None; 3],
                "AES-128-CTR, Box-Muller in constant time, key kept",
            ),
        ],
        notes: vec![
            "All lines use our transform; the paper's product for TFHE-SBC is the sum of its \
             Table 7."
                .to_owned(),
        ],
    })
}

fn table_5(key: &[u8]) -> PaperTable {
    let mut masks = stream(ExpanderKind::ChaCha20);
    let mut mask = vec![0u32; SIZE];
    let key_i64: Vec<i64> = key.iter().map(|&bit| i64::from(bit)).collect();
    let key_f64: Vec<f64> = key.iter().map(|&bit| f64::from(bit)).collect();
    let (mut errors, mut norm) = ([0.0; 2], 0.0);
    for _ in 0..PRODUCTS {
        fill_uniform(&mut masks, &mut mask);
        let signed: Vec<i64> = mask.iter().map(|&x| i64::from(x as i32)).collect();
        let floats: Vec<f64> = signed.iter().map(|&x| x as f64).collect();
        let torus: Vec<u64> = signed.iter().map(|&x| x as u64).collect();
        // The coefficients are below 2^31 * 1024, so that they do not wrap mod 2^64.
        let mut exact = vec![0u64; SIZE];
        reference_multiply_add(&mut exact, &torus, &key_i64);
        let single = negacyclic_product::<f32>(&floats, &key_f64);
        let double = negacyclic_product::<f64>(&floats, &key_f64);
        for (i, &exact) in exact.iter().enumerate() {
            let exact = exact as i64 as f64;
            norm += exact * exact;
            errors[0] += (single[i] - exact).powi(2);
            errors[1] += (double[i] - exact).powi(2);
        }
    }
    let line = |name: &str, key: &str, error: f64, paper| Line {
        name: name.to_owned(),
        key: key.to_owned(),
        cells: vec![
            Cell::new(Unit::One, (error / norm).sqrt(), Some(paper)),
            Cell::new(Unit::One, (error / (PRODUCTS * SIZE) as f64).sqrt(), None),
        ],
        note: format!("{PRODUCTS} products of a uniform mask and a binary key"),
    };
    PaperTable {
        key: "table_5",
        title: "Table 5. Accuracy of the product against the exact one".to_owned(),
        columns: vec![
            ("RRMSE".to_owned(), "rrmse"),
            ("rms error, in steps of 2^-32".to_owned(), "rms_steps"),
        ],
        lines: vec![
            line("single precision", "f32", errors[0], accuracy::SINGLE),
            line("double precision", "f64", errors[1], accuracy::DOUBLE),
        ],
        notes: vec![
            "A textbook transform in either precision, its product compared as an integer. The \
             paper's single\nprecision is a GPU's. Noise of sigma = 2^-25 has 128 steps: single \
             precision would drown it, double rounds\nto the exact product."
                .to_owned(),
        ],
    }
}

fn table_6(share: Duration) -> Result<PaperTable, BenchError> {
    let mut lines = Vec::new();
    let mut urandom = Urandom::open().map_err(BenchError::Urandom)?;
    let papers = [
        Some(sampling::UNIFORM_URANDOM),
        Some(sampling::POLAR_URANDOM),
        Some(sampling::ZIGGURAT_URANDOM),
    ];
    lines.push(sampler_line(
        "/dev/urandom",
        "urandom",
        &mut urandom,
        papers,
        share,
    )?);
    for kind in ExpanderKind::ALL {
        let papers = match kind {
            ExpanderKind::Blake2xb => [
                Some(sampling::UNIFORM_BLAKE2),
                Some(sampling::POLAR_BLAKE2),
                Some(sampling::ZIGGURAT_BLAKE2),
            ],
            _ => [None; 3],
        };
        let key = kind.name().to_lowercase().replace('-', "_");
        lines.push(sampler_line(
            kind.name(),
            &key,
            &mut stream(kind),
            papers,
            share,
        )?);
    }
    Ok(PaperTable {
        key: "table_6",
        title: "Table 6. 1024 draws: generator by sampler".to_owned(),
        columns: [
            ("uniform", "uniform"),
            ("polar", "polar"),
            ("Ziggurat", "ziggurat"),
            ("Box-Muller", "box_muller"),
            ("TUniform", "tuniform"),
        ]
        .map(|(head, key)| (head.to_owned(), key))
        .into(),
        lines,
        notes: vec![
            "Polar and Ziggurat are variable-time, as in the paper; Box-Muller and TUniform are \
             constant-time.\n/dev/urandom is read once a word, as the paper's baseline does."
                .to_owned(),
        ],
    })
}

fn sampler_line(
    name: &str,
    key: &str,
    expander: &mut impl Expander,
    papers: [Option<f64>; 3],
    share: Duration,
) -> Result<Line, BenchError> {
    let mut values = vec![0u32; SIZE];
    let gaussian = NoiseDistribution::Gaussian {
        standard_deviation: STANDARD_DEVIATION,
    };
    let tuniform = NoiseDistribution::TUniform { bound_log2: 8 };
    let cells = vec![
        SECONDS(
            time(name, share, || fill_uniform(expander, &mut values))?,
            papers[0],
        ),
        SECONDS(
            time(name, share, || Sampler::Polar.add(expander, &mut values))?,
            papers[1],
        ),
        SECONDS(
            time(name, share, || Sampler::Ziggurat.add(expander, &mut values))?,
            papers[2],
        ),
        SECONDS(
            time(name, share, || add_noise(gaussian, expander, &mut values))?,
            None,
        ),
        SECONDS(
            time(name, share, || add_noise(tuniform, expander, &mut values))?,
            None,
        ),
    ];
    Ok(Line {
        name: name.to_owned(),
        key: key.to_owned(),
        cells,
        note: "1024 draws added to words mod 2^32".to_owned(),
    })
}

fn table_7(key: &[u8], share: Duration) -> Result<PaperTable, BenchError> {
    let size = PolynomialSize::new(SIZE).expect("1024 is a polynomial size");
    let owned = OwnedFftPlan::new(size);
    let plan = owned.plan();
    let mut mask = vec![0u32; SIZE];
    fill_uniform(&mut stream(ExpanderKind::ChaCha20), &mut mask);
    let mask: Vec<f64> = mask.iter().map(|&x| f64::from(x as i32)).collect();
    let key: Vec<f64> = key.iter().map(|&bit| f64::from(bit)).collect();
    let (mut a, mut b) = (vec![0.0; SIZE], vec![0.0; SIZE]);
    let both = time("both transforms", share, || {
        a.copy_from_slice(&mask);
        plan.forward(&mut a);
        b.copy_from_slice(&key);
        plan.forward(&mut b);
    })?;
    let kept = time("one transform", share, || {
        a.copy_from_slice(&mask);
        plan.forward(&mut a);
    })?;
    let mut out = vec![0.0; SIZE];
    let pointwise = time("pointwise", share, || {
        fourier_mul(plan.isa(), &mut out, &a, &b);
    })?;
    let inverse = time("inverse", share, || {
        a.copy_from_slice(&out);
        plan.inverse(&mut a);
    })?;
    let line = |name: &str, key: &str, forward, paper| Line {
        name: name.to_owned(),
        key: key.to_owned(),
        cells: vec![
            SECONDS(forward, Some(paper)),
            SECONDS(pointwise, Some(product::POINTWISE)),
            SECONDS(inverse, Some(product::INVERSE)),
        ],
        note: "N = 1024, double precision".to_owned(),
    };
    Ok(PaperTable {
        key: "table_7",
        title: "Table 7. The product in parts, key transformed on the fly or kept".to_owned(),
        columns: [
            ("forward transforms", "forward"),
            ("coefficient-wise", "pointwise"),
            ("inverse transform", "inverse"),
        ]
        .map(|(head, key)| (head.to_owned(), key))
        .into(),
        lines: vec![
            line("on the fly", "on_the_fly", both, product::FORWARD_BOTH),
            line("kept", "kept", kept, product::FORWARD_KEPT),
        ],
        notes: vec![
            "An encryption of ours fuses these steps with what comes before and after them; \
             Table 4 has the whole product."
                .to_owned(),
        ],
    })
}

fn figure_3(share: Duration) -> Result<PaperTable, BenchError> {
    let size = PolynomialSize::new(SIZE).expect("1024 is a polynomial size");
    let mut lines = Vec::new();
    for bits in figures::BIT_COUNTS {
        let body = vec![1u32; SIZE];
        let trlwes: Vec<_> = (0..bits.div_ceil(SIZE) as u32)
            .map(|stream| {
                GlweCiphertext::expand(
                    GlweDimension(1),
                    size,
                    ExpanderKind::ChaCha20,
                    &MaskSeed([3; 32]),
                    stream,
                    &body,
                )
            })
            .collect();
        let mut tlwes = vec![0u32; bits * (SIZE + 1)];
        let seconds = time("sample extraction", share, || {
            for (bit, tlwe) in tlwes.chunks_exact_mut(SIZE + 1).enumerate() {
                tfhe_sbc_core::sample_extract::sample_extract_into(
                    tlwe,
                    trlwes[bit / SIZE].as_slice(),
                    SIZE,
                    bit % SIZE,
                );
            }
        })?;
        let trlwe_bytes = trlwes.len() * 2 * SIZE * size_of::<u32>();
        let bytes = size_of_val(&tlwes[..]) + trlwe_bytes;
        lines.push(Line {
            name: format!("{bits} bits"),
            key: bits.to_string(),
            cells: vec![
                SECONDS(seconds, (bits == SIZE).then_some(figures::CONVERSION)),
                Cell::new(Unit::Bytes, bytes as f64, None),
            ],
            note: "sample extraction of every bit, one thread".to_owned(),
        });
    }
    Ok(PaperTable {
        key: "figure_3",
        title: "Figure 3. Conversion on the server: TRLWE to TLWE".to_owned(),
        columns: vec![
            ("time".to_owned(), "seconds"),
            ("ciphertexts in memory".to_owned(), "bytes"),
        ],
        lines,
        notes: Vec::new(),
    })
}
