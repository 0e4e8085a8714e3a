//! Rows about a year of hourly readings: the bytes of its upload, and the bootstraps of questions about it,
//! counted. Columns are made for means.

use tfhe_sbc_columns::{
    Column, Computable, Computed, Limit, Number, Progress, ReadingsMetadata, Relation, Server,
    limit_encoding,
};
use tfhe_sbc_core::encoding::{BodyRounding, CompactEncoding};
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_device::{ExpanderKind, MemoryPlan};
use tfhe_sbc_oracle::compact::Profile;
use tfhe_sbc_oracle::upload::UploadKind;
use tfhe_sbc_upload::readings::Compact;
use tfhe_sbc_upload::{DeviceSession, fresh_seeds};

use crate::error::BenchError;
use crate::report::{Row, Unit};

/// The rows of a year.
pub(crate) const ROWS: usize = 8760;
/// The widths of the columns, those of the bundled weather data.
const WIDTHS: [u32; 4] = [10, 7, 8, 17];

/// All rows.
pub(super) fn rows() -> Result<Vec<Row>, BenchError> {
    let parameters = MESSAGE_2_CARRY_2.validate()?;
    let metadata = metadata(&parameters)?;
    let server = Server::rehearsal(&parameters)?;
    let table = server.describe(metadata.clone());
    let column = |name| table.column(name);
    let (a, b) = (column("c10")?, column("c7")?);
    let bootstraps = |value: &dyn Computable| -> Result<f64, BenchError> {
        let cost = server.cost(&value.parts(), &Progress::default())?;
        Ok(cost.bootstraps as f64)
    };
    let count = |limit| Computed::Number(a.compare_codes(Relation::Gt, &limit).count());
    let count = |limit| -> Result<f64, BenchError> {
        let cost = server.cost(&[count(limit)], &Progress::default())?;
        Ok(cost.bootstraps as f64 / ROWS as f64)
    };
    let encrypted_limit = limit_encoding(&parameters, a.bits())
        .and_then(|encoding| a.rehearsed_compact_limit(511, &encoding))
        .ok_or_else(|| BenchError::WrongAnswer("the form of a threshold".to_owned()))?;
    let score = Number::linear(&[(a, 2.0), (b, -1.0)], 0.0)?;
    let figure = |name: &str, value, note: &str| {
        Row::figures(
            name,
            Unit::One,
            value,
            None,
            format!("Bootstraps of {note}"),
        )
    };
    let year = format!("of a year of hourly readings ({ROWS} rows)");
    let secret = SecretKey::generate(parameters, &mut fresh_seeds()?)?;
    let bytes = upload(&secret, &metadata, &readings())?.len() as f64;
    Ok(vec![
        figure(
            "year_mean_bootstraps",
            bootstraps(&a.mean())?,
            &format!("the mean {year}"),
        ),
        figure(
            "year_sum_bootstraps",
            bootstraps(&a.sum())?,
            &format!("the sum {year}"),
        ),
        figure(
            "year_score_bootstraps",
            bootstraps(&score)?,
            &format!("a weighted sum of two columns in each row {year}"),
        ),
        figure(
            "year_count_bootstraps_clear_threshold",
            count(Limit::Clear(511))?,
            "a count of the rows above a clear threshold, for each row of 10 bits",
        ),
        figure(
            "year_count_bootstraps_encrypted_threshold",
            count(Limit::Encrypted(encrypted_limit))?,
            "a count of the rows above an encrypted threshold, for each row of 10 bits",
        ),
        Row::figures(
            "year_upload_bytes_4_columns",
            Unit::Bytes,
            bytes,
            None,
            format!("One upload {year}, of columns of {WIDTHS:?} bits with their hours"),
        ),
    ])
}

/// The form of an encoding, as metadata state it.
pub(crate) fn form(encoding: &CompactEncoding) -> Compact {
    Compact {
        headroom: encoding.headroom(),
        body_bits: encoding.body_bits(),
        feedback: encoding.rounding() == BodyRounding::ErrorFeedback,
    }
}

/// The columns, made for means, and the hours.
pub(crate) fn metadata(parameters: &Parameters) -> Result<ReadingsMetadata, BenchError> {
    let column = |bits: u32| {
        let encoding = Profile::Means
            .encoding(parameters, bits, UploadKind::Symmetric)
            .ok_or_else(|| BenchError::WrongAnswer(format!("the form of {bits} bits")))?;
        Ok(Column {
            name: format!("c{bits}"),
            unit: String::new(),
            offset: 0.0,
            scale: 1.0,
            bits,
            compact: Some(form(&encoding)),
            derived: Default::default(),
        })
    };
    // The days of 2025, month by month.
    let months = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let days = (1..)
        .zip(months)
        .flat_map(|(month, days)| (1..=days).map(move |day| (month, day)));
    let hours = days.flat_map(|(month, day)| {
        (0..24).map(move |hour| format!("2025-{month:02}-{day:02}T{hour:02}:00"))
    });
    Ok(ReadingsMetadata {
        columns: WIDTHS
            .into_iter()
            .map(column)
            .collect::<Result<_, BenchError>>()?,
        rows: hours.collect(),
        gaps: Default::default(),
    })
}

/// The readings, column by column.
pub(crate) fn readings() -> [Vec<f64>; 4] {
    WIDTHS.map(|bits| {
        let codes = (0..ROWS).map(|row| (row * 7919 % (1 << bits)) as f64);
        codes.collect()
    })
}

/// An upload of readings, metadata included.
pub(crate) fn upload(
    secret: &SecretKey,
    metadata: &ReadingsMetadata,
    readings: &[Vec<f64>],
) -> Result<Vec<u8>, BenchError> {
    let key = secret.device_key().to_bytes()?;
    let mut session = DeviceSession::new(key, MemoryPlan::Fast)?;
    let ReadingsMetadata { columns, rows, .. } = metadata;
    Ok(session.encrypt_table(ExpanderKind::Aes128Ctr, columns, rows, readings)?)
}
