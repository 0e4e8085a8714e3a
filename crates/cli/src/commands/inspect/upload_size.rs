//! The size of an upload, computed before anything is encrypted.

use std::fmt::Display;
use std::path::Path;

use clap::{Args, value_parser};
use serde::Serialize;
use tfhe_sbc_core::encoding::{BodyRounding, CompactEncoding};
use tfhe_sbc_core::parameters::{Parameters, PlaintextKind};
use tfhe_sbc_core::wire::columns::has_column_lists;
use tfhe_sbc_core::wire::glwe::MAX_ELEMENTS;
use tfhe_sbc_core::wire::key::parameters_of;
use tfhe_sbc_core::wire::{Kind, Message, UploadSize};
use tfhe_sbc_device::{DeviceError, KeyMode, MemoryPlan, workspace_bytes};

use crate::failure::{Explain, Outcome, failure};
use crate::{output, report};

/// The readings of an upload.
#[derive(Args)]
pub(super) struct Readings {
    /// Say how large an upload of COUNT readings will be, in radix blocks unless --headroom is given
    #[arg(long = "readings", value_name = "COUNT")]
    count: Option<usize>,
    /// Bits of each of these readings [default: 1, for the sets of booleans]
    #[arg(long, requires = "count", value_parser = value_parser!(u32).range(1..=52))]
    bits: Option<u32>,
    /// Say it for a compact column with BITS bits above each reading's code
    #[arg(long, value_name = "BITS", requires_all = ["count", "bits", "body_bits"])]
    headroom: Option<u32>,
    /// The bits that a compact column keeps of each body coefficient
    #[arg(long, value_name = "BITS", requires = "headroom")]
    body_bits: Option<u32>,
}

/// The size of uploads of the same readings, for each mode of encryption that was asked
/// about.
#[derive(Serialize)]
pub(super) struct Sizes {
    parameter_set: String,
    readings: u64,
    bits: u32,
    plaintexts_per_reading: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    headroom: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body_bits: Option<u32>,
    uploads: Vec<Upload>,
}

#[derive(Serialize)]
struct Upload {
    key: &'static str,
    bytes: u64,
    header_and_checksum_bytes: u64,
    mask_bytes: u64,
    body_bytes: u64,
    bytes_per_reading: f64,
    ciphertexts: u64,
    readings_per_ciphertext: u64,
    workspaces: Vec<PlanWorkspace>,
}

#[derive(Serialize)]
struct PlanWorkspace {
    plan: &'static str,
    bytes: u64,
}

impl Readings {
    /// Returns whether the options ask about an upload.
    pub(super) fn are_given(&self) -> bool {
        self.count.is_some()
    }

    /// Returns the sizes under keys of a parameter set, of both kinds that boards may have.
    pub(super) fn under_set(&self, parameters: &Parameters) -> Outcome<Sizes> {
        let has_public_keys = parameters.public_key_mask_bits() > 0;
        let modes = [KeyMode::Symmetric, KeyMode::Public];
        self.sizes(parameters, &modes[..1 + usize::from(has_public_keys)])
    }

    /// Returns the sizes under a key file. For the key owner's and the server's keys they are those
    /// of both kinds of keys that boards may have.
    pub(super) fn under_key(&self, path: &Path, bytes: &[u8]) -> Outcome<Sizes> {
        let (message, _) = Message::parse(bytes).explain(path.display())?;
        let parameters =
            || -> Outcome<_> { Ok(parameters_of(&message).explain(path.display())?.0) };
        match message.header.kind {
            Kind::DeviceKey | Kind::DeviceSwitchKey => {
                self.sizes(&parameters()?, &[KeyMode::Symmetric])
            }
            Kind::DevicePublicKey => self.sizes(&parameters()?, &[KeyMode::Public]),
            Kind::SecretKey | Kind::ServerKey | Kind::PackingKey | Kind::Card => {
                self.under_set(&parameters()?)
            }
            kind @ (Kind::Metadata
            | Kind::SeededGlweList
            | Kind::GlweList
            | Kind::SeededColumnList
            | Kind::ColumnList
            | Kind::CompactValues
            | Kind::PackedList
            | Kind::LinearBodies
            | Kind::DeviceBodies
            | Kind::CutLweList
            | Kind::LweList) => Err(failure(
                format_args!(
                    "{} begins with a {kind}, which does not tell how large other uploads are",
                    path.display()
                ),
                "give the key that will encrypt the readings, or --parameters",
            )),
        }
    }

    /// The encoding of a compact column, if one is asked about.
    fn compact(&self, parameters: &Parameters, bits: u32) -> Outcome<Option<CompactEncoding>> {
        let (Some(headroom), Some(body_bits)) = (self.headroom, self.body_bits) else {
            return Ok(None);
        };
        if !has_column_lists(parameters) {
            return Err(failure(
                format_args!("'{}' has no compact columns", parameters.name()),
                "ask about a set of integers, such as message_2_carry_2, or leave --headroom out",
            ));
        }
        CompactEncoding::new(bits, headroom, body_bits, BodyRounding::Nearest)
            .map(Some)
            .advise(
                "no compact column",
                "change --bits, --headroom or --body-bits",
            )
    }

