//! The signals that stop the agent: SIGTERM and ctrl-c.

use std::sync::mpsc;

use tokio::signal::unix::{SignalKind, signal};

use crate::clock::Stop;
use crate::error::AgentError;

/// Stops at the first signal; a second one ends the process at once.
pub(super) fn stop_on_signal(stop: &Stop) -> Result<(), AgentError> {
    let stop = stop.clone();
    let (installed, waiting) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = match runtime {
            Ok(runtime) => runtime,
            Err(error) => return drop(installed.send(Err(error))),
        };
        runtime.block_on(async {
            let both = signal(SignalKind::terminate())
                .and_then(|terminate| Ok((terminate, signal(SignalKind::interrupt())?)));
            let (mut terminate, mut interrupt) = match both {
                Ok(both) => both,
                Err(error) => return drop(installed.send(Err(error))),
            };
            let _ = installed.send(Ok(()));
            for again in [false, true] {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
                if again {
                    std::process::exit(1);
                }
                stop.stop();
            }
        });
    });
    match waiting.recv() {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(AgentError::new(
            format_args!("signals cannot be waited for: {error}"),
            "this is a fault of the system",
        )),
        Err(_) => Err(AgentError::new(
            "the thread that waits for signals ended",
            "this is a fault of the system",
        )),
    }
}
