//! Parameter files: a written file is read again, and a file that was tampered with is refused.

// A set that never changes: the files of this format are recorded.
use tfhe_sbc_core::parameter_sets::superseded::release_0_1::MESSAGE_2_CARRY_2;
use tfhe_sbc_core::parameter_sets::{ALL, FOR_COMPARISON, LOOSER, PAPER_N1024, superseded};
use tfhe_sbc_core::parameters::{GlweSecret, ParameterSet};
use tfhe_sbc_core::random::NoiseDistribution;
use tfhe_sbc_oracle::parameter_file::{
    ParameterFileError, Weakness, from_toml, name_suffix, to_rust, to_toml, weakness,
};

fn default_file() -> String {
    to_toml(&MESSAGE_2_CARRY_2.validate().unwrap(), "a command").unwrap()
}

#[test]
fn every_shipped_set_survives_its_file() {
    // A set whose level is not stated, so that any key will do.
    let ternary = ParameterSet {
        glwe_secret: GlweSecret::Ternary,
        security_bits: 0.0,
        log2_p_fail: 0.0,
        ..PAPER_N1024
    };
    let weak = FOR_COMPARISON.into_iter().chain([ternary]);
    let strong = ALL.into_iter().chain(LOOSER).chain(superseded::ALL);
    for set in strong.chain(weak) {
        let parameters = set.validate().unwrap();
        let text = to_toml(&parameters, "made\nby hand").unwrap();
        assert!(text.starts_with("# made by hand\n"), "{text}");
        let read = from_toml(&text).unwrap();
        assert_eq!(read, parameters);
        assert_eq!(read.fingerprint(), parameters.fingerprint());
        let strong = [&ALL[..], &LOOSER, &superseded::ALL];
        let strong = strong.iter().any(|sets| sets.contains(&set));
        assert_eq!(weakness(&read).is_none(), strong, "{}", set.name);
    }
}

#[test]
fn the_file_is_what_it_always_was() {
    let golden = "\
# a command
format = 1
name = \"message_2_carry_2\"

# Plaintexts, and the largest sum of absolute weights that enters a bootstrap.
plaintext = \"radix\"
message_bits = 2
carry_bits = 2
max_noise_level = 5

# Keys. Noise is over q.
torus_bits = 64
lwe_dimension = 915
lwe_block_size = 3
lwe_noise = { gaussian = { standard_deviation = 8.763e-7 } }
glwe_dimension = 1
polynomial_size = 2048
glwe_noise = { gaussian = { standard_deviation = 7.127e-16 } }

# Decompositions of mask and body in the blind rotation, and in the key switch.
pbs = { base_log = 23, level_count = 1 }
pbs_body = { base_log = 21, level_count = 1 }
key_switch = { base_log = 5, level_count = 3 }
modulus_switch = \"mean_compensated\"

# Bits kept of an upload's coefficients.
body_bits = 12
public_key_mask_bits = 19

# What follows from all that: reading the file works it out again.
log2_p_fail = -128.9
security_bits = 128.0
";
    assert_eq!(default_file(), golden);
    assert_eq!(*from_toml(golden).unwrap().as_set(), MESSAGE_2_CARRY_2);
}

