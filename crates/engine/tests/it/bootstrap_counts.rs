//! The bootstraps of integer operators, and how many of them must follow one another, on fresh
//! operands and with results in digits. The test compares them with the table in
//! `docs/integer-counts.md`. `UPDATE_COUNTS=1 cargo test -p tfhe-sbc-engine bootstrap_counts`
//! writes the table anew.

use std::fmt::Write as _;
use std::path::Path;

use rayon::ThreadPoolBuilder;
use tfhe_sbc_core::parameter_sets::{MESSAGE_1_CARRY_1, MESSAGE_2_CARRY_2, MESSAGE_3_CARRY_3};
use tfhe_sbc_core::parameters::ParameterSet;
use tfhe_sbc_engine::circuit::{Block, Circuit};
use tfhe_sbc_engine::integer::{
    BitOp, Comparison, FheBool, FheInt, FheUint, Integer, IntegerError, Shift, Signedness, Width,
};

const SETS: [(&str, ParameterSet); 3] = [
    ("1_1", MESSAGE_1_CARRY_1),
    ("2_2", MESSAGE_2_CARRY_2),
    ("3_3", MESSAGE_3_CARRY_3),
];
const WIDTHS: [u32; 4] = [8, 16, 32, 64];

/// An operator on fresh operands, and what it gives.
type Operator = fn(&Operands<'_>) -> Result<Vec<Block>, IntegerError>;

struct Operands<'c> {
    c: &'c Circuit,
    a: FheUint,
    b: FheUint,
    /// A clear number with all kinds of digits.
    clear: FheUint,
    x: FheInt,
    y: FheInt,
    /// An amount below the width.
    amount: FheUint,
    condition: FheBool,
}

impl<'c> Operands<'c> {
    fn new(c: &'c Circuit, bits: u32) -> Self {
        let width = Width::new(bits).unwrap();
        let amount = Width::new(bits.ilog2()).unwrap();
        Self {
            c,
            a: c.stand_in_integer(0u8, width),
            b: c.stand_in_integer(0u8, width),
            clear: c.clear(0x9e37_79b9_7f4a_7c15u64, width),
            x: c.stand_in_integer(0u8, width),
            y: c.stand_in_integer(0u8, width),
            amount: c.stand_in_integer(0u8, amount),
            condition: c.stand_in_bool(false),
        }
    }

    fn digits<S: Signedness>(&self, integer: Integer<S>) -> Result<Vec<Block>, IntegerError> {
        Ok(self.c.propagate(&integer)?.blocks().to_vec())
    }

    fn flagged<S: Signedness>(
        &self,
        (integer, flag): (Integer<S>, FheBool),
    ) -> Result<Vec<Block>, IntegerError> {
        let mut blocks = self.digits(integer)?;
        blocks.push(self.c.bit(&flag));
        Ok(blocks)
    }

