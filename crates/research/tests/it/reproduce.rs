//! The published figures are reproduced, and are not if a constant is changed.

use std::fmt::Write;
use std::path::Path;
use std::sync::LazyLock;

use tfhe_sbc_oracle::algorithmic_cost::AlgorithmicCost;
use tfhe_sbc_oracle::noise::{Gadget, Variance};
use tfhe_sbc_research::klemsa::{Digits, Entry, KlemsaSet, TABLE_1, search};
use tfhe_sbc_research::published::{PublishedSet, published_sets};
use tfhe_sbc_research::reproduce::{Row, Source, Verdict, klemsa, paper, published};

static KLEMSA: LazyLock<Vec<Row>> = LazyLock::new(|| Source::Klemsa.rows());

fn rows(source: Source) -> Vec<Row> {
    match source {
        Source::Klemsa => KLEMSA.clone(),
        other => other.rows(),
    }
}

fn count(rows: &[Row], verdict: Verdict) -> usize {
    rows.iter().filter(|row| row.verdict == verdict).count()
}

#[track_caller]
fn figure(name: &str) -> f64 {
    let row = KLEMSA.iter().find(|row| row.name == name);
    row.unwrap_or_else(|| panic!("no {name}")).predicted
}

#[test]
fn every_figure_that_is_compared_agrees() {
    // 32 probabilities and costs, of which two and one are not compared; his 8 errors but one,
    // and for each of his 4 tasks procedure and time; 4 levels.
    for (source, agree, unexplained) in [
        (Source::Published, 30 + 31, 2),
        (Source::Klemsa, 7 + 4 * 2, 1 + 4),
        (Source::Paper, 4, 0),
    ] {
        let rows = rows(source);
        for row in &rows {
            assert_ne!(row.ok(), Some(false), "{row:?}");
            assert!(row.ok().is_some() || !row.note.is_empty(), "{row:?}");
            assert!(row.predicted.is_finite(), "{row:?}");
        }
        assert_eq!(count(&rows, Verdict::Agrees), agree, "{source:?}");
        assert_eq!(
            count(&rows, Verdict::Unexplained),
            unexplained,
            "{source:?}"
        );
    }
}

#[test]
fn spoiled_sets_of_tfhe_rs_differ() {
    type Spoil = fn(&mut PublishedSet);
    // The change of the set, and whether it changes the probability and the cost.
    let spoils: [(&str, Spoil, bool, bool); 7] = [
        ("precision", |set| set.precision += 1, true, false),
        ("norm", |set| set.norm *= 2, true, false),
        (
            "rotation base",
            |set| set.parameters.pbs.mask.base_log += 4,
            true,
            false,
        ),
        (
            "rotation levels",
            |set| set.parameters.pbs.body.level += 1,
            false,
            true,
        ),
        (
            "switch levels",
            |set| set.parameters.ks_level -= 1,
            true,
            true,
        ),
        (
            "dimension",
            |set| set.parameters.small_key.dimension += 24,
            true,
            true,
        ),
        (
            "noise",
            |set| set.parameters.lwe_variance = set.parameters.lwe_variance * 1.1,
            true,
            false,
        ),
    ];
    let sets = published_sets().iter();
    let sets: Vec<_> = sets.filter(|set| set.unexplained().is_none()).collect();
    for (what, spoil, p_fail, cost) in spoils {
        let mut differing = [0; 2];
        for set in &sets {
            let mut spoiled = (*set).clone();
            spoil(&mut spoiled);
            for (count, row) in differing.iter_mut().zip(published::rows(&[spoiled])) {
                *count += usize::from(row.ok() == Some(false));
            }
        }
        // A few do not depend on it by more than the tolerance; one has no cost.
        for (differing, expected) in differing.into_iter().zip([p_fail, cost]) {
            let most = sets.len() * 3 / 4;
            assert!(!expected || differing >= most, "{what}: {differing}");
        }
    }
    // The wrong model of the transform, where it matters.
    let name = "V1_4_PARAM_MESSAGE_2_CARRY_2_KS_PBS_GAUSSIAN_2M128";
    let set = sets.iter().find(|set| set.name == name).unwrap();
    let spoiled = PublishedSet {
        version: "v0_11",
        ..(*set).clone()
    };
    assert_eq!(published::rows(&[spoiled])[0].ok(), Some(false));
}

