//! Rows about sums of compact columns: bytes of a reading, the encryption, and sums over many uploads. All
//! on one thread.

use std::cell::RefCell;
use std::time::Duration;

use tfhe_sbc_core::encoding::{BodyRounding, CompactEncoding};
use tfhe_sbc_core::glwe::GlweCiphertext;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_core::random::{Seed, SeedSequence};
use tfhe_sbc_core::wire::Message;
use tfhe_sbc_core::wire::columns::ColumnList;
use tfhe_sbc_core::workspace::HeapWorkspace;
use tfhe_sbc_device::{
    ColumnValues, Encryptor, ExpanderKind, KeyMode, MemoryPlan, workspace_bytes,
};
use tfhe_sbc_oracle::compact::{CompactUse, Profile, SumRows, least_body_bits};
use tfhe_sbc_oracle::upload::UploadKind;
use tfhe_sbc_upload::list_sum::ColumnListSum;

use crate::error::BenchError;
use crate::report::{Row, Unit};
use crate::timing::{Work, interleave};

/// The width of readings.
const BITS: u32 = 12;
/// The readings of a full upload: one polynomial.
const FULL: usize = 2048;
/// The readings of the encryption.
const ENCRYPTED: usize = 1024;
/// The uploads of a sum of full uploads, for which ten bits of headroom have place.
const UPLOADS: usize = 1 << 10;
/// The uploads of a timed run: few, so that most runs are not interrupted by other work of the machine. Runs
/// take different ones in turn.
const UPLOADS_OF_A_RUN: usize = 32;
/// The number of uploads of the fleet, the rows of each, and the headroom for them.
const FLEET_UPLOADS: usize = 100_000;
const FLEET_ROWS: usize = 24;
const FLEET_HEADROOM: u32 = 17;

/// All rows. The timed ones share `budget`; `largest_cache` bytes are the machine's largest cache.
pub(super) fn rows(budget: Duration, largest_cache: usize) -> Result<Vec<Row>, BenchError> {
    let share = budget / 3;
    let mut station = Station::new()?;
    let mut rows = Vec::new();
    for profile in Profile::ALL {
        let name = format!("bytes_per_reading_12bit_{profile}");
        let encoding = profile
            .encoding(station.secret.parameters(), BITS, UploadKind::Symmetric)
            .ok_or_else(|| BenchError::WrongAnswer(name.clone()))?;
        rows.push(station.bytes(&name, encoding)?);
    }
    let fleet = CompactEncoding::new(BITS, 10, 30, BodyRounding::Nearest)?;
    rows.push(station.encryption("encrypt_us_1024x12bit_compact", fleet, share)?);
    rows.push(station.sums("sum_us_per_upload_2048", fleet, share, largest_cache)?);
    rows.push(station.fleet("fleet_sum_s_100k_uploads_24_rows", share, largest_cache)?);
    Ok(rows)
}

/// A board that encrypts with the fastest expander, and the owner of its key.
struct Station {
    secret: SecretKey,
    session: Encryptor<'static, u64>,
}

impl Station {
    /// Makes keys from a fixed seed: nothing is kept secret with them. The workspace is never given back.
    fn new() -> Result<Self, BenchError> {
        let mut seeds = SeedSequence::new(Seed::from_bytes(*b"tfhe-sbc-bench: not for secrets!"));
        let secret = SecretKey::generate(MESSAGE_2_CARRY_2.validate()?, &mut seeds)?;
        let plan = MemoryPlan::Fast;
        let len = workspace_bytes(&MESSAGE_2_CARRY_2, plan, KeyMode::Symmetric);
        let workspace = Box::leak(Box::new(HeapWorkspace::new(len))).as_mut_slice();
        let session = Encryptor::new(
            &secret.device_key().to_bytes()?,
            plan,
            ExpanderKind::Aes128Ctr,
            SeedSequence::new(Seed::from_bytes([2; 32])),
            workspace,
        )?;
        Ok(Self { secret, session })
    }

    /// Appends the message of a column to `out`.
    fn send(
        &mut self,
        encoding: CompactEncoding,
        codes: &[u64],
        out: &mut Vec<u8>,
    ) -> Result<(), BenchError> {
        let columns = [ColumnValues::Codes(encoding, codes)];
        let start = out.len();
        out.resize(start + self.session.columns_message_len(&columns), 0);
        self.session.encrypt_columns(&columns, &mut out[start..])?;
        Ok(())
    }

