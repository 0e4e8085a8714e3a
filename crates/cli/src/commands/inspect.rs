//! `inspect`: what a file is; in [`upload_size`], how large uploads will be.

mod upload_size;

use std::fmt::{self, Display};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use tfhe_sbc_core::encoding::{BlockEncoding, BodyRounding};
use tfhe_sbc_core::packing::{PACKING_PARAMETERS_BYTES, PackingParameters};
use tfhe_sbc_core::parameter_sets;
use tfhe_sbc_core::parameters::{GlweSecret, Parameters};
use tfhe_sbc_core::wire::card::Card;
use tfhe_sbc_core::wire::columns::{ElementEncoding, StatedSegment, stated_segments};
use tfhe_sbc_core::wire::key::{Binding, parameters_of};
use tfhe_sbc_core::wire::{ENVELOPE_BYTES, Kind, Message, WireError};
use tfhe_sbc_foreign as foreign;
use tfhe_sbc_query::request::Request;
use tfhe_sbc_query::results::{EncryptedAnswer, Meaning, Results};
use tfhe_sbc_upload::metadata;
use tfhe_sbc_upload::pads::{BoardFile, DeviceId, FramePlan, PadFile};
use tfhe_sbc_upload::readings::ReadingsMetadata;

use crate::columns::{encoding_text, feedback_text};
use crate::failure::{Explain, Outcome, failure};
use crate::parameters::{Chosen, chosen};
use crate::{output, report};

