//! `params find`: from what an application needs to a parameter set.

mod answer;
mod for_machines;
mod picture;
mod values;

use std::path::PathBuf;
use std::time::Instant;

use clap::{Args, ValueEnum};
use tfhe_sbc_core::parameters::{ParameterName, ParameterSet, Parameters, PlaintextKind};
use tfhe_sbc_engine::circuit::Circuit;
use tfhe_sbc_engine::gates;
use tfhe_sbc_oracle::cost::CostModel;
use tfhe_sbc_oracle::noise_budget::BootstrapOrder;
use tfhe_sbc_oracle::parameter_file::{name_suffix, to_toml, weakness};
use tfhe_sbc_oracle::search::{
    Bounds, Candidate, Count, Engine, Found, NoiseKind, NotFound, Pricing, Request, Secrets, Shape,
    Weights, find_beside,
};

use answer::Answer;
use values::{bytes, deviation, name, probability, weights};

use crate::failure::{Explain, Outcome, failure};
use crate::{output, progress};

/// Finds the parameter set for a task: every dimension, noise and decomposition, with what it
/// costs, how often it fails and how secure it is, and the alternatives.
///
/// By default a bootstrap of blocks of 2 message and 2 carry bits fails with at most 2^-128, and keys have
/// 128 bits of security. Times are those of this machine if `params calibrate` has seen it.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc params find --message 1 --carry 1 --minimise latency:1,key:0.5 --out own.toml\n  tfhe-sbc params find --boolean --max-upload 1200 --plot front.svg"
)]
pub(crate) struct Arguments {
    /// Message bits of a block
    #[arg(long, value_name = "BITS", default_value_t = 2, conflicts_with_all = ["boolean", "precision"])]
    message: u32,
    /// Carry bits of a block
    #[arg(long, value_name = "BITS", default_value_t = 2, conflicts_with_all = ["boolean", "precision"])]
    carry: u32,
    /// Bits of a block in all, without carry: instead of --message and --carry
    #[arg(long, value_name = "BITS", conflicts_with = "boolean")]
    precision: Option<u32>,
    /// Booleans for gates instead of blocks
    #[arg(long)]
    boolean: bool,
    /// The 2-norm of the linear step between two bootstraps, up to which results are added: by default
    /// what message and carry bits allow
    #[arg(long, value_name = "NU")]
    norm: Option<f64>,
    /// The most often that a bootstrap may fail: 2^-128, or a number such as 1e-12
    #[arg(long, value_name = "P", default_value = "2^-128", value_parser = probability, allow_negative_numbers = true)]
    p_fail: f64,
    /// The security of the keys in bits, 80 to 192
    #[arg(long, value_name = "BITS", default_value_t = 128.0)]
    lambda: f64,
    /// log2 of the modulus of GLWE ciphertexts, 32 or 64
    #[arg(long, value_name = "BITS", default_value_t = 64)]
    torus: u32,
    /// The distribution of the noise that devices draw
    #[arg(long, value_enum, default_value = "gaussian")]
    noise: NoiseOption,
    /// The distribution of keys: by default blocks for this engine, binary for others
    #[arg(long, value_enum)]
    secret: Option<SecretOption>,
    /// The order of key switch and bootstrap
    #[arg(long, value_enum, default_value = "key-switch-first")]
    order: OrderOption,
    /// The library that runs the set
    #[arg(long = "for", value_enum, default_value = "tfhe-sbc")]
    engine: EngineOption,
    /// The quantity to minimise: latency (of one bootstrap), throughput (in batches), key, upload,
    /// or a mix such as latency:1,key:0.5
    #[arg(long, value_name = "WHAT", default_value = "latency", value_parser = weights)]
    minimise: Weights,
    /// The largest polynomial size N
    #[arg(long, value_name = "N")]
    max_n: Option<usize>,
    /// The largest dimension of the small key
    #[arg(long, value_name = "n")]
    max_lwe_dimension: Option<usize>,
    /// The largest server key as it travels, such as 16MiB
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    max_key: Option<f64>,
    /// The most memory for the server key, such as 64MiB
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    max_memory: Option<f64>,
    /// The largest upload of 1024 blocks, such as 1.5KiB
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    max_upload: Option<f64>,
    /// The most bits of every coefficient of an upload's body
    #[arg(long, value_name = "BITS")]
    max_body_bits: Option<u32>,
    /// The most bits of every coefficient of a public-key upload's mask
    #[arg(long, value_name = "BITS")]
    max_mask_bits: Option<u32>,
    /// The longest time of one bootstrap, in milliseconds
    #[arg(long, value_name = "MS")]
    max_latency: Option<f64>,
    /// The polynomial size N, and no other
    #[arg(long, value_name = "N")]
    polynomial_size: Option<usize>,
    /// The number k of mask polynomials, and no other
    #[arg(long, value_name = "k")]
    glwe_dimension: Option<usize>,
    /// The block size of the small key, 1 to 5, and no other
    #[arg(long, value_name = "BITS")]
    block_size: Option<u32>,
    /// The noise of GLWE ciphertexts as a standard deviation over q, such as 2^-25, and no other: for
    /// comparison with published sets, or because it is in use
    #[arg(long, value_name = "SIGMA", value_parser = deviation)]
    glwe_sigma: Option<f64>,
    /// The count of attacks in which the keys reach --lambda
    #[arg(long, value_enum, default_value = "strict")]
    count: CountOption,
    /// Allow a set that is too weak to use
    #[arg(long)]
    insecure_for_tests: bool,
    /// Ciphertexts of a batch
    #[arg(long, value_name = "COUNT", default_value_t = 8)]
    batch: usize,
    /// Threads
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    threads: usize,
    /// The cost model: `built-in`, or a file of `params calibrate`; by default this machine's if
    /// there is one
    #[arg(long, value_name = "FILE")]
    cost: Option<String>,
    /// The name of the set
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: Option<String>,
    /// Print JSON
    #[arg(long, conflicts_with_all = ["toml", "rust"])]
    json: bool,
    /// Print the set as a parameter file for keygen
    #[arg(long, conflicts_with = "rust")]
    toml: bool,
    /// Print the set as a Rust constant
    #[arg(long)]
    rust: bool,
    /// Write the set as a parameter file for keygen
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Draw time against the size of the server key for several failure probabilities
    #[arg(long, value_name = "SVG")]
    plot: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum NoiseOption {
    /// Gaussian
    Gaussian,
    /// Bounded and almost uniform
    Tuniform,
}

#[derive(Clone, Copy, ValueEnum)]
enum CountOption {
    /// The lattice estimator's
    Customary,
    /// The lattice estimator's, and the strict one
    Strict,
}

#[derive(Clone, Copy, ValueEnum)]
enum SecretOption {
    /// Both keys uniform over 0 and 1
    Binary,
    /// The small key in blocks of up to 3 with at most a single 1
    Blocks,
    /// The GLWE key uniform over -1, 0 and 1
    Ternary,
    /// The small key being the first coefficients of the GLWE key
    Shared,
}

#[derive(Clone, Copy, ValueEnum)]
enum OrderOption {
    /// Ciphertexts live under the big key
    KeySwitchFirst,
    /// Ciphertexts live under the small key
    BootstrapFirst,
}

#[derive(Clone, Copy, ValueEnum)]
enum EngineOption {
    /// This project's engine
    TfheSbc,
    /// TFHE-rs; costs are counted operations
    TfheRs,
    /// TFHEpp; costs are counted operations
    Tfhepp,
}

/// The failure probabilities, as log2, that a picture shows beside the one asked for.
const LADDER: [f64; 4] = [-40.0, -64.0, -96.0, -160.0];

impl Arguments {
    fn request(&self) -> Outcome<Request> {
        let (plaintext, message, carry) = match (self.boolean, self.precision) {
            (true, _) => (PlaintextKind::Boolean, 1, 1),
            (false, Some(precision)) => (PlaintextKind::Radix, precision, 0),
            (false, None) => (PlaintextKind::Radix, self.message, self.carry),
        };
        let mut request = Request::new(plaintext, message, carry);
        if let Some(norm) = self.norm {
            // Budgets are counted in whole ciphertexts. A number that does not fit a u32 is refused
            // as too large, a text that is no number as 0.
            request.noise_level = norm.ceil() as u32;
        }
        let for_gates = self.boolean && matches!(self.engine, EngineOption::TfheSbc);
        if for_gates && request.noise_level < gates::NOISE_LEVEL {
            return Err(failure(
                format_args!(
                    "a 2-norm of {} for booleans: gates need {}",
                    request.noise_level,
                    gates::NOISE_LEVEL
                ),
                "leave out --norm: a gate on two multiplexer outputs sums four bootstraps",
            ));
        }
        request.engine = match self.engine {
            EngineOption::TfheSbc => Engine::TfheSbc,
            EngineOption::TfheRs => Engine::TfheRs,
            EngineOption::Tfhepp => Engine::Tfhepp,
        };
        request.secrets = match (self.secret, request.engine) {
            (Some(SecretOption::Binary), _) => Secrets::Binary,
            (Some(SecretOption::Blocks), _) | (None, Engine::TfheSbc) => Secrets::Blocks,
            (Some(SecretOption::Ternary), _) => Secrets::Ternary,
            (Some(SecretOption::Shared), _) => Secrets::Shared,
            (None, Engine::TfheRs | Engine::Tfhepp) => Secrets::Binary,
        };
        request.log2_p_fail = self.p_fail;
        request.lambda = self.lambda;
        request.torus_bits = self.torus;
        request.count = match self.count {
            CountOption::Customary => Count::Customary,
            CountOption::Strict => Count::Strict,
        };
        request.noise = match self.noise {
            NoiseOption::Gaussian => NoiseKind::Gaussian,
            NoiseOption::Tuniform => NoiseKind::TUniform,
        };
        request.order = match self.order {
            OrderOption::KeySwitchFirst => BootstrapOrder::KeySwitchFirst,
            OrderOption::BootstrapFirst => BootstrapOrder::BootstrapFirst,
        };
        request.glwe_sigma = self.glwe_sigma;
        request.shape = Shape {
            polynomial_size: self.polynomial_size,
            glwe_dimension: self.glwe_dimension,
            block_size: self.block_size,
        };
        request.minimise = self.minimise;
        let none = Bounds::NONE;
        request.bounds = Bounds {
            polynomial_size: self.max_n.unwrap_or(none.polynomial_size),
            lwe_dimension: self.max_lwe_dimension.unwrap_or(none.lwe_dimension),
            key_bytes: self.max_key.unwrap_or(none.key_bytes),
            memory_bytes: self.max_memory.unwrap_or(none.memory_bytes),
            upload_bytes: self.max_upload.unwrap_or(none.upload_bytes),
            body_bits: self.max_body_bits.unwrap_or(none.body_bits),
            public_key_mask_bits: self.max_mask_bits.unwrap_or(none.public_key_mask_bits),
            latency: self.max_latency.map_or(none.latency, |ms| ms * 1e-3),
            ..none
        };
        Ok(request)
    }

