//! The results of the search: they meet the request, nothing near them is cheaper, and an
//! impossible request is explained.

use tfhe_sbc_core::dimensions::LweDimension;
use tfhe_sbc_core::parameter_sets::{BOOLEAN_1024, GATES, MESSAGE_1_CARRY_1, MESSAGE_2_CARRY_2};
use tfhe_sbc_core::parameters::{Decomposition, ParameterSet, PlaintextKind};
use tfhe_sbc_core::random::NoiseDistribution;
use tfhe_sbc_oracle::cost::CostModel;
use tfhe_sbc_oracle::noise_budget::BootstrapOrder;
use tfhe_sbc_oracle::prediction::{KeySecurity, Prediction, StrictSecurity};
use tfhe_sbc_oracle::search::{
    BadRequest, Bounds, Candidate, Count, Engine, Found, Impossible, KeyLevels, Metric, NoiseKind,
    NotFound, Pricing, Request, Secrets, Shape, Weights, find, find_beside,
};
use tfhe_sbc_oracle::security::Source;
use tfhe_sbc_oracle::upload::{UploadKind, UploadPrediction};

fn priced<T>(f: impl FnOnce(&Pricing<'_>) -> T) -> T {
    f(&Pricing {
        model: &CostModel::built_in(),
        batch: 8,
        threads: 1,
    })
}

fn found(request: &Request) -> Found {
    priced(|pricing| find(request, pricing)).unwrap()
}

fn refused(request: &Request) -> NotFound {
    priced(|pricing| find(request, pricing)).unwrap_err()
}

fn radix(message_bits: u32, carry_bits: u32) -> Request {
    Request::new(PlaintextKind::Radix, message_bits, carry_bits)
}

fn booleans() -> Request {
    Request::new(PlaintextKind::Boolean, 1, 1)
}

/// Every use of the set, by the oracle's other functions.
fn worst(set: &ParameterSet, order: BootstrapOrder) -> f64 {
    let set = set.validate().unwrap();
    let outputs = Prediction::in_order(&set, order);
    let uploads = UploadKind::ALL.map(|kind| UploadPrediction::in_order(&set, kind, order));
    uploads
        .iter()
        .flat_map(|upload| [upload.log2_p_fail, upload.log2_p_fail_lopsided])
        .fold(
            outputs.log2_p_fail.max(outputs.log2_p_fail_lopsided),
            f64::max,
        )
}

#[test]
fn what_is_found_meets_the_request() {
    let requests = [
        radix(2, 2),
        radix(1, 0),
        Request {
            log2_p_fail: -40.0,
            ..radix(2, 2)
        },
        Request {
            order: BootstrapOrder::BootstrapFirst,
            ..radix(1, 1)
        },
        Request {
            noise: NoiseKind::TUniform,
            torus_bits: 32,
            ..booleans()
        },
        Request {
            lambda: 132.0,
            secrets: Secrets::Binary,
            ..radix(1, 1)
        },
    ];
    for request in requests {
        let Found { best, front } = found(&request);
        for candidate in &front {
            let set = candidate.set.unwrap();
            assert!(
                worst(set.as_set(), request.order) <= request.log2_p_fail,
                "{set:?}"
            );
            assert!(set.log2_p_fail() <= request.log2_p_fail + 0.1);
            let bits = KeySecurity::new(&set).unwrap().bits().unwrap();
            assert!(bits >= request.lambda - 1e-6, "{bits}");
            // Above its highest level the table has a bound, and the set states the estimator's level.
            let stated = KeyLevels::of_set(&set).unwrap().bits();
            assert!((set.security_bits()..set.security_bits() + 0.1).contains(&stated));
            let shares = candidate.shares;
            let sum = shares.pbs + shares.fft + shares.key_switch + shares.modulus_switch;
            assert!((sum - 1.0).abs() < 1e-9);
        }
        let strict = StrictSecurity::new(&best.set.unwrap()).unwrap().bits();
        assert!(strict >= request.lambda, "{strict}");
        assert!(
            front
                .iter()
                .all(|other| other.price.single >= best.price.single)
        );
        for (i, a) in front.iter().enumerate() {
            for (j, b) in front.iter().enumerate() {
                assert!(i == j || !a.price.beats(&b.price), "{a:?} beats {b:?}");
            }
        }
    }
}

/// Every set that differs in one or two choices is too noisy or no faster.
#[test]
fn nothing_near_is_faster() {
    for request in [radix(2, 2), radix(1, 1), booleans()] {
        let best = found(&request).best;
        let set = best.set.unwrap();
        let model = CostModel::built_in();
        let time = |set: &ParameterSet| model.bootstrap(set, 1, 1);
        let block_size = set.lwe_block_size();
        let mut tried = 0;
        for shorter in 0..40 {
            let dimension = set.lwe_dimension().0 - block_size as usize * shorter;
            for (levels, bases) in [(1, 10..=12), (2, 5..=9), (3, 3..=6), (4, 2..=5), (5, 2..=4)] {
                for base_log in bases {
                    let near = ParameterSet {
                        lwe_dimension: LweDimension(dimension),
                        lwe_noise: least_noise(dimension, block_size),
                        key_switch: Decomposition::new(base_log, levels),
                        body_bits: 64,
                        public_key_mask_bits: 64,
                        ..*set.as_set()
                    };
                    if time(&near) < time(set.as_set()) {
                        tried += 1;
                        assert!(
                            worst(&near, request.order) > request.log2_p_fail,
                            "{near:?} is faster than {set:?}"
                        );
                    }
                }
            }
        }
        assert!(tried > 50, "{tried}");
    }
}

/// The least noise of small keys in blocks, in both counts.
fn least_noise(dimension: usize, block_size: u32) -> NoiseDistribution {
    use tfhe_sbc_oracle::security::{
        SecretKind, StrictKind, least_log2_sigma, strict_least_log2_sigma,
    };
    let secret = SecretKind::of_blocks(block_size).unwrap();
    let customary = least_log2_sigma(128.0, dimension, secret).unwrap();
    let both = strict_least_log2_sigma(128.0, dimension, StrictKind::Blocks(block_size), customary);
    NoiseDistribution::Gaussian {
        standard_deviation: both.unwrap().exp2(),
    }
}

/// 128 bits in the strict count cost some twenty coefficients.
#[test]
fn the_strict_count_costs_a_longer_small_key() {
    let of = |count| {
        let request = Request {
            count,
            ..booleans()
        };
        found(&request).best.set.unwrap()
    };
    let (customary, strict) = (of(Count::Customary), of(Count::Strict));
    let bits = |set| StrictSecurity::new(set).unwrap().bits();
    assert!(bits(&customary) < 126.0, "{}", bits(&customary));
    assert!((128.0..128.5).contains(&bits(&strict)), "{}", bits(&strict));
    let longer = strict.lwe_dimension().0 - customary.lwe_dimension().0;
    assert!((9..=45).contains(&longer), "{longer}");
}

#[test]
fn the_default_set_is_the_search_s() {
    let bounds = Bounds {
        body_bits: 12,
        public_key_mask_bits: 19,
        ..Bounds::NONE
    };
    let minimise = Weights {
        throughput: 1.0,
        key: 1.0,
        ..Weights::LATENCY
    };
    let best = found(&Request {
        bounds,
        minimise,
        ..radix(2, 2)
    });
    let set = best.best.set.unwrap();
    let named = ParameterSet {
        name: MESSAGE_2_CARRY_2.name,
        ..*set.as_set()
    };
    assert_eq!(named, MESSAGE_2_CARRY_2);
}

#[test]
fn weights_and_bounds_do_what_they_say() {
    let fastest = found(&radix(1, 1)).best;
    let smallest = found(&Request {
        minimise: Weights {
            latency: 0.0,
            key: 1.0,
            ..Weights::LATENCY
        },
        ..radix(1, 1)
    })
    .best;
    assert!(smallest.price.key_bytes < 0.9 * fastest.price.key_bytes);
    assert!(smallest.price.single > fastest.price.single);
    let upload = Weights {
        latency: 0.0,
        upload: 1.0,
        ..Weights::LATENCY
    };
    let lightest = found(&Request {
        minimise: upload,
        ..radix(1, 1)
    });
    assert!(lightest.best.price.upload_bytes < 0.9 * fastest.price.upload_bytes);
    // A bound between the two leaves something between.
    let key_bytes = 0.5 * (smallest.price.key_bytes + fastest.price.key_bytes);
    let between = found(&Request {
        bounds: Bounds {
            key_bytes,
            ..Bounds::NONE
        },
        ..radix(1, 1)
    });
    assert!(between.front.iter().all(|c| c.price.key_bytes <= key_bytes));
    assert!(between.best.price.single >= fastest.price.single);
}

#[test]
fn what_is_asked_for_more_costs_more() {
    let time = |request: &Request| found(request).best.price.single;
    let base = time(&radix(2, 2));
    assert!(time(&radix(1, 1)) < base && base < time(&radix(3, 3)));
    let (asked, beside) =
        priced(|pricing| find_beside(&radix(2, 2), pricing, &[-40.0, -64.0, -900.0])).unwrap();
    assert_eq!(asked.best.price.single, base);
    let times: Vec<(f64, f64)> = beside
        .iter()
        .map(|(log2_p_fail, found)| (*log2_p_fail, found.best.price.single))
        .collect();
    assert_eq!(
        times.iter().map(|pair| pair.0).collect::<Vec<_>>(),
        [-40.0, -64.0]
    );
    assert!(times[0].1 < times[1].1 && times[1].1 < base);
    let more_secure = Request {
        lambda: 132.0,
        ..radix(2, 2)
    };
    assert!(time(&more_secure) > base);
    for fewer in [1, 2] {
        let shape = Shape {
            block_size: Some(fewer),
            ..Shape::default()
        };
        assert!(
            time(&Request {
                shape,
                ..radix(2, 2)
            }) > 1.1 * base
        );
    }
}

#[test]
fn levels_beyond_the_table_are_the_estimator_s() {
    for lambda in [80.0, 100.0, 160.0, 192.0] {
        let best = found(&Request {
            lambda,
            count: Count::Customary,
            ..radix(1, 1)
        })
        .best;
        assert_eq!(best.levels.lwe.source, Source::Estimator, "{lambda}");
        assert!(
            (lambda..lambda + 2.0).contains(&best.levels.bits()),
            "{:?}",
            best.levels
        );
    }
}

#[test]
fn other_engines_have_sets_like_their_own() {
    // TFHE-rs's of 2 and 2 bits at 132 bits: n = 866, N = 2048, 23,1 and 3,5, without a margin.
    let theirs = found(&Request {
        engine: Engine::TfheRs,
        secrets: Secrets::Binary,
        lambda: 132.0,
        count: Count::Customary,
        ..radix(2, 2)
    })
    .best;
    let scheme = theirs.scheme;
    assert!(
        (866..=870).contains(&scheme.small_key.dimension),
        "{scheme:?}"
    );
    assert_eq!((scheme.glwe_dimension, scheme.polynomial_size), (1, 2048));
    assert_eq!((scheme.pbs.mask.base_log, scheme.pbs.mask.level), (23, 1));
    assert_eq!((scheme.ks_base_log, scheme.ks_level), (3, 5));
    assert!(theirs.set.is_none());
    // Shared coefficients save key switching, ternary keys noise of encryption.
    let time = |secrets| {
        let request = Request {
            engine: Engine::Tfhepp,
            secrets,
            torus_bits: 32,
            ..booleans()
        };
        found(&request).best.price.single
    };
    assert!(time(Secrets::Shared) < time(Secrets::Binary));
    assert!(time(Secrets::Ternary) < 1.1 * time(Secrets::Binary));
}

#[test]
fn the_impossible_says_what_binds() {
    let with = |bounds| Request {
        bounds,
        ..radix(2, 2)
    };
    let binding = |request: &Request| match refused(request) {
        NotFound::Impossible(Impossible::Bound(binding)) => binding,
        other => panic!("{other}"),
    };
    let small_key = Bounds {
        key_bytes: 10e6,
        ..Bounds::NONE
    };
    let found_binding = binding(&with(small_key));
    assert_eq!(found_binding.metric, Metric::KeyBytes);
    // The named value is possible, and less is not.
    let at = |key_bytes| {
        with(Bounds {
            key_bytes,
            ..Bounds::NONE
        })
    };
    found(&at(found_binding.nearest));
    refused(&at(found_binding.nearest - 1.0));
    let small_polynomial = Bounds {
        polynomial_size: 1024,
        ..Bounds::NONE
    };
    let found_binding = binding(&with(small_polynomial));
    assert_eq!(
        (found_binding.metric, found_binding.nearest),
        (Metric::PolynomialSize, 2048.0)
    );
    let NotFound::Impossible(Impossible::Bounds(both)) = refused(&with(Bounds {
        key_bytes: 10e6,
        ..small_polynomial
    })) else {
        panic!("one of two bounds is enough");
    };
    let nearest: Vec<_> = both.iter().map(|one| (one.metric, one.nearest)).collect();
    assert_eq!(nearest[0], (Metric::PolynomialSize, 2048.0));
    assert_eq!(nearest[1].0, Metric::KeyBytes);
    assert!(nearest[1].1 > 10e6);
    let NotFound::Impossible(Impossible::Noise { least, norm, .. }) = refused(&radix(8, 6)) else {
        panic!("8 and 6 bits are possible");
    };
    assert!(least > -10.0 && norm.is_none(), "{least} {norm:?}");
    let heavy = |message_bits| Request {
        noise_level: 60_000,
        ..radix(message_bits, 2)
    };
    let NotFound::Impossible(Impossible::Noise { norm, .. }) = refused(&heavy(6)) else {
        panic!("noise that is small enough");
    };
    assert!(norm.is_none_or(|norm| norm < 60_000), "{norm:?}");
    let NotFound::Impossible(Impossible::Uploads { .. }) = refused(&heavy(2)) else {
        panic!("uploads of a weight of 60000");
    };
}

fn in_blocks_of(block_size: u32, count: Count) -> Request {
    Request {
        count,
        shape: Shape {
            block_size: Some(block_size),
            ..Shape::default()
        },
        ..radix(2, 2)
    }
}

#[test]
fn nonsense_is_refused_with_its_number() {
    let cases: [(Request, BadRequest); 11] = [
        (
            Request {
                lambda: 64.0,
                ..radix(2, 2)
            },
            BadRequest::Lambda(64.0),
        ),
        (
            Request {
                lambda: f64::INFINITY,
                ..radix(2, 2)
            },
            BadRequest::Lambda(f64::INFINITY),
        ),
        (
            Request {
                log2_p_fail: -2.0,
                ..radix(2, 2)
            },
            BadRequest::PFail(-2.0),
        ),
        (
            Request {
                torus_bits: 48,
                ..radix(2, 2)
            },
            BadRequest::Torus(48),
        ),
        (radix(8, 8), BadRequest::Precision(16)),
        (radix(0, 4), BadRequest::Precision(4)),
        (
            Request {
                noise_level: 0,
                ..radix(2, 2)
            },
            BadRequest::NoiseLevel(0),
        ),
        (
            Request {
                secrets: Secrets::Ternary,
                ..radix(2, 2)
            },
            BadRequest::Secrets,
        ),
        (
            Request {
                shape: Shape {
                    polynomial_size: Some(1000),
                    ..Shape::default()
                },
                ..radix(2, 2)
            },
            BadRequest::PolynomialSize(1000),
        ),
        (in_blocks_of(6, Count::Strict), BadRequest::BlockSize(6)),
        (
            in_blocks_of(4, Count::Customary),
            BadRequest::BlockSizeOfCount(4),
        ),
    ];
    for (request, expected) in cases {
        assert_eq!(refused(&request), NotFound::BadRequest(expected));
    }
    let unknown = Request {
        log2_p_fail: f64::NAN,
        ..radix(2, 2)
    };
    assert!(matches!(
        refused(&unknown),
        NotFound::BadRequest(BadRequest::PFail(_))
    ));
}

#[test]
fn shipped_sets_are_priced_like_found_ones() {
    for set in [MESSAGE_2_CARRY_2, MESSAGE_1_CARRY_1, GATES, BOOLEAN_1024] {
        let parameters = set.validate().unwrap();
        let order = BootstrapOrder::KeySwitchFirst;
        let candidate = priced(|p| Candidate::of_set(&parameters, order, p)).unwrap();
        assert!((candidate.worst_log2_p_fail() - set.log2_p_fail).abs() < 0.1);
        assert!((candidate.levels.bits() - set.security_bits).abs() < 0.1);
    }
}
