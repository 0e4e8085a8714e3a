//! Random questions about columns with squares and flags, rehearsed as a server plans them, against the same
//! in the clear, and the cost of those that are linear.

use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_query::Question;
use tfhe_sbc_query::cost::{costs, rehearse};
use tfhe_sbc_upload::declaration::{Declaration, Missing};
use tfhe_sbc_upload::derived::Derived;
use tfhe_sbc_upload::readings::{Column, Compact, ReadingsMetadata};

use crate::draw::Draw;
use crate::key_set::{Table, questions, table};
use crate::plain;

/// The thresholds that conditions on `a` are drawn from. The first five are declared.
const THRESHOLDS: [f64; 9] = [-3.0, 0.0, 0.25, 4.5, 11.5, -4.0, 1.0, 20.0, -9.0];

impl Draw {
    fn threshold(&mut self) -> f64 {
        THRESHOLDS[self.below(THRESHOLDS.len() as u64) as usize]
    }

    fn declared_comparison(&mut self) -> String {
        let (of, threshold) = (self.one_of(&["a", "a", "a", "d"]), self.threshold());
        match self.below(6) {
            0 => format!("{of} between {threshold} and {}", self.threshold()),
            1 => format!("{of} in ({threshold}, {})", self.threshold()),
            // The same cuts, in other words.
            2 => format!("2 * {of} + 1 > {}", 2.0 * threshold + 1.0),
            3 => format!("3 - {of} >= {}", 3.0 - threshold),
            _ => {
                let relation = self.one_of(&["<", "<=", ">", ">=", "==", "!="]);
                format!("{of} {relation} {threshold}")
            }
        }
    }

    fn declared_condition(&mut self, depth: u64) -> String {
        match self.below(4) {
            _ if depth == 0 => self.declared_comparison(),
            0 => format!("not ({})", self.declared_condition(depth - 1)),
            1 | 2 => {
                let word = self.one_of(&[" and ", " or "]);
                let list = [
                    self.declared_condition(depth - 1),
                    self.declared_condition(depth - 1),
                ];
                list.map(|condition| format!("({condition})")).join(word)
            }
            _ => self.declared_comparison(),
        }
    }

    fn declared_question(&mut self) -> Question {
        let text = match self.below(5) {
            0 => {
                let measure = self.one_of(&["variance", "std", "sample_variance", "sum", "mean"]);
                let of = self.one_of(&["a", "d", "2 * a + 1", "1 - a", "a - d"]);
                format!("{measure}({of})")
            }
            1 => {
                let of = self.one_of(&["a", "a", "2 * a", "d"]);
                let edges = self.one_of(&["-3, 0, 0.5, 4.5", "-9, 0, 11.5, 30", "-4, 1", "40, 50"]);
                format!("histogram({of}, {edges})")
            }
            2 => format!("rows({})", self.declared_condition(2)),
            _ => format!("count({})", self.declared_condition(3)),
        };
        text.parse().unwrap()
    }
}

fn form(bits: u32) -> Compact {
    Compact {
        headroom: 14,
        body_bits: bits + 20,
        feedback: true,
    }
}

/// A compact column with what is declared.
fn with_derived(column: &mut Column, declaration: &Declaration) {
    let encoding = column.fixed_point().unwrap();
    column.compact = Some(form(column.bits));
    let derived = declaration.derived(&encoding, |derivation| {
        Ok(form(derivation.bits(encoding.bits())))
    });
    column.derived = derived.unwrap();
}

/// `a` with squares and flags at the declared thresholds, `d` with flags at others.
fn declared(mut table: Table) -> Table {
    let everything = Declaration {
        square: true,
        bins: vec![-4.0, -3.0, 0.0, 0.25, 4.5, 11.5, 30.0],
        closed: false,
        above: vec![-3.0, 0.0, 4.5],
        below: Vec::new(),
        optional: Missing::Never,
    };
    with_derived(&mut table.metadata.columns[0], &everything);
    let some = Declaration {
        below: vec![20.0],
        ..Declaration::default()
    };
    with_derived(&mut table.metadata.columns[1], &some);
    table
}

const COLUMNS: [(&str, f64, f64, u32); 2] = [("a", -4.0, 0.5, 5), ("d", 0.0, 0.25, 7)];

#[test]
fn random_questions_are_answered_as_in_the_clear() {
    let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
    let mut draw = Draw(3);
    for _ in 0..250 {
        let rows = 2 + draw.below(8);
        let column = |draw: &mut Draw, (_, offset, scale, bits): (&str, f64, f64, u32)| {
            // Half of the readings are at a threshold, beside one or at an end.
            let code = |draw: &mut Draw| match draw.below(2) {
                0 => [0, (1 << bits) - 1, 1, 2, 7, 8, 9, 16, 17, 31][draw.below(10) as usize],
                _ => draw.below(1 << bits),
            };
            (0..rows)
                .map(|_| offset + scale * code(draw) as f64)
                .collect()
        };
        let readings = COLUMNS.iter().map(|&c| column(&mut draw, c)).collect();
        let table = declared(table(&COLUMNS, readings));
        let question = draw.declared_question();
        let asked = [question.clone()];
        let answers = rehearse(&parameters, &table.metadata, &table.readings, &asked).unwrap();
        let (given, expected) = (&answers[0].value, plain::answer(&table, &question));
        assert!(
            plain::agree(given, &expected),
            "{question} of {:?}: {given:?}, not {expected:?}",
            table.readings
        );
    }
}

#[test]
fn what_is_declared_takes_no_bootstrap_and_what_is_not_costs_what_it_did() {
    let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
    let plain = table(&COLUMNS, vec![vec![0.0; 8192], vec![0.0; 8192]]);
    let derived = declared(plain);
    let mut compact = derived.metadata.clone();
    for column in &mut compact.columns {
        column.derived = Derived::default();
    }
    let bootstraps = |readings: &ReadingsMetadata, text: &str| {
        let (each, _) = costs(&parameters, readings, &questions(&[text])).unwrap();
        each[0].bootstraps
    };
    for text in [
        "variance(a)",
        "sample_std(2 * a + 1)",
        "histogram(a, -3, 0, 4.5)",
        "count(a > 0)",
        "count(a > 0.2)",
        "count(a < 4.5)",
        "count(a between -3 and 4.5)",
        "count(not (a > 0 and a <= 4.5) or a < -3)",
        "count(d >= 20)",
    ] {
        assert_eq!(bootstraps(&derived.metadata, text), 0, "{text}");
        assert!(bootstraps(&compact, text) > 8192, "{text}");
    }
    for text in ["count(a > 1)", "histogram(d, 0, 10)", "max(a)"] {
        let cost = bootstraps(&compact, text);
        assert_eq!(bootstraps(&derived.metadata, text), cost, "{text}");
        assert!(cost > 0, "{text}");
    }
    // More than one row fits a query that is linear, however many rows there are.
    let mut many = derived.metadata.clone();
    many.rows = vec!["r".to_owned(); 100_000];
    for text in ["variance(a)", "count(a > 0)", "histogram(a, -3, 0, 4.5)"] {
        assert!((1..5000).contains(&bootstraps(&many, text)), "{text}");
    }
}
