//! `watch`: a statement that is asked again and again, and whose decrypted answers go where people look.
//!
//! Each target has a queue of its own, so that one that is away delays no other. What it has missed it gets when it is back.

mod files;
mod http;
mod influx;
mod mqtt;
mod prometheus;
mod target;
mod webhook;

use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::prelude::SessionContext;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::answers::{self, Answer};
use crate::error::{GatewayError, Outcome, code};
use crate::options::Watch;
use crate::page::set_limit;
use crate::serve::{Gateway, ended};
use crate::session;
use crate::wire::errors;

use target::Sink;
pub(crate) use target::Target;

/// The most answers that wait for a target; further ones are not sent to it.
const MOST_WAITING: usize = 1000;
/// The pause before a target or the server is tried again; it doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The attempts to deliver with `--once`.
const ATTEMPTS: u32 = 4;
/// The time that targets have for what waits when the program is told to end.
const FAREWELL: Duration = Duration::from_secs(10);

/// An answer as targets get it.
pub(crate) struct Delivery {
    /// The rows to send: with a condition, those that meet it.
    pub(crate) answer: Answer,
    /// True if a row meets the condition of `--when`, false if none does, and `None` if no condition was given.
    pub(crate) is_alert: Option<bool>,
}

/// A target with its queue.
struct Queue {
    name: String,
    sender: mpsc::Sender<Arc<Delivery>>,
    /// Ends with the number of answers that were not delivered.
    work: JoinHandle<usize>,
}

/// Watches until the program is told to end, or asks once.
///
/// # Errors
/// If the statement is refused the first time, or with `--once` an answer could not be delivered.
pub(crate) async fn run(arguments: &Watch) -> Outcome<()> {
    check(arguments)?;
    let mut sinks = Vec::new();
    for target in &arguments.targets {
        let sink = Sink::open(target, arguments).await?;
        sinks.push((target.to_string(), sink));
    }
    let gateway = Gateway::open(
        &arguments.server,
        &arguments.shown,
        &arguments.keys,
        &arguments.asking,
    )
    .await?;
    let context = session::of_client(&session::base(&gateway)?);
    set_limit(&context, arguments.max_bootstraps);
    let attempts = arguments.once.then_some(ATTEMPTS);
    let queues = sinks.into_iter().map(|(name, sink)| {
        let (sender, receiver) = mpsc::channel(MOST_WAITING);
        let work = tokio::spawn(feed(name.clone(), sink, receiver, attempts));
        Queue { name, sender, work }
    });
    let queues: Vec<Queue> = queues.collect();
    let asked = tokio::select! {
        asked = ask_again_and_again(arguments, &context, &queues) => asked,
        () = ended(arguments.until_stdin_ends) => Ok(()),
    };
    let mut lost = None;
    for Queue { name, sender, work } in queues {
        drop(sender);
        let wait = match arguments.once {
            true => Duration::MAX,
            false => FAREWELL,
        };
        let left = tokio::time::timeout(wait, work).await;
        let left = left.map_or(1, |left| left.unwrap_or(1));
        if left > 0 {
            lost = Some(name);
        }
    }
    asked?;
    match lost {
        Some(name) => {
            let message = format_args!("answers were not delivered to {name}");
            let error = GatewayError::new(code::CONNECTION, message);
            Err(error.advise("its errors are above"))
        }
        None => Ok(()),
    }
}

/// Refuses options that would do nothing.
fn check(arguments: &Watch) -> Outcome<()> {
    let has = |is: fn(&Target) -> bool| arguments.targets.iter().any(is);
    let has_mqtt = has(|target| matches!(target, Target::Mqtt { .. }));
    let has_influx = has(|target| matches!(target, Target::Influx { .. }));
    let has_webhook = has(|target| matches!(target, Target::Webhook(_)));
    let has_page = has(|target| matches!(target, Target::Prometheus(_)));
    let unused = [
        (
            arguments.home_assistant && !has_mqtt,
            "--home-assistant",
            "--to mqtt://HOST/TOPIC",
        ),
        (
            arguments.mqtt_login.is_some() && !has_mqtt,
            "--mqtt-login",
            "--to mqtt://HOST/TOPIC",
        ),
        (
            arguments.mqtt_ca.is_some() && !has_mqtt,
            "--mqtt-ca",
            "--to mqtts://HOST/TOPIC",
        ),
        (
            arguments.influx_login.is_some() && !has_influx,
            "--influx-login",
            "--to influx+http://HOST:8086/DATABASE",
        ),
        (
            arguments.webhook_login.is_some() && !has_webhook,
            "--webhook-login",
            "--to https://…",
        ),
    ];
    if let Some((_, option, target)) = unused.iter().find(|(is_unused, ..)| *is_unused) {
        let message = format_args!("{option} does nothing without {target}");
        let error = GatewayError::new(code::CONFIGURATION, message);
        return Err(error.advise("add the target, or leave the option out"));
    }
    if arguments.once && has_page {
        let message = "a page of metrics would be gone when --once ends";
        let error = GatewayError::new(code::CONFIGURATION, message);
        return Err(error.advise("leave --once out, or send to a file"));
    }
    Ok(())
}

