//! The parties of every example, in one process: a key owner makes keys and reads answers, a board
//! encrypts, a server computes without a secret.

use std::time::Instant;

use tfhe_sbc_columns::{Answer, Computable, Computed, Progress, Server, Table, Value};
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_device::{ExpanderKind, MemoryPlan};
use tfhe_sbc_engine::server_key::SeededServerKey;
use tfhe_sbc_upload::{DeviceSession, fresh_seeds};

use crate::weather::Weather;
use crate::{Outcome, Report};

/// A key set, with the part that each party has.
pub struct Scene {
    /// The name of the parameter set and the time that the keys took.
    pub about: String,
    /// The key owner's part.
    secret: SecretKey,
    /// The server, which has the server key.
    pub server: Server,
}

impl Scene {
    /// Fresh keys of the default parameter set.
    pub fn new() -> Outcome<Self> {
        let start = Instant::now();
        let parameters = MESSAGE_2_CARRY_2.validate()?;
        let mut seeds = fresh_seeds()?;
        let secret = SecretKey::generate(parameters, &mut seeds)?;
        let server_key = SeededServerKey::generate(&secret, &mut seeds, &|_| ())?;
        Ok(Self {
            server: Server::new(server_key.prepare(&|_| ())),
            about: format!(
                "keys of the set {} in {:.1} s",
                parameters.name(),
                start.elapsed().as_secs_f64()
            ),
            secret,
        })
    }

    /// The board: encrypts readings and returns the bytes of an upload.
    pub fn encrypt(&self, weather: &Weather, report: &mut Report) -> Outcome<Vec<u8>> {
        let key = self.secret.device_key().to_bytes()?;
        let mut board = DeviceSession::new(key, MemoryPlan::recommended())?;
        let columns = board.columns(&weather.columns)?;
        let start = Instant::now();
        let upload = board.encrypt_table(
            ExpanderKind::ChaCha20,
            &columns,
            &weather.hours,
            &weather.readings,
        )?;
        report.say(format!(
            "device:    {} readings, {} bytes, encrypted in {:.2} ms",
            weather.hours.len() * weather.columns.len(),
            upload.len(),
            1e3 * start.elapsed().as_secs_f64()
        ));
        Ok(upload)
    }

    /// The board and the server: encrypted columns of readings.
    pub fn upload(&self, weather: &Weather, report: &mut Report) -> Outcome<Table> {
        let upload = self.encrypt(weather, report)?;
        Ok(self.server.load(&[&upload])?)
    }

    /// The server computes, and the key owner decrypts.
    pub fn ask(&self, values: &[&dyn Computable], report: &mut Report) -> Outcome<Vec<Value>> {
        let parts: Vec<Computed> = values.iter().flat_map(|value| value.parts()).collect();
        let cost = self.server.cost(&parts, &Progress::default())?;
        let start = Instant::now();
        let answers = self.server.compute_list(values, &Progress::default())?;
        report.say(format!(
            "server:    {} bootstraps, {} one after the other, in {:.2} s on {} threads",
            cost.bootstraps,
            cost.depth,
            start.elapsed().as_secs_f64(),
            rayon::current_num_threads(),
        ));
        let ciphertexts: usize = answers.iter().map(Answer::ciphertext_count).sum();
        let each = 4 * (self.secret.parameters().lwe_dimension().0 + 1);
        report.say(format!(
            "key owner: {} answers, {} bytes",
            answers.len(),
            ciphertexts * each
        ));
        let values = answers.iter().map(|answer| answer.decrypt(&self.secret));
        Ok(values.collect::<Result<_, _>>()?)
    }
}
