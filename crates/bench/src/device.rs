//! The table of the device: the encryption of blocks or bits to the bytes on the wire, on one
//! thread.

use std::cell::RefCell;
use std::time::Duration;

use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::parameter_sets::{
    BOOLEAN_1024, GATES, MESSAGE_2_CARRY_2, PAPER_N1024, PAPER_N1024_TUNIFORM,
};
use tfhe_sbc_core::parameters::ParameterSet;
use tfhe_sbc_device::{ExpanderKind, KeyMode, MemoryPlan};

use crate::board::{Board, Setup};
use crate::error::BenchError;
use crate::keys::describe;
use crate::recorded;
use crate::report::{Row, Unit};
use crate::timing::{Timing, Work, interleave};

/// One-byte readings of the integer rows, and bits of the boolean rows.
const COUNT: usize = 1024;
const READING_BITS: u32 = 8;

/// The number of measurements that share the budget.
const TIMED: u32 = 5 + 4 * ExpanderKind::ALL.len() as u32 + 6;

/// All rows: first the ones that sum the device library up, then each expander, plan and
/// mode.
pub(crate) fn rows(budget: Duration) -> Result<Vec<Row>, BenchError> {
    let share = budget / TIMED;
    let fast = |set, expander| Setup {
        set,
        mode: KeyMode::Symmetric,
        plan: MemoryPlan::recommended(),
        expander,
    };
    let public = |set, expander| Setup {
        mode: KeyMode::Public,
        ..fast(set, expander)
    };
    let aes = ExpanderKind::Aes128Ctr;
    let blocks = reading_blocks()?;

    let mut rows = vec![
        time::<u32>("n1024_gaussian_us", fast(PAPER_N1024, aes), COUNT, share)?,
        time::<u32>(
            "n1024_tuniform_us",
            fast(PAPER_N1024_TUNIFORM, aes),
            COUNT,
            share,
        )?,
        time::<u32>(
            "n1024_public_key_us",
            public(PAPER_N1024, aes),
            COUNT,
            share,
        )?,
        time::<u64>(
            "readings1024x8bit_us",
            fast(MESSAGE_2_CARRY_2, aes),
            blocks,
            share,
        )?,
        bytes::<u32>("bytes_1024bits", fast(BOOLEAN_1024, aes), COUNT)?,
        bytes::<u64>("bytes_1024x8bit", fast(MESSAGE_2_CARRY_2, aes), blocks)?,
    ];
    for (name, plan) in [
        ("state_small_bytes", MemoryPlan::Small),
        ("state_fast_bytes", MemoryPlan::Fast),
    ] {
        let board = Board::<u32>::new(Setup {
            plan,
            ..fast(PAPER_N1024, aes)
        })?;
        let note = format!("workspace and encryptor, {plan} plan, N = 1024, q = 2^32");
        let state = board.state_bytes() as f64;
        rows.push(Row::figures(name, Unit::Bytes, state, None, note));
    }
    rows.extend(recorded::rows()?);

    for expander in ExpanderKind::ALL {
        let name = |what| format!("{what}_{}_us", key_of(expander));
        for (what, set) in [
            ("n1024_gaussian", PAPER_N1024),
            ("n1024_tuniform", PAPER_N1024_TUNIFORM),
        ] {
            rows.push(time::<u32>(&name(what), fast(set, expander), COUNT, share)?);
        }
        rows.push(time::<u64>(
            &name("gates_1024bits"),
            fast(GATES, expander),
            COUNT,
            share,
        )?);
        rows.push(time::<u64>(
            &name("readings1024x8bit"),
            fast(MESSAGE_2_CARRY_2, expander),
            blocks,
            share,
        )?);
    }
    for plan in MemoryPlan::ALL {
        let name = format!("n1024_tuniform_{plan}_plan_us");
        let setup = Setup {
            plan,
            ..fast(PAPER_N1024_TUNIFORM, ExpanderKind::ChaCha20)
        };
        rows.push(time::<u32>(&name, setup, COUNT, share)?);
    }
    rows.push(time::<u64>(
        "readings1024x8bit_public_key_us",
        public(MESSAGE_2_CARRY_2, aes),
        blocks,
        share,
    )?);
    rows.push(bytes::<u32>(
        "bytes_1024bits_public_key",
        public(BOOLEAN_1024, aes),
        COUNT,
    )?);
    rows.push(bytes::<u64>(
        "bytes_1024x8bit_public_key",
        public(MESSAGE_2_CARRY_2, aes),
        blocks,
    )?);
    for set in [PAPER_N1024, GATES, MESSAGE_2_CARRY_2] {
        for plan in MemoryPlan::ALL {
            for (mode, kind) in [(KeyMode::Symmetric, "key"), (KeyMode::Public, "public_key")] {
                rows.push(workspace(set, plan, mode, kind));
            }
        }
    }
    Ok(rows)
}

/// Blocks of the one-byte readings.
fn reading_blocks() -> Result<usize, BenchError> {
    let encoding = MESSAGE_2_CARRY_2.validate()?.block_encoding();
    Ok(COUNT * encoding.block_count(READING_BITS))
}

/// Times one setup.
pub(crate) fn timing<T: ProductTorus>(
    name: &str,
    setup: Setup,
    elements: usize,
    share: Duration,
) -> Result<(Timing, String), BenchError> {
    eprintln!("{name}: timing");
    let board = Board::<T>::new(setup)?;
    let note = format!(
        "{elements} plaintexts, {}, {} plan. {}",
        setup.expander,
        setup.plan,
        describe(board.parameters())
    );
    let values = board.values(elements);
    let board = RefCell::new(board);
    let mut encryption = Work {
        name: name.to_owned(),
        run: || board.borrow_mut().encrypt(&values),
        check: |_| Ok(board.borrow().decrypt()? == values),
    };
    let [timing] = interleave([(&mut encryption, 1)], share)?;
    Ok((timing, note))
}

fn time<T: ProductTorus>(
    name: &str,
    setup: Setup,
    elements: usize,
    share: Duration,
) -> Result<Row, BenchError> {
    let (timing, note) = timing::<T>(name, setup, elements, share)?;
    Ok(Row::microseconds(name, timing, 1, note))
}

/// The size of a message, which is made and read for it.
fn bytes<T: ProductTorus>(name: &str, setup: Setup, elements: usize) -> Result<Row, BenchError> {
    let mut board = Board::<T>::new(setup)?;
    let values = board.values(elements);
    let len = board.encrypt(&values)?;
    if board.decrypt()? != values {
        return Err(BenchError::WrongAnswer(name.to_owned()));
    }
    let note = format!("message on the wire. {}", describe(board.parameters()));
    Ok(Row::figures(name, Unit::Bytes, len as f64, None, note))
}

fn workspace(set: ParameterSet, plan: MemoryPlan, mode: KeyMode, kind: &str) -> Row {
    let bytes = tfhe_sbc_device::workspace_bytes(&set, plan, mode);
    let (k, n) = (set.glwe_dimension.0, set.polynomial_size);
    let name = format!("workspace_{}_{plan}_{kind}_bytes", set.name.as_str());
    let note = format!("k {k}, N {n}, q 2^{}", set.torus_bits);
    Row::figures(name, Unit::Bytes, bytes as f64, None, note)
}

/// An expander in a name.
pub(crate) fn key_of(expander: ExpanderKind) -> String {
    expander.name().to_lowercase().replace('-', "_")
}