/// Asks at once and then at each period, and puts the answers into the queues.
async fn ask_again_and_again(
    arguments: &Watch,
    context: &SessionContext,
    queues: &[Queue],
) -> Outcome<()> {
    let mut clock = tokio::time::interval(arguments.every);
    // After a night's sleep of the machine, once and not a hundred times.
    clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    let mut is_first = true;
    loop {
        clock.tick().await;
        let delivery = match answer(arguments, context).await {
            Ok(delivery) => Arc::new(delivery),
            // Who watches for long sees the next answer.
            Err(error) if !is_first && !arguments.once => {
                tracing::warn!("no answer this time: {error}");
                continue;
            }
            Err(error) => return Err(error),
        };
        is_first = false;
        for queue in queues {
            if queue.sender.try_send(Arc::clone(&delivery)).is_err() {
                let name = &queue.name;
                tracing::error!("{name} has been away for too long: an answer is not sent there");
            }
        }
        if arguments.once {
            return Ok(());
        }
    }
}

/// Asks the statement. A server that cannot be reached is asked again until the next answer is due.
async fn answer(arguments: &Watch, context: &SessionContext) -> Outcome<Delivery> {
    let until = Instant::now() + arguments.every;
    let mut pause = FIRST_PAUSE;
    loop {
        let started = Instant::now();
        let error = match answers::ask(context, &arguments.sql).await {
            Ok(answer) => {
                let delivery = choose(arguments, answer).await?;
                let rows = delivery.answer.rows.num_rows();
                let seconds = started.elapsed().as_secs_f64();
                tracing::info!(rows, "an answer after {seconds:.1} s");
                return Ok(delivery);
            }
            Err(error) => errors::plain(&error),
        };
        let is_temporary = matches!(error.code(), code::CONNECTION | code::NOT_CONNECTED);
        if !is_temporary || arguments.once || Instant::now() + pause >= until {
            return Err(error);
        }
        tracing::warn!("{error}; asking again");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Keeps the rows that meet the condition, if there is one.
async fn choose(arguments: &Watch, answer: Answer) -> Outcome<Delivery> {
    let Some(condition) = &arguments.when else {
        return Ok(Delivery {
            answer,
            is_alert: None,
        });
    };
    let chosen = answer.filtered(condition).await.map_err(|error| {
        let columns = answer.columns();
        let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
        let error = errors::plain(&error);
        GatewayError::new(error.code(), format_args!("--when: {error}")).advise(format_args!(
            "the answer's columns are {}",
            names.join(", ")
        ))
    })?;
    Ok(Delivery {
        is_alert: Some(chosen.rows.num_rows() > 0),
        answer: chosen,
    })
}

/// Sends what comes through a queue to a target, in order, until the queue is closed. Without a limit of attempts, an answer is tried
/// until it is delivered, or the target says that it cannot take it. Returns the number of answers that were not delivered.
async fn feed(
    name: String,
    mut sink: Sink,
    mut deliveries: mpsc::Receiver<Arc<Delivery>>,
    attempts: Option<u32>,
) -> usize {
    let mut lost = 0;
    while let Some(delivery) = deliveries.recv().await {
        let mut pause = FIRST_PAUSE;
        let mut attempt = 1;
        while let Err(error) = sink.deliver(&delivery).await {
            let hint = error
                .hint()
                .map_or(String::new(), |hint| format!(" ({hint})"));
            if error.code() == code::DATA {
                // Nor would it take the same answer later, and others wait behind it.
                tracing::error!("{name} cannot take an answer, which is left out: {error}{hint}");
                lost += 1;
                break;
            }
            tracing::warn!("{name}: {error}{hint}");
            if attempts.is_some_and(|attempts| attempt >= attempts) {
                lost += 1;
                break;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            attempt += 1;
        }
    }
    lost
}
