//! A key set, a server that computes with it, and tables encrypted under it. The tests of the
//! service include this file, too.

use std::sync::OnceLock;

use tfhe_sbc_columns::Server;
use tfhe_sbc_core::device_public_key::DevicePublicKey;
use tfhe_sbc_core::encoding::Derivation;
use tfhe_sbc_core::keys::{DeviceKey, SecretKey};
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_core::parameters::{KeyFingerprint, ParameterSet};
use tfhe_sbc_core::random::{EntropyError, ExpanderKind, Seed, SeedSequence};
use tfhe_sbc_core::wire::columns::ElementEncoding;
use tfhe_sbc_core::workspace::HeapWorkspace;
use tfhe_sbc_device::{
    ColumnValues, DeviceError, Encryptor, KeyMode, MemoryPlan, PublicEncryptor, Session,
    SessionMode, encode_readings, reading_block_count, workspace_bytes,
};
use tfhe_sbc_engine::server_key::SeededServerKey;
use tfhe_sbc_query::Question;
use tfhe_sbc_query::evaluate::{EvaluateError, Form, evaluate};
use tfhe_sbc_query::progress::Progress;
use tfhe_sbc_query::request::{Request, RequestError};
use tfhe_sbc_query::results::{Answer, Results};
use tfhe_sbc_upload::gaps::Gaps;
use tfhe_sbc_upload::metadata;
use tfhe_sbc_upload::readings::{Column, Compact, ReadingsMetadata};

pub(crate) struct KeySet {
    pub(crate) secret: SecretKey,
    pub(crate) server: SeededServerKey<u64>,
    pub(crate) computing: Server,
}

/// The result of an evaluation, and its cost.
#[derive(Debug)]
pub(crate) struct Evaluation {
    pub(crate) result: Vec<u8>,
    pub(crate) bootstraps: u64,
}

/// Readings in the clear, column by column.
#[derive(Clone)]
pub(crate) struct Table {
    pub(crate) metadata: ReadingsMetadata,
    pub(crate) readings: Vec<Vec<f64>>,
}

/// The seeds of sanitised answers.
pub(crate) fn next_seeds() -> Result<SeedSequence, EntropyError> {
    Ok(seeds())
}

/// Seeds that differ from call to call, and not from run to run.
pub(crate) fn seeds() -> SeedSequence {
    static CALLS: std::sync::atomic::AtomicU8 = std::sync::atomic::AtomicU8::new(1);
    let call = CALLS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    SeedSequence::new(Seed::from_bytes(std::array::from_fn(|i| {
        call ^ (i as u8 + 1).wrapping_mul(57)
    })))
}

/// Drawn once for all tests of a binary.
pub(crate) fn key_set() -> &'static KeySet {
    static KEY_SET: OnceLock<KeySet> = OnceLock::new();
    KEY_SET.get_or_init(|| KeySet::generate(MESSAGE_2_CARRY_2))
}

impl KeySet {
    pub(crate) fn generate(set: ParameterSet) -> Self {
        let parameters = set.validate().unwrap();
        let mut seeds = seeds();
        let secret = SecretKey::generate(parameters, &mut seeds).unwrap();
        let server = SeededServerKey::<u64>::generate(&secret, &mut seeds, &|_| ()).unwrap();
        let computing = Server::new(server.prepare(&|_| ()));
        Self {
            secret,
            server,
            computing,
        }
    }
}

pub(crate) fn questions(texts: &[&str]) -> Vec<Question> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

/// A table with columns of these names, offsets, scales and widths.
pub(crate) fn table(columns: &[(&str, f64, f64, u32)], readings: Vec<Vec<f64>>) -> Table {
    let column = |&(name, offset, scale, bits): &(&str, f64, f64, u32)| Column {
        name: name.to_owned(),
        unit: String::new(),
        offset,
        scale,
        bits,
        compact: None,
        derived: Default::default(),
    };
    let rows = (0..readings[0].len())
        .map(|row| format!("r{row}"))
        .collect();
    let columns = columns.iter().map(column).collect();
    Table {
        metadata: ReadingsMetadata {
            columns,
            rows,
            gaps: Default::default(),
        },
        readings,
    }
}

impl Table {
    /// The same table with columns that are compact.
    pub(crate) fn compact(&self) -> Self {
        let mut metadata = self.metadata.clone();
        for column in &mut metadata.columns {
            column.compact = Some(Compact {
                headroom: 14,
                body_bits: column.bits + 20,
                feedback: true,
            });
        }
        Self {
            metadata,
            readings: self.readings.clone(),
        }
    }
}

