//! `params find`: what it prints and writes, that keys can be made for it, and what is refused.

use std::path::Path;

use crate::common::{COLUMNS, READINGS, Run, tfhe_sbc};
use serde_json::Value;

/// The cheapest question: a few bits, of few choices.
const SMALL: [&str; 10] = [
    "--message",
    "1",
    "--carry",
    "1",
    "--glwe-dimension",
    "2",
    "--polynomial-size",
    "1024",
    "--block-size",
    "3",
];

fn find(directory: &Path, options: &[&str]) -> Run {
    tfhe_sbc(
        directory,
        &[&["params", "find", "--cost", "built-in"], options].concat(),
    )
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn a_set_comes_with_everything_that_follows_from_it() {
    let run = find(Path::new("."), &[&SMALL[..], &["--json"]].concat()).succeeded();
    let answer = run.json();
    let best = &answer["best"];
    assert_eq!(best["name"], "own_1_1");
    assert_eq!(
        (&best["glwe_dimension"], &best["polynomial_size"]),
        (&2.into(), &1024.into())
    );
    assert!(number(&best["log2_p_fail"]) <= -128.0);
    assert!(number(&best["lambda"]) >= 128.0 - 1e-9);
    assert_eq!(best["security"]["lwe"]["limiting_attack"], "dual_hybrid");
    assert_eq!(best["security"]["lwe"]["source"], "table");
    let noise = best["noise"].as_array().unwrap();
    let share = |step: &str| {
        let step = noise.iter().find(|row| row["step"] == step);
        number(&step.unwrap_or_else(|| panic!("no {step:?}"))["share"])
    };
    let parts = share("blind rotation") + share("key switch") + share("modulus switch");
    assert!((parts - 1.0).abs() < 1e-9);
    for price in [
        "single",
        "batched",
        "key_bytes",
        "memory_bytes",
        "upload_bytes",
    ] {
        assert!(number(&best["price"][price]) > 0.0, "{price}");
    }
    assert!(!answer["front"].as_array().unwrap().is_empty());
    assert!(number(&answer["seconds"]) < 60.0);

    let text = find(Path::new("."), &SMALL).succeeded();
    for words in [
        "own_1_1",
        "blocks of 3",
        "modulus switch",
        "server key",
        "by itself",
    ] {
        assert!(
            text.text().contains(words),
            "{words} is not in {}",
            text.text()
        );
    }
    assert!(
        text.stderr
            .contains("tfhe-sbc params find --cost built-in --message 1")
    );
}

/// From a question to an answer under one's own parameters.
#[test]
fn keys_can_be_made_for_what_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    find(
        at,
        &[&SMALL[..], &["--out", "own.toml", "--plot", "front.svg"]].concat(),
    )
    .succeeded();
    let picture = std::fs::read_to_string(at.join("front.svg")).unwrap();
    for words in ["<svg", "2^-128", "2^-40", "chosen: ", "MiB"] {
        assert!(picture.contains(words), "{words}");
    }
    let file = std::fs::read_to_string(at.join("own.toml")).unwrap();
    assert!(
        file.starts_with("# tfhe-sbc params find --cost built-in --message 1"),
        "{file}"
    );
    assert!(!file.contains("own.toml"));
    let printed = find(at, &[&SMALL[..], &["--toml"]].concat()).succeeded();
    assert_eq!(printed.text(), file);

    tfhe_sbc(at, &["keygen", "--parameters", "own.toml", "--out", "keys"]).succeeded();
    std::fs::write(at.join("columns.toml"), COLUMNS).unwrap();
    std::fs::write(at.join("day.csv"), READINGS).unwrap();
    tfhe_sbc(
        at,
        &[
            "encrypt",
            "day.csv",
            "--columns",
            "columns.toml",
            "--out",
            "day.tsbc",
        ],
    )
    .succeeded();
    let sizes = [
        "inspect",
        "--parameters",
        "own.toml",
        "--readings",
        "10",
        "--bits",
        "4",
    ];
    assert!(tfhe_sbc(at, &sizes).succeeded().text().contains("own_1_1"));
    tfhe_sbc(
        at,
        &[
            "eval",
            "--readings",
            "day.tsbc",
            "--columns",
            "columns.toml",
            "max(flow)",
            "--out",
            "answer.tsbc",
        ],
    )
    .succeeded();
    let answer = tfhe_sbc(at, &["decrypt", "answer.tsbc"]).succeeded();
    assert!(answer.text().contains("60"), "{}", answer.text());
}

