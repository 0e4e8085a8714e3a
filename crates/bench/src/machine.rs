//! The description of the machine and the build: processor, system, compiler and its flags.

use std::thread::available_parallelism;
use std::{fmt, fs};

use serde::Serialize;
use tfhe_sbc_core::simd::Isa;
use tfhe_sbc_engine::caches;

/// Returns the largest amount of memory that this process has used so far, in bytes; `None` where the system does not tell.
pub(crate) fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = peak.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// The unit in which Linux counts processor time.
const TICKS_A_SECOND: f64 = 100.0;

/// Returns the processor time that this process has used so far, in seconds; `None` where the system does not tell. On a machine
/// that others use too it says more than the time on the clock.
pub(crate) fn processor_time() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The state and the numbers come after the name, which may hold anything.
    let (_, numbers) = stat.rsplit_once(')')?;
    let mut ticks = numbers.split_whitespace().skip(11);
    let mut next = || ticks.next()?.parse::<f64>().ok();
    Some((next()? + next()?) / TICKS_A_SECOND)
}

/// The lock file says which version of a peer this program was built with.
#[cfg(feature = "tfhe-rs")]
const LOCK_FILE: &str = include_str!("../../../Cargo.lock");

/// The machine and the build.
#[derive(Serialize)]
pub(crate) struct Machine {
    /// The processor, as it names itself.
    cpu: String,
    /// Family, model and stepping, which tell processors of one name apart.
    cpu_model: String,
    /// Cores that this process may use: the threads of rows that say no number.
    pub(crate) cores: usize,
    /// Caches of the first core.
    caches: Vec<Cache>,
    /// Instruction set that our kernels have detected and use.
    isa: &'static str,
    /// System and kernel.
    os: String,
    /// The mean number of runnable processes over the last minute when the run began. More than 0
    /// means other work on the machine.
    load_average: Option<f64>,
    /// Compiler.
    rustc: &'static str,
    /// Target triple.
    target: &'static str,
    /// Cargo profile.
    profile: &'static str,
    /// Optimisation level.
    opt_level: &'static str,
    /// Processor that the compiler was told to assume.
    target_cpu: &'static str,
    /// Instruction sets that the compiler assumed everywhere.
    target_features: &'static str,
    /// Further flags.
    rustflags: &'static str,
    /// The peer, built by the same compiler with the same flags.
    peer: Option<String>,
}

/// A cache of the first core. `size` is its number of KiB with a `K`.
#[derive(Serialize)]
struct Cache {
    name: String,
    size: String,
    #[serde(skip)]
    bytes: usize,
}

impl fmt::Display for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.size)
    }
}

impl Machine {
    /// Asks the system and remembers the build.
    pub(crate) fn detect() -> Self {
        let rustflags = env!("BENCH_RUSTFLAGS");
        Self {
            cpu: cpu_info("model name").unwrap_or_else(|| "unknown".to_owned()),
            cpu_model: ["cpu family", "model", "stepping"]
                .iter()
                .filter_map(|&field| Some(format!("{field} {}", cpu_info(field)?)))
                .collect::<Vec<_>>()
                .join(", "),
            cores: available_parallelism().map_or(1, usize::from),
            caches: caches(),
            isa: Isa::detect().name(),
            os: [
                Some(std::env::consts::OS.to_owned()),
                line("/proc/sys/kernel/osrelease"),
            ]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" "),
            load_average: line("/proc/loadavg")
                .and_then(|text| text.split(' ').next()?.parse().ok()),
            rustc: env!("BENCH_RUSTC"),
            target: env!("BENCH_TARGET"),
            profile: env!("BENCH_PROFILE"),
            opt_level: env!("BENCH_OPT_LEVEL"),
            target_cpu: rustflags
                .split_once("target-cpu=")
                .and_then(|(_, rest)| rest.split(' ').next())
                .unwrap_or("the target's default"),
            target_features: env!("BENCH_TARGET_FEATURES"),
            rustflags,
            peer: peer(),
        }
    }

    /// The bytes of the largest cache; 0 if unknown.
    pub(crate) fn largest_cache(&self) -> usize {
        self.caches
            .iter()
            .map(|cache| cache.bytes)
            .max()
            .unwrap_or(0)
    }

    /// Processor and flags in a line.
    pub(crate) fn summary(&self) -> String {
        format!(
            "{}, {} cores, {}, target-cpu: {}",
            self.cpu, self.cores, self.isa, self.target_cpu
        )
    }

    /// The table that stands above the figures.
    pub(crate) fn to_table(&self) -> comfy_table::Table {
        let mut machine = crate::text_table::table();
        for (name, value) in self.lines() {
            machine.add_row([name, &value]);
        }
        machine
    }

    /// Name and value of every field, for people.
    fn lines(&self) -> Vec<(&'static str, String)> {
        let mut cpu = self.cpu.clone();
        if !self.cpu_model.is_empty() {
            cpu = format!("{cpu} ({})", self.cpu_model);
        }
        let caches: Vec<String> = self.caches.iter().map(Cache::to_string).collect();
        let load = |load| format!("{load} when the run began");
        vec![
            ("processor", cpu),
            ("cores", self.cores.to_string()),
            ("caches", caches.join(", ")),
            ("instruction set", self.isa.to_owned()),
            ("system", self.os.clone()),
            (
                "load average",
                self.load_average.map_or("unknown".to_owned(), load),
            ),
            ("compiler", format!("{}, {}", self.rustc, self.target)),
            (
                "flags",
                format!(
                    "profile {}, opt-level {}, target-cpu {} ({})",
                    self.profile, self.opt_level, self.target_cpu, self.target_features
                ),
            ),
            ("RUSTFLAGS", self.rustflags.to_owned()),
            (
                "peer",
                self.peer.clone().unwrap_or_else(|| "none".to_owned()),
            ),
        ]
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .collect()
    }
}

fn peer() -> Option<String> {
    #[cfg(feature = "tfhe-rs")]
    {
        let version = LOCK_FILE
            .split_once("name = \"tfhe\"\nversion = \"")
            .and_then(|(_, rest)| rest.split('"').next())
            .unwrap_or("of unknown version");
        Some(format!("TFHE-rs {version}"))
    }
    #[cfg(not(feature = "tfhe-rs"))]
    None
}

/// The first value of a field of `/proc/cpuinfo`.
fn cpu_info(field: &str) -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == field).then(|| value.trim().to_owned())
    })
}

/// The caches of the first core.
fn caches() -> Vec<Cache> {
    let named = |cache: caches::Cache| {
        let kind = match &*cache.kind {
            "Data" => "d",
            "Instruction" => "i",
            _ => "",
        };
        Cache {
            name: format!("L{}{kind}", cache.level),
            size: format!("{}K", cache.bytes >> 10),
            bytes: cache.bytes,
        }
    };
    caches::caches().into_iter().map(named).collect()
}

fn line(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}
