//! Random questions about random tables, rehearsed with the server's lookups on blocks of all
//! sizes, against the same in the clear.

use crate::draw::Draw;
use crate::key_set::{Table, table};
use crate::plain;
use tfhe_sbc_core::parameter_sets::{MESSAGE_1_CARRY_1, MESSAGE_2_CARRY_2, MESSAGE_3_CARRY_3};
use tfhe_sbc_core::parameters::ParameterSet;
use tfhe_sbc_query::cost::rehearse;
use tfhe_sbc_query::{Aggregate, Question};

impl Draw {
    pub(crate) fn table(&mut self) -> Table {
        let columns = [
            ("a", -4.0, 0.5, 5),
            ("b", -4.0, 0.5, 5),
            ("c", 0.0, 1.0, 1 + self.below(3) as u32),
            ("d", 10.0, 0.25, 4 + self.below(6) as u32),
        ];
        let rows = 1 + self.below(9);
        let column = |draw: &mut Self, (_, offset, scale, bits): (&str, f64, f64, u32)| {
            let value = |draw: &mut Self| offset + scale * draw.below(1 << bits) as f64;
            (0..rows).map(|_| value(draw)).collect()
        };
        let readings = columns.iter().map(|&c| column(self, c)).collect();
        table(&columns, readings)
    }

    fn expression(&mut self) -> String {
        match self.below(4) {
            0 => self.one_of(&[
                "a - b",
                "b - a + 1.5",
                "-c",
                "2 * a - 3 * c",
                "a + b + c + d",
            ]),
            _ => self.one_of(&["a", "b", "c", "d"]),
        }
        .to_owned()
    }

    fn number(&mut self) -> f64 {
        self.below(120) as f64 / 4.0 - 8.0
    }

    fn comparison(&mut self) -> String {
        let of = self.expression();
        match self.below(6) {
            0 => format!("{of} between {} and {}", self.number(), self.number()),
            1 => format!("{of} in ({}, {}, 1)", self.number(), self.number()),
            2 => "a > b".to_owned(),
            3 => {
                let relation = self.one_of(&["<", "<=", ">", ">=", "==", "!="]);
                match self.below(3) {
                    0 => format!("a - b {relation} encrypted(1.5)"),
                    1 => format!(
                        "a {relation} encrypted({})",
                        self.below(24) as f64 / 2.0 - 4.0
                    ),
                    _ => "c <= encrypted(1)".to_owned(),
                }
            }
            _ => {
                let relation = self.one_of(&["<", "<=", ">", ">=", "==", "!="]);
                format!("{of} {relation} {}", self.number())
            }
        }
    }

    pub(crate) fn condition(&mut self, depth: u64) -> String {
        if depth == 0 {
            return self.comparison();
        }
        match self.below(5) {
            0 => format!("not ({})", self.condition(depth - 1)),
            1 | 2 => {
                let word = self.one_of(&[" and ", " or "]);
                let count = 2 + self.below(3);
                let list = (0..count).map(|_| format!("({})", self.condition(depth - 1)));
                list.collect::<Vec<_>>().join(word)
            }
            _ => self.comparison(),
        }
    }

    fn tree(&mut self, depth: u64) -> String {
        if depth == 0 || self.below(5) == 0 {
            return format!("{}", self.below(20));
        }
        let condition = match self.below(3) {
            0 => self.condition(1),
            _ => self.comparison(),
        };
        let (then, otherwise) = (self.tree(depth - 1), self.tree(depth - 1));
        format!(r#"{{"if": "{condition}", "then": {then}, "else": {otherwise}}}"#)
    }

    /// A function of rows in their order.
    fn ordered(&mut self, of: &str) -> String {
        let window = 1 + self.below(6);
        match self.below(5) {
            0 => format!("rolling_mean({of}, {window})"),
            1 => {
                let function = self.one_of(&["rolling_sum", "rolling_min", "rolling_max"]);
                format!("{function}({of}, {window}, {})", 1 + self.below(window))
            }
            2 => format!("{}({of})", self.one_of(&["cumsum", "cummin", "cummax"])),
            _ => {
                let by = self.one_of(&["1", "-1", "2", "-3", "7"]);
                format!("{}({of}, {by})", self.one_of(&["shift", "diff"]))
            }
        }
    }

    pub(crate) fn question(&mut self, rows: usize) -> Question {
        let of = self.expression();
        let text = match self.below(16) {
            0..4 => {
                let at = self.below(Aggregate::ALL.len() as u64) as usize;
                match Aggregate::ALL[at] {
                    (Aggregate::SampleStd | Aggregate::SampleVariance, _) if rows == 1 => {
                        format!("std({of})")
                    }
                    (_, name) => format!("{name}({of})"),
                }
            }
            4 => format!("percentile({of}, {})", self.below(101)),
            5 => format!("count({})", self.condition(3)),
            6 | 7 => format!("rows({})", self.condition(3)),
            8 => format!("histogram({of}, {}, 9, 11.25, 30)", self.number() - 25.0),
            9 => format!("sort({of})"),
            10 => format!("top_k({of}, {})", 1 + self.below(rows as u64)),
            11 | 12 => self.ordered(&of),
            13 | 14 => {
                let function = self.one_of(&["cov", "corr", "dot"]);
                format!("{function}({of}, {})", self.expression())
            }
            _ => {
                let condition = self.condition(1);
                let (then, otherwise) = (self.tree(3), self.tree(4));
                let json =
                    format!(r#"{{"if": "{condition}", "then": {then}, "else": {otherwise}}}"#);
                return Question::parse("tree(t)", |_| Ok(json)).unwrap();
            }
        };
        text.parse().unwrap()
    }
}

/// Asks random questions about random tables as `form` changes them.
fn assert_rehearsed(
    sets: &[ParameterSet],
    draw: &mut Draw,
    each: usize,
    form: impl Fn(Table) -> Table,
) {
    for set in sets {
        let parameters = set.validate().unwrap();
        for _ in 0..each {
            let table = form(draw.table());
            let question = draw.question(table.metadata.rows.len());
            let asked = [question.clone()];
            let answers = rehearse(&parameters, &table.metadata, &table.readings, &asked).unwrap();
            let expected = plain::answer(&table, &question);
            let given = &answers[0].value;
            assert!(
                plain::agree(given, &expected),
                "{question} of {:?}: {given:?}, not {expected:?}",
                table.readings
            );
        }
    }
}

#[test]
fn random_questions_are_answered_as_in_the_clear() {
    let sets = [MESSAGE_1_CARRY_1, MESSAGE_2_CARRY_2, MESSAGE_3_CARRY_3];
    assert_rehearsed(&sets, &mut Draw(1), 200, |table| table);
}

#[test]
fn random_questions_about_compact_columns_are_answered_as_in_the_clear() {
    let mut draw = Draw(2);
    assert_rehearsed(&[MESSAGE_2_CARRY_2], &mut draw, 150, |table| {
        table.compact()
    });
    // Compact and radix columns in one expression.
    assert_rehearsed(&[MESSAGE_2_CARRY_2], &mut draw, 100, |table| {
        let mut mixed = table.compact();
        mixed.metadata.columns[1].compact = None;
        mixed
    });
}
