//! The conversion of a million bits for TFHEpp, 4.1 GB, into memory, beside a plain copy of as
//! many bytes to the same place from a buffer as large as the converter's, which the caches hold.

use std::cell::RefCell;
use std::io::Write;
use std::time::Duration;

use tfhe_sbc_core::keys::DeviceKey;
use tfhe_sbc_core::random::{ExpanderKind, Seed, SeedSequence};
use tfhe_sbc_core::wire::Message;
use tfhe_sbc_core::wire::glwe::UploadedGlweList;
use tfhe_sbc_core::workspace::HeapWorkspace;
use tfhe_sbc_device::{Encryptor, KeyMode, MemoryPlan, workspace_bytes};
use tfhe_sbc_foreign::tfhepp::{Archive, Ciphertexts, SecretKey, TLWE_BYTES, TlweVector};

use crate::error::BenchError;
use crate::report::{Row, Unit};
use crate::timing::{Work, interleave};

const SECRET_KEY: &[u8] =
    include_bytes!("../../../../tests/vectors/tfhepp/v9-binary-lvl1/secretkey.bin");
const BITS: usize = 1_000_000;
const BYTES: usize = 9 + BITS * TLWE_BYTES;
/// A size far beyond that of all caches.
const LANDING_BYTES: usize = 512 << 20;
/// The number of bytes that the converter writes at a time.
const PIECE: usize = 64 * TLWE_BYTES;

/// Memory that what is written lands in, over and over.
struct Landing {
    bytes: Vec<u8>,
    at: usize,
}

impl Write for Landing {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.bytes.len() - self.at < bytes.len() {
            self.at = 0;
        }
        self.bytes[self.at..][..bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

pub(super) fn rows(budget: Duration) -> Result<Vec<Row>, BenchError> {
    let theirs = SecretKey::parse(SECRET_KEY)?;
    let parameters = theirs.parameters()?;
    let device = DeviceKey::import(parameters, theirs.glwe().clone())
        .ok_or(BenchError::WrongAnswer("the import of a key".to_owned()))?;
    let bits: Vec<u8> = (0..BITS).map(|i| (i * i / 7 % 2) as u8).collect();
    let upload = encrypt(&device, &bits)?;
    let (message, _) = Message::parse(&upload)?;
    let list = UploadedGlweList::check(message, &parameters, device.fingerprint())?;
    let vector = TlweVector::new(&list, &parameters)?;

    let landing = RefCell::new(Landing {
        bytes: vec![1; LANDING_BYTES],
        at: 0,
    });
    let hot = vec![2; PIECE];
    let mut copy = Work {
        name: "a copy".to_owned(),
        run: || {
            let landing = &mut *landing.borrow_mut();
            for _ in 0..BYTES / PIECE {
                landing.write_all(&hot)?;
            }
            Ok(())
        },
        check: |()| Ok(true),
    };
    let pools = [1, 2].map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build());
    let [one_thread, two_threads] = pools;
    let (one_thread, two_threads) = (one_thread?, two_threads?);
    let convert = |pool: rayon::ThreadPool| {
        let (landing, vector) = (&landing, &vector);
        move || {
            let landing = &mut *landing.borrow_mut();
            pool.install(|| vector.write_to(Archive::PortableBinary, landing, &|_| ()))?;
            Ok(())
        }
    };
    // The last piece is less than a whole one.
    let right = |()| {
        let landing = landing.borrow();
        let last = BITS % 64;
        let found = &landing.bytes[landing.at - last * TLWE_BYTES..landing.at];
        let mut file = (last as u64).to_le_bytes().to_vec();
        file.extend_from_slice(found);
        let found = Ciphertexts::parse(&file)?.decrypt(theirs.glwe())?;
        let expected = bits[BITS - last..].iter().map(|&bit| bit == 1);
        Ok(found.into_iter().eq(expected))
    };
    let mut one = Work {
        name: "the conversion".to_owned(),
        run: convert(one_thread),
        check: right,
    };
    let mut two = Work {
        name: "the conversion on two threads".to_owned(),
        run: convert(two_threads),
        check: right,
    };
    let subjects: [(&mut dyn crate::timing::Subject, usize); 3] =
        [(&mut copy, 1), (&mut one, 1), (&mut two, 1)];
    let [copy, one, two] = interleave(subjects, budget)?;
    let rate = |seconds: f64| BYTES as f64 / seconds * 1e-9;
    let figure = |name, unit, value, note| Row::figures(name, unit, value, None, note);
    let note = "a million bits as std::vector<TLWE<lvl1param>>, 4.1 GB into memory";
    Ok(vec![
        figure(
            "tfhepp_stream_gb_s",
            Unit::GigabytesPerSecond,
            rate(one.median),
            note,
        ),
        figure(
            "tfhepp_stream_2_threads_gb_s",
            Unit::GigabytesPerSecond,
            rate(two.median),
            "the same; one thread makes what the other writes",
        ),
        figure(
            "memory_gb_s",
            Unit::GigabytesPerSecond,
            rate(copy.median),
            "as many bytes copied there, from a buffer in the caches, on one thread",
        ),
        figure(
            "tfhepp_stream_of_memory",
            Unit::One,
            copy.median / one.median,
            "share of that rate, one thread",
        ),
        figure(
            "tfhepp_stream_2_threads_of_memory",
            Unit::One,
            copy.median / two.median,
            "share of that rate, two threads",
        ),
    ])
}

fn encrypt(device: &DeviceKey, bits: &[u8]) -> Result<Vec<u8>, BenchError> {
    let (plan, mode) = (MemoryPlan::recommended(), KeyMode::Symmetric);
    let mut workspace =
        HeapWorkspace::new(workspace_bytes(device.parameters().as_set(), plan, mode));
    let seeds = SeedSequence::new(Seed::from_bytes(*b"tfhe-sbc-bench: not for secrets!"));
    let key = device.to_bytes()?;
    let workspace = workspace.as_mut_slice();
    let mut session = Encryptor::<u32>::new(&key, plan, ExpanderKind::ChaCha20, seeds, workspace)?;
    let mut upload = vec![0; session.message_len(bits.len())];
    session.encrypt_bits(bits, &mut upload)?;
    Ok(upload)
}
