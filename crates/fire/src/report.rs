//! The report of a run, for people and machines.

use std::fmt::{self, Write};
use std::fs;

use serde::Serialize;

use crate::attacks::Attacks;
use crate::chaos::Chaos;
use crate::load::Load;
use crate::server::Figures;

/// A whole run.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    pub(crate) machine: String,
    /// The server's costs before the first upload.
    pub(crate) idle: Option<Figures>,
    pub(crate) burst: Option<Load>,
    pub(crate) paced: Option<Load>,
    /// The seconds that the server took to end when asked to.
    pub(crate) drained_in: Option<f64>,
    pub(crate) attacks: Option<Attacks>,
    pub(crate) chaos: Option<Chaos>,
}

impl Report {
    pub(crate) fn new() -> Self {
        Self {
            machine: machine(),
            idle: None,
            burst: None,
            paced: None,
            drained_in: None,
            attacks: None,
            chaos: None,
        }
    }

    pub(crate) fn passed(&self) -> bool {
        [&self.burst, &self.paced]
            .into_iter()
            .flatten()
            .all(Load::passed)
            && self.attacks.as_ref().is_none_or(Attacks::passed)
            && self.chaos.as_ref().is_none_or(Chaos::passed)
    }

    /// Returns the page in Markdown.
    pub(crate) fn markdown(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) -> fmt::Result {
        write!(
            text,
            "# The server under fire\n\n\
             <!-- Made by `cargo xtask fire`; do not edit. -->\n\n\
             Made by `cargo xtask fire{}`, which starts the real server and the real agents. It \
             exits with an error if a receipt is wrong, if an attack is not refused, counted and logged as it must \
             be, if the server takes more memory than its limits allow, or if a row of an agent is lost, stored \
             twice or changed. The boards, the network and the \
             attackers share the machine with the server: {}.\n",
            options(std::env::args()),
            self.machine
        )?;
        self.write_load(text)?;
        if let Some(attacks) = &self.attacks {
            write_attacks(attacks, text)?;
        }
        if let Some(chaos) = &self.chaos {
            write_chaos(chaos, text)?;
        }
        Ok(())
    }

    fn write_load(&self, text: &mut String) -> fmt::Result {
        let loads = [
            (&self.burst, "as fast as they can"),
            (&self.paced, "at their own pace"),
        ];
        let Some((Some(first), _)) = loads.iter().find(|(load, _)| load.is_some()) else {
            return Ok(());
        };
        writeln!(
            text,
            "\n## {} boards\n\n\
             Each board has its own certificate and keeps one connection of mutual TLS 1.3 open. An upload \
             is {} rows of two columns, encrypted for this run, {:.1} kB. A receipt says that the upload is \
             on the disk. Times are measured from the first byte sent to the receipt, retries included. Boards \
             that upload at their own pace start at different moments.\n\n\
             | | uploads/s | p50 | p90 | p99 | p99.9 | longest | uploads | attempts without receipt |\n\
             |---|--:|--:|--:|--:|--:|--:|--:|--:|",
            first.boards,
            crate::readings::ROWS,
            first.bytes as f64 / 1e3 / first.uploads.max(1) as f64,
        )?;
        for (load, how) in loads {
            let Some(load) = load else { continue };
            let pace = load.interval_seconds.map_or(String::new(), |interval| {
                format!(", one in {interval:.2} s")
            });
            let latency = load.latency;
            writeln!(
                text,
                "| {how}{pace}, {:.0} s | {:.0} | {} | {} | {} | {} | {} | {} | {} |",
                load.seconds,
                load.uploads_per_second,
                milliseconds(latency.p50),
                milliseconds(latency.p90),
                milliseconds(latency.p99),
                milliseconds(latency.p999),
                milliseconds(latency.max),
                load.uploads,
                load.without_receipt.values().sum::<u64>(),
            )?;
        }
        writeln!(
            text,
            "\n| | rows/s | bytes/s | server's processor time, of one core | its memory at the end | its memory at most | connections opened | boards without any receipt |\n\
             |---|--:|--:|--:|--:|--:|--:|--:|"
        )?;
        for (load, how) in loads {
            let Some(load) = load else { continue };
            writeln!(
                text,
                "| {how} | {:.0} | {} | {:.0} % | {} | {} | {} | {} |",
                load.rows as f64 / load.seconds,
                megabytes((load.bytes as f64 / load.seconds) as u64),
                100.0 * load.server_cpu_share,
                megabytes(load.server.memory),
                megabytes(load.server.peak_memory),
                load.connections,
                load.boards_without_any_receipt,
            )?;
        }
        if let Some(idle) = &self.idle {
            writeln!(
                text,
                "\nBefore the first upload the server used {}, most of it for the prepared server key.",
                megabytes(idle.memory)
            )?;
        }
        if let Some(seconds) = self.drained_in {
            writeln!(
                text,
                "The server ended within {seconds:.2} s of being asked to."
            )?;
        }
        Ok(())
    }
}

