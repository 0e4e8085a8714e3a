//! `convert --to tfhepp`.

use clap::{ArgMatches, Args, ValueEnum};
use tfhe_sbc_foreign::tfhepp::{Archive, TlweVector, TrlweVector};
use tfhe_sbc_upload::readings::Uploaded;

use crate::failure::{Explain, Outcome, failure};
use crate::foreign::card::read_card;
use crate::foreign::library::{ConversionRequest, OfOneLibrary, options};
use crate::{output, progress, report};
use tfhe_sbc_foreign::tfhepp::LIBRARY;

/// The options that only `--to tfhepp` has.
#[derive(Args)]
#[command(next_help_heading = "For --to tfhepp")]
#[group(id = "for-tfhepp")]
pub(super) struct Options {
    /// What the file holds [default: tlwe]
    #[arg(long = "as", value_enum)]
    form: Option<Form>,
    /// How cereal reads it [default: portable-binary]
    #[arg(long, value_enum)]
    archive: Option<ArchiveKind>,
}

impl OfOneLibrary for Options {
    fn given(&self) -> Option<&'static str> {
        let form = self.form.map(|_| "--as");
        form.or(self.archive.map(|_| "--archive"))
    }
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Form {
    /// A `std::vector<TLWE<lvl1param>>`: 4100 bytes a bit, ready for gates
    #[default]
    Tlwe,
    /// A `TRLWE<lvl1param>`, of at most 1024 bits
    Trlwe,
    /// A `std::vector<TRLWE<lvl1param>>`: 8 bytes a bit, for servers that extract themselves
    TrlweVector,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum ArchiveKind {
    /// By a `cereal::PortableBinaryInputArchive`
    #[default]
    PortableBinary,
    /// By a `cereal::BinaryInputArchive`
    Binary,
}

impl From<ArchiveKind> for Archive {
    fn from(kind: ArchiveKind) -> Self {
        match kind {
            ArchiveKind::PortableBinary => Self::PortableBinary,
            ArchiveKind::Binary => Self::Binary,
        }
    }
}

pub(super) fn run(request: &ConversionRequest, matches: &ArgMatches) -> Outcome<()> {
    let Options { form, archive } = options(matches)?;
    output::check(request.out.as_deref())?;
    let card = read_card(request.card.as_deref(), &LIBRARY)?;
    let bytes = output::read_input(&request.input)?;
    let uploaded = Uploaded::parse(&bytes, &card.parameters, card.key).advise(
        request.input.display(),
        "give an upload that was encrypted under the device key beside the card",
    )?;
    let list = uploaded.list();
    let archive = archive.unwrap_or_default().into();
    let out = request.out.as_deref();
    let file_len = match form.unwrap_or_default() {
        Form::Tlwe => {
            let vector = TlweVector::new(list, &card.parameters).explain("no ciphertexts")?;
            let bar = progress::bar("writing", vector.count() as u64);
            output::write_with(out, |out| {
                vector.write_to(archive, out, &|count| bar.inc(count))
            })?;
            vector.file_len(archive)
        }
        form => {
            let vector = TrlweVector::new(list, &card.parameters).explain("no ciphertexts")?;
            let single = matches!(form, Form::Trlwe);
            if single && vector.count() > 1 {
                return Err(failure(
                    format_args!(
                        "{} bits are more than the 1024 of a TRLWE",
                        list.element_count()
                    ),
                    "write all of its polynomials with --as trlwe-vector",
                ));
            }
            output::write_with(out, |out| match single {
                true => vector.write_single_to(archive, out).unwrap_or(Ok(())),
                false => vector.write_to(archive, out),
            })?;
            vector.file_len(archive, single)
        }
    };
    output::note(format_args!(
        "converted {} bits: {} to {}",
        report::count(list.element_count() as u64),
        report::bytes(file_len),
        output::shown(request.out.as_ref())
    ));
    Ok(())
}
