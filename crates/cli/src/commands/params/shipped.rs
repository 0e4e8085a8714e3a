//! `params shipped`: every set that the project ships is the answer to a command; this finds them
//! all again.

use clap::{Args, Parser};
use serde_json::{Value, json};
use tfhe_sbc_core::parameter_sets;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_oracle::cost::CostModel;
use tfhe_sbc_oracle::parameter_file::to_rust;

use super::find;
use crate::failure::{Explain, Outcome, failure};
use crate::{output, progress};

/// Finds every shipped parameter set again, by the command whose answer it is, and compares.
#[derive(Args)]
#[command(after_help = "Example:\n  tfhe-sbc params shipped")]
pub(crate) struct Arguments {
    /// Print the sets as the Rust module that the program has them in
    #[arg(long, conflicts_with = "json")]
    rust: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The names of the sets in Rust, and the questions that they answer.
const QUESTIONS: [(&str, &str); 10] = [
    (
        "MESSAGE_2_CARRY_2",
        "--message 2 --carry 2 --max-body-bits 12 --max-mask-bits 19 --name message_2_carry_2",
    ),
    (
        "MESSAGE_1_CARRY_1",
        "--message 1 --carry 1 --max-body-bits 9 --max-mask-bits 16 --name message_1_carry_1",
    ),
    (
        "MESSAGE_3_CARRY_3",
        "--message 3 --carry 3 --max-body-bits 14 --max-mask-bits 21 --max-lwe-dimension 1050 --name message_3_carry_3",
    ),
    (
        "MESSAGE_2_CARRY_2_P_FAIL_2M40",
        "--message 2 --carry 2 --p-fail 2^-40 --max-body-bits 11 --max-mask-bits 18 --name message_2_carry_2_p_fail_2m40",
    ),
    (
        "MESSAGE_1_CARRY_1_P_FAIL_2M40",
        "--message 1 --carry 1 --p-fail 2^-40 --max-body-bits 8 --max-mask-bits 14 --name message_1_carry_1_p_fail_2m40",
    ),
    (
        "GATES",
        "--boolean --max-body-bits 5 --max-mask-bits 12 --max-lwe-dimension 850 --name gates",
    ),
    (
        "BOOLEAN_1024",
        "--boolean --torus 32 --polynomial-size 1024 --glwe-dimension 1 --max-body-bits 5 --max-mask-bits 12 \
         --glwe-sigma 9.54e-8 --name boolean_1024",
    ),
    (
        "BOOLEAN_1024_TUNIFORM",
        "--boolean --torus 32 --polynomial-size 1024 --glwe-dimension 1 --max-body-bits 5 --max-mask-bits 12 \
         --noise tuniform --name boolean_1024_tuniform",
    ),
    (
        "PAPER_N1024",
        "--boolean --torus 32 --polynomial-size 1024 --glwe-dimension 1 --max-body-bits 5 --max-mask-bits 12 \
         --glwe-sigma 2^-25 --count customary --insecure-for-tests \
         --name paper_n1024_lambda_122",
    ),
    (
        "PAPER_N1024_TUNIFORM",
        "--boolean --torus 32 --polynomial-size 1024 --glwe-dimension 1 --max-body-bits 5 --max-mask-bits 12 \
         --glwe-sigma 2^-25 --noise tuniform --count customary --insecure-for-tests \
         --name paper_n1024_tuniform_lambda_122",
    ),
];

/// The quantity to minimise: sets over 2^64 run by themselves and in batches, and their keys
/// travel; sets over 2^32 are for small polynomials and a single answer.
fn minimise(question: &str) -> &'static str {
    match question.contains("--torus 32") {
        true => "--minimise latency --cost built-in",
        false => "--minimise latency:1,throughput:1,key:1 --cost built-in",
    }
}

/// Parses `find`'s arguments from a text.
#[derive(Parser)]
#[command(no_binary_name = true)]
struct Question {
    #[command(flatten)]
    arguments: find::Arguments,
}

/// A shipped set, found again.
struct Found {
    constant: &'static str,
    command: String,
    set: Parameters,
    /// The set of its name in the program.
    shipped: Option<Parameters>,
}

impl Found {
    fn is_the_same(&self) -> bool {
        self.shipped == Some(self.set)
    }
}

fn find_all() -> Outcome<Vec<Found>> {
    let bar = progress::bar("finding the shipped sets", QUESTIONS.len() as u64);
    let model = CostModel::built_in();
    let mut all = Vec::new();
    for (constant, question) in QUESTIONS {
        let question = format!("{question} {}", minimise(question));
        let parsed = Question::try_parse_from(question.split_whitespace())
            .explain(format_args!("the question of {constant}"))?;
        let set = parsed.arguments.shipped(&model)?;
        let name = set.name();
        all.push(Found {
            constant,
            command: format!("tfhe-sbc params find {question}"),
            set,
            shipped: parameter_sets::by_name(name.as_str()).and_then(Result::ok),
        });
        bar.inc(1);
    }
    Ok(all)
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let all = find_all()?;
    if arguments.rust {
        return output::emit(module(&all).trim_end());
    }
    if arguments.json {
        let rows: Vec<Value> = all
            .iter()
            .map(|found| {
                json!({
                    "name": found.set.name().as_str(),
                    "command": found.command,
                    "log2_p_fail": found.set.log2_p_fail(),
                    "security_bits": found.set.security_bits(),
                    "same": found.is_the_same(),
                })
            })
            .collect();
        output::print_json(&rows)?;
    } else {
        let mut table = output::text_table();
        table.set_header(["set", "fails with", "security", "is shipped"]);
        for found in &all {
            table.add_row([
                found.set.name().as_str().to_owned(),
                format!("2^{:.1}", found.set.log2_p_fail()),
                format!("{:.1}", found.set.security_bits()),
                if found.is_the_same() { "yes" } else { "NO" }.to_owned(),
            ]);
        }
        output::print(table);
        for found in &all {
            output::print(&found.command);
        }
    }
    match all.iter().find(|found| !found.is_the_same()) {
        Some(found) => Err(failure(
            format_args!("{} is not what is shipped under its name", found.set.name()),
            "put what --rust prints into crates/core/src/parameter_sets/found.rs, and test it",
        )),
        None => Ok(()),
    }
}

/// Returns the module that the program has the sets in.
fn module(all: &[Found]) -> String {
    let mut text = "//! The output of `tfhe-sbc params shipped --rust`: the answers of the search, each with its\n\
         //! question.\n\n\
         use super::{\n    CarryBits, Decomposition, GlweDimension, GlweSecret, LweDimension, MessageBits, ModulusSwitch,\n    \
         NoiseDistribution, ParameterName, ParameterSet, PlaintextKind,\n};\n"
        .to_owned();
    for found in all {
        text.push('\n');
        let constant = to_rust(&found.set, found.constant, &found.command);
        text.push_str(&constant.replace("pub const", "pub(super) const"));
    }
    text
}
