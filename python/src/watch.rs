//! Long work beside the interpreter: signals are heard, progress is told, and other threads
//! of Python run meanwhile.

use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use tfhe_sbc_columns::Progress;

/// The time between looks at signals and progress.
const TICK: Duration = Duration::from_millis(50);

/// Does `work` on another thread. `callback` is told how much of how much is done, the latter
/// 0 until that is known: while a computation is recorded, it is told so again and again. A signal,
/// or an exception in the callback, calls the work off.
pub(crate) fn watched<R: Send>(
    py: Python<'_>,
    callback: Option<Py<PyAny>>,
    work: impl FnOnce(&Progress) -> R + Send,
) -> PyResult<R> {
    check_process()?;
    let progress = Progress::default();
    let (result, stopped) = py.detach(|| {
        thread::scope(|scope| {
            let watcher = thread::current();
            let progress = &progress;
            let worker = scope.spawn(move || {
                let result = work(progress);
                watcher.unpark();
                result
            });
            let mut stopped = None;
            let mut told = (0, 0, 0);
            while !worker.is_finished() {
                thread::park_timeout(TICK);
                if stopped.is_none()
                    && let Err(error) =
                        Python::attach(|py| look(py, progress, callback.as_ref(), &mut told))
                {
                    progress.cancel();
                    stopped = Some(error);
                }
            }
            let result = worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (result, stopped)
        })
    });
    match stopped {
        Some(error) => Err(error),
        None => {
            if let Some(callback) = callback {
                let done = progress.bootstraps();
                callback.call1(py, (done, progress.expected_bootstraps().max(done)))?;
            }
            Ok(result)
        }
    }
}

fn look(
    py: Python<'_>,
    progress: &Progress,
    callback: Option<&Py<PyAny>>,
    told: &mut (u64, u64, u64),
) -> PyResult<()> {
    py.check_signals()?;
    let (done, expected) = (progress.bootstraps(), progress.expected_bootstraps());
    let recorded = match expected {
        0 => progress.recorded_lookups(),
        _ => told.2,
    };
    if let Some(callback) = callback
        && (done, expected, recorded) != *told
    {
        *told = (done, expected, recorded);
        callback.call1(py, (done, expected))?;
    }
    Ok(())
}

/// Refuses to compute in a process that was forked from one that had computed: the threads
/// have stayed there, and waiting for them would last for ever.
pub(crate) fn check_process() -> PyResult<()> {
    static PROCESS: OnceLock<u32> = OnceLock::new();
    let own = std::process::id();
    match *PROCESS.get_or_init(|| own) {
        process if process == own => Ok(()),
        _ => Err(PyRuntimeError::new_err(
            "this process was forked from one that has used tfhe_sbc, whose threads it has not: \
             start processes with multiprocessing.get_context('spawn')",
        )),
    }
}
