//! The shipped sets beside others on our engine and in the same run: the gain of the search over the sets that the
//! project began with, which were taken from TFHE-rs, and over the sets that they supersede.

use std::time::Duration;

use rayon::ThreadPool;
use tfhe_sbc_core::dimensions::{GlweDimension, LweDimension};
use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::parameter_sets::superseded::late_november_2026;
use tfhe_sbc_core::parameter_sets::{ALL, GATES, LOOSER, MESSAGE_2_CARRY_2};
use tfhe_sbc_core::parameters::{Decomposition, ParameterName, ParameterSet, PlaintextKind};
use tfhe_sbc_core::random::NoiseDistribution;

use crate::engine::cases::Cases;
use crate::engine::contestant::{Contestant, pool, sides};
use crate::engine::instructions;
use crate::engine::ours::OurLookups;
use crate::error::BenchError;
use crate::keys::Keys;
use crate::report::{Row, Unit};
use crate::timing::interleave;

/// Sizes of batches.
const BATCHES: [usize; 2] = [1, 32];
/// Comparisons of times.
const COMPARISONS: u32 = 2 * BATCHES.len() as u32 + late_november_2026::ALL.len() as u32;

const fn gaussian(standard_deviation: f64) -> NoiseDistribution {
    NoiseDistribution::Gaussian { standard_deviation }
}

/// TFHE-rs's V1_4_PARAM_MESSAGE_2_CARRY_2_KS_PBS_GAUSSIAN_2M128: 2^-128.6, 132 bits.
const STARTING_MESSAGE_2_CARRY_2: ParameterSet = ParameterSet {
    name: ParameterName::new("starting_message_2_carry_2"),
    lwe_dimension: LweDimension(866),
    lwe_block_size: 1,
    lwe_noise: gaussian(2.046_151_696_979_124e-6),
    glwe_noise: gaussian(2.845_267_479_601_915e-15),
    pbs: Decomposition::new(23, 1),
    pbs_body: Decomposition::new(23, 1),
    key_switch: Decomposition::new(3, 5),
    ..MESSAGE_2_CARRY_2
};

/// TFHE-rs's DEFAULT_PARAMETERS_KS_PBS of booleans: 2^-64 by its statement, 132 bits, q = 2^32.
const STARTING_GATES: ParameterSet = ParameterSet {
    name: ParameterName::new("starting_gates"),
    torus_bits: 32,
    lwe_dimension: LweDimension(739),
    lwe_block_size: 1,
    lwe_noise: gaussian(1.830_452_073_350_730_5e-5),
    glwe_dimension: GlweDimension(3),
    polynomial_size: 512,
    glwe_noise: gaussian(9.315_272_083_503_367e-10),
    pbs: Decomposition::new(10, 2),
    pbs_body: Decomposition::new(10, 2),
    key_switch: Decomposition::new(3, 4),
    public_key_mask_bits: 32,
    ..GATES
};

/// The rows: times of a bootstrap by itself and in a batch, and sizes of keys.
pub(crate) fn rows(cores: usize, budget: Duration) -> Result<Vec<Row>, BenchError> {
    let most = BATCHES[BATCHES.len() - 1];
    let key_maker = pool(cores)?;
    let mut rows = Vec::new();
    {
        let mut ours = key_maker.install(|| Keys::<u64>::generate(MESSAGE_2_CARRY_2))?;
        let mut starting =
            key_maker.install(|| Keys::<u64>::generate(STARTING_MESSAGE_2_CARRY_2))?;
        let our_cases = Cases::squares(&mut ours, most)?;
        let starting_cases = Cases::squares(&mut starting, most)?;
        let ours = OurLookups::new(&ours, &our_cases);
        let starting = OurLookups::new(&starting, &starting_cases);
        compare("message_2_carry_2", &ours, &starting, budget, &mut rows)?;
    }
    let mut ours = key_maker.install(|| Keys::<u64>::generate(GATES))?;
    let mut starting = key_maker.install(|| Keys::<u32>::generate(STARTING_GATES))?;
    let our_cases = Cases::signs(&mut ours, most)?;
    let starting_cases = Cases::signs(&mut starting, most)?;
    let ours = OurLookups::new(&ours, &our_cases);
    let starting = OurLookups::new(&starting, &starting_cases);
    compare("gates", &ours, &starting, budget, &mut rows)?;
    let counted = instructions::available();
    if !counted {
        eprintln!("no instructions are counted: install valgrind for the rows with counts");
    }
    let sets = ALL.iter().chain(&LOOSER);
    for (&new, &old) in sets.zip(&late_november_2026::ALL) {
        if counted {
            rows.push(match new.torus_bits {
                64 => instructions_beside_superseded::<u64>(new, old, &key_maker)?,
                _ => instructions_beside_superseded::<u32>(new, old, &key_maker)?,
            });
        }
        rows.push(match (new.torus_bits, new.plaintext) {
            (64, PlaintextKind::Radix) => {
                beside_superseded(new, old, &key_maker, budget, Cases::squares)?
            }
            (64, PlaintextKind::Boolean) => {
                beside_superseded(new, old, &key_maker, budget, Cases::<u64>::signs)?
            }
            _ => beside_superseded(new, old, &key_maker, budget, Cases::<u32>::signs)?,
        });
    }
    Ok(rows)
}

