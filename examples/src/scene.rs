//! The four parts of every example: who makes keys, who encrypts, who computes, who reads.

use std::time::Instant;

use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::workspace::HeapWorkspace;
use tfhe_sbc_device::{
    Encryptor, EntropyError, ExpanderKind, KeyMode, MemoryPlan, SeedSequence, encode_readings,
    reading_block_count, workspace_bytes,
};
use tfhe_sbc_engine::bootstrap::Evaluator;
use tfhe_sbc_engine::circuit::{Block, Circuit};
use tfhe_sbc_engine::integer::{FheBool, FheUint, Width};
use tfhe_sbc_engine::server_key::{SeededServerKey, ServerKey};
use tfhe_sbc_upload::extract::ExpandedGlweList;
use tfhe_sbc_upload::metadata;
use tfhe_sbc_upload::readings::{ReadingsMetadata, Upload};
use zeroize::Zeroizing;

use crate::weather::Table;
use crate::{Outcome, Report};

/// A key set, and who has which part of it.
pub struct Scene {
    /// What it is, and how long it took.
    pub about: String,
    parameters: Parameters,
    /// The key owner's.
    secret: SecretKey,
    /// The device's.
    device: Zeroizing<Vec<u8>>,
    /// The server's.
    server: ServerKey<u64>,
}

fn entropy() -> Outcome<SeedSequence> {
    Ok(SeedSequence::from_entropy(|bytes| {
        getrandom::fill(bytes).map_err(|_| EntropyError::Source("the operating system"))
    })?)
}

impl Scene {
    /// Fresh keys of the default set.
    pub fn new() -> Outcome<Self> {
        let start = Instant::now();
        let parameters = MESSAGE_2_CARRY_2.validate()?;
        let mut seeds = entropy()?;
        let secret = SecretKey::generate(parameters, &mut seeds)?;
        let seeded = SeededServerKey::generate(&secret, &mut seeds, &|_| ())?;
        let device = secret.device_key().to_bytes()?;
        let server = seeded.prepare(&|_| ());
        Ok(Self {
            about: format!(
                "keys of the set {} in {:.1} s",
                parameters.name(),
                start.elapsed().as_secs_f64()
            ),
            parameters,
            device,
            secret,
            server,
        })
    }

    /// An empty circuit for the server.
    pub fn circuit(&self) -> Outcome<Circuit> {
        Ok(Circuit::new(&self.parameters)?)
    }

    /// The device: the bytes of an upload.
    pub fn encrypt(&self, table: &Table, report: &mut Report) -> Outcome<Vec<u8>> {
        let encoding = self.parameters.block_encoding();
        let mut blocks = Zeroizing::new(Vec::new());
        for (column, readings) in table.columns.iter().zip(&table.readings) {
            let fixed_point = column.fixed_point()?;
            let start = blocks.len();
            let count = reading_block_count(encoding, &fixed_point, readings.len());
            blocks.resize(start + count, 0);
            encode_readings(encoding, &fixed_point, readings, &mut blocks[start..])?;
        }
        let described = ReadingsMetadata {
            columns: table.columns.clone(),
            rows: table.hours.clone(),
        };
        let key = self.secret.fingerprint();
        let mut upload = metadata::write(self.parameters.fingerprint(), key, &described)?;
        let plan = MemoryPlan::recommended();
        let bytes = workspace_bytes(self.parameters.as_set(), plan, KeyMode::Symmetric);
        let mut workspace = HeapWorkspace::new(bytes);
        let mut device = Encryptor::<u64>::new(
            &self.device,
            plan,
            ExpanderKind::ChaCha20,
            entropy()?,
            workspace.as_mut_slice(),
        )?;
        let start = Instant::now();
        let mut list = vec![0; device.message_len(blocks.len())];
        device.encrypt_blocks(&blocks, &mut list)?;
        upload.extend_from_slice(&list);
        report.say(format!(
            "device:    {} readings, {} bytes, encrypted in {:.2} ms",
            table.hours.len() * table.columns.len(),
            upload.len(),
            1e3 * start.elapsed().as_secs_f64()
        ));
        Ok(upload)
    }

    /// The server: what is in an upload.
    pub fn receive(&self, upload: &[u8]) -> Outcome<Received> {
        let upload = Upload::parse(upload, &self.parameters, self.server.fingerprint())?;
        let list = ExpandedGlweList::expand(&upload.list, &self.parameters);
        Ok(Received {
            list,
            metadata: upload.metadata,
        })
    }

    /// The server evaluates, and the key owner decrypts: a number for each answer.
    pub fn ask(
        &self,
        circuit: &Circuit,
        answers: &[Answer],
        report: &mut Report,
    ) -> Outcome<Vec<u64>> {
        let start = Instant::now();
        let evaluator = Evaluator::new(&self.server);
        let blocks: Vec<&Block> = answers.iter().flat_map(|answer| &answer.0).collect();
        let results = circuit.export_while(&evaluator, &blocks, &|| true)?;
        let seconds = start.elapsed().as_secs_f64();
        let bytes = results.len() * 4 * (self.parameters.lwe_dimension().0 + 1);
        report.say(format!(
            "server:    {} bootstraps, {} one after the other, in {seconds:.2} s on {} threads",
            evaluator.bootstrap_count(),
            circuit.bootstrap_depth(&blocks),
            rayon::current_num_threads(),
        ));
        report.say(format!(
            "key owner: {} answers, {bytes} bytes",
            answers.len()
        ));
        let mut values = results.iter().map(|lwe| self.secret.decrypt_block(lwe));
        let encoding = circuit.encoding();
        let join = |answer: &Answer| encoding.join(values.by_ref().take(answer.0.len()));
        Ok(answers.iter().map(join).collect())
    }
}

/// What a server is asked to send back: the blocks of a number.
pub struct Answer(Vec<Block>);

impl Answer {
    /// A number.
    pub fn number(number: &FheUint) -> Self {
        Self(number.blocks().to_vec())
    }

    /// A truth value: 1 where it holds.
    pub fn truth(circuit: &Circuit, truth: &FheBool) -> Self {
        Self(vec![circuit.bit(truth)])
    }
}

/// An upload at the server.
pub struct Received {
    /// Its ciphertexts.
    pub list: ExpandedGlweList<u64>,
    /// What they mean.
    pub metadata: ReadingsMetadata,
}

impl Received {
    /// Where the blocks of a column are.
    pub fn blocks(&self, circuit: &Circuit, column: usize) -> std::ops::Range<usize> {
        let of = |row| self.metadata.blocks_of(circuit.encoding(), column, row);
        of(0).start..of(self.metadata.rows.len() - 1).end
    }

    /// The readings of a column.
    pub fn column(&self, circuit: &Circuit, column: usize) -> Outcome<Vec<FheUint>> {
        let width = Width::new(self.metadata.columns[column].bits)?;
        let row = |row| {
            let blocks = self.metadata.blocks_of(circuit.encoding(), column, row);
            let ciphertexts = self.list.extract(blocks).ok_or("a row is missing")?;
            Ok(circuit.encrypted(ciphertexts, width)?)
        };
        (0..self.metadata.rows.len()).map(row).collect()
    }
}