    /// Returns the name of the set: the one given, or one that tells what is weak about it.
    fn set_name(&self, request: &Request, best: &Candidate) -> Outcome<ParameterName> {
        let suffix = name_suffix(best.levels.bits().min(request.lambda), request.log2_p_fail);
        let text = match (&self.name, request.plaintext) {
            (Some(name), _) => name.clone(),
            (None, PlaintextKind::Boolean) => format!("own_bool{suffix}"),
            (None, PlaintextKind::Radix) => {
                format!(
                    "own_{}_{}{suffix}",
                    request.message_bits, request.carry_bits
                )
            }
        };
        ParameterName::from_text(&text).ok_or_else(|| {
            failure(
                format_args!("the name {text} is longer than 32 characters"),
                "give a shorter one with --name",
            )
        })
    }
}

/// The outcome of a search.
struct Answered {
    request: Request,
    found: Found,
    /// The outcomes for other failure probabilities, as log2.
    others: Vec<(f64, Found)>,
    /// Returns the best set with its name, for this engine.
    set: Option<Parameters>,
}

impl Arguments {
    /// Returns the set that answers this question, for the command that ships it.
    pub(super) fn shipped(&self, model: &CostModel) -> Outcome<Parameters> {
        let none = || failure("only this engine's sets are shipped", "leave out --for");
        self.answer(model)?.set.ok_or_else(none)
    }

