//! The running gateway.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::prelude::{CsvReadOptions, ParquetReadOptions, SessionContext};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::cache::Cache;
use crate::catalogue::Catalogue;
use crate::error::{GatewayError, Outcome, code};
use crate::journal::Journal;
use crate::options::{Arguments, Serve, Task};
use crate::owner::Owner;
use crate::{demo, session, wire};

/// The most questions that are asked at the same time: a server's queue has room for 8.
const TURNS: usize = 4;

/// What all sessions share.
pub(crate) struct Gateway {
    pub(crate) owner: Arc<Owner>,
    pub(crate) catalogue: Catalogue,
    pub(crate) journal: Journal,
    pub(crate) cache: Cache,
    /// The questions that are asked at the same time.
    pub(crate) turns: Semaphore,
    /// Whether no readings are decrypted, only aggregates.
    pub(crate) aggregates_only: bool,
    /// The owner's own tables, by name.
    pub(crate) tables: Vec<(String, Arc<dyn TableProvider>)>,
}

/// Runs the program.
pub(crate) fn run(arguments: Arguments) -> Outcome<()> {
    match arguments.task {
        Task::Serve(arguments) => serve(&arguments),
        Task::Demo(arguments) => {
            arguments.serving.listening.check()?;
            // The server ends after the gateway.
            let (_server, arguments) = demo::prepare(*arguments)?;
            serve(&arguments)
        }
    }
}

fn serve(arguments: &Serve) -> Outcome<()> {
    let serving = &arguments.serving;
    serving.listening.check()?;
    let owner = Arc::new(Owner::open(&arguments.keys, &arguments.server)?);
    let catalogue = Catalogue::open(Arc::clone(&owner))?;
    let directory = (!serving.no_cache).then_some(&*serving.cache);
    let cache = owner.cache(directory)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(GatewayError::internal)?;
    let served = runtime.block_on(async {
        let gateway = Gateway {
            owner,
            catalogue,
            journal: Journal::default(),
            cache,
            turns: Semaphore::new(TURNS),
            aggregates_only: serving.aggregates_only,
            tables: own_tables(&serving.tables).await?,
        };
        let gateway = Arc::new(gateway);
        let context = session::base(&gateway)?;
        let door = wire::Door::open(&serving.listening)?;
        let listener = TcpListener::bind(serving.listening.listen).await;
        let listener = listener.map_err(|error| {
            GatewayError::new(
                code::CONFIGURATION,
                format_args!("cannot listen on {}: {error}", serving.listening.listen),
            )
            .advise("choose another address with --listen")
        })?;
        let address = listener.local_addr().map_err(GatewayError::internal)?;
        let mut stdout = std::io::stdout();
        let _ = writeln!(stdout, "listening on {address}").and_then(|()| stdout.flush());
        tokio::select! {
            served = wire::serve(listener, door, context, serving.allow_clear_constants) => served,
            () = ended(serving.until_stdin_ends) => Ok(()),
        }
    });
    // Threads that wait for the server or for a client are not waited for. The keys are zeroized when the last of them is gone.
    runtime.shutdown_timeout(std::time::Duration::from_secs(2));
    served
}

/// Waits until the program is told to end.
async fn ended(with_stdin: bool) {
    let stdin = async {
        match with_stdin {
            true => {
                let (sender, receiver) = tokio::sync::oneshot::channel();
                // Not a thread of the runtime, which would wait for it.
                std::thread::spawn(move || {
                    let mut bytes = [0; 256];
                    while matches!(std::io::stdin().read(&mut bytes), Ok(1..)) {}
                    let _ = sender.send(());
                });
                let _ = receiver.await;
            }
            false => std::future::pending().await,
        }
    };
    let terminated = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => {
                signal.recv().await;
            }
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        () = stdin => {}
        () = terminated => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}

/// Reads the definitions of the owner's own tables.
async fn own_tables(
    tables: &[(String, std::path::PathBuf)],
) -> Outcome<Vec<(String, Arc<dyn TableProvider>)>> {
    let context = SessionContext::new();
    let mut found = Vec::with_capacity(tables.len());
    for (name, file) in tables {
        let table = own_table(&context, file).await;
        let table = table.map_err(|error| {
            GatewayError::new(
                code::CONFIGURATION,
                format_args!("the table {name}: {}: {error}", file.display()),
            )
            .advise("name a CSV file with a header or a Parquet file")
        })?;
        found.push((name.clone(), table));
    }
    Ok(found)
}

async fn own_table(
    context: &SessionContext,
    file: &Path,
) -> datafusion::error::Result<Arc<dyn TableProvider>> {
    let path = file.to_string_lossy();
    let frame = match file.extension().and_then(|extension| extension.to_str()) {
        Some("parquet") => {
            let options = ParquetReadOptions::default();
            context.read_parquet(path.as_ref(), options).await?
        }
        _ => {
            let options = CsvReadOptions::default();
            context.read_csv(path.as_ref(), options).await?
        }
    };
    // A table of the owner's is small, and read once.
    frame
        .cache()
        .await
        .map(datafusion::dataframe::DataFrame::into_view)
}