#[test]
fn a_set_that_carries_no_integers_says_so() {
    let run = find(Path::new("."), &[&SMALL[..], &["--norm", "1"]].concat()).succeeded();
    assert!(
        run.stderr.contains("for single lookups only"),
        "{}",
        run.stderr
    );
    let run = find(Path::new("."), &SMALL).succeeded();
    assert!(!run.stderr.contains("for single lookups"), "{}", run.stderr);
}

#[test]
fn sets_are_printed_as_rust() {
    let ours = find(Path::new("."), &[&SMALL[..], &["--rust"]].concat()).succeeded();
    for words in [
        "pub const OWN_1_1: ParameterSet",
        "polynomial_size: 1024",
        "/// `tfhe-sbc params",
    ] {
        assert!(ours.text().contains(words), "{}", ours.text());
    }
    let theirs = ["--for", "tfhe-rs", "--lambda", "132", "--rust"];
    let theirs = find(Path::new("."), &theirs).succeeded();
    for words in [
        "ClassicPBSParameters {",
        "PolynomialSize(2048)",
        "EncryptionKeyChoice::Big",
    ] {
        assert!(theirs.text().contains(words), "{}", theirs.text());
    }
    let secrets = [
        "--for",
        "tfhepp",
        "--secret",
        "shared",
        "--torus",
        "32",
        "--boolean",
    ];
    let text = find(Path::new("."), &secrets).succeeded();
    assert!(
        text.text().contains("first coefficients of the GLWE key"),
        "{}",
        text.text()
    );
    find(Path::new("."), &["--for", "tfhe-rs", "--toml"]).refused(&["--for", "--rust"]);
}

#[test]
fn what_cannot_be_had_says_what_binds() {
    let refused = |options: &[&str], words: &[&str]| find(Path::new("."), options).refused(words);
    refused(
        &["--max-key", "10MiB"],
        &["10.0 MiB", "nearest possible", "MiB"],
    );
    refused(&["--max-n", "1024"], &["N = 1024", "N = 2048"]);
    refused(
        &["--message", "8", "--carry", "6"],
        &["14 bits", "65536", "2^-128"],
    );
    refused(&["--message", "20"], &["22 bits", "65536"]);
    refused(&["--lambda", "64"], &["64 bits", "80 to 192"]);
    refused(&["--lambda", "nan"], &["NaN"]);
    refused(&["--p-fail", "2^-999"], &["2^-999"]);
    refused(&["--p-fail", "0"], &["2^-128"]);
    refused(&["--p-fail", "likely"], &["likely"]);
    refused(&["--norm", "nan"], &["2-norm"]);
    refused(
        &["--boolean", "--norm", "1"],
        &["2-norm of 1", "gates need 4"],
    );
    refused(&["--torus", "48"], &["48", "64"]);
    refused(&["--secret", "ternary"], &["TFHEpp"]);
    refused(&["--minimise", "beauty"], &["beauty", "latency"]);
    refused(&["--max-key", "1 parsec"], &["16MiB"]);
    refused(&["--polynomial-size", "1000"], &["1000"]);
    refused(&["--glwe-sigma", "1"], &["between 2^-64 and 1/16"]);
    refused(&["--glwe-sigma", "small"], &["2^-25"]);
    let no_model = ["params", "find", "--cost", "nothing.toml"];
    tfhe_sbc(Path::new("."), &no_model).refused(&["nothing.toml"]);
    refused(&["--threads", "0"], &["at least 1"]);
    refused(
        &["--name", "a name that is longer than any name may be"],
        &["32"],
    );
    refused(&["--out", "no/such/directory.toml"], &["no directory"]);
}