#[test]
fn edited_files_are_refused() {
    let text = default_file();
    let edited = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        from_toml(&text.replacen(from, to, 1)).unwrap_err()
    };
    // A smaller noise, or a shorter key.
    for (from, to) in [
        ("standard_deviation = 8.763e-7", "standard_deviation = 1e-7"),
        (
            "standard_deviation = 7.127e-16",
            "standard_deviation = 2e-18",
        ),
        ("lwe_dimension = 915", "lwe_dimension = 600"),
    ] {
        let text = text.replacen(from, to, 1);
        assert_ne!(text, default_file(), "{from}");
        let error = from_toml(&text).unwrap_err();
        assert!(
            matches!(error, ParameterFileError::Security { stated: 128.0, .. }),
            "{error}"
        );
    }
    for (from, to) in [
        ("max_noise_level = 5", "max_noise_level = 9"),
        ("carry_bits = 2", "carry_bits = 3"),
        ("polynomial_size = 2048", "polynomial_size = 1024"),
        ("body_bits = 12", "body_bits = 8"),
        ("level_count = 3", "level_count = 2"),
    ] {
        let error = edited(from, to);
        assert!(
            matches!(error, ParameterFileError::PFail { stated: -128.9, .. }),
            "{error}"
        );
    }
    for (from, to) in [
        ("torus_bits = 64", "torus_bits = 48"),
        ("polynomial_size = 2048", "polynomial_size = 2047"),
        ("lwe_block_size = 3", "lwe_block_size = 4"),
        ("level_count = 3", "level_count = 99"),
        ("standard_deviation = 8.763e-7", "standard_deviation = nan"),
        ("log2_p_fail = -128.9", "log2_p_fail = -inf"),
    ] {
        let error = edited(from, to);
        assert!(
            matches!(error, ParameterFileError::Parameters(_)),
            "{from}: {error}"
        );
    }
    assert!(matches!(
        edited("format = 1", "format = 2"),
        ParameterFileError::Format { found: 2 }
    ));
    assert!(matches!(
        edited("message_2", "m\\u0007"),
        ParameterFileError::Name
    ));
    for (from, to) in [
        ("torus_bits", "torus_bytes"),
        ("body_bits = 12", ""),
        ("body_bits = 12", "body_bits = -12"),
        ("radix", "words"),
    ] {
        assert!(
            matches!(edited(from, to), ParameterFileError::Toml(_)),
            "{from}"
        );
    }
    // Cut short it is no parameter file, but for zeros at its very end, and a last number that is
    // weaker than the truth.
    let whole = from_toml(&text).unwrap();
    for cut in 0..text.len() {
        if let Ok(read) = from_toml(&text[..cut]) {
            assert!(
                read == whole || weakness(&read).is_some(),
                "{}",
                &text[..cut]
            );
        }
    }
}

#[test]
fn weak_sets_say_so_or_are_weak() {
    let weaker = |change: &dyn Fn(&mut ParameterSet)| {
        let mut set = MESSAGE_2_CARRY_2;
        change(&mut set);
        weakness(&set.validate().unwrap())
    };
    assert_eq!(weaker(&|_| {}), None);
    assert_eq!(
        weaker(&|set| set.security_bits = 127.9),
        Some(Weakness::Security(127.9))
    );
    let log2_p_fail = -40.5;
    assert_eq!(
        weaker(&|set| set.log2_p_fail = log2_p_fail),
        Some(Weakness::PFail { log2_p_fail })
    );
    for looser in LOOSER {
        assert_eq!(weakness(&looser.validate().unwrap()), None);
    }
    assert_eq!(name_suffix(100.0, -40.2), "_lambda_100_p_fail_2m40");
    assert_eq!(name_suffix(128.0, -128.0), "");
}

#[test]
fn rust_has_every_field() {
    let text = to_rust(
        &MESSAGE_2_CARRY_2.validate().unwrap(),
        "DEFAULT",
        "a command",
    );
    for part in [
        "/// `a command`\npub const DEFAULT: ParameterSet = ParameterSet {",
        "standard_deviation: 8.763e-7",
        "standard_deviation: 7.127e-16",
        "Decomposition::new(23, 1)",
        "LweDimension(915)",
        "log2_p_fail: -128.9",
        "security_bits: 128.0",
        "PlaintextKind::Radix",
        "ModulusSwitch::MeanCompensated",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}

/// In the customary count this key of blocks of 5 has more than 128 bits, in the strict one it has not.
#[test]
fn large_blocks_need_their_level_in_the_strict_count() {
    let weak = ParameterSet {
        lwe_noise: NoiseDistribution::Gaussian {
            standard_deviation: 7e-7,
        },
        security_bits: 128.0,
        ..tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2
    };
    let text = to_toml(&weak.validate().unwrap(), "made by hand").unwrap();
    let refused = from_toml(&text).unwrap_err();
    assert!(
        matches!(refused, ParameterFileError::Security { found, .. } if found < 127.0),
        "{refused}"
    );
}
