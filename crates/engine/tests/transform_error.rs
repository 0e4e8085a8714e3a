//! The error of the floating transform in an external product, against the model that the
//! oracle has of it, for every instruction set of this processor.

mod common;
mod reference;

use common::small_set;
use tfhe_sbc_core::fft::OwnedFftPlan;
use tfhe_sbc_core::parameters::{Decomposition, ParameterSet, Parameters};
use tfhe_sbc_core::polynomial::reference_multiply_add;
use tfhe_sbc_core::random::{AnyExpander, ExpanderKind, MaskSeed, fill_binary, fill_uniform};
use tfhe_sbc_core::simd::{self, Isa};
use tfhe_sbc_core::torus::Torus;
use tfhe_sbc_engine::external_product::{ExternalProductScratch, rotate_if};
use tfhe_sbc_oracle::blind_rotation::{FftErrorModel, fft_variance};
use tfhe_sbc_oracle::noise_budget::PbsParameters;

fn uniform(stream: &mut AnyExpander, len: usize) -> Vec<u64> {
    let mut out = vec![0; len];
    fill_uniform(stream, &mut out);
    out
}

/// The mean square of what the transform adds to the phases of `products` external
/// products of uniform rows and inputs.
fn measured_variance(isa: Isa, parameters: &Parameters, products: usize) -> f64 {
    let size = parameters.polynomial_size();
    let n = size.get();
    let k = parameters.glwe_dimension.0;
    let rows = (k + 1) * parameters.pbs.level_count.0;
    let owned = OwnedFftPlan::new_with_isa(size, isa);
    let mut scratch = ExternalProductScratch::new(parameters);
    let mut stream = ExpanderKind::ChaCha20.mask_stream(&MaskSeed([70; 32]), n as u32);
    let mut squares = 0.0;
    for _ in 0..products {
        let ggsw: Vec<Vec<Vec<u64>>> = (0..rows)
            .map(|_| (0..=k).map(|_| uniform(&mut stream, n)).collect())
            .collect();
        let mut fourier = vec![0.0; rows * (k + 1) * n];
        let polynomials = ggsw.iter().flatten();
        for (out, polynomial) in fourier.chunks_exact_mut(n).zip(polynomials) {
            simd::torus_to_f64(isa, out, polynomial);
            owned.plan().forward(out);
            simd::scale_f64(isa, out, 2.0 / n as f64);
        }
        let mut exact: Vec<Vec<u64>> = (0..=k).map(|_| uniform(&mut stream, n)).collect();
        let mut fast = exact.concat();
        let degree = (uniform(&mut stream, 1)[0] % (2 * n as u64)) as usize;
        rotate_if(
            owned.plan(),
            parameters.pbs,
            &mut fast,
            &fourier,
            degree,
            &mut scratch,
        );
        reference::rotate_if(parameters.pbs, &mut exact, &ggsw, degree as i64);

        let errors: Vec<u64> = fast
            .iter()
            .zip(exact.concat())
            .map(|(x, y)| x.wrapping_sub(y))
            .collect();
        let mut key = vec![0; k * n];
        fill_binary(&mut stream, &mut key);
        let mut product = vec![0u64; n];
        for (mask, key) in errors.chunks_exact(n).zip(key.chunks_exact(n)) {
            let key: Vec<i64> = key.iter().map(|&bit| i64::from(bit)).collect();
            reference_multiply_add(&mut product, mask, &key);
        }
        for (body, product) in errors[k * n..].iter().zip(product) {
            squares += body.wrapping_sub(product).to_signed_fraction().powi(2);
        }
    }
    squares / (products * n) as f64
}

fn check(isa: Isa, n: usize, k: usize, pbs: (u32, usize), products: usize) {
    let set = ParameterSet {
        polynomial_size: n,
        pbs: Decomposition::new(pbs.0, pbs.1),
        pbs_body: Decomposition::new(pbs.0, pbs.1),
        ..small_set(64, k, 64)
    };
    let parameters = set.validate().unwrap();
    let shape = PbsParameters::from(&parameters);
    let predicted = fft_variance(
        FftErrorModel::Measured,
        &shape.bootstrapping_key(),
        shape.pbs,
    );
    let ratio = measured_variance(isa, &parameters, products) / predicted.0;
    println!(
        "{} N = {n}, k = {k}, {pbs:?}: measured/predicted {ratio:.3}",
        isa.name()
    );
    // The errors of one product are far from independent, so this many tell within 10%.
    assert!(
        (0.8..1.25).contains(&ratio),
        "{} {n} {k} {pbs:?}: {ratio}",
        isa.name()
    );
}

#[test]
fn the_error_is_the_model_s_for_every_size_shape_and_instruction_set() {
    for isa in Isa::available() {
        check(isa, 512, 1, (23, 1), 150);
        check(isa, 1024, 1, (23, 1), 50);
    }
    let isa = Isa::detect();
    check(isa, 256, 1, (23, 1), 300);
    check(isa, 2048, 1, (23, 1), 24);
    check(isa, 512, 3, (10, 2), 40);
    check(isa, 1024, 1, (15, 2), 30);
}
