//! The failure probabilities that TFHE-rs publishes beside its parameter sets.

use tfhe_sbc_oracle::blind_rotation::{BlindRotation, FftErrorModel, GgswGadgets};
use tfhe_sbc_oracle::failure::{
    DecisionHalfWidth, log2_bootstrap_failure, log2_p_fail, max_noise_level,
};
use tfhe_sbc_oracle::noise::{Gadget, GlweSecret, KeyBlocks, Variance};
use tfhe_sbc_oracle::noise_budget::{BootstrapOrder, NoiseBudget, NormSquared, PbsParameters};

/// A row of the file of published sets.
struct PublishedSet {
    name: String,
    version: String,
    parameters: PbsParameters,
    precision: u32,
    nu: u32,
    documented: f64,
    with_tfhe_rs_fft: f64,
    with_concrete_fft: f64,
}

fn published_sets() -> Vec<PublishedSet> {
    include_str!("data/published-parameter-sets.csv")
        .lines()
        .skip(1)
        .map(|row| {
            let f: Vec<&str> = row.split(',').collect();
            let int = |i: usize| f[i].parse::<u32>().unwrap();
            let real = |i: usize| f[i].parse::<f64>().unwrap();
            let torus_log2 = int(3);
            let noise = |kind: usize| match f[kind] {
                "gauss" => Variance::from_standard_deviation(real(kind + 1)),
                "tunif" => Variance::from_tuniform(int(kind + 1), torus_log2),
                other => panic!("unknown distribution {other}"),
            };
            PublishedSet {
                name: f[1].into(),
                version: f[2].into(),
                parameters: PbsParameters {
                    small_key: KeyBlocks::binary(int(4) as usize),
                    shared_coefficients: 0,
                    glwe_secret: GlweSecret::Binary,
                    glwe_dimension: int(5) as usize,
                    polynomial_size: int(6) as usize,
                    lwe_variance: noise(7),
                    glwe_variance: noise(9),
                    key_rounding: Variance::ZERO,
                    torus_log2,
                    small_torus_log2: torus_log2,
                    blind_rotation: BlindRotation::ControlledRotations,
                    pbs: GgswGadgets::same(Gadget {
                        base_log: int(11),
                        level: int(12) as usize,
                    }),
                    ks_base_log: int(13),
                    ks_level: int(14) as usize,
                    centred_modulus_switch: match f[17] {
                        "Standard" => false,
                        "CenteredMeanNoiseReduction" => true,
                        other => panic!("unknown modulus switch {other}"),
                    },
                },
                precision: int(15),
                nu: int(16),
                documented: real(18),
                with_tfhe_rs_fft: real(19),
                with_concrete_fft: real(20),
            }
        })
        .collect()
}

fn log2_failure(set: &PublishedSet, model: FftErrorModel) -> f64 {
    let budget = NoiseBudget::with_fft_model(&set.parameters, model);
    log2_bootstrap_failure(
        &budget,
        BootstrapOrder::KeySwitchFirst,
        DecisionHalfWidth::radix(set.precision, 0),
        NormSquared::of_norm(f64::from(set.nu)),
    )
}

/// Version 0.10's TUniform set states -64.138 where both models of the transform say
/// -70.7; the GPU set ships a TUniform bound one larger than its statement was made with.
fn is_known_mismatch(set: &PublishedSet) -> bool {
    set.name == "V0_10_PARAM_MESSAGE_2_CARRY_2_KS_PBS_TUNIFORM_2M64"
        || set.name == "V1_6_PARAM_GPU_MESSAGE_1_CARRY_1_KS_PBS_TUNIFORM_2M128"
}

#[test]
fn documented_probabilities_are_reproduced() {
    let sets = published_sets();
    assert_eq!(sets.len(), 32);
    assert_eq!(sets.iter().filter(|s| is_known_mismatch(s)).count(), 2);
    for set in sets.iter().filter(|set| !is_known_mismatch(set)) {
        // Up to 0.11 the statements were made with Concrete's model of the transform.
        let model = if set.version.starts_with("v0") {
            FftErrorModel::Concrete
        } else {
            FftErrorModel::published_for_torus(set.parameters.torus_log2)
        };
        let computed = log2_failure(set, model);
        let tolerance = 0.0015;
        // One v0.10 statement has two decimals.
        let tolerance = if set.documented == -64.01 {
            0.005
        } else {
            tolerance
        };
        assert!(
            (computed - set.documented).abs() <= tolerance,
            "{}: {computed} but {} is documented",
            set.name,
            set.documented
        );
    }
}