    fn answer(&self, model: &CostModel) -> Outcome<Answered> {
        let request = self.request()?;
        if self.batch == 0 || self.threads == 0 {
            return Err(failure(
                "no ciphertexts or no threads",
                "give at least 1 of both",
            ));
        }
        let (found, others) = search(self, &request, model)?;
        let set = match found.best.set {
            Some(set) => {
                let named = ParameterSet {
                    name: self.set_name(&request, &found.best)?,
                    ..*set.as_set()
                };
                Some(named.validate().explain("the set that was found")?)
            }
            None => None,
        };
        Ok(Answered {
            request,
            found,
            others,
            set,
        })
    }
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    for path in arguments.out.iter().chain(&arguments.plot) {
        output::check_file(path)?;
    }
    let (model, source) = super::cost_model(arguments.cost.as_deref())?;
    let started = Instant::now();
    let spinner = progress::spinner("searching");
    let answered = arguments.answer(&model)?;
    drop(spinner);
    let elapsed = started.elapsed();
    let command = command_line();
    let wants_file = arguments.toml || arguments.out.is_some();
    if let Some(set) = &answered.set
        && let Some(weakness) = weakness(set)
        && !arguments.insecure_for_tests
        && (wants_file || arguments.rust)
    {
        return Err(failure(
            format_args!("{}: {weakness}", set.name()),
            "for tests, not for readings that matter, add --insecure-for-tests",
        ));
    }
    let toml = match (&answered.set, wants_file) {
        (Some(set), true) => Some(to_toml(set, &command).explain("no parameter file")?),
        (None, true) => {
            return Err(failure(
                "only sets for this engine have a parameter file",
                "leave out --for, or print the set with --rust or --json",
            ));
        }
        (_, false) => None,
    };
    let answer = Answer {
        answered: &answered,
        command: &command,
        batch: arguments.batch,
        threads: arguments.threads,
        model: &model,
        source: &source,
        elapsed,
    };
    if let Some(path) = &arguments.plot {
        let drawn = picture::svg(&answer).advise(
            "no picture",
            "this is a fault of the program: please report it",
        )?;
        output::write_file(path, drawn.as_bytes())?;
    }
    if let (Some(path), Some(text)) = (&arguments.out, &toml) {
        output::write_file(path, text.as_bytes())?;
    }
    if arguments.json {
        return output::print_json(&answer.to_json());
    }
    if arguments.toml {
        return output::emit(toml.unwrap_or_default().trim_end());
    }
    if arguments.rust {
        return output::emit(answer.to_rust().trim_end());
    }
    answer.print();
    if let Some(set) = &answered.set
        && set.plaintext() == PlaintextKind::Radix
        && let Err(why) = Circuit::new(set)
    {
        output::note(format_args!("for single lookups only: {why}"));
    }
    for path in arguments.out.iter().chain(&arguments.plot) {
        output::note(format_args!("wrote {}", path.display()));
    }
    Ok(())
}

/// Searches, and for a picture also with other failure probabilities, as log2.
type Searched = (Found, Vec<(f64, Found)>);

fn search(arguments: &Arguments, request: &Request, model: &CostModel) -> Outcome<Searched> {
    let pricing = Pricing {
        model,
        batch: arguments.batch,
        threads: arguments.threads,
    };
    let others: Vec<f64> = match arguments.plot {
        Some(_) => LADDER
            .into_iter()
            .filter(|&other| other != request.log2_p_fail)
            .collect(),
        None => Vec::new(),
    };
    find_beside(request, &pricing, &others).map_err(|why| {
        let advice = match &why {
            NotFound::BadRequest(_) => "see `tfhe-sbc params find --help` for what can be asked",
            NotFound::Impossible(_) => {
                "allow the nearest possible, or ask for less: fewer bits, a \
                 smaller --norm, a larger --p-fail, a smaller --lambda"
            }
        };
        failure(why, advice)
    })
}

/// Returns the command as it would be typed, without the destination of its output.
fn command_line() -> String {
    let mut command = "tfhe-sbc".to_owned();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--json" | "--toml" | "--rust" => continue,
            "--out" | "--plot" => {
                arguments.next();
                continue;
            }
            other if other.starts_with("--out=") || other.starts_with("--plot=") => continue,
            _ => {}
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,:/^+".contains(c);
        command.push(' ');
        match argument.chars().all(plain) {
            true => command.push_str(&argument),
            false => command.push_str(&format!("'{}'", argument.replace('\'', "'\\''"))),
        }
    }
    command
}
