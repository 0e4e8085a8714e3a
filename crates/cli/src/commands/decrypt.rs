//! `decrypt`: a result in the clear. [`crate::foreign`] has the results of other libraries.

use std::path::{Path, PathBuf};

use clap::Args;
use tfhe_sbc_foreign::Library;
use tfhe_sbc_query::results::{Decrypted, Results};

use crate::failure::{Explain, Outcome, failure};
use crate::foreign::{Decryption, DecryptionOptions, decryption_parser};
use crate::{histogram, keys, output, report};

/// Decrypts a result with the secret key and prints it.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc keygen --out keys\n  tfhe-sbc sample | tfhe-sbc encrypt --key keys/device.tsbc --out day.tsbc\n  tfhe-sbc eval --key keys/server.tsbc --readings day.tsbc 'max(temperature_c)' | tfhe-sbc decrypt --key keys/secret.tsbc"
)]
pub(crate) struct Arguments {
    /// The result that `query` or `eval` gave, or - for stdin
    #[arg(default_value = "-")]
    pub(crate) result: PathBuf,
    /// The secret key; of another library's result, that library's, or the device key made of it
    /// [default: keys/secret.tsbc, with --from keys/device.tsbc]
    #[arg(long)]
    key: Option<PathBuf>,
    /// The library whose result it is [default: ours]
    #[arg(long, value_parser = decryption_parser())]
    from: Option<(&'static Library, &'static Decryption)>,
    /// Draw the histograms among the answers, as an SVG file
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    of_libraries: DecryptionOptions,
}

impl Arguments {
    /// The key, or `usual`, the one that the commands before this one wrote.
    pub(crate) fn key_or<'p>(&'p self, usual: &'p str) -> &'p Path {
        self.key.as_deref().unwrap_or(Path::new(usual))
    }
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let library = arguments.from.map(|(library, _)| library);
    if let Some(option) = arguments.of_libraries.of_others(library) {
        return Err(failure(
            format_args!("{option} is for results of another library"),
            "leave it out; `tfhe-sbc decrypt --help` shows which options go together",
        ));
    }
    match arguments.from {
        None => run_ours(arguments),
        Some((_, decryption)) => (decryption.run)(arguments, arguments.of_libraries.matches()),
    }
}

fn run_ours(arguments: &Arguments) -> Outcome<()> {
    if let Some(path) = &arguments.plot {
        output::check_file(path)?;
    }
    let result = output::read_input(&arguments.result)?;
    let secret = keys::read_secret_key(arguments.key_or("keys/secret.tsbc"))?;
    let (answers, bootstraps) = Results::decrypt(&result, &secret).advise(
        arguments.result.display(),
        "give a result that `query` or `eval` made, and the secret key of its key set",
    )?;
    if let Some(path) = &arguments.plot {
        let svg = histogram::svg(&answers).advise(
            "no picture",
            "--plot draws the answers to questions like histogram(column, 0, 10, 20)",
        )?;
        output::write_file(path, svg.as_bytes())?;
    }
    if arguments.json {
        return output::print_json(&Decrypted {
            answers: &answers,
            bootstraps,
        });
    }
    let mut table = output::text_table();
    table.set_header(["question", "answer"]);
    for answer in &answers {
        table.add_row([report::plain(&answer.name), report::answer(&answer.value)]);
    }
    output::emit(table)
}
