//! `decrypt --from tfhepp`: the results of TFHEpp's gates.

use std::path::Path;

use clap::{ArgMatches, Args};
use serde::Serialize;
use tfhe_sbc_core::glwe::GlweSecretKey;
use tfhe_sbc_core::keys::DeviceKey;
use tfhe_sbc_core::wire::Kind;
use tfhe_sbc_core::wire::Message;
use tfhe_sbc_foreign::tfhepp::{Ciphertexts, SecretKey};

use crate::failure::{Explain, Outcome, failure};
use crate::foreign::library::{DecryptionRequest, OfOneLibrary, options};
use crate::{keys, output};

/// Number of bits on a line of output.
const LINE: usize = 64;

/// The options that only `--from tfhepp` has.
#[derive(Args)]
#[command(next_help_heading = "For --from tfhepp")]
pub(super) struct Options {
    /// Print numbers of BITS bits, least significant first, one a line
    #[arg(long, value_name = "BITS", requires = "from", value_parser = clap::value_parser!(u32).range(1..=64))]
    bits: Option<u32>,
    /// The number of bits, if polynomials have more [default: all]
    #[arg(long, value_name = "BITS", requires = "from")]
    count: Option<usize>,
}

impl OfOneLibrary for Options {
    fn given(&self) -> Option<&'static str> {
        let bits = self.bits.map(|_| "--bits");
        bits.or(self.count.map(|_| "--count"))
    }
}

/// The key that is used if none is given: the one that `keys import` wrote.
const USUAL_KEY: &str = "keys/device.tsbc";

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Decrypted {
    Bits(Vec<u8>),
    Numbers(Vec<u64>),
}

pub(super) fn run(request: &DecryptionRequest, matches: &ArgMatches) -> Outcome<()> {
    let Options { bits: width, count } = options(matches)?;
    let path = request.key_or(USUAL_KEY);
    if request.plot.is_some() {
        return Err(failure(
            "bits have no picture",
            "--plot draws the answers to questions to our own server",
        ));
    }
    let name = request.result.display();
    let bytes = output::read_input(&request.result)?;
    let ciphertexts = Ciphertexts::parse(&bytes).advise(
        name,
        "give a vector of TLWE<lvl1param> that TFHEpp wrote with cereal",
    )?;
    let mut bits = ciphertexts.decrypt(&key(path)?).explain(path.display())?;
    if let Some(count) = count {
        if count > bits.len() {
            return Err(failure(
                format_args!("there are {} bits, not {count}", bits.len()),
                "say how many bits the upload has",
            ));
        }
        bits.truncate(count);
    }
    let decrypted = match width {
        None => Decrypted::Bits(bits.into_iter().map(u8::from).collect()),
        Some(each) => Decrypted::Numbers(numbers(&bits, each as usize)?),
    };
    if request.json {
        return output::print_json(&decrypted);
    }
    match decrypted {
        Decrypted::Bits(bits) => bits.chunks(LINE).try_for_each(|line| {
            let digits: String = line.iter().map(u8::to_string).collect();
            output::emit(digits)
        }),
        Decrypted::Numbers(numbers) => numbers.into_iter().try_for_each(output::emit),
    }
}

/// Reads the lvl1 key from TFHEpp's secret key, or from the device key that was made of it.
fn key(path: &Path) -> Outcome<GlweSecretKey> {
    let bytes = keys::read_file(path)?;
    let name = path.display();
    if let Ok((message, _)) = Message::parse(&bytes)
        && message.header.kind == Kind::DeviceKey
    {
        let key = DeviceKey::from_bytes(&bytes).explain(name)?;
        return Ok(key.glwe().clone());
    }
    let key = SecretKey::parse(&bytes).advise(
        name,
        "give TFHEpp's SecretKey, or the device.tsbc that `keys import` made of it",
    )?;
    Ok(key.glwe().clone())
}

fn numbers(bits: &[bool], each: usize) -> Outcome<Vec<u64>> {
    if !bits.len().is_multiple_of(each) {
        return Err(failure(
            format_args!("{} bits are no whole numbers of {each} bits", bits.len()),
            "give the width of a reading with --bits, and with --count how many bits there are",
        ));
    }
    let number = |bits: &[bool]| {
        let places = bits.iter().enumerate();
        places.fold(0, |sum, (place, &bit)| sum | u64::from(bit) << place)
    };
    Ok(bits.chunks(each).map(number).collect())
}