#[test]
fn both_models_of_the_transform_are_reproduced() {
    for set in published_sets() {
        for (model, expected) in [
            (FftErrorModel::TfheRs, set.with_tfhe_rs_fft),
            (FftErrorModel::Concrete, set.with_concrete_fft),
        ] {
            let computed = log2_failure(&set, model);
            assert!(
                (computed - expected).abs() <= 0.0006,
                "{} {model:?}: {computed} is not {expected}",
                set.name
            );
        }
    }
}

#[test]
fn the_gpu_set_is_reproduced_with_a_smaller_bound() {
    let mut sets = published_sets();
    let set = sets
        .iter_mut()
        .find(|set| set.name.contains("GPU") && set.name.contains("TUNIFORM"))
        .unwrap();
    set.parameters.lwe_variance = Variance::from_tuniform(49, 64);
    let computed = log2_failure(set, FftErrorModel::TfheRs);
    assert!((computed - set.documented).abs() < 0.001, "{computed}");
}

#[test]
fn published_noise_levels() {
    for set in published_sets() {
        let bits = set.precision / 2;
        assert_eq!(max_noise_level(bits, bits), u64::from(set.nu));
    }
}

/// A boolean set of TFHE-rs with the probability it states, which is one for 2 bits of
/// message and ν = 2√2, far more pessimistic than its gates.
struct BooleanSet {
    lwe: (usize, f64),
    glwe: (usize, usize, f64),
    ks_level: usize,
    order: BootstrapOrder,
    documented: f64,
}

impl BooleanSet {
    fn budget(&self) -> NoiseBudget {
        let parameters = PbsParameters {
            small_key: KeyBlocks::binary(self.lwe.0),
            shared_coefficients: 0,
            glwe_secret: GlweSecret::Binary,
            lwe_variance: Variance::from_standard_deviation(self.lwe.1),
            glwe_dimension: self.glwe.0,
            polynomial_size: self.glwe.1,
            glwe_variance: Variance::from_standard_deviation(self.glwe.2),
            key_rounding: Variance::ZERO,
            torus_log2: 32,
            small_torus_log2: 32,
            blind_rotation: BlindRotation::ControlledRotations,
            pbs: GgswGadgets::same(Gadget {
                base_log: 10,
                level: 2,
            }),
            ks_base_log: 3,
            ks_level: self.ks_level,
            centred_modulus_switch: false,
        };
        NoiseBudget::with_fft_model(&parameters, FftErrorModel::Concrete)
    }
}

const DEFAULT: BooleanSet = BooleanSet {
    lwe: (805, 5.86159e-6),
    glwe: (3, 512, 9.31527e-10),
    ks_level: 5,
    order: BootstrapOrder::BootstrapFirst,
    documented: -64.344,
};

#[test]
fn boolean_sets() {
    let key_switch_first = BootstrapOrder::KeySwitchFirst;
    let sets = [
        DEFAULT,
        BooleanSet {
            lwe: (739, 1.8304520733507305e-5),
            glwe: (3, 512, 9.315272083503367e-10),
            ks_level: 4,
            order: key_switch_first,
            documented: -64.017,
        },
        BooleanSet {
            lwe: (837, 3.37471e-6),
            glwe: (2, 1024, 9.31323e-10),
            ks_level: 5,
            order: BootstrapOrder::BootstrapFirst,
            documented: -165.434,
        },
        BooleanSet {
            lwe: (770, 1.07219e-5),
            glwe: (2, 1024, 9.31323e-10),
            ks_level: 5,
            order: key_switch_first,
            documented: -166.826,
        },
    ];
    for set in sets {
        let computed = log2_bootstrap_failure(
            &set.budget(),
            set.order,
            DecisionHalfWidth::radix(2, 0),
            NormSquared(8.0),
        );
        assert!(
            (computed - set.documented).abs() < 0.002,
            "n = {}: {computed} but {} is documented",
            set.lwe.0,
            set.documented
        );
    }
}

#[test]
fn gates_of_the_boolean_default_set() {
    let total = |norm| DEFAULT.budget().total(DEFAULT.order, norm);
    let nand = log2_p_fail(DecisionHalfWidth::GATE, total(NormSquared(2.0)));
    let xor = log2_p_fail(DecisionHalfWidth::XOR_GATE, total(NormSquared(8.0)));
    assert!((nand + 321.0).abs() < 1.0, "{nand}");
    assert!((xor + 978.0).abs() < 1.0, "{xor}");
}