/// A key that encrypts, and whose messages it is.
pub(crate) enum UploadKey<'a> {
    Device(&'a DeviceKey),
    Public(&'a DevicePublicKey),
}

impl UploadKey<'_> {
    /// The message of these columns, or of radix blocks alone.
    pub(crate) fn encrypt(&self, values: &[ColumnValues<'_>]) -> Result<Vec<u8>, DeviceError> {
        let (plan, expander) = (MemoryPlan::recommended(), ExpanderKind::ChaCha20);
        let room = |mode| HeapWorkspace::new(workspace_bytes(&MESSAGE_2_CARRY_2, plan, mode));
        match self {
            Self::Device(key) => {
                let (key, mut room) = (key.to_bytes().unwrap(), room(KeyMode::Symmetric));
                let session = Encryptor::new(&key, plan, expander, seeds(), room.as_mut_slice());
                message(session?, values)
            }
            Self::Public(key) => {
                let (key, mut room) = (key.to_bytes().unwrap(), room(KeyMode::Public));
                let room = room.as_mut_slice();
                message(
                    PublicEncryptor::new(&key, plan, expander, seeds(), room)?,
                    values,
                )
            }
        }
    }

    pub(crate) fn fingerprint(&self) -> KeyFingerprint {
        match self {
            Self::Device(key) => key.fingerprint(),
            Self::Public(key) => key.fingerprint(),
        }
    }
}

fn message<K: SessionMode<u64>>(
    mut session: Session<'_, u64, K>,
    values: &[ColumnValues<'_>],
) -> Result<Vec<u8>, DeviceError> {
    if let [ColumnValues::Blocks(blocks)] = values {
        let mut message = vec![0; session.message_len(blocks.len())];
        session.encrypt_blocks(blocks, &mut message)?;
        return Ok(message);
    }
    let mut message = vec![0; session.columns_message_len(values)];
    session.encrypt_columns(values, &mut message)?;
    Ok(message)
}

impl KeySet {
    pub(crate) fn upload(&self, table: &Table) -> Vec<u8> {
        self.upload_under(&self.secret.device_key(), table)
    }

    pub(crate) fn upload_under(&self, key: &DeviceKey, table: &Table) -> Vec<u8> {
        self.upload_with(&UploadKey::Device(key), table)
    }

    pub(crate) fn upload_with(&self, key: &UploadKey<'_>, table: &Table) -> Vec<u8> {
        let parameters = self.secret.parameters();
        let encoding = parameters.block_encoding();
        let mut blocks = Vec::new();
        let columns = table.metadata.columns.iter().zip(&table.readings);
        let (mut codes, mut valid) = (Vec::new(), Vec::new());
        for (column, readings) in columns.clone() {
            let fixed_point = column.fixed_point().unwrap();
            let is_missing = |reading: &f64| column.is_optional() && reading.is_nan();
            let mut encoded = Vec::new();
            if column.compact.is_none() {
                encoded = vec![0; reading_block_count(encoding, &fixed_point, readings.len())];
                encode_readings(encoding, &fixed_point, readings, &mut encoded).unwrap();
            }
            blocks.push(encoded);
            let code = |reading: &f64| match is_missing(reading) {
                true => 0,
                false => fixed_point.encode(*reading).unwrap(),
            };
            codes.push(readings.iter().map(code).collect::<Vec<u64>>());
            let flags = readings
                .iter()
                .map(|reading| u64::from(!is_missing(reading)));
            valid.push(flags.collect::<Vec<u64>>());
        }
        let mut values = Vec::new();
        for (place, column) in table.metadata.columns.iter().enumerate() {
            let codes = &codes[place];
            values.push(match column.element_encoding().unwrap() {
                ElementEncoding::Radix => ColumnValues::Blocks(&blocks[place]),
                ElementEncoding::Compact(encoding) => ColumnValues::Codes(encoding, codes),
            });
            for (derivation, form) in column.derived.columns() {
                let form = form.encoding(derivation.bits(column.bits)).unwrap();
                values.push(match derivation {
                    Derivation::Valid => ColumnValues::Codes(form, &valid[place]),
                    _ => ColumnValues::DerivedCodes(form, derivation, column.bits, codes),
                });
            }
        }
        let all_blocks = blocks.concat();
        let values = match table.metadata.has_compact() {
            true => values,
            false => vec![ColumnValues::Blocks(&all_blocks)],
        };
        let (parameters, key_of) = (parameters.fingerprint(), key.fingerprint());
        let mut described = table.metadata.clone();
        described.gaps = Gaps::of(&described.columns, &table.readings);
        let mut upload = metadata::write(parameters, key_of, &described).unwrap();
        upload.extend(key.encrypt(&values).unwrap());
        upload
    }

    /// A metadata message under this key set.
    pub(crate) fn message(&self, content: &impl serde::Serialize) -> Vec<u8> {
        let parameters = self.secret.parameters().fingerprint();
        metadata::write(parameters, self.secret.fingerprint(), content).unwrap()
    }

    pub(crate) fn seal(
        &self,
        table: &Table,
        questions: &[Question],
    ) -> Result<Vec<u8>, RequestError> {
        self.seal_under(&self.secret.device_key(), table, questions)
    }

    pub(crate) fn seal_under(
        &self,
        key: &DeviceKey,
        table: &Table,
        questions: &[Question],
    ) -> Result<Vec<u8>, RequestError> {
        self.seal_with(&UploadKey::Device(key), table, questions)
    }

    pub(crate) fn seal_with(
        &self,
        key: &UploadKey<'_>,
        table: &Table,
        questions: &[Question],
    ) -> Result<Vec<u8>, RequestError> {
        Request::seal(
            questions,
            &table.metadata,
            self.secret.parameters(),
            key.fingerprint(),
            Some(&mut |values| key.encrypt(values)),
        )
    }

    /// Evaluates a request on uploads.
    pub(crate) fn evaluate(
        &self,
        uploads: &[&[u8]],
        request: &[u8],
        progress: &Progress,
    ) -> Result<Evaluation, EvaluateError> {
        let most = tfhe_sbc_query::cost::MAX_BOOTSTRAPS;
        let whole = Form::Whole;
        let (result, bootstraps) = evaluate(
            &self.computing,
            uploads,
            request,
            whole,
            most,
            progress,
            next_seeds,
        )?;
        Ok(Evaluation { result, bootstraps })
    }

    /// Asks about an encrypted table and decrypts the answers.
    pub(crate) fn ask(&self, table: &Table, questions: &[Question]) -> Vec<Answer> {
        let request = self.seal(table, questions).unwrap();
        let evaluated = self.evaluate(&[&self.upload(table)], &request, &Progress::default());
        Results::decrypt(&evaluated.unwrap().result, &self.secret)
            .unwrap()
            .all()
            .unwrap()
    }
}
