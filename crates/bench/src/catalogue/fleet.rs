//! A store as a fleet of boards fills it: an upload an hour, of one row a minute.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use tfhe_sbc_columns::Column;
use tfhe_sbc_core::encoding::BodyRounding;
use tfhe_sbc_core::keys::{DeviceKey, SecretKey};
use tfhe_sbc_device::{ExpanderKind, MemoryPlan};
use tfhe_sbc_oracle::compact::Profile;
use tfhe_sbc_oracle::upload::UploadKind;
use tfhe_sbc_service::store::Store;
use tfhe_sbc_transport::protocol::UploadSummary;
use tfhe_sbc_upload::DeviceSession;
use tfhe_sbc_upload::moments::{Moment, Span};
use tfhe_sbc_upload::readings::Compact;
use tfhe_sbc_upload::short::Definitions;

use crate::error::BenchError;

/// The names of the columns.
pub(crate) const COLUMNS: [&str; 4] = ["temperature_c", "humidity_pct", "pressure_hpa", "light_lx"];
/// The bits of each column.
pub(crate) const BITS: u32 = 12;
/// The rows of an upload, one a minute.
pub(crate) const ROWS: u64 = 60;
/// The moment of the first row: 2026-09-01, in milliseconds since 1970.
pub(crate) const BEGINNING_MS: i64 = 1_788_220_800_000;
/// The time from a row to the next, in milliseconds.
const MINUTE_MS: i64 = 60_000;
/// The connections over which boards upload at the same time.
pub(crate) const AT_ONCE: u64 = 32;

/// A number of boards, and the hours for which each of them has uploaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fleet {
    /// The number of boards.
    pub(crate) devices: u64,
    /// The number of hours: the uploads of each board.
    pub(crate) hours: u64,
}

impl Fleet {
    /// 50 boards, and as many hours as together make this many uploads, or a few more.
    pub(crate) fn of_uploads(uploads: u64) -> Self {
        let devices = 50.min(uploads.max(1));
        Self {
            devices,
            hours: uploads.div_ceil(devices),
        }
    }

    /// The number of uploads.
    pub(crate) fn uploads(self) -> u64 {
        self.devices * self.hours
    }

    /// The number of readings.
    pub(crate) fn readings(self) -> u64 {
        self.uploads() * ROWS * COLUMNS.len() as u64
    }
}

/// The name of a board.
pub(crate) fn name(device: u64) -> String {
    format!("board-{device:02}")
}

/// The moment of a row, which counts from the beginning.
pub(crate) fn moment(minute: u64) -> Moment {
    Moment::from_unix_ms(BEGINNING_MS + minute as i64 * MINUTE_MS)
}

/// The reading of a board in a row, which counts from the beginning, and in a column. Columns have steps of 1 from 0.
pub(crate) fn reading(device: u64, minute: u64, column: u64) -> f64 {
    let mixed = (device * 7919 + minute * 104_729 + column * 1_299_709).wrapping_mul(0x9e37_79b9);
    ((mixed >> 16) % (1 << BITS)) as f64
}

/// The columns, made for means.
pub(crate) fn columns(secret: &SecretKey) -> Result<Vec<Column>, BenchError> {
    let encoding = Profile::Means
        .encoding(secret.parameters(), BITS, UploadKind::Symmetric)
        .ok_or_else(|| BenchError::WrongAnswer(format!("the form of {BITS} bits")))?;
    let column = |name: &str| Column {
        name: name.to_owned(),
        unit: String::new(),
        offset: 0.0,
        scale: 1.0,
        bits: BITS,
        compact: Some(Compact {
            headroom: encoding.headroom(),
            body_bits: encoding.body_bits(),
            feedback: encoding.rounding() == BodyRounding::ErrorFeedback,
        }),
        derived: Default::default(),
    };
    Ok(COLUMNS.into_iter().map(column).collect())
}

/// An upload with what the server knows of it.
pub(crate) struct Made {
    /// The name of the board.
    pub(crate) device: String,
    /// The bytes.
    pub(crate) upload: Vec<u8>,
    /// Their description.
    pub(crate) summary: UploadSummary,
}

/// Makes uploads under one device key.
pub(crate) struct Maker {
    session: DeviceSession,
    columns: Vec<Column>,
}

impl Maker {
    /// A maker of uploads under the device key of a key set.
    pub(crate) fn new(secret: &SecretKey) -> Result<Self, BenchError> {
        Self::with_key(secret, &secret.device_key())
    }

    /// A maker of uploads under a device key of the key set of `secret`.
    pub(crate) fn with_key(secret: &SecretKey, key: &DeviceKey) -> Result<Self, BenchError> {
        Ok(Self {
            session: DeviceSession::new(key.to_bytes()?, MemoryPlan::Fast)?,
            columns: columns(secret)?,
        })
    }

    /// The upload of a board for an hour, which counts from the beginning.
    pub(crate) fn upload(&mut self, device: u64, hour: u64) -> Result<Made, BenchError> {
        let minutes = hour * ROWS..(hour + 1) * ROWS;
        let label = |minute| {
            let mut label = moment(minute).to_string();
            // Without the seconds: a board that reads once a minute writes none.
            label.truncate("2026-09-01T00:00".len());
            label
        };
        let labels: Vec<String> = minutes.clone().map(label).collect();
        let readings = (0..COLUMNS.len() as u64).map(|column| {
            let readings = minutes.clone();
            readings
                .map(|minute| reading(device, minute, column))
                .collect()
        });
        let readings: Vec<Vec<f64>> = readings.collect();
        let session = &mut self.session;
        let aes = ExpanderKind::Aes128Ctr;
        let upload = session.encrypt_table(aes, &self.columns, &labels, &readings)?;
        let summary = UploadSummary {
            elements: ROWS * COLUMNS.len() as u64,
            rows: ROWS,
            columns: COLUMNS.map(str::to_owned).to_vec(),
            span: Span::of(&labels),
            key: Some(session.fingerprint().to_string()),
            epoch: None,
        };
        Ok(Made {
            device: name(device),
            upload,
            summary,
        })
    }
}

/// Fills a store, which is made if it does not exist, by [`Store::put`], over many connections at once. Uploads come
/// in the order of their hours, or nearly so. `progress` is told the number of uploads so far.
///
/// All are encrypted under the device key of `secret`, so that its server key answers questions about the store and `secret` decrypts the
/// answers, which follow from [`reading`].
pub(crate) fn fill(
    directory: &Path,
    fleet: Fleet,
    secret: &SecretKey,
    progress: impl Fn(u64) + Sync,
) -> Result<(), BenchError> {
    let store = Store::open(directory)?;
    let next = AtomicU64::new(0);
    let fill = || -> Result<(), BenchError> {
        let mut maker = Maker::new(secret)?;
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= fleet.uploads() {
                return Ok(());
            }
            let made = maker.upload(number % fleet.devices, number / fleet.devices)?;
            let definitions = Definitions::of(&made.upload);
            store.put(
                &made.upload,
                &made.device,
                &made.summary,
                definitions.as_ref(),
            )?;
            progress(number + 1);
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(fill)).collect();
        let joined = threads.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|_| Err(BenchError::WrongAnswer("a thread that fills".to_owned())))
        });
        joined.collect::<Result<(), BenchError>>()
    })
}
