//! A key set, and a result with an answer of every meaning. The key owner's own key encrypts the
//! answers, in the form in which a server's answers come.

use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_core::random::{ExpanderKind, MaskSeed, NoiseSeed, Seed, SeedSequence};
use tfhe_sbc_query::results::{EncryptedAnswer, Meaning, Results, Spread};
use tfhe_sbc_upload::readings::Column;

/// Returns a secret key that is the same for the same number.
pub(crate) fn secret_key(number: u8) -> SecretKey {
    let seed = Seed::from_bytes(std::array::from_fn(|i| number ^ (i as u8).wrapping_mul(57)));
    let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
    SecretKey::generate(parameters, &mut SeedSequence::new(seed)).unwrap()
}

/// Temperatures from -40 °C in steps of 0.5.
fn column() -> Column {
    Column {
        name: "temperature".to_owned(),
        unit: "°C".to_owned(),
        offset: -40.0,
        scale: 0.5,
        bits: 8,
        compact: None,
        derived: Default::default(),
    }
}

fn labels(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// Question, meaning, and the numbers of the answer, each with its number of blocks.
type Asked = (&'static str, Meaning, Vec<(u64, u32)>);

/// One question of each meaning, about readings of 0, 10.5 and 21 °C: codes 80, 101 and 122.
pub(crate) fn every_meaning() -> Vec<Asked> {
    let rows = || labels(&["06:00", "12:00", "18:00 <b>&amp;</b>"]);
    let spread = |sample, root| Meaning::Spread {
        column: column(),
        rows: 3,
        sum_blocks: 5,
        measure: Spread { sample, root },
    };
    let moments = || vec![(303, 5), (31485, 8)];
    vec![
        (
            "max(temperature)",
            Meaning::Reading(column()),
            vec![(122, 4)],
        ),
        (
            "range(temperature)",
            Meaning::Range(column()),
            vec![(80, 4), (122, 4)],
        ),
        (
            "sum(temperature)",
            Meaning::Sum(column(), 3),
            vec![(303, 5)],
        ),
        (
            "mean(temperature)",
            Meaning::Mean(column(), 3),
            vec![(303, 5)],
        ),
        ("variance(temperature)", spread(false, false), moments()),
        ("sample_std(temperature)", spread(true, true), moments()),
        (
            "argmax(temperature)",
            Meaning::Place(column(), 4, rows()),
            vec![(122, 4), (2, 1)],
        ),
        ("count(temperature < 15)", Meaning::Count, vec![(2, 1)]),
        (
            "rows(temperature >= 10)",
            Meaning::Rows(rows()),
            vec![(0, 1), (1, 1), (1, 1)],
        ),
        (
            "rows(temperature > 80)",
            Meaning::Rows(rows()),
            vec![(0, 1), (0, 1), (0, 1)],
        ),
        (
            "histogram(temperature, -10, 5, 15, 20)",
            Meaning::Histogram {
                column: column(),
                edges: vec![-10.0, 5.0, 15.0, 20.0],
                rows: 3,
            },
            vec![(1, 1), (1, 1), (0, 1)],
        ),
        (
            "sort(temperature)",
            Meaning::Readings(column(), 3),
            vec![(80, 4), (101, 4), (122, 4)],
        ),
        (
            "score(temperature)",
            Meaning::Scores(column(), rows()),
            vec![(80, 4), (101, 4), (122, 4)],
        ),
        (
            "logistic(temperature)",
            Meaning::Logistic(column(), rows()),
            vec![(80, 4), (82, 4), (79, 4)],
        ),
        (
            "tree(frost)",
            Meaning::Leaves(rows(), labels(&["frost", "mild", "warm"])),
            vec![(0, 1), (1, 1), (2, 1)],
        ),
    ]
}

/// The number of bootstraps that the result tells.
pub(crate) const BOOTSTRAPS: u64 = 1234;

/// Returns the result of [`every_meaning`] under a key.
pub(crate) fn result(secret: &SecretKey) -> Vec<u8> {
    let parameters = secret.parameters();
    let encoding = parameters.block_encoding();
    let mut mask = ExpanderKind::ChaCha20.mask_stream(&MaskSeed([5; 32]), 0);
    let mut noise = ExpanderKind::ChaCha20.noise_stream(&NoiseSeed::from_bytes([6; 32]), 0);
    let mut ciphertexts = Vec::new();
    let mut answers = Vec::new();
    for (question, meaning, numbers) in every_meaning() {
        let blocks = numbers.iter().flat_map(|&(number, blocks)| {
            let bits = encoding.message_bits();
            (0..blocks).map(move |i| number >> (bits * i) & ((1 << bits) - 1))
        });
        let before = ciphertexts.len();
        ciphertexts.extend(blocks.map(|block| {
            let plaintext = encoding.encode::<u32>(block as i64);
            secret
                .lwe()
                .encrypt(plaintext, parameters.lwe_noise(), &mut mask, &mut noise)
        }));
        answers.push(EncryptedAnswer {
            name: question.to_owned(),
            group: None,
            blocks: (ciphertexts.len() - before) as u32,
            compact: Vec::new(),
            joined: false,
            meaning,
        });
    }
    Results::new(answers, BOOTSTRAPS)
        .seal(parameters, secret.fingerprint(), &ciphertexts.into())
        .unwrap()
}
