//! The running gateway.

use std::io::{Read, Write};
use std::net::SocketAddr;
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
use crate::options::{Arguments, Asking, Keys, Serve, Server, Shown, Task};
use crate::owner::Owner;
use crate::pushdown::StandingAnswers;
use crate::{demo, page, session, watch, wire};

/// The most questions that are asked at the same time: a server's queue has room for 8.
const TURNS: usize = 4;

/// What all sessions share.
pub(crate) struct Gateway {
    pub(crate) owner: Arc<Owner>,
    pub(crate) catalogue: Catalogue,
    pub(crate) journal: Journal,
    pub(crate) cache: Cache,
    /// The standing queries of the owner, whose answers go into the cache.
    pub(crate) standing: StandingAnswers,
    /// The questions that are asked at the same time.
    pub(crate) turns: Semaphore,
    /// Whether no readings are decrypted, only aggregates.
    pub(crate) aggregates_only: bool,
    /// The owner's own tables, by name.
    pub(crate) tables: Vec<(String, Arc<dyn TableProvider>)>,
}

impl Gateway {
    /// Reads the keys, connects to the server at `url` and opens the cache.
    pub(crate) async fn open(
        url: &str,
        shown: &Shown,
        keys: &Keys,
        asking: &Asking,
    ) -> Outcome<Arc<Self>> {
        let tables = own_tables(&asking.tables).await?;
        // The client of the server waits in a runtime of its own.
        let (owner, catalogue, cache) = tokio::task::block_in_place(|| -> Outcome<_> {
            let owner = Arc::new(Owner::open(keys, url, shown)?);
            let catalogue = Catalogue::open(Arc::clone(&owner))?;
            let directory = (!asking.no_cache).then_some(&*asking.cache);
            let cache = owner.cache(directory)?;
            Ok((owner, catalogue, cache))
        })?;
        Ok(Arc::new(Self {
            owner,
            catalogue,
            journal: Journal::default(),
            cache,
            standing: StandingAnswers::default(),
            turns: Semaphore::new(TURNS),
            aggregates_only: asking.aggregates_only,
            tables,
        }))
    }
}

/// Runs the program.
pub(crate) fn run(arguments: Arguments) -> Outcome<()> {
    match arguments.task {
        Task::Serve(arguments) => serve(&arguments),
        Task::Watch(arguments) => block_on(watch::run(&arguments)),
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
    let listening = &serving.listening;
    listening.check()?;
    block_on(async {
        let Server { to, shown } = &arguments.server;
        let gateway = Gateway::open(to, shown, &arguments.keys, &serving.asking).await?;
        let context = session::base(&gateway)?;
        let door = wire::Door::open(listening)?;
        let (listener, address) = listen(listening.listen, "--listen").await?;
        let mut stdout = std::io::stdout();
        let _ = writeln!(stdout, "listening on {address}");
        let page = match listening.no_page {
            true => None,
            false => {
                let (listener, address) = listen(listening.page, "--page").await?;
                let _ = writeln!(stdout, "page at http://{address}");
                Some(page::Page::new(
                    context.clone(),
                    listener,
                    address,
                    door.password(),
                ))
            }
        };
        let _ = stdout.flush();
        let paged = async {
            match page {
                Some(page) => page.serve().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            served = wire::serve(listener, door, context, serving.allow_clear_constants) => served,
            paged = paged => paged,
            () = ended(serving.until_stdin_ends) => Ok(()),
        }
    })
}

/// Runs the program's future. Threads that wait for the server or for a client are not waited for. The keys are zeroized when the last
/// of them is gone.
fn block_on(future: impl Future<Output = Outcome<()>>) -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(GatewayError::internal)?;
    let done = runtime.block_on(future);
    runtime.shutdown_timeout(std::time::Duration::from_secs(2));
    done
}

/// Listens on an address, which `option` chose. Returns it with the port that was taken.
pub(crate) async fn listen(
    address: SocketAddr,
    option: &str,
) -> Outcome<(TcpListener, SocketAddr)> {
    let refused = |error| {
        let message = format_args!("cannot listen on {address}: {error}");
        GatewayError::new(code::CONFIGURATION, message)
            .advise(format_args!("choose another address with {option}"))
    };
    let listener = TcpListener::bind(address).await.map_err(refused)?;
    let bound = listener.local_addr().map_err(GatewayError::internal)?;
    Ok((listener, bound))
}

/// Waits until the program is told to end.
pub(crate) async fn ended(with_stdin: bool) {
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
