//! `params security`: levels by the estimator and by the table, and what is refused.

use std::path::Path;

use crate::common::{Run, tfhe_sbc};
use serde_json::Value;

const KEY: [&str; 5] = ["--n", "630", "--q-log2", "32", "--sigma-log2=-13.4"];

fn security(options: &[&str]) -> Run {
    let arguments = [&["params", "security"], options].concat();
    tfhe_sbc(Path::new("."), &arguments)
}

fn bits(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

#[test]
fn a_key_has_its_level_the_limiting_attack_and_each_cost() {
    let run = security(&[&KEY[..], &["--secret", "binary", "--json"]].concat()).succeeded();
    let answer = run.json();
    // The lattice estimator gives 137.2, 134.1 and 129.35 at -13.4000.
    assert!((bits(&answer["lambda"]) - 129.35).abs() < 0.05, "{answer}");
    assert_eq!(answer["limiting_attack"], "dual_hybrid");
    assert_eq!(answer["model"], "matzov");
    assert_eq!(answer["noise_below_floor"], false);
    let cost = |attack: &str| bits(&answer["attacks"][attack]["cost_log2"]);
    assert!((cost("primal_usvp") - 137.2).abs() < 0.1);
    assert!((cost("primal_bdd") - 134.1).abs() < 0.1);
    assert_eq!(cost("dual_hybrid"), bits(&answer["lambda"]));
    let table = &answer["table"];
    assert!((bits(&table["lambda"]) - bits(&answer["lambda"])).abs() < 0.9);
    assert!(bits(&table["lambda_with_margin"]) < bits(&table["lambda"]));

    let run = security(&KEY).succeeded();
    for words in [
        "lambda 129.",
        "by dual_hybrid (matzov)",
        "the table: 129.",
        "zeta",
    ] {
        assert!(run.text().contains(words), "{}", run.text());
    }
}

#[test]
fn every_model_is_shown_on_request() {
    let key = [
        "--n",
        "1024",
        "--q-log2",
        "32",
        "--sigma-log2=-25",
        "--json",
    ];
    let answer = security(&[&key[..], &["--model", "all"]].concat())
        .succeeded()
        .json();
    for (model, lambda) in [("matzov", 122.2), ("bdgl16", 123.5), ("core-svp", 95.5)] {
        let computed = bits(&answer["models"][model]["lambda"]);
        assert!((computed - lambda).abs() < 0.06, "{model}: {computed}");
        let one = security(&[&key[..], &["--model", model]].concat())
            .succeeded()
            .json();
        assert_eq!(bits(&one["lambda"]), computed);
        // The table is MATZOV's.
        assert_eq!(one["table"].is_null(), model != "matzov");
    }
}

#[test]
fn keys_of_blocks_are_priced_as_what_the_table_judges_them_by() {
    let of = |options: &[&str]| {
        let key = [
            "--n",
            "630",
            "--q-log2",
            "32",
            "--sigma-log2=-12.8",
            "--json",
        ];
        security(&[&key[..], options].concat()).succeeded().json()
    };
    let blocks = of(&["--secret", "blocks", "--block-size", "2"]);
    let sparse = of(&["--secret", "sparse", "--weight", "126"]);
    assert_eq!(blocks["attacks"], sparse["attacks"]);
    assert!((bits(&blocks["lambda"]) - bits(&blocks["table"]["lambda"])).abs() < 0.9);
    assert!(sparse["table"].is_null());
    let gaussian = of(&["--secret", "gaussian", "--secret-sigma", "3.2"]);
    assert!(bits(&gaussian["lambda"]) > bits(&blocks["lambda"]));
}

#[test]
fn what_cannot_be_priced_is_refused_with_the_range() {
    let refused = |options: &[&str], words: &[&str]| security(options).refused(words);
    let key = |n, q_log2, sigma_log2| ["--n", n, "--q-log2", q_log2, "--sigma-log2", sigma_log2];
    refused(&key("5", "32", "-13"), &["dimension 5", "32 to 32768"]);
    refused(
        &key("630", "0.5", "-13"),
        &["modulus of 2^0.5", "2^2 to 2^1024"],
    );
    refused(
        &key("630", "32", "13"),
        &["log2(sigma/q) = 13", "-96 to -2"],
    );
    refused(&key("630", "NaN", "-13"), &["2^NaN"]);
    let with = |options: &[&'static str]| [&KEY[..], options].concat();
    refused(
        &with(&["--secret", "sparse", "--weight", "20"]),
        &["weight 20", "105 to 315"],
    );
    refused(&with(&["--secret", "sparse"]), &["--weight"]);
    refused(
        &with(&["--secret", "blocks", "--block-size", "6"]),
        &["blocks of 6", "--block-size from 1 to 5"],
    );
    refused(
        &with(&["--weight", "100"]),
        &["--weight", "--secret sparse"],
    );
    refused(
        &with(&["--secret", "gaussian", "--secret-sigma", "0"]),
        &["deviation 0", "from 0.5"],
    );
    refused(&with(&["--model", "hope"]), &["hope", "core-svp"]);
}

#[test]
fn the_strict_count_is_beside_the_customary_one() {
    let gates = ["--n", "726", "--q-log2", "32", "--sigma-log2=-15.297"];
    let blocks = ["--secret", "blocks", "--block-size", "3"];
    let answer = security(&[&gates[..], &blocks, &["--json"]].concat())
        .succeeded()
        .json();
    let strict = &answer["strict"];
    assert!((bits(&strict["lambda"]) - 124.6).abs() < 0.1, "{strict}");
    assert_eq!(strict["limiting_attack"], "dual_hybrid");
    assert!(bits(&strict["lambda"]) < bits(&answer["lambda"]) - 3.0);
    for attack in ["bdd_hybrid", "bdd_mitm_hybrid", "dual_mitm_hybrid", "mitm"] {
        assert!(bits(&strict["attacks"][attack]["cost_log2"]) > 128.0);
    }
    let run = security(&[&gates[..], &blocks].concat()).succeeded();
    assert!(
        run.text().contains("the strict count: lambda 124."),
        "{}",
        run.text()
    );
    // The guesses of such keys are not priced, and the count has one cost model.
    for other in [
        &["--secret", "gaussian", "--secret-sigma", "3.2"][..],
        &["--model", "bdgl16"],
    ] {
        let answer = security(&[&gates[..], other, &["--json"]].concat())
            .succeeded()
            .json();
        assert!(answer["strict"].is_null(), "{answer}");
    }
}

#[test]
fn sets_have_both_counts() {
    let answer = security(&["gates", "message_1_carry_1", "--json"])
        .succeeded()
        .json();
    let sets = answer.as_array().unwrap();
    assert_eq!(sets.len(), 2);
    for (set, name) in sets.iter().zip(["gates", "message_1_carry_1"]) {
        assert_eq!(set["name"], name);
        assert!(bits(&set["customary_bits"]) >= 128.0);
        let levels = ["small_key", "glwe_key"].map(|key| bits(&set[key]["strict"]["lambda"]));
        assert_eq!(bits(&set["strict_bits"]), levels[0].min(levels[1]));
    }
    let run = security(&[]).succeeded();
    for words in [
        "strict",
        "customary",
        "paper_n1024_lambda_122",
        "dual_hybrid",
    ] {
        assert!(run.text().contains(words), "{}", run.text());
    }
}

#[test]
fn a_key_and_sets_exclude_each_other() {
    security(&[&["gates"], &KEY[..]].concat()).refused(&["cannot be used with"]);
    security(&["--n", "630"]).refused(&["--q-log2"]);
    security(&["--sigma-log2=-13"]).refused(&["--n <N>"]);
    security(&["--secret", "binary"]).refused(&["--n <N>"]);
    security(&["no_such_set"]).refused(&["no_such_set", "message_2_carry_2"]);
}

#[test]
fn noise_below_the_floor_is_named() {
    let key = ["--n", "2048", "--q-log2", "64", "--sigma-log2=-64"];
    let run = security(&key).succeeded();
    assert!(run.text().contains("below 4 integers"), "{}", run.text());
}
