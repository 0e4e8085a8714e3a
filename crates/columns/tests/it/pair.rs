//! Scalar products, covariances and correlations equal the definitions on the same readings: rehearsed on random columns, widths and gaps,
//! and with keys.

use proptest::prelude::*;
use tfhe_sbc_columns::{
    Computable, Error, Number, OptionalNumber, PairMeasure, Progress, ReadingsMetadata, Server,
    Table, Value,
};
use tfhe_sbc_upload::declaration::Missing;

use crate::common::{Keys, optional_column, rehearsal, rehearse, repetitions, upload};

/// Readings of two columns in rows, as far as they are there.
type Pairs = Vec<(Option<f64>, Option<f64>)>;

const A: (f64, f64) = (-10.0, 0.5);
const B: (f64, f64) = (3.0, 0.25);

fn metadata(bits: u32, missing: Missing, is_radix: bool, rows: usize) -> ReadingsMetadata {
    ReadingsMetadata {
        columns: vec![
            optional_column("a", A, bits, missing, is_radix),
            optional_column("b", B, bits + 1, missing, is_radix),
        ],
        rows: (0..rows).map(|row| row.to_string()).collect(),
        gaps: Default::default(),
    }
}

fn given(rows: &Pairs) -> Vec<Vec<f64>> {
    let a = rows.iter().map(|(a, _)| a.unwrap_or(f64::NAN));
    let b = rows.iter().map(|(_, b)| b.unwrap_or(f64::NAN));
    vec![a.collect(), b.collect()]
}

/// The measure by its definition; `None` if there is none.
fn plain(measure: PairMeasure, rows: &[(f64, f64)]) -> Option<f64> {
    let n = rows.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| rows.iter().map(of).sum::<f64>() / n;
    let (a, b) = (mean(|row| row.0), mean(|row| row.1));
    let moment =
        |of: &dyn Fn(f64, f64) -> f64| rows.iter().map(|row| of(row.0 - a, row.1 - b)).sum::<f64>();
    let products = moment(&|a, b| a * b);
    match measure {
        PairMeasure::Dot => (n > 0.0).then(|| rows.iter().map(|row| row.0 * row.1).sum()),
        PairMeasure::Covariance { sample: true } => (n > 1.0).then(|| products / (n - 1.0)),
        PairMeasure::Covariance { sample: false } => (n > 0.0).then(|| products / n),
        PairMeasure::Correlation => {
            let spread = (moment(&|a, _| a * a) * moment(&|_, b| b * b)).sqrt();
            (n > 1.0 && spread > 0.0).then(|| products / spread)
        }
    }
}

fn assert_is(found: &Value, expected: Option<f64>) -> Result<(), TestCaseError> {
    match expected {
        None => prop_assert_eq!(found, &Value::Missing),
        Some(expected) => {
            let found = found.number();
            let near = found
                .is_some_and(|found| (found - expected).abs() <= 1e-9 * expected.abs().max(1.0));
            prop_assert!(near, "{found:?} is not {expected}");
        }
    }
    Ok(())
}

const MEASURES: [PairMeasure; 4] = [
    PairMeasure::Dot,
    PairMeasure::Covariance { sample: true },
    PairMeasure::Covariance { sample: false },
    PairMeasure::Correlation,
];

fn there(rows: &Pairs) -> Vec<(f64, f64)> {
    rows.iter().filter_map(|&(a, b)| a.zip(b)).collect()
}

fn optionals(table: &Table) -> [OptionalNumber; 2] {
    ["a", "b"].map(|name| table.optional(name).unwrap())
}

fn numbers(table: &Table) -> [&Number; 2] {
    ["a", "b"].map(|name| table.column(name).unwrap())
}

