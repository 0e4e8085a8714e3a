//! `ckks encrypt`: numbers in, SEAL's ciphertexts out.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use tfhe_sbc_ckks::{
    CkksError, Encryptor, Format, KeyMode, MemoryPlan, PublicEncryptor, SealGenerator, Slots,
    workspace_bytes,
};
use tfhe_sbc_core::workspace::HeapWorkspace;

use super::key_file::{self, Key};
use super::{numbers, scale};
use crate::failure::{Explain, Outcome};
use crate::keys::fresh_seeds;
use crate::{output, report};

/// Encrypts numbers as a board does: n/2 numbers per ciphertext, and as many ciphertexts one after
/// the other as are needed. SEAL loads them one by one. With a secret key half of each ciphertext
/// is a seed, unless another form is asked for; with a public key it is whole.
#[derive(Args)]
pub(super) struct Arguments {
    /// The CSV file, with a heading or without, or - for stdin
    #[arg(default_value = "-")]
    csv: PathBuf,
    /// The key: SecretKey or PublicKey of SEAL's, sk_N.dat or a directory of SEAL-Embedded's
    #[arg(long, default_value = "keys/secret.seal")]
    key: PathBuf,
    /// SEAL's parameters [default: recognised, or parms.seal beside the key]
    #[arg(long, value_name = "FILE")]
    parms: Option<PathBuf>,
    /// The column to encrypt, as the heading calls it, if there are several
    #[arg(long, value_name = "NAME")]
    column: Option<String>,
    /// The column of imaginary parts
    #[arg(long, value_name = "NAME", requires = "column")]
    imaginary: Option<String>,
    /// The factor that numbers are multiplied with before they are rounded [default: 2^25, for n =
    /// 1024 2^20]
    #[arg(long, value_parser = scale)]
    scale: Option<f64>,
    /// The form of ciphertexts [default: seeded with a secret key, expanded with a public one]
    #[arg(long, value_enum)]
    form: Option<Form>,
    /// The generator with which SEAL expands seeds
    #[arg(long, value_enum, default_value_t = Generator::Blake2xb)]
    generator: Generator,
    /// The values that are kept in memory; the ciphertext is the same with each plan
    #[arg(long, default_value_t = MemoryPlan::Fast, value_parser = plan())]
    plan: MemoryPlan,
    /// The file to write [default: stdout]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// The forms of ciphertexts.
#[derive(Clone, Copy, ValueEnum)]
enum Form {
    /// SEAL's, half of it a seed
    Seeded,
    /// SEAL's
    Expanded,
    /// SEAL-Embedded's stream
    Raw,
}

/// The generators with which SEAL expands seeds.
#[derive(Clone, Copy, ValueEnum)]
enum Generator {
    /// BLAKE2Xb, SEAL's own choice
    Blake2xb,
    /// SHAKE256
    Shake256,
}

fn plan() -> impl clap::builder::TypedValueParser<Value = MemoryPlan> {
    crate::commands::by_name(MemoryPlan::ALL, MemoryPlan::name)
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    output::check(arguments.out.as_deref())?;
    let source = match arguments.csv == Path::new("-") {
        true => "stdin".to_owned(),
        false => arguments.csv.display().to_string(),
    };
    let bytes = output::read_input(&arguments.csv)?;
    let (real, imaginary) = (arguments.column.as_deref(), arguments.imaginary.as_deref());
    let values = numbers::read(&source, &bytes, real, imaginary)?;

    let key = key_file::read(&arguments.key, arguments.parms.as_deref())?;
    let (plan, seeds) = (arguments.plan, fresh_seeds()?);
    let scale = arguments
        .scale
        .unwrap_or(match key.parameters().polynomial_size() {
            1024 => f64::from(1 << 20),
            _ => f64::from(1 << 25),
        });
    let form = arguments.form.unwrap_or(match key {
        Key::Secret(_) => Form::Seeded,
        Key::Public(_) => Form::Expanded,
    });
    let format = match form {
        Form::Seeded => Format::SealSeeded,
        Form::Expanded => Format::Seal,
        Form::Raw => Format::Raw,
    };
    let mut out = Vec::new();
    let mut sink = |piece: &[u8]| {
        out.extend_from_slice(piece);
        Ok(())
    };
    let chunks = values.chunks(key.parameters().slot_count());
    let count = chunks.len();
    let made = match &key {
        Key::Secret(key) => {
            let parameters = key.parameters();
            let mut workspace = room(workspace_bytes(parameters, plan, KeyMode::Symmetric));
            let generator = match arguments.generator {
                Generator::Blake2xb => SealGenerator::Blake2xb,
                Generator::Shake256 => SealGenerator::Shake256,
            };
            let secret = key.key().explain(arguments.key.display())?;
            let workspace = workspace.as_mut_slice();
            Encryptor::new(parameters, secret, plan, generator, seeds, workspace).and_then(
                |mut board| {
                    { chunks }.try_for_each(|values| {
                        let slots = Slots::Complex(values);
                        board.encrypt(slots, scale, format, &mut sink).map(drop)
                    })
                },
            )
        }
        Key::Public(key) => {
            let parameters = key.parameters();
            let mut workspace = room(workspace_bytes(parameters, plan, KeyMode::Public));
            let workspace = workspace.as_mut_slice();
            key.with(|public| {
                let mut board = PublicEncryptor::new(parameters, public, plan, seeds, workspace)?;
                { chunks }.try_for_each(|values| {
                    let slots = Slots::Complex(values);
                    board.encrypt(slots, scale, format, &mut sink).map(drop)
                })
            })
            .explain(arguments.key.display())?
        }
    };
    made.map_err(|error: CkksError| advised(&source, error))?;
    output::write(arguments.out.as_deref(), &out)?;
    output::note(format_args!(
        "encrypted {} numbers in {}: {} to {}",
        report::count(values.len() as u64),
        super::ciphertexts(count),
        report::bytes(out.len() as u64),
        output::shown(arguments.out.as_ref())
    ));
    Ok(())
}

fn room(bytes: usize) -> HeapWorkspace {
    HeapWorkspace::new(bytes)
}

fn advised(source: &str, error: CkksError) -> Box<crate::failure::Failure> {
    let help = match error {
        CkksError::NotSeedable => "give --form expanded or raw, or a secret key",
        CkksError::TooLarge => "give a smaller --scale, or parameters with more primes",
        _ => "check key and parameters",
    };
    crate::failure::failure(format_args!("{source} was not encrypted: {error}"), help)
}