#[test]
fn spoiled_sets_of_klemsa_differ() {
    type Spoil = fn(&mut Entry);
    let spoils: [(&str, Spoil, &str); 6] = [
        (
            "cleartext bits",
            |e| e.task.cleartext_bits += 1,
            "new/eta-measured",
        ),
        (
            "weights",
            |e| e.task.quadratic_weights += 1,
            "new/eta-measured",
        ),
        (
            "switch levels",
            |e| e.new.set.key_switch.level -= 1,
            "new/eta-computed",
        ),
        (
            "noise",
            |e| e.original.set.log2_rotation_noise += 1,
            "original/eta-computed",
        ),
        ("dimension", |e| e.new.set.lwe_dimension += 60, "procedure"),
        (
            "rotation levels",
            |e| e.original.set.rotation.level -= 1,
            "time-new-to-original",
        ),
    ];
    for (what, spoil, figure) in spoils {
        let mut entry = TABLE_1[0];
        spoil(&mut entry);
        let name = format!("klemsa/binary/{figure}");
        let rows = klemsa::rows_of_table(&[entry]);
        let row = rows.iter().find(|row| row.name == name).unwrap();
        assert_eq!(row.ok(), Some(false), "{what}: {row:?}");
    }
}

#[test]
fn another_noise_has_another_level() {
    for log2_sigma in [paper::LOG2_SIGMA - 0.2, paper::LOG2_SIGMA + 0.2] {
        assert_eq!(count(&paper::rows(log2_sigma), Verdict::Differs), 4);
    }
}

#[test]
fn levels_of_his_keys() {
    // The lattice estimator of June 2026: the small key's and the big one's.
    let levels: [(&str, f64, f64); 7] = [
        ("binary/original", 118.3, 122.2),
        ("binary/new", 117.4, 126.6),
        ("parallel-addition/original", 109.2, 106.8),
        ("parallel-addition/new", 122.5, 134.2),
        ("z8/original", 120.0, 122.2),
        ("z8/new", 121.7, 126.6),
        ("z16/original", 120.0, 123.9),
    ];
    for (set, small, big) in levels {
        let row = KLEMSA
            .iter()
            .find(|row| row.name == format!("klemsa/{set}/lambda"))
            .unwrap();
        assert!((row.predicted - small.min(big)).abs() < 0.06, "{row:?}");
        let both = format!("small key {small:.1}, big key {big:.1};");
        assert!(row.note.starts_with(&both), "{row:?}");
    }
}

#[test]
fn his_rule_is_no_failure_probability() {
    for (set, log2_p) in [
        ("binary/original", -297.0),
        ("binary/new", -14.6),
        ("parallel-addition/new", -11.0),
        ("z16/new", -14.3),
    ] {
        let predicted = figure(&format!("klemsa/{set}/p-fail"));
        assert!((predicted - log2_p).abs() < 0.3, "{set}: {predicted}");
    }
    let note = &KLEMSA
        .iter()
        .find(|row| row.name.ends_with("p-fail"))
        .unwrap()
        .note;
    assert!(note.contains("2^-8.53"), "{note}");
    // With the worst digits his sets exceed their budget; for the first set the rounding of the
    // key switch alone does.
    for (entry, share) in TABLE_1.iter().zip([2.17, 2.32, 2.07, 1.43]) {
        let set = entry.new.set;
        let found = set.budget_share(entry.task, Digits::Worst);
        assert!((found - share).abs() < 0.01, "{found}");
        assert!(set.budget_share(entry.task, Digits::Random) < 1.0);
    }
    let task = TABLE_1[0].task;
    let cut_off = Variance(2.0 * 1024.0 * f64::exp2(-20.0));
    assert_eq!(cut_off.0 / task.largest_variance().0, 1.125);
}

#[test]
fn his_procedure_gives_his_sets() {
    let expected = [
        KlemsaSet::new((1024, 511), (8, 2), (2, 5), (-24, -12)),
        TABLE_1[1].new.set,
        TABLE_1[2].new.set,
        TABLE_1[3].new.set,
    ];
    for (entry, expected) in TABLE_1.iter().zip(expected) {
        let found = search(entry.task, Digits::Random).unwrap();
        assert!(found.same_but_for_base(&expected), "{found}");
    }
}

#[test]
fn nothing_that_he_admits_is_cheaper() {
    for (task, digits) in [
        (TABLE_1[0].task, Digits::Worst),
        (TABLE_1[2].task, Digits::Random),
    ] {
        let found = search(task, digits).unwrap();
        let cost = |set: &KlemsaSet| AlgorithmicCost::new(&set.parameters()).total();
        let least = cost(&found);
        assert!(found.budget_share(task, digits) <= 1.0);
        let mut fitting = 0;
        for size in [512, 1024, 2048] {
            for bits in [12, 13, 14, 17, 18] {
                let n = (f64::from(bits) / 0.0235).ceil() as usize;
                let noise = (-((0.0235 * size as f64) as i32), -bits);
                for (rotation, switch) in decompositions() {
                    let set = KlemsaSet::new((size, n), rotation, switch, noise);
                    if cost(&set) < least {
                        assert!(set.budget_share(task, digits) > 1.0, "{set}");
                    } else if set.budget_share(task, digits) <= 1.0 {
                        fitting += 1;
                    }
                }
            }
        }
        assert!(fitting > 100, "{fitting}");
    }
    let nothing = tfhe_sbc_research::klemsa::Task {
        name: "too fine",
        cleartext_bits: 12,
        quadratic_weights: 1,
    };
    assert_eq!(search(nothing, Digits::Random), None);
}