fn write_attacks(attacks: &Attacks, text: &mut String) -> fmt::Result {
    writeln!(
        text,
        "\n## Attacks\n\n\
         All attempts of an attack are made at once, as many as the table says. The server must refuse each \
         attempt, count it by the reason in its metrics, and log it, and it must store nothing. There are two \
         exceptions: the first copy of a replayed upload is stored, and the others get its receipt; and one \
         certificate may have 16 connections. A good board uploads meanwhile, and must get each receipt within \
         3 s.\n\n\
         | attack | attempts | what the attacker saw | counter | counted | logged | stored | good uploads | longest wait of a good upload |\n\
         |---|--:|---|---|--:|--:|--:|--:|--:|"
    )?;
    for attack in &attacks.attacks {
        let seen: Vec<String> = attack
            .seen
            .iter()
            .map(|(what, times)| match attack.seen.len() {
                1 => what.clone(),
                _ => format!("{times} × {what}"),
            })
            .collect();
        let counter = attack.counter.trim_start_matches("tfhe_sbc_");
        writeln!(
            text,
            "| {}{} | {} | {} | `{counter}` | {} | {} | {} | {} | {} |",
            if attack.passed { "" } else { "**FAILED** " },
            attack.name,
            attack.attempts,
            seen.join(", "),
            attack.counted,
            attack
                .logged
                .map_or("–".to_owned(), |lines| lines.to_string()),
            attack.stored,
            attack.good_uploads,
            milliseconds(attack.good_upload_ms),
        )?;
    }
    let memory = attacks.memory;
    writeln!(
        text,
        "\nDuring all attacks the server's memory rose from {} to at most {}. Its limits allow {}: its \
         memory when idle, four times `--max-buffered-bytes` (here 8 MiB), because the allocator keeps \
         memory that was freed, and 128 KiB for each of the {} connections.",
        megabytes(memory.idle),
        megabytes(memory.peak),
        megabytes(memory.bound),
        memory.most_connections,
    )
}

fn write_chaos(chaos: &Chaos, text: &mut String) -> fmt::Result {
    writeln!(
        text,
        "\n## Failures\n\n\
         {} agents (`tfhe-sbc agent`) read files that grow all the time and send batches to the server \
         through a network that disturbs most connections, for {:.0} s. The seed {} determines all random \
         choices. In the end the key owner decrypts everything that the server has and compares it with \
         what the agents were given.\n\n| event | times |\n|---|--:|",
        chaos.agents, chaos.seconds, chaos.seed
    )?;
    for (event, times) in &chaos.events {
        writeln!(text, "| {event} | {times} |")?;
    }
    for (fate, times) in &chaos.network {
        writeln!(text, "| connection {fate} | {times} |")?;
    }
    for skipped in &chaos.skipped {
        writeln!(text, "| **not done:** {skipped} | 0 |")?;
    }
    let answers: Vec<String> = chaos
        .answers
        .iter()
        .map(|(status, times)| format!("{times} × {status}"))
        .collect();
    writeln!(
        text,
        "\nThe server answered uploads with {}. 201 is a new upload. 200 is an upload that was already \
         there: an agent sent it again because its receipt was lost, or the attacker that repeats old \
         uploads sent it ({} receipts). 507 is a full disk. The server's store has its own disk, and so has \
         the spool of one agent. An agent whose disk is full reads no further.\n\n\
         | rows given | rows lost | rows there twice | rows with other readings | rows from nowhere | uploads stored | all there after |\n\
         |--:|--:|--:|--:|--:|--:|--:|\n\
         | {} | {} | {} | {} | {} | {} | {} |",
        answers.join(", "),
        chaos.replayed,
        chaos.rows,
        chaos.lost,
        chaos.twice,
        chaos.wrong,
        chaos.foreign,
        chaos.uploads,
        chaos
            .recovered_in
            .map_or("**never**".to_owned(), |seconds| format!("{seconds:.1} s")),
    )
}

fn milliseconds(value: f64) -> String {
    if value < 10.0 {
        format!("{value:.1} ms")
    } else if value < 10_000.0 {
        format!("{value:.0} ms")
    } else {
        format!("{:.1} s", value / 1e3)
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// Returns the options that say what is done, without those that name files.
fn options(arguments: impl Iterator<Item = String>) -> String {
    let mut arguments = arguments.skip(1);
    let mut text = String::new();
    while let Some(argument) = arguments.next() {
        if ["--program", "--report", "--json", "--directory"].contains(&argument.as_str()) {
            arguments.next();
        } else {
            text = text + " " + &argument;
        }
    }
    text
}

/// Returns processor, cores, memory and system in words.
fn machine() -> String {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let (cpu, memory) = (read("/proc/cpuinfo"), read("/proc/meminfo"));
    let model = cpu.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == "model name").then(|| value.trim().to_owned())
    });
    let kilobytes: Option<u64> = memory.lines().find_map(|line| {
        line.strip_prefix("MemTotal:")?
            .split_whitespace()
            .next()?
            .parse()
            .ok()
    });
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!(
        "{}, {cores} threads, {:.0} GB of memory, Linux {}, load {} at the start",
        model.as_deref().unwrap_or("a processor without name"),
        kilobytes.unwrap_or(0) as f64 / 1e6,
        read("/proc/sys/kernel/osrelease")
            .trim()
            .split('-')
            .next()
            .unwrap_or_default(),
        read("/proc/loadavg").split(' ').next().unwrap_or("unknown"),
    )
}