proptest! {
    #![proptest_config(repetitions(4))]

    #[test]
    fn measures_are_those_of_the_readings(
        codes in prop::collection::vec((any::<u16>(), any::<u16>()), 1..40),
        bits in 1u32..=9,
        is_radix: bool,
        edge in 0..4,
    ) {
        let of = |code: u16, (offset, scale): (f64, f64), bits: u32| {
            let most = u16::MAX >> (16 - bits);
            let code = if edge == 0 { most } else { code & most };
            Some(offset + scale * f64::from(code))
        };
        let rows = codes.iter().map(|&(a, b)| (of(a, A, bits), of(b, B, bits + 1)));
        let rows: Pairs = rows.collect();
        let server = rehearsal();
        let metadata = metadata(bits, Missing::Never, is_radix, rows.len());
        let table = server.load_clear(metadata, &given(&rows)).unwrap();
        let [a, b] = numbers(&table);
        let expected = there(&rows);
        for measure in MEASURES {
            let found = rehearse(&server, &a.paired(b, measure).unwrap());
            assert_is(&found, plain(measure, &expected))?;
        }
        let dot = plain(PairMeasure::Dot, &expected);
        assert_is(&rehearse(&server, &a.dot(b).unwrap()), dot)?;
        // One column with itself, and with clear numbers.
        let squares = expected.iter().map(|row| row.0 * row.0).sum();
        assert_is(&rehearse(&server, &a.dot(a).unwrap()), Some(squares))?;
        let clear: Vec<f64> = expected.iter().map(|row| row.1).collect();
        let clear = a.clear(&clear).unwrap();
        assert_is(&rehearse(&server, &a.dot(&clear).unwrap()), dot)?;
        assert_is(&rehearse(&server, &clear.dot(a).unwrap()), dot)?;
        for measure in MEASURES {
            let found = rehearse(&server, &a.paired(&clear, measure).unwrap());
            assert_is(&found, plain(measure, &expected))?;
        }
    }

    #[test]
    fn rows_in_which_one_is_missing_are_left_out(
        codes in prop::collection::vec((prop::option::weighted(0.7, any::<u16>()), prop::option::weighted(0.7, any::<u16>())), 1..30),
        bits in 1u32..=8,
        is_told: bool,
    ) {
        let of = |code: Option<u16>, (offset, scale): (f64, f64), bits: u32| {
            code.map(|code| offset + scale * f64::from(code & (u16::MAX >> (16 - bits))))
        };
        let rows = codes.iter().map(|&(a, b)| (of(a, A, bits), of(b, B, bits + 1)));
        let rows: Pairs = rows.collect();
        let missing = if is_told { Missing::Clear } else { Missing::Encrypted };
        let server = rehearsal();
        let metadata = metadata(bits, missing, false, rows.len());
        let table = server.load_clear(metadata, &given(&rows)).unwrap();
        let [a, b] = optionals(&table);
        let expected = there(&rows);
        for measure in MEASURES {
            let found = rehearse(&server, &a.paired(&b, measure).unwrap());
            assert_is(&found, plain(measure, &expected))?;
        }
        let dot = expected.iter().map(|row| row.0 * row.1).sum();
        assert_is(&rehearse(&server, &a.dot(&b).unwrap()), Some(dot))?;
        // Clear numbers in the same rows.
        let weights: Vec<f64> = (0..rows.len()).map(|row| f64::from(row as u32) / 4.0 - 1.0).collect();
        let clear = OptionalNumber::whole(a.number().clear(&weights).unwrap());
        let weighted = rows.iter().zip(&weights).filter_map(|((a, _), weight)| Some((*a)? * weight));
        assert_is(&rehearse(&server, &a.dot(&clear).unwrap()), Some(weighted.sum()))?;
        let own = there(&rows.iter().map(|row| (row.0, row.0)).collect());
        let variance = plain(PairMeasure::Covariance { sample: true }, &own);
        assert_is(&rehearse(&server, &a.cov(&a).unwrap()), variance)?;
    }
}

fn bootstraps(server: &Server, question: &dyn Computable) -> u64 {
    let cost = server.cost(&question.parts(), &Progress::default());
    cost.unwrap().bootstraps
}