/// Says what a file is: kind, parameters, fingerprints, element count, sizes. Never
/// shows secrets. With --readings, says instead how large an upload of that many readings
/// under that key will be, and how much memory a board needs to encrypt it.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc keygen --out keys\n  tfhe-sbc inspect keys/device.tsbc\n  tfhe-sbc inspect keys/device.tsbc --readings 1024 --bits 8\n  tfhe-sbc inspect --parameters boolean_1024 --readings 1024\n  tfhe-sbc inspect keys/device.tsbc --readings 1024 --bits 12 --headroom 10 --body-bits 30"
)]
pub(crate) struct Arguments {
    /// The file, or - for stdin
    #[arg(required_unless_present = "parameters", conflicts_with = "parameters")]
    file: Option<PathBuf>,
    /// A parameter set instead of a key file: a shipped one's name, or a file of `params find`
    #[arg(long, value_name = "NAME|FILE", requires = "count", value_parser = chosen)]
    parameters: Option<Chosen>,
    #[command(flatten)]
    readings: upload_size::Readings,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The description of one message of a file.
#[derive(Serialize)]
struct Description {
    kind: String,
    bytes: u64,
    parameter_fingerprint: String,
    key_fingerprint: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    details: Vec<Detail>,
}

/// The description of a file of another library.
#[derive(Serialize)]
struct ForeignDescription {
    kind: String,
    library: &'static str,
    bytes: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    details: Vec<Detail>,
}

#[derive(Serialize)]
struct Detail {
    name: &'static str,
    value: DetailValue,
}

#[derive(Serialize)]
#[serde(untagged)]
enum DetailValue {
    Count(u64),
    Text(String),
}

impl From<u64> for DetailValue {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<String> for DetailValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl Display for DetailValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => f.write_str(&report::count(*count)),
            // A forged file must not steer the terminal.
            Self::Text(text) => f.write_str(&report::plain(text)),
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let file = match (&arguments.parameters, &arguments.file) {
        (Some(parameters), _) => {
            let sizes = arguments.readings.under_set(&parameters.to_ask_about())?;
            return upload_size::show(&sizes, arguments.json);
        }
        (None, Some(file)) => file.as_path(),
        (None, None) => Path::new("-"),
    };
    let bytes = zeroize::Zeroizing::new(output::read_input(file)?);
    if arguments.readings.are_given() {
        let sizes = arguments.readings.under_key(file, &bytes)?;
        return upload_size::show(&sizes, arguments.json);
    }
    if let Some(foreign) = foreign::describe(&bytes) {
        return show_foreign(foreign, bytes.len() as u64, arguments.json);
    }
    let messages = describe(file, &bytes)?;
    if arguments.json {
        return output::print_json(&messages);
    }
    for message in &messages {
        output::emit(format_args!(
            "{} ({})",
            message.kind,
            report::bytes(message.bytes)
        ))?;
        let fingerprints: [(_, &dyn Display); 2] = [
            ("parameter fingerprint", &message.parameter_fingerprint),
            ("key fingerprint", &message.key_fingerprint),
        ];
        let details = message
            .details
            .iter()
            .map(|detail| (detail.name, &detail.value as &dyn Display));
        for (name, value) in fingerprints.into_iter().chain(details) {
            output::emit(format_args!("  {name:<24} {value}"))?;
        }
    }
    Ok(())
}

/// Shows what a file of another library is.
fn show_foreign(file: foreign::Description, bytes: u64, json: bool) -> Outcome<()> {
    if json {
        let description = ForeignDescription {
            kind: file.kind,
            library: file.library,
            bytes,
            details: file
                .details
                .into_iter()
                .map(|(name, value)| Detail {
                    name,
                    value: value.into(),
                })
                .collect(),
        };
        return output::print_json(&[description]);
    }
    output::emit(format_args!(
        "{} of {} ({})",
        file.kind,
        file.library,
        report::bytes(bytes)
    ))?;
    for (name, value) in &file.details {
        // A forged file must not steer the terminal.
        output::emit(format_args!("  {name:<24} {}", report::plain(value)))?;
    }
    Ok(())
}

fn describe(path: &Path, bytes: &[u8]) -> Outcome<Vec<Description>> {
    let mut rest = bytes;
    let mut messages = Vec::new();
    while !rest.is_empty() {
        let (message, after) = Message::parse(rest).explain(path.display())?;
        rest = after;
        let header = message.header;
        let mut details = Vec::new();
        let mut say = |name, value| details.push(Detail { name, value });
        match header.kind {
            Kind::SecretKey
            | Kind::DeviceKey
            | Kind::ServerKey
            | Kind::DevicePublicKey
            | Kind::DeviceSwitchKey
            | Kind::PackingKey
            | Kind::Card => {
                let (parameters, rest) = parameters_of(&message).explain(path.display())?;
                if let Kind::DeviceKey | Kind::DeviceSwitchKey = header.kind {
                    let (binding, _) = Binding::parse(header.key, rest).explain(path.display())?;
                    say("key set", binding.key_set.to_string().into());
                    say("issued to", issued_to(&binding).into());
                }
                if let Kind::Card = header.kind {
                    let card = Card::read(&message).explain(path.display())?;
                    say(
                        "for a server with",
                        crate::foreign::card::title(card.library).into(),
                    );
                }
                describe_parameters(&parameters, &mut say);
                if let Kind::ServerKey = header.kind {
                    let bits = match header.body_bits {
                        0 => parameters.implied_key_body_bits(),
                        stated => u32::from(stated),
                    };
                    say("body bits kept", u64::from(bits).into());
                    if header.mask_bits != 0 {
                        let bits = u64::from(header.mask_bits);
                        say("body bits in mask rows", bits.into());
                    }
                    if let Some(expander) = header.expander {
                        say("mask expander", expander.name().to_owned().into());
                    }
                }
                if let Kind::PackingKey = header.kind {
                    describe_packing(rest, &mut say).explain(path.display())?;
                }
            }
            Kind::SeededGlweList | Kind::GlweList => {
                say("elements", u64::from(header.element_count).into());
                say("polynomial size", u64::from(header.polynomial_size).into());
                say("GLWE dimension", u64::from(header.dimension).into());
                say("torus bits", u64::from(header.torus_bits).into());
                say("body bits kept", u64::from(header.body_bits).into());
                if header.mask_bits != 0 {
                    say("mask bits kept", u64::from(header.mask_bits).into());
                }
                if let Some(expander) = header.expander {
                    say("mask expander", expander.name().to_owned().into());
                }
            }
            Kind::SeededColumnList | Kind::ColumnList => {
                say("elements", u64::from(header.element_count).into());
                say("polynomial size", u64::from(header.polynomial_size).into());
                say("GLWE dimension", u64::from(header.dimension).into());
                say("torus bits", u64::from(header.torus_bits).into());
                if header.mask_bits != 0 {
                    say("mask bits kept", u64::from(header.mask_bits).into());
                }
                if let Some(expander) = header.expander {
                    say("mask expander", expander.name().to_owned().into());
                }
                for segment in stated_segments(message.payload).explain(path.display())? {
                    say("column", segment_text(&segment).into());
                }
            }
            Kind::CompactValues | Kind::LinearBodies | Kind::DeviceBodies => {
                say("elements", u64::from(header.element_count).into());
                say("polynomial size", u64::from(header.polynomial_size).into());
                say("GLWE dimension", u64::from(header.dimension).into());
                say("coefficient bits kept", u64::from(header.mask_bits).into());
            }
            Kind::PackedList => {
                say("slots in use", u64::from(header.element_count).into());
                say("bits of a slot", u64::from(header.message_bits).into());
                say("polynomial size", u64::from(header.polynomial_size).into());
                say("GLWE dimension", u64::from(header.dimension).into());
                say("mask bits kept", u64::from(header.mask_bits).into());
                say("body bits kept", u64::from(header.body_bits).into());
            }
            Kind::CutLweList => {
                say("blocks", u64::from(header.element_count).into());
                say("bits of a block", u64::from(header.message_bits).into());
                say("LWE dimension", u64::from(header.dimension).into());
                say("mask bits kept", u64::from(header.mask_bits).into());
                say("body bits kept", u64::from(header.body_bits).into());
            }
            Kind::LweList => {
                say("elements", u64::from(header.element_count).into());
                say("LWE dimension", u64::from(header.dimension).into());
            }
            Kind::Metadata => describe_metadata(message, &mut say),
        }
        messages.push(Description {
            kind: header.kind.to_string(),
            bytes: (ENVELOPE_BYTES + message.payload.len()) as u64,
            parameter_fingerprint: header.parameters.to_string(),
            key_fingerprint: header.key.to_string(),
            details,
        });
    }
    if messages.is_empty() {
        return Err(failure(
            format_args!("{} is empty", path.display()),
            "give a file that tfhe-sbc made",
        ));
    }
    Ok(messages)
}

fn issued_to(binding: &Binding) -> String {
    match binding.issue {
        Some(issue) => issue.to_string(),
        None => "all devices of the key set".to_owned(),
    }
}

/// Describes the packing parameters, which follow the parameters of a packing key.
fn describe_packing(
    bytes: &[u8],
    say: &mut impl FnMut(&'static str, DetailValue),
) -> Result<(), WireError> {
    let (bytes, _) = bytes.split_first_chunk().ok_or(WireError::Truncated {
        expected: PACKING_PARAMETERS_BYTES as u64,
        found: bytes.len() as u64,
    })?;
    let packing = PackingParameters::from_bytes(bytes)?;
    say(
        "slots of a ciphertext",
        (packing.polynomial_size.get() as u64).into(),
    );
    say(
        "packing dimension",
        (packing.glwe_dimension.0 as u64).into(),
    );
    say(
        "packing security",
        format!("{:.1} bits", packing.security_bits).into(),
    );
    say(
        "failure of a slot",
        format!("2^{:.1}", packing.log2_p_fail).into(),
    );
    Ok(())
}

fn describe_parameters(parameters: &Parameters, say: &mut impl FnMut(&'static str, DetailValue)) {
    say("parameter set", parameters.name().to_string().into());
    if let Some(generation) = parameter_sets::superseded::generation_of(parameters.as_set()) {
        let by = format!(
            "by a better set of this name, for new keys; this one, of {generation}, goes on working"
        );
        say("superseded", by.into());
    }
    say(
        "security",
        format!("{:.1} bits", parameters.security_bits()).into(),
    );
    say(
        "failure of a bootstrap",
        format!("2^{:.1}", parameters.log2_p_fail()).into(),
    );
    say(
        "message and carry bits",
        format!(
            "{} + {}",
            parameters.message_bits(),
            parameters.carry_bits()
        )
        .into(),
    );
    say(
        "LWE dimension",
        (parameters.lwe_dimension().0 as u64).into(),
    );
    say(
        "LWE key in blocks of",
        u64::from(parameters.lwe_block_size()).into(),
    );
    say(
        "GLWE",
        format!(
            "dimension {}, polynomial size {}, {}-bit torus, {} key",
            parameters.glwe_dimension(),
            parameters.polynomial_size(),
            parameters.torus_bits(),
            match parameters.glwe_secret() {
                GlweSecret::Binary => "binary",
                GlweSecret::Ternary => "ternary",
            }
        )
        .into(),
    );
}

/// The encoding of a column of a list, and how many elements it has.
fn segment_text(stated: &StatedSegment) -> String {
    let StatedSegment {
        segment,
        body_bits,
        bits,
        headroom,
    } = stated;
    let count = report::count(segment.count.into());
    match segment.encoding {
        ElementEncoding::Radix => {
            format!("{count} radix blocks of {bits} + {headroom} bits, {body_bits} body bits kept")
        }
        ElementEncoding::Compact(encoding) => format!(
            "{count} compact codes of {bits} bits below {headroom} bits of headroom, {body_bits} body \
             bits kept{}",
            feedback_text(encoding.rounding() == BodyRounding::ErrorFeedback)
        ),
    }
}

/// Returns in words what an encrypted answer consists of: compact codes, blocks under the small key, or both.
/// `encoding` is that of the answer's parameter set, `None` if this version does not know the set.
fn answer_text(answer: &EncryptedAnswer, encoding: Option<BlockEncoding>) -> String {
    let blocks = match encoding {
        Some(encoding) => answer.sealed_blocks(encoding),
        // Without the set it is not known how many of the blocks compact codes stand for.
        None if answer.compact.is_empty() => answer.blocks.into(),
        None => 0,
    };
    let codes = answer
        .compact
        .iter()
        .map(|part| u64::from(part.codes))
        .sum();
    let what = match (codes, &answer.meaning) {
        (1, Meaning::Sum(..) | Meaning::Mean(..)) => "sum",
        (1, _) => "value",
        _ => "values",
    };
    let compact = (codes > 0).then(|| format!("{} compact {what}", report::count(codes)));
    let blocks = (blocks > 0 || codes == 0).then(|| format!("{} blocks", report::count(blocks)));
    let parts: Vec<String> = compact.into_iter().chain(blocks).collect();
    format!("{} in {}", answer.name, parts.join(" and "))
}

/// Describes the frames of a board.
fn describe_plan(plan: &FramePlan, say: &mut impl FnMut(&'static str, DetailValue)) {
    say("board", DeviceId(plan.device).to_string().into());
    say("frames", u64::from(plan.frames).into());
    say("rows of a frame", u64::from(plan.rows).into());
    if let Ok(format) = plan.format() {
        say("bytes of a frame", (format.frame_bytes() as u64).into());
    }
    for column in &plan.columns {
        let text = format!("{} {}", column.name, encoding_text(column));
        say("column", text.into());
    }
}

fn describe_metadata(message: Message<'_>, say: &mut impl FnMut(&'static str, DetailValue)) {
    if let Ok(readings) = metadata::read::<ReadingsMetadata>(message) {
        say("is about", "readings".to_owned().into());
        say("rows", (readings.rows.len() as u64).into());
        for column in readings.columns {
            say(
                "column",
                format!("{} {}", column.name, encoding_text(&column)).into(),
            );
        }
    } else if let Ok(request) = Request::read(message) {
        say("is about", "questions".to_owned().into());
        for (name, _) in request.questions {
            say("question", name.into());
        }
        if request.sanitise {
            say("answers", "are to be sanitised".to_owned().into());
        }
    } else if let Ok(results) = Results::read(message) {
        say("is about", "results".to_owned().into());
        say("bootstraps", results.bootstraps.into());
        if let Some(log2_bits) = results.sanitised {
            let told = format!("tells at most 2^{log2_bits} bits");
            say("noise, sanitised", told.into());
        }
        let set = parameter_sets::by_fingerprint(message.header.parameters);
        let encoding = set.map(|parameters| parameters.block_encoding());
        for answer in results.answers {
            say("answer", answer_text(&answer, encoding).into());
        }
    } else if let Ok(pads) = PadFile::of(message) {
        say(
            "is about",
            "pads for the frames of a board".to_owned().into(),
        );
        describe_plan(pads.plan(), say);
    } else if let Ok(board) = BoardFile::of(message) {
        say(
            "is about",
            "the frames of a board, with its SECRET key"
                .to_owned()
                .into(),
        );
        describe_plan(board.plan(), say);
    } else {
        say(
            "is about",
            "something that this version does not know"
                .to_owned()
                .into(),
        );
    }
}