/// The instructions of one bootstrap of a shipped set beside those of the set that it supersedes.
fn instructions_beside_superseded<T: ProductTorus>(
    new: ParameterSet,
    old: ParameterSet,
    key_maker: &ThreadPool,
) -> Result<Row, BenchError> {
    eprintln!("{}: counting its instructions", new.name);
    Ok(Row::figures(
        format!("sets_{}_bootstrap_instructions", new.name),
        Unit::Instructions,
        instructions::of_bootstrap::<T>(new, key_maker)? as f64,
        Some(instructions::of_bootstrap::<T>(old, key_maker)? as f64),
        "one ciphertext, one thread, kernels for AVX2, counted by callgrind",
    ))
}

/// The time of one bootstrap of a shipped set beside that of the set that it supersedes.
fn beside_superseded<T: ProductTorus>(
    new: ParameterSet,
    old: ParameterSet,
    key_maker: &ThreadPool,
    budget: Duration,
    cases: impl Fn(&mut Keys<T>, usize) -> Result<Cases<T>, BenchError>,
) -> Result<Row, BenchError> {
    eprintln!("{}: timing it beside the set that it supersedes", new.name);
    let mut new_keys = key_maker.install(|| Keys::generate(new))?;
    let mut old_keys = key_maker.install(|| Keys::generate(old))?;
    let new_cases = cases(&mut new_keys, 1)?;
    let old_cases = cases(&mut old_keys, 1)?;
    let ours = OurLookups::new(&new_keys, &new_cases);
    let superseded = OurLookups::new(&old_keys, &old_cases);
    let note = sides(&ours, Some(&superseded));
    let [of_new, of_old] = pool(1)?.install(|| {
        let (mut ours, mut superseded) = (ours.bootstraps(1), superseded.bootstraps(1));
        interleave([(&mut ours, 1), (&mut superseded, 1)], budget / COMPARISONS)
    })?;
    let row = format!("sets_{}_bootstrap", new.name);
    Ok(Row::times(&row, of_new, Some(of_old), 1, note))
}

fn compare<T: ProductTorus, U: ProductTorus>(
    name: &str,
    ours: &OurLookups<'_, T>,
    starting: &OurLookups<'_, U>,
    budget: Duration,
    rows: &mut Vec<Row>,
) -> Result<(), BenchError> {
    let note = sides(ours, Some(starting));
    for batch in BATCHES {
        eprintln!("{name}: timing batches of {batch}");
        let [new, old] = pool(1)?.install(|| {
            let (mut ours, mut starting) = (ours.subject(batch), starting.subject(batch));
            interleave(
                [(&mut *ours, batch), (&mut *starting, batch)],
                budget / COMPARISONS,
            )
        })?;
        let row = format!("{name}_batch{batch}");
        rows.push(Row::times(&row, new, Some(old), 1, note.clone()));
    }
    let (new, old) = (ours.key_costs(), starting.key_costs());
    rows.push(Row::figures(
        format!("{name}_key_memory"),
        Unit::Bytes,
        new.memory as f64,
        Some(old.memory as f64),
        "bootstrapping and key-switching key, ready to compute",
    ));
    rows.push(Row::figures(
        format!("{name}_key_wire"),
        Unit::Bytes,
        new.wire as f64,
        Some(old.wire as f64),
        "as it travels",
    ));
    Ok(())
}