#[test]
fn measures_decrypt_to_what_they_rehearse_to() {
    let keys = Keys::generate(78);
    let rows: Pairs = (0..5)
        .map(|row| {
            let code = |code: usize| f64::from(code as u32);
            (
                Some(A.0 + A.1 * code(3 * row % 8)),
                Some(B.0 + B.1 * code(15 - 5 * row % 16)),
            )
        })
        .collect();
    let metadata = metadata(3, Missing::Never, false, rows.len());
    let bytes = upload(&keys.device, &metadata, &given(&rows), 0..rows.len());
    let table = keys.server.load(&[&bytes[..]]).unwrap();
    let [a, b] = numbers(&table);
    let expected = there(&rows);
    let clear = a.clear(&[0.5, 0.0, -2.0, 3.25, 0.5]).unwrap();
    let measures = MEASURES.map(|measure| a.paired(b, measure).unwrap());
    let (dot, weighted) = (a.dot(b).unwrap(), a.dot(&clear).unwrap());
    let mut questions: Vec<&dyn Computable> = vec![&dot, &weighted];
    questions.extend(measures.iter().map(|measure| measure as &dyn Computable));
    for (at, question) in questions.into_iter().enumerate() {
        let [answer] = keys.server.compute([question]).unwrap();
        let found = answer.decrypt(&keys.secret).unwrap();
        let expected = match at {
            0 => plain(PairMeasure::Dot, &expected),
            1 => Some(
                (expected[0].0 + expected[4].0) / 2.0 - 2.0 * expected[2].0 + 3.25 * expected[3].0,
            ),
            _ => plain(MEASURES[at - 2], &expected),
        };
        assert_is(&found, expected).unwrap();
    }
}

/// Weighted sums of compact columns are as cheap as sums, whatever their weights are and however many rows there are.
#[test]
fn products_with_clear_numbers_take_no_bootstrap_for_each_row() {
    let server = rehearsal();
    let table = server.describe(metadata(10, Missing::Never, false, 20_000));
    let [a, b] = numbers(&table);
    let weights = |of: &dyn Fn(usize) -> f64| {
        let weights: Vec<f64> = (0..a.row_count()).map(of).collect();
        a.dot(&a.clear(&weights).unwrap()).unwrap()
    };
    let chosen = weights(&|row| f64::from(u32::from(row % 24 == 7)));
    assert_eq!(bootstraps(&server, &chosen), 0);
    let digits = weights(&|row| (row * 7919 % 1000) as f64 / 4.0 - 100.0);
    let count = bootstraps(&server, &digits);
    assert!(count <= 2000, "{count}");
    // Products of encrypted numbers take them.
    let count = bootstraps(
        &server,
        &a.take(&[0, 1, 2])
            .unwrap()
            .dot(&b.take(&[5, 6, 7]).unwrap())
            .unwrap(),
    );
    assert!(count > 3 * 25, "{count}");
}

#[test]
fn numbers_that_do_not_belong_together_are_refused() {
    let server = rehearsal();
    let values = vec![vec![1.0, 2.0, 3.0], vec![4.0, 5.0, 6.0]];
    let load = || {
        server
            .load_clear(metadata(6, Missing::Never, false, 3), &values)
            .unwrap()
    };
    let table = load();
    let [a, b] = numbers(&table);
    let shorter = b.take(&[0, 1]).unwrap();
    assert!(matches!(a.dot(&shorter), Err(Error::Rows(3, 2))));
    assert!(matches!(a.cov(&b.max()), Err(Error::Rows(3, 1))));
    assert!(matches!(a.clear(&[1.0]), Err(Error::Rows(3, 1))));
    assert!(matches!(
        a.clear(&[1.0, f64::NAN, 2.0]),
        Err(Error::NotFinite)
    ));
    assert!(matches!(
        a.clear(&[1.0, std::f64::consts::PI, 2.0]),
        Err(Error::Decimals)
    ));
    assert!(matches!(a.clear(&[1e300, 0.5, 2.0]), Err(Error::TooWide)));
    let wide = a.clear(&[2f64.powi(50), 1.0, 0.0]).unwrap();
    let sum = rehearse(&server, &a.dot(&wide).unwrap());
    assert_eq!(sum, Value::Number(2f64.powi(50) + 2.0));
    // Weights of 0, and a correlation with what is the same in all rows.
    let zeros = a.clear(&[0.0; 3]).unwrap();
    assert_eq!(
        rehearse(&server, &a.dot(&zeros).unwrap()),
        Value::Number(0.0)
    );
    assert_eq!(rehearse(&server, &a.corr(&zeros).unwrap()), Value::Missing);
    assert_eq!(
        rehearse(&server, &a.cov(&zeros).unwrap()),
        Value::Number(0.0)
    );
    // An exact line has the correlation 1 or -1.
    assert_eq!(rehearse(&server, &a.corr(b).unwrap()), Value::Number(1.0));
    let falling = b.affine(-1.0, 0.0).unwrap();
    assert_eq!(
        rehearse(&server, &a.corr(&falling).unwrap()),
        Value::Number(-1.0)
    );
    assert_eq!(rehearse(&server, &a.cov(b).unwrap()), Value::Number(1.0));
}