    fn compared<S: Signedness>(
        &self,
        comparison: Comparison,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<Vec<Block>, IntegerError> {
        Ok(vec![self.c.bit(&self.c.compare(comparison, a, b)?)])
    }

    fn divided<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<Vec<Block>, IntegerError> {
        let division = self.c.div_rem(a, b)?;
        let mut blocks = self.digits(division.quotient)?;
        blocks.extend(self.digits(division.remainder)?);
        blocks.push(self.c.bit(&division.by_zero));
        Ok(blocks)
    }
}

const OPERATORS: [(&str, Operator); 35] = [
    ("add", |o| o.digits(o.c.add(&o.a, &o.b)?)),
    ("add, clear", |o| o.digits(o.c.add(&o.a, &o.clear)?)),
    ("sub", |o| o.digits(o.c.sub(&o.a, &o.b)?)),
    ("neg", |o| o.digits(o.c.neg(&o.a)?)),
    ("abs", |o| o.digits(o.c.abs(&o.x)?)),
    ("overflowing add", |o| {
        o.flagged(o.c.overflowing_add(&o.a, &o.b)?)
    }),
    ("overflowing sub, signed", |o| {
        o.flagged(o.c.overflowing_sub(&o.x, &o.y)?)
    }),
    ("saturating add, signed", |o| {
        o.digits(o.c.saturating_add(&o.x, &o.y)?)
    }),
    ("sum of 8", |o| {
        let more = (0..6).map(|_| o.c.stand_in_integer(0u8, o.a.width()));
        let list: Vec<FheUint> = more.chain([o.a.clone(), o.b.clone()]).collect();
        o.digits(o.c.sum(&list)?)
    }),
    ("mul", |o| o.digits(o.c.mul(&o.a, &o.b)?)),
    ("mul, clear", |o| o.digits(o.c.mul(&o.a, &o.clear)?)),
    ("square", |o| o.digits(o.c.mul(&o.a, &o.a)?)),
    ("overflowing mul", |o| {
        o.flagged(o.c.overflowing_mul(&o.a, &o.b)?)
    }),
    ("overflowing mul, signed", |o| {
        o.flagged(o.c.overflowing_mul(&o.x, &o.y)?)
    }),
    ("div and rem", |o| o.divided(&o.a, &o.b)),
    ("div", |o| o.digits(o.c.div(&o.a, &o.b)?)),
    ("div and rem, signed", |o| o.divided(&o.x, &o.y)),
    ("div and rem, clear", |o| o.divided(&o.a, &o.clear)),
    ("div and rem by 10", |o| {
        o.divided(&o.a, &o.c.clear(10u8, o.a.width()))
    }),
    ("div and rem by 16", |o| {
        o.divided(&o.a, &o.c.clear(16u8, o.a.width()))
    }),
    ("eq", |o| o.compared(Comparison::Eq, &o.a, &o.b)),
    ("eq, clear", |o| o.compared(Comparison::Eq, &o.a, &o.clear)),
    ("lt", |o| o.compared(Comparison::Lt, &o.a, &o.b)),
    ("lt, signed", |o| o.compared(Comparison::Lt, &o.x, &o.y)),
    ("lt, clear", |o| o.compared(Comparison::Lt, &o.a, &o.clear)),
    ("max", |o| o.digits(o.c.max(&o.a, &o.b)?)),
    ("min and max", |o| {
        let (min, max) = o.c.min_max(&o.a, &o.b)?;
        Ok([o.digits(min)?, o.digits(max)?].concat())
    }),
    ("select", |o| {
        o.digits(o.c.select(&o.condition, &o.a, &o.b)?)
    }),
    ("bitwise", |o| {
        o.digits(o.c.bitwise(BitOp::Xor, &o.a, &o.b)?)
    }),
    ("shift", |o| {
        o.digits(o.c.shift(Shift::Left, &o.a, &o.amount)?)
    }),
    ("shift right, signed", |o| {
        o.digits(o.c.shift(Shift::Right, &o.x, &o.amount)?)
    }),
    ("rotation", |o| {
        o.digits(o.c.shift(Shift::RotateLeft, &o.a, &o.amount)?)
    }),
    ("rotation by 5, clear", |o| {
        o.digits(o.c.shift_clear(Shift::RotateLeft, &o.a, 5)?)
    }),
    ("leading zeros", |o| o.digits(o.c.leading_zeros(&o.a)?)),
    ("count ones", |o| o.digits(o.c.count_ones(&o.a)?)),
];

/// The counts that the talk on the reference implementation states, for 32 and 64 bits.
const PEER: [(&str, u64, u64); 8] = [
    ("add", 81, 193),
    ("mul", 481, 1856),
    ("div and rem", 2761, 11504),
    ("eq", 19, 36),
    ("lt", 31, 63),
    ("max", 79, 159),
    ("bitwise", 16, 32),
    ("shift", 213, 486),
];

fn counts(set: &ParameterSet, bits: u32, operator: Operator) -> (u64, u32) {
    let circuit = Circuit::new(&set.validate().unwrap()).unwrap();
    let blocks = operator(&Operands::new(&circuit, bits)).unwrap();
    let blocks: Vec<&Block> = blocks.iter().collect();
    (
        circuit.bootstrap_count(&blocks),
        circuit.bootstrap_depth(&blocks),
    )
}

fn table() -> String {
    let mut text = String::from(
        "# Integers: bootstraps\n\n\
         The tables have the number of bootstraps of each operator, and in brackets how many of\n\
         them must follow one another, on fresh operands and with results in digits, one operator\n\
         at a time on two threads. Shifts are by encrypted amounts below the width. The test\n\
         `bootstrap_counts` writes this page and fails when a number changes.\n",
    );
    for (name, set) in SETS {
        let widths: Vec<String> = WIDTHS.iter().map(|bits| format!("{bits} bits")).collect();
        let _ = write!(
            text,
            "\n## Blocks of `{name}`\n\n| operator | {} |\n",
            widths.join(" | ")
        );
        let _ = writeln!(text, "|---|{}", "---:|".repeat(WIDTHS.len()));
        for (what, operator) in OPERATORS {
            let _ = write!(text, "| {what} |");
            for bits in WIDTHS {
                let (count, depth) = counts(&set, bits, operator);
                let _ = write!(text, " {count} ({depth}) |");
            }
            text.push('\n');
        }
    }
    text += "\n## Beside TFHE-rs\n\n\
             Bootstraps with blocks of `2_2`, beside those that a talk on TFHE-rs states for \
             the same blocks.\n\n\
             | operator | 32 bits | TFHE-rs | 64 bits | TFHE-rs |\n|---|---:|---:|---:|---:|\n";
    for (what, of_32, of_64) in PEER {
        let operator = OPERATORS.iter().find(|(name, _)| *name == what).unwrap().1;
        let ours = |bits| counts(&MESSAGE_2_CARRY_2, bits, operator).0;
        let _ = writeln!(
            text,
            "| {what} | {} | {of_32} | {} | {of_64} |",
            ours(32),
            ours(64)
        );
    }
    text
}

#[test]
fn counts_are_what_is_documented() {
    let two = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let found = two.install(table);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/integer-counts.md");
    if std::env::var_os("UPDATE_COUNTS").is_some() {
        std::fs::write(path, found).unwrap();
        return;
    }
    let stored = std::fs::read_to_string(path).unwrap();
    for (stored, found) in stored.lines().zip(found.lines()) {
        assert_eq!(stored, found, "the counts have changed");
    }
    assert_eq!(stored.lines().count(), found.lines().count());
}
