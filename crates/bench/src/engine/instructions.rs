//! The instructions of one bootstrap, counted by Valgrind's callgrind. Counts repeat on a machine whose clock does
//! not. Valgrind has no AVX-512, so that the kernels are those for AVX2.
//!
//! Callgrind runs this program again, with a server key that was made before, and counts between the entry and the
//! exit of [`counted_bootstrap`] only.

use std::env;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};

use rayon::ThreadPool;
use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::{ParameterSet, PlaintextKind};
use tfhe_sbc_engine::bootstrap::{BootstrapError, Evaluator, Job};
use tfhe_sbc_engine::server_key::SeededServerKey;

use crate::engine::cases::Cases;
use crate::engine::contestant::pool;
use crate::error::BenchError;
use crate::keys::{Keys, seeded_server_key};

/// The option that makes this program the one that is counted.
pub(crate) const OPTION: &str = "count-bootstrap";

/// Returns whether callgrind can be started.
pub(crate) fn available() -> bool {
    let mut version = Command::new("valgrind");
    version
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    version.status().is_ok_and(|status| status.success())
}

/// Counts the instructions of one bootstrap on one thread under a new key of `set`.
///
/// # Errors
/// If the key cannot be made or written, if Valgrind fails, or if the answer is wrong.
pub(crate) fn of_bootstrap<T: ProductTorus>(
    set: ParameterSet,
    key_maker: &ThreadPool,
) -> Result<u64, BenchError> {
    let folder = tempfile::tempdir()?;
    let key = folder.path().join("server-key");
    let counts = folder.path().join("counts");
    let seeded = key_maker.install(|| seeded_server_key::<T>(set))?.1;
    fs::write(&key, seeded.to_bytes())?;
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--quiet", "--collect-atstart=no"]);
    valgrind.arg("--toggle-collect=*counted_bootstrap*");
    valgrind.arg(format!("--callgrind-out-file={}", counts.display()));
    valgrind.arg(env::current_exe()?).arg("sets");
    valgrind
        .arg(format!("--{OPTION}"))
        .arg(&key)
        .stdout(Stdio::null());
    if !valgrind.status()?.success() {
        return Err(BenchError::Callgrind("it failed".to_owned()));
    }
    let text = fs::read_to_string(&counts)?;
    let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
    let total = total.and_then(|total| total.trim().parse().ok());
    match total {
        Some(total) if total > 0 => Ok(total),
        _ => Err(BenchError::Callgrind("it counted nothing".to_owned())),
    }
}

/// Runs the bootstrap that is counted, with the server key in the file `key`.
///
/// # Errors
/// If the file is no server key, or if the answer is wrong.
pub(crate) fn run(key: &Path) -> Result<(), BenchError> {
    let bytes = fs::read(key)?;
    match SeededServerKey::<u64>::from_bytes(&bytes) {
        Ok(key) if key.parameters().plaintext() == PlaintextKind::Radix => {
            bootstrap(&key, Cases::squares)
        }
        Ok(key) => bootstrap(&key, Cases::signs),
        Err(_) => bootstrap(&SeededServerKey::<u32>::from_bytes(&bytes)?, Cases::signs),
    }
}

fn bootstrap<T: ProductTorus>(
    key: &SeededServerKey<T>,
    cases: impl Fn(&mut Keys<T>, usize) -> Result<Cases<T>, BenchError>,
) -> Result<(), BenchError> {
    let mut keys = Keys::of(key)?;
    let cases = cases(&mut keys, 1)?;
    let evaluator = Evaluator::new(&keys.server);
    let inputs = cases.inputs.iter().cloned();
    let table = &cases.table;
    let jobs: Vec<_> = inputs.map(|input| Job { input, table }).collect();
    // The pool's thread is the one that works, so that the call that is counted has to happen on it.
    let outputs = pool(1)?.install(|| counted_bootstrap(&evaluator, &jobs))?;
    let mut both = outputs.iter().zip(&cases.after);
    match both.all(|(output, &plaintext)| keys.holds(output, plaintext)) {
        true => Ok(()),
        false => Err(BenchError::WrongAnswer("the counted bootstrap".to_owned())),
    }
}

/// The bootstraps that are counted. Callgrind knows the function by its name.
#[inline(never)]
fn counted_bootstrap<T: ProductTorus>(
    evaluator: &Evaluator<'_, T>,
    jobs: &[Job<'_, T, T>],
) -> Result<Vec<LweCiphertext<T>>, BootstrapError> {
    black_box(evaluator.bootstrap_batch(black_box(jobs)))
}