    fn sizes(&self, parameters: &Parameters, modes: &[KeyMode]) -> Outcome<Sizes> {
        let count = self.count.unwrap_or(0);
        let bits = match (self.bits, parameters.plaintext()) {
            (Some(bits), _) => bits,
            (None, PlaintextKind::Boolean) => 1,
            (None, PlaintextKind::Radix) => {
                return Err(failure(
                    format_args!(
                        "readings under '{}' have as many bits as their column says",
                        parameters.name()
                    ),
                    "add --bits, for example --bits 8",
                ));
            }
        };
        let compact = self.compact(parameters, bits)?;
        // A boolean is a block of one bit.
        let blocks = match compact {
            None => parameters.block_encoding().block_count(bits),
            Some(_) => 1,
        };
        let set = parameters.as_set();
        let upload = |&mode| {
            let masked = mode == KeyMode::Public;
            if masked && parameters.public_key_mask_bits() == 0 {
                return Err(DeviceError::NoPublicKeyUploads).explain("no size");
            }
            let size = match (compact, mode) {
                (Some(encoding), _) => UploadSize::compact(parameters, count, encoding, masked),
                (None, KeyMode::Symmetric) => UploadSize::symmetric(set, count, blocks),
                (None, KeyMode::Public) => UploadSize::public_key(set, count, blocks),
            };
            let size = size.ok_or_else(|| {
                failure(
                    format_args!(
                        "an upload has from 1 to {} such readings",
                        MAX_ELEMENTS / blocks
                    ),
                    "send more in several uploads",
                )
            })?;
            Ok(Upload::new(parameters, mode, &size))
        };
        Ok(Sizes {
            parameter_set: parameters.name().to_string(),
            readings: count as u64,
            bits,
            plaintexts_per_reading: blocks as u64,
            headroom: compact.map(|encoding| encoding.headroom()),
            body_bits: compact.map(|encoding| encoding.body_bits()),
            uploads: modes.iter().map(upload).collect::<Outcome<_>>()?,
        })
    }
}

impl Upload {
    fn new(parameters: &Parameters, mode: KeyMode, size: &UploadSize) -> Self {
        let workspace = |plan: MemoryPlan| PlanWorkspace {
            plan: plan.name(),
            bytes: workspace_bytes(parameters.as_set(), plan, mode) as u64,
        };
        Self {
            key: match mode {
                KeyMode::Symmetric => "device key",
                KeyMode::Public => "device public key",
            },
            bytes: size.total_bytes() as u64,
            header_and_checksum_bytes: size.envelope_bytes as u64,
            mask_bytes: size.mask_bytes as u64,
            body_bytes: size.body_bytes as u64,
            bytes_per_reading: size.bytes_per_reading(),
            ciphertexts: size.ciphertext_count as u64,
            readings_per_ciphertext: size.readings_per_ciphertext as u64,
            workspaces: MemoryPlan::ALL.map(workspace).into(),
        }
    }

    fn rows(&self) -> Vec<(String, String)> {
        let row = |name: &str, value: &dyn Display| (name.to_owned(), value.to_string());
        let bytes = |count| format!("{} B", report::count(count));
        let masks = match self.mask_bytes {
            0 => "0 B, the header's seed stands for them".to_owned(),
            count => bytes(count),
        };
        let ciphertexts = match self.readings_per_ciphertext {
            0 => format!(
                "{}, a reading takes several",
                report::count(self.ciphertexts)
            ),
            each => format!(
                "{} of up to {} readings",
                report::count(self.ciphertexts),
                report::count(each)
            ),
        };
        let mut rows = vec![
            row(
                "header and checksum",
                &bytes(self.header_and_checksum_bytes),
            ),
            row("masks", &masks),
            row("bodies", &bytes(self.body_bytes)),
            row(
                "per reading",
                &format_args!("{:.2} B", self.bytes_per_reading),
            ),
            row("ciphertexts", &ciphertexts),
        ];
        for workspace in &self.workspaces {
            let name = format!("workspace, {} plan", workspace.plan);
            rows.push((name, bytes(workspace.bytes)));
        }
        rows
    }
}

/// Prints the sizes.
pub(super) fn show(sizes: &Sizes, json: bool) -> Outcome<()> {
    if json {
        return output::print_json(sizes);
    }
    for upload in &sizes.uploads {
        output::emit(format_args!(
            "{} readings of {} bits{} under a {} of {}: {} B",
            report::count(sizes.readings),
            sizes.bits,
            match sizes.headroom {
                Some(headroom) => format!(" below {headroom} bits of headroom"),
                None => String::new(),
            },
            upload.key,
            sizes.parameter_set,
            report::count(upload.bytes)
        ))?;
        for (name, value) in upload.rows() {
            output::emit(format_args!("  {name:<24} {value}"))?;
        }
    }
    output::note(
        "column definitions and row labels, which `encrypt` sends before them, are not in it",
    );
    Ok(())
}