    /// Checks the message at the beginning of `bytes`, and returns its list and the bytes behind it.
    fn list<'a>(&self, bytes: &'a [u8]) -> Result<(ColumnList<'a>, &'a [u8]), BenchError> {
        let (message, rest) = Message::parse(bytes)?;
        let list = ColumnList::check(message, self.secret.parameters(), self.secret.fingerprint())?;
        Ok((list, rest))
    }

    /// Returns whether ciphertexts decrypt to `expected`.
    fn is(
        &self,
        encoding: CompactEncoding,
        ciphertexts: &[GlweCiphertext<u64>],
        expected: &[u64],
    ) -> bool {
        let key = self.secret.glwe().prepare();
        let phases: Vec<u64> = ciphertexts.iter().flat_map(|c| key.phase(c)).collect();
        let sums = phases.iter().map(|&phase| encoding.decode(phase));
        phases.len() >= expected.len() && sums.take(expected.len()).eq(expected.iter().copied())
    }

    /// Returns whether a message decrypts to `expected`.
    fn is_sent(
        &self,
        encoding: CompactEncoding,
        message: &[u8],
        expected: &[u64],
    ) -> Result<bool, BenchError> {
        let (list, _) = self.list(message)?;
        let ciphertexts: Vec<_> = list.ciphertext(0).into_iter().collect();
        Ok(list.ciphertext_count() == 1 && self.is(encoding, &ciphertexts, expected))
    }

    fn bytes(&mut self, name: &str, encoding: CompactEncoding) -> Result<Row, BenchError> {
        let codes = codes(FULL, 0);
        let mut message = Vec::new();
        self.send(encoding, &codes, &mut message)?;
        if !self.is_sent(encoding, &message, &codes)? {
            return Err(BenchError::WrongAnswer(name.to_owned()));
        }
        let bytes = message.len() as f64 / FULL as f64;
        let note = format!("{FULL} readings in a message. {}", describe(encoding));
        Ok(Row::figures(name, Unit::Bytes, bytes, None, note))
    }

    fn encryption(
        &mut self,
        name: &str,
        encoding: CompactEncoding,
        share: Duration,
    ) -> Result<Row, BenchError> {
        eprintln!("{name}: timing");
        let codes = codes(ENCRYPTED, 1);
        let columns = [ColumnValues::Codes(encoding, &codes)];
        let message = RefCell::new(vec![0; self.session.columns_message_len(&columns)]);
        let station = RefCell::new(self);
        let mut encryption = Work {
            name: name.to_owned(),
            run: || {
                let session = &mut station.borrow_mut().session;
                Ok(session.encrypt_columns(&columns, &mut message.borrow_mut())?)
            },
            check: |_| {
                station
                    .borrow()
                    .is_sent(encoding, &message.borrow(), &codes)
            },
        };
        let [timing] = interleave([(&mut encryption, 1)], share)?;
        let note = format!(
            "{ENCRYPTED} readings, {}, {} plan. {}",
            ExpanderKind::Aes128Ctr,
            MemoryPlan::Fast,
            describe(encoding)
        );
        Ok(Row::microseconds(name, timing, 1, note))
    }

    /// The sum of full uploads that have been checked.
    fn sums(
        &mut self,
        name: &str,
        encoding: CompactEncoding,
        share: Duration,
        largest_cache: usize,
    ) -> Result<Row, BenchError> {
        eprintln!("{name}: encrypting {UPLOADS} uploads");
        let (bytes, expected) = self.uploads(encoding, UPLOADS, FULL)?;
        let mut lists = Vec::with_capacity(UPLOADS);
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (list, behind) = self.list(rest)?;
            lists.push(list);
            rest = behind;
        }
        let mut all = ColumnListSum::like(&lists[0])?;
        lists.iter().try_for_each(|list| all.add(list))?;
        if !self.is(encoding, all.ciphertexts(), &expected) {
            return Err(BenchError::WrongAnswer(name.to_owned()));
        }
        eprintln!("{name}: timing");
        let starts = (0..UPLOADS).step_by(UPLOADS_OF_A_RUN);
        let mut starts = starts.cycle();
        let mut sum = Work {
            name: name.to_owned(),
            run: || {
                let start = starts.next().unwrap_or(0);
                let lists = &lists[start..][..UPLOADS_OF_A_RUN];
                let mut sum = ColumnListSum::like(&lists[0])?;
                lists.iter().try_for_each(|list| sum.add(list))?;
                Ok((start, sum))
            },
            check: |(start, sum): (usize, ColumnListSum)| {
                let uploads = start..start + UPLOADS_OF_A_RUN;
                let mut expected = vec![0; FULL];
                for upload in uploads {
                    plus(&mut expected, &codes(FULL, upload as u64));
                }
                Ok(self.is(encoding, sum.ciphertexts(), &expected))
            },
        };
        let [timing] = interleave([(&mut sum, UPLOADS_OF_A_RUN)], share)?;
        let note = format!(
            "{UPLOADS_OF_A_RUN} of {UPLOADS} checked uploads of {FULL} readings, masks of {}. {}. {}",
            ExpanderKind::Aes128Ctr,
            memory(bytes.len(), largest_cache),
            describe(encoding)
        );
        Ok(Row::microseconds(name, timing, 1, note))
    }

    /// The sum of small uploads, from their bytes.
    fn fleet(
        &mut self,
        name: &str,
        share: Duration,
        largest_cache: usize,
    ) -> Result<Row, BenchError> {
        eprintln!("{name}: encrypting {FLEET_UPLOADS} uploads");
        let rows = SumRows::Scattered {
            rows: FLEET_UPLOADS as u64,
        };
        let usage = CompactUse::sums(BITS, FLEET_HEADROOM, rows);
        let body_bits = least_body_bits(self.secret.parameters(), &usage);
        let body_bits = body_bits.ok_or(BenchError::NoBody(BITS + FLEET_HEADROOM))?;
        let encoding =
            CompactEncoding::new(BITS, FLEET_HEADROOM, body_bits, BodyRounding::Nearest)?;
        let (bytes, expected) = self.uploads(encoding, FLEET_UPLOADS, FLEET_ROWS)?;
        eprintln!("{name}: timing");
        let mut sum = Work {
            name: name.to_owned(),
            run: || {
                let mut sum = ColumnListSum::like(&self.list(&bytes)?.0)?;
                let mut rest = &bytes[..];
                while !rest.is_empty() {
                    let (list, behind) = self.list(rest)?;
                    sum.add(&list)?;
                    rest = behind;
                }
                Ok(sum)
            },
            check: |sum: ColumnListSum| {
                Ok(sum.count() == FLEET_UPLOADS as u64
                    && self.is(encoding, sum.ciphertexts(), &expected))
            },
        };
        let [timing] = interleave([(&mut sum, 1)], share)?;
        let note = format!(
            "{FLEET_UPLOADS} uploads of {FLEET_ROWS} readings, parsed, checked, whole masks of {} \
             added. {}. {}",
            ExpanderKind::Aes128Ctr,
            memory(bytes.len(), largest_cache),
            describe(encoding)
        );
        Ok(Row::times(name, timing, None, 1, note))
    }

    /// The messages of uploads, one after another, and the sums of their readings.
    fn uploads(
        &mut self,
        encoding: CompactEncoding,
        count: usize,
        readings: usize,
    ) -> Result<(Vec<u8>, Vec<u64>), BenchError> {
        let mut bytes = Vec::new();
        let mut sums = vec![0; readings];
        for upload in 0..count {
            let codes = codes(readings, upload as u64);
            self.send(encoding, &codes, &mut bytes)?;
            plus(&mut sums, &codes);
        }
        Ok((bytes, sums))
    }
}

/// Readings that differ from upload to upload.
fn codes(count: usize, upload: u64) -> Vec<u64> {
    let word = |i: u64| (i + upload * FULL as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (1..=count as u64).map(|i| word(i) >> (64 - BITS)).collect()
}

fn plus(sums: &mut [u64], terms: &[u64]) {
    for (sum, term) in sums.iter_mut().zip(terms) {
        *sum += term;
    }
}

fn memory(bytes: usize, largest_cache: usize) -> String {
    let mebi = |bytes: usize| bytes as f64 / f64::from(1 << 20);
    format!(
        "{:.1} MiB of messages, largest cache {:.0} MiB",
        mebi(bytes),
        mebi(largest_cache)
    )
}

fn describe(encoding: CompactEncoding) -> String {
    format!(
        "{} bits, headroom {}, body {}",
        encoding.bits(),
        encoding.headroom(),
        encoding.body_bits()
    )
}