#[test]
fn weak_sets_are_for_who_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let weak = [&SMALL[..], &["--lambda", "100", "--out", "weak.toml"]].concat();
    find(at, &weak).refused(&["own_1_1_lambda_100", "--insecure-for-tests", "100"]);
    assert!(!at.join("weak.toml").exists());
    find(at, &[&weak[..], &["--insecure-for-tests"]].concat()).succeeded();
    let keygen = ["keygen", "--parameters", "weak.toml", "--out", "keys"];
    tfhe_sbc(at, &keygen).refused(&["bits of security, below 128", "--insecure-for-tests"]);
    assert!(!at.join("keys").exists());
    // A looser failure probability needs no more than its name.
    let loose = [&SMALL[..], &["--p-fail", "2^-40", "--out", "loose.toml"]].concat();
    find(at, &loose).succeeded();
    let file = std::fs::read_to_string(at.join("loose.toml")).unwrap();
    assert!(file.contains("own_1_1_p_fail_2m40"), "{file}");

    let weaker = file.replace("own_1_1_p_fail_2m40", "own_1_1");
    std::fs::write(at.join("unnamed.toml"), &weaker).unwrap();
    tfhe_sbc(at, &["keygen", "--parameters", "unnamed.toml"])
        .refused(&["its name does not say so"]);
    // An edited file is refused, whatever is said.
    let edited = file.replace("max_noise_level = 3", "max_noise_level = 30");
    assert_ne!(edited, file);
    std::fs::write(at.join("edited.toml"), edited).unwrap();
    tfhe_sbc(
        at,
        &[
            "keygen",
            "--parameters",
            "edited.toml",
            "--insecure-for-tests",
        ],
    )
    .refused(&["edited.toml", "states a failure probability", "edited"]);
    std::fs::write(at.join("garbage.toml"), "garbage").unwrap();
    tfhe_sbc(at, &["keygen", "--parameters", "garbage.toml"]).refused(&["not a parameter file"]);
    std::fs::write(at.join("large.toml"), vec![b'#'; 1 << 20]).unwrap();
    tfhe_sbc(at, &["keygen", "--parameters", "large.toml"]).refused(&["no parameter file"]);
    tfhe_sbc(at, &["keygen", "--parameters", "missing.toml"]).refused(&["missing.toml"]);
    tfhe_sbc(at, &["keygen", "--parameters", "unheard_of"]).refused(&["params find"]);
}

#[test]
fn the_strict_count_is_the_default_and_costs_a_longer_key() {
    let answer = |count: &[&str]| {
        let options = [&SMALL[..], &["--json"], count].concat();
        find(Path::new("."), &options).succeeded().json()
    };
    let (strict, customary) = (answer(&[]), answer(&["--count", "customary"]));
    assert_eq!(strict["best"], answer(&["--count", "strict"])["best"]);
    let bits = |answer: &Value| answer["strict_bits"].as_f64().unwrap();
    assert!(bits(&strict) >= 128.0, "{}", strict["strict_bits"]);
    assert!(bits(&customary) < 127.0, "{}", customary["strict_bits"]);
    let dimension = |answer: &Value| answer["best"]["lwe_dimension"].as_u64();
    assert!(dimension(&strict) > dimension(&customary));
    for answer in [&strict, &customary] {
        assert!(answer["best"]["lambda"].as_f64().unwrap() >= 128.0 - 1e-6);
    }
    let run = find(Path::new("."), &SMALL).succeeded();
    assert!(run.text().contains("strict count 128."), "{}", run.text());
}

#[test]
fn keys_of_the_sets_for_comparison_need_the_user_s_word() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let paper = "paper_n1024_lambda_122";
    let keygen = ["keygen", "--parameters", paper, "--out", "keys"];
    tfhe_sbc(at, &keygen).refused(&[paper, "121.8 bits", "below 128", "--insecure-for-tests"]);
    assert!(!at.join("keys").exists());
    tfhe_sbc(at, &[&keygen[..], &["--insecure-for-tests"]].concat()).succeeded();
    assert!(at.join("keys").exists());
}

#[test]
#[ignore = "a quarter of a minute of searches"]
fn shipped_sets_are_answers_of_the_search() {
    let rows = tfhe_sbc(Path::new("."), &["params", "shipped", "--json"])
        .succeeded()
        .json();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 10);
    assert!(rows.iter().all(|row| row["same"] == true), "{rows:?}");
    // The program's own sets are, to the letter, those that it prints.
    let printed = tfhe_sbc(Path::new("."), &["params", "shipped", "--rust"]).succeeded();
    let source = include_str!("../../../core/src/parameter_sets/found.rs");
    assert_eq!(printed.text(), source);
}
