//! The rows: their tasks, the ratios that they must reach, and the published figures of others.

use tfhe_sbc_core::parameter_sets::{MESSAGE_1_CARRY_1, MESSAGE_2_CARRY_2, MESSAGE_3_CARRY_3};
use tfhe_sbc_core::parameters::ParameterSet;

use super::tasks::{Operator, Task};

/// A row of the table.
#[derive(Clone, Copy)]
pub(super) struct Definition {
    /// The name of the row.
    pub(super) name: &'static str,
    /// The task of the row.
    pub(super) task: Task,
    /// Our parameters.
    pub(super) set: ParameterSet,
    /// Ratios to the peer's time that it is to have. Rows without are ours alone.
    pub(super) bar: Option<Bar>,
    /// Bootstraps of TFHE-rs' implementation, where it has published them.
    pub(super) published_bootstraps: Option<u64>,
}

/// Our time as a share of the peer's.
#[derive(Clone, Copy)]
pub(super) struct Bar {
    /// The ratio that must not be exceeded.
    pub(super) floor: f64,
    /// The ratio that is aimed at.
    pub(super) target: f64,
}

/// The bar of operators.
const OPERATORS: Bar = Bar {
    floor: 0.22,
    target: 0.17,
};
/// The bar of computations on many integers at once.
const ANALYTICS: Bar = Bar {
    floor: 0.10,
    target: 0.07,
};

/// The source of the published numbers of bootstraps.
pub(super) const PUBLISHED_SOURCE: &str = "a talk of its authors about integers on 192 cores";

/// Every row, in order.
pub(super) const ROWS: [Definition; 28] = [
    operator("add32", Operator::Add, 32, 81),
    operator("eq32", Operator::Eq, 32, 19),
    operator("lt32", Operator::Lt, 32, 31),
    operator("max32", Operator::Max, 32, 79),
    operator("bitand32", Operator::BitAnd, 32, 16),
    operator("shl32", Operator::Shl, 32, 213),
    operator("mul32", Operator::Mul, 32, 481),
    operator("div_rem32", Operator::DivRem, 32, 2761),
    operator("add64", Operator::Add, 64, 193),
    operator("lt64", Operator::Lt, 64, 63),
    operator("mul64", Operator::Mul, 64, 1856),
    analytics(
        "max_of_1000_u8",
        Task::Largest {
            bits: 8,
            count: 1000,
        },
    ),
    analytics(
        "columns_100_u16",
        Task::Columns {
            bits: 16,
            count: 100,
        },
    ),
    batch("add32_batch32", Operator::Add, 32),
    batch("eq32_batch32", Operator::Eq, 32),
    batch("lt32_batch32", Operator::Lt, 32),
    batch("max32_batch32", Operator::Max, 32),
    batch("bitand32_batch32", Operator::BitAnd, 32),
    batch("shl32_batch32", Operator::Shl, 32),
    batch("mul32_batch8", Operator::Mul, 8),
    blocks("add32_1_1", Operator::Add, MESSAGE_1_CARRY_1),
    blocks("lt32_1_1", Operator::Lt, MESSAGE_1_CARRY_1),
    blocks("max32_1_1", Operator::Max, MESSAGE_1_CARRY_1),
    blocks("mul32_1_1", Operator::Mul, MESSAGE_1_CARRY_1),
    blocks("add32_3_3", Operator::Add, MESSAGE_3_CARRY_3),
    blocks("lt32_3_3", Operator::Lt, MESSAGE_3_CARRY_3),
    blocks("max32_3_3", Operator::Max, MESSAGE_3_CARRY_3),
    blocks("mul32_3_3", Operator::Mul, MESSAGE_3_CARRY_3),
];

const fn pairs(operator: Operator, bits: u32, count: usize) -> Task {
    Task::Pairs {
        operator,
        bits,
        count,
    }
}

const fn operator(
    name: &'static str,
    operator: Operator,
    bits: u32,
    published_bootstraps: u64,
) -> Definition {
    Definition {
        name,
        task: pairs(operator, bits, 1),
        set: MESSAGE_2_CARRY_2,
        bar: Some(OPERATORS),
        published_bootstraps: Some(published_bootstraps),
    }
}

const fn analytics(name: &'static str, task: Task) -> Definition {
    Definition {
        name,
        task,
        set: MESSAGE_2_CARRY_2,
        bar: Some(ANALYTICS),
        published_bootstraps: None,
    }
}

/// Pairs of 32 bits, ours alone.
const fn batch(name: &'static str, operator: Operator, count: usize) -> Definition {
    Definition {
        name,
        task: pairs(operator, 32, count),
        set: MESSAGE_2_CARRY_2,
        bar: None,
        published_bootstraps: None,
    }
}

/// A pair of 32 bits in blocks of another size, ours alone.
const fn blocks(name: &'static str, operator: Operator, set: ParameterSet) -> Definition {
    Definition {
        set,
        ..batch(name, operator, 1)
    }
}

/// The rows of these names, or all rows, in the table's order.
///
/// # Errors
/// The names that there are, if one of them is not.
pub(super) fn chosen(names: &[String]) -> Result<Vec<Definition>, String> {
    let known = |name: &String| ROWS.iter().any(|row| row.name == name);
    if !names.iter().all(known) {
        return Err(ROWS.map(|row| row.name).join(", "));
    }
    let wanted = |row: &&Definition| names.is_empty() || names.iter().any(|name| name == row.name);
    Ok(ROWS.iter().filter(wanted).copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_chosen_by_name() {
        let names = |list: &[&str]| {
            let list: Vec<String> = list.iter().map(|&name| name.to_owned()).collect();
            chosen(&list).map(|rows| rows.iter().map(|row| row.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).unwrap().len(), ROWS.len());
        assert_eq!(names(&["mul64", "eq32"]).unwrap(), ["eq32", "mul64"]);
        let error = names(&["add32", "add33"]).unwrap_err();
        assert!(error.contains("div_rem32"), "{error}");
    }

    #[test]
    fn a_row_s_name_says_what_it_computes() {
        for row in ROWS {
            assert_eq!(ROWS.iter().filter(|r| r.name == row.name).count(), 1);
            let (bits, count) = (row.task.bits().to_string(), row.task.operands().len());
            assert!(row.name.contains(&bits), "{}", row.name);
            assert!(count == 1 || row.name.contains(&count.to_string()));
        }
    }
}