fn decompositions() -> impl Iterator<Item = ((u32, usize), (u32, usize))> {
    let pairs =
        |base: u32, level: usize| (1..=base).flat_map(move |b| (1..=level).map(move |l| (b, l)));
    pairs(24, 4).flat_map(move |rotation| pairs(6, 10).map(move |switch| (rotation, switch)))
}

#[test]
fn ours_keep_what_is_asked() {
    for entry in &TABLE_1 {
        let of = |what: &str| figure(&format!("klemsa/{}/ours/{what}", entry.task.name));
        assert!(of("p-fail") <= -128.0, "{}", entry.task.name);
        assert!(of("lambda") >= 128.0, "{}", entry.task.name);
        // A probability 2^114 times smaller, 5 to 10 bits more of security, and less time, least
        // so for the last, which needs larger polynomials.
        let most = if entry.task.name == "z16" { 0.9 } else { 0.45 };
        assert!(of("time-to-his-new") < most, "{}", entry.task.name);
    }
    let smallest = |what: &str| figure(&format!("klemsa/binary/ours-of-smallest-keys/{what}"));
    assert!(smallest("p-fail") <= -128.0 && smallest("lambda") >= 128.0);
    let keys = figure("klemsa/binary/ours/keys-to-his-new");
    assert!(smallest("keys-to-his-new") < 0.7 * keys);
}

/// The part of the page on parameters that the rows make.
fn page() -> String {
    let mut text = String::new();
    let number = |value: f64| format!("{value:.2}");
    let shown = |value: Option<f64>| value.map_or(String::new(), number);
    let ok = |row: &Row| match row.verdict {
        Verdict::Agrees => "yes",
        Verdict::Differs => "**no**",
        Verdict::Unexplained => "unexplained",
        Verdict::NotCompared => "",
    };
    text += "| set of TFHE-rs | log2 p_fail | stated | ok | million operations | stated | ok |\n";
    text += "|---|---:|---:|---|---:|---:|---|\n";
    let published = rows(Source::Published);
    for pair in published.chunks(2) {
        let _ = write!(text, "| {} ", pair[0].name.trim_end_matches("/p-fail"));
        for row in pair {
            let (predicted, stated) = (number(row.predicted), shown(row.published));
            let _ = write!(text, "| {predicted} | {stated} | {} ", ok(row));
        }
        text += "|\n";
    }
    for row in published
        .iter()
        .filter(|row| row.verdict == Verdict::Unexplained)
    {
        let _ = write!(text, "\n`{}`: {}.\n", row.name, row.note);
    }
    for source in [Source::Klemsa, Source::Paper] {
        text += "\n| figure | predicted | published | unit | ok | |\n|---|---:|---:|---|---|---|\n";
        for row in rows(source) {
            let (predicted, stated) = (number(row.predicted), shown(row.published));
            let (name, unit, note) = (&row.name, row.unit, &row.note);
            let ok = ok(&row);
            let _ = writeln!(
                text,
                "| {name} | {predicted} | {stated} | {unit} | {ok} | {note} |"
            );
        }
    }
    text
}

/// `UPDATE_REPRODUCED=1` writes it anew.
#[test]
fn the_page_says_what_the_rows_say() {
    let (begin, end) = ("<!-- reproduce: begin -->\n", "<!-- reproduce: end -->\n");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/parameters.md");
    let stored = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = stored.split_once(begin).unwrap();
    let (between, after) = rest.split_once(end).unwrap();
    let found = page();
    if std::env::var_os("UPDATE_REPRODUCED").is_some() {
        std::fs::write(path, [before, begin, &found, end, after].concat()).unwrap();
        return;
    }
    for (stored, found) in between.lines().zip(found.lines()) {
        assert_eq!(stored, found, "the figures have changed");
    }
    assert_eq!(between.lines().count(), found.lines().count());
}

#[test]
fn the_set_with_sixteen_levels_is_the_one_that_is_not_explained() {
    let unexplained: Vec<_> = KLEMSA
        .iter()
        .filter(|row| row.verdict == Verdict::Unexplained && row.name.contains("eta"))
        .collect();
    assert_eq!(unexplained.len(), 1);
    let one_bit = Gadget {
        base_log: 1,
        level: 16,
    };
    assert_eq!(TABLE_1[1].original.set.key_switch, one_bit);
    assert!((unexplained[0].predicted - 60.2).abs() < 0.1);
    assert_eq!(unexplained[0].published, Some(75.2));
}
