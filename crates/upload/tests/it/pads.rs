//! Frames of small boards become uploads that decrypt to what the boards measured.

use std::convert::Infallible;

use tfhe_sbc_core::encoding::{BodyRounding, CompactEncoding};
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_core::random::{Seed, SeedSequence};
use tfhe_sbc_core::wire::Message;
use tfhe_sbc_core::wire::columns::{ColumnList, ElementEncoding};
use tfhe_sbc_frames::{BoardKey, Counter, CounterStore, Encoder, FrameError};
use tfhe_sbc_oracle::compact::CompactNoise;
use tfhe_sbc_oracle::statistics::{mean_interval, variance, variance_interval};
use tfhe_sbc_oracle::upload::UploadKind;
use tfhe_sbc_upload::pads::{BoardFile, FramePlan, PadFile, PadHead, PadsError, make_pads};
use tfhe_sbc_upload::readings::{Column, Compact, Upload};

struct Ram(u32);

impl CounterStore for Ram {
    type Error = Infallible;

    fn read(&mut self) -> Result<Option<u32>, Infallible> {
        Ok(Some(self.0))
    }

    fn write(&mut self, limit: u32) -> Result<(), Infallible> {
        self.0 = limit;
        Ok(())
    }
}

fn seeds(seed: u8) -> SeedSequence {
    SeedSequence::new(Seed::from_bytes([seed; 32]))
}

fn secret(seed: u8) -> SecretKey {
    SecretKey::generate(MESSAGE_2_CARRY_2.validate().unwrap(), &mut seeds(seed)).unwrap()
}

fn column(name: &str, bits: u32, headroom: u32, body_bits: u32) -> Column {
    Column {
        name: name.to_owned(),
        unit: String::new(),
        offset: 0.0,
        scale: 1.0,
        bits,
        compact: Some(Compact {
            headroom,
            body_bits,
            feedback: false,
        }),
        derived: Default::default(),
    }
}

fn plan(columns: Vec<Column>, rows: u8, frames: u32) -> FramePlan {
    FramePlan {
        device: [7; 8],
        named: false,
        columns,
        rows,
        frames,
    }
}

fn board_key() -> BoardKey {
    BoardKey::from_bytes([5; 32])
}

/// The codes of the frame `counter`, row by row.
fn codes(plan: &FramePlan, counter: u32) -> Vec<u64> {
    let word =
        |i: usize| (i as u64 + 1 + 1000 * u64::from(counter)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let columns = plan.columns.iter().cycle().enumerate();
    let columns = columns.take(usize::from(plan.rows) * plan.columns.len());
    columns
        .map(|(i, column)| match i % 7 {
            0 => (1 << column.bits) - 1,
            1 => 0,
            _ => word(i) >> (64 - column.bits),
        })
        .collect()
}

/// The bytes of a board's frame `counter`.
fn frame(plan: &FramePlan, key: BoardKey, counter: u32) -> Vec<u8> {
    let format = plan.format().unwrap();
    let counters = Counter::open(Ram(counter), 1, &format).unwrap();
    let mut buffer = vec![0; format.frame_bytes()];
    let mut board = Encoder::new(format, key, counters);
    board
        .encode(&codes(plan, counter), &mut buffer)
        .unwrap()
        .to_vec()
}

/// The codes of an upload and their errors as parts of the torus, column by column.
fn phases(secret: &SecretKey, upload: &[u8]) -> Vec<Vec<(u64, f64)>> {
    let (_, list) = Message::parse(upload).unwrap();
    let (list, _) = Message::parse(list).unwrap();
    let list = ColumnList::check(list, secret.parameters(), secret.fingerprint()).unwrap();
    let key = secret.glwe().prepare();
    let phases: Vec<_> = (0..list.ciphertext_count())
        .map(|index| key.phase(&list.ciphertext::<u64>(index).unwrap()))
        .collect();
    let mut columns = vec![Vec::new(); list.segments().count()];
    for (run, _) in list.runs() {
        let ElementEncoding::Compact(encoding) = run.encoding else {
            panic!("all columns are compact");
        };
        for phase in &phases[run.polynomial][run.start..][..run.count] {
            let code = encoding.decode(*phase);
            let error = phase.wrapping_sub(encoding.encode(code)).cast_signed();
            columns[run.segment].push((code, error as f64 / 2.0_f64.powi(64)));
        }
    }
    columns
}

/// The codes of an upload, row by row, and the largest error in units of a code.
fn decrypt(secret: &SecretKey, plan: &FramePlan, upload: &[u8]) -> (Vec<u64>, f64) {
    let columns = phases(secret, upload);
    let mut worst = 0.0_f64;
    for (column, defined) in columns.iter().zip(&plan.columns) {
        let width = defined.bits + defined.compact.unwrap().headroom;
        let in_units = column
            .iter()
            .map(|(_, error)| error * 2.0_f64.powi(width as i32));
        worst = in_units.fold(worst, |worst, error| worst.max(error.abs()));
    }
    let rows = columns[0].len();
    let by_row = (0..rows).flat_map(|row| columns.iter().map(move |column| column[row].0));
    (by_row.collect(), worst)
}

/// One column as alarms have it, several of other widths, and columns that cross polynomials.
fn plans() -> [FramePlan; 3] {
    let wide = (0..9).map(|i| column(&format!("c{i}"), 12 + i, 10, 33 + i));
    [
        plan(vec![column("a", 12, 1, 18)], 24, 5),
        plan(
            vec![
                column("a", 8, 0, 12),
                column("b", 20, 2, 28),
                column("c", 1, 7, 16),
            ],
            3,
            4,
        ),
        plan(wide.collect(), 255, 2),
    ]
}

#[test]
fn completed_frames_decrypt_to_the_codes_of_the_board() {
    let secret = secret(1);
    let (parameters, key) = (secret.parameters(), secret.fingerprint());
    for plan in plans() {
        let made = make_pads(
            &secret.device_key(),
            &board_key(),
            plan.clone(),
            &mut seeds(2),
        );
        let file = made.unwrap().to_bytes().unwrap();
        let pads = PadFile::read(&file).unwrap();
        assert_eq!(pads.plan(), &plan);
        // In whatever order.
        for counter in (0..plan.frames).rev() {
            let sent = frame(&plan, board_key(), counter);
            let completed = pads.complete(&sent).unwrap();
            assert_eq!(completed.counter, counter);
            assert_eq!(pads.complete(&sent).unwrap(), completed);

            let upload = Upload::parse(&completed.upload, parameters, key).unwrap();
            let first = u64::from(counter) * u64::from(plan.rows);
            assert_eq!(upload.metadata.columns, plan.columns);
            assert_eq!(upload.metadata.rows[0], first.to_string());
            assert_eq!(upload.metadata.rows.len(), usize::from(plan.rows));

            let (decrypted, worst) = decrypt(&secret, &plan, &completed.upload);
            assert_eq!(decrypted, codes(&plan, counter));
            // Rounding to B bits, and no other error that is near it.
            assert!(worst < 0.25, "an error of {worst} units");
        }
    }
}

/// The error of completed rows against the oracle's prediction for the same number of body bits: once where the rounding
/// of bodies is most of it, and once where the noise of the ciphertexts is. Chance fails an interval with a
/// probability below 2^-30; one body bit more or less, and a noise that is 1.2 times as wide, have to be noticed.
#[test]
fn the_error_of_completed_rows_is_the_predicted_one() {
    const CONFIDENCE: f64 = 1.0 - 1e-9;
    let secret = secret(1);
    let parameters = secret.parameters();
    for (bits, body_bits) in [(12, 16), (12, 18), (30, 56)] {
        let plan = plan(vec![column("a", bits, 1, body_bits)], 255, 60);
        let pads = make_pads(
            &secret.device_key(),
            &board_key(),
            plan.clone(),
            &mut seeds(2),
        );
        let pads = pads.unwrap();
        let errors = (0..plan.frames).flat_map(|counter| {
            let completed = pads.complete(&frame(&plan, board_key(), counter)).unwrap();
            phases(&secret, &completed.upload).remove(0)
        });
        let errors: Vec<f64> = errors.map(|(_, error)| error).collect();
        assert_eq!(errors.len(), 255 * 60);
        let predicted = |body_bits| {
            let nearest = BodyRounding::Nearest;
            let encoding = CompactEncoding::new(bits, 1, body_bits, nearest).unwrap();
            let noise = CompactNoise::upload(parameters, UploadKind::Symmetric, &encoding);
            noise.variance()
        };
        let measured = variance(&errors);
        let interval = variance_interval(errors.len(), measured, CONFIDENCE);
        let expected = predicted(body_bits);
        assert!(
            interval.contains(expected.0),
            "{measured:?} {expected:?}, {body_bits} bits"
        );
        assert!(
            mean_interval(&errors, CONFIDENCE).contains(0.0),
            "{body_bits} bits"
        );
        // What has to be noticed.
        assert!(!interval.contains((expected * 1.44).0) && !interval.contains((expected * 0.7).0));
        if body_bits < 30 {
            for wrong in [body_bits - 1, body_bits + 1] {
                assert!(!interval.contains(predicted(wrong).0), "{wrong} bits");
            }
        }
    }
}

#[test]
fn masks_and_bodies_of_frames_differ() {
    let secret = secret(1);
    let [plan, ..] = plans();
    let pads = |seed| {
        make_pads(
            &secret.device_key(),
            &board_key(),
            plan.clone(),
            &mut seeds(seed),
        )
        .unwrap()
    };
    let (one, other) = (pads(2), pads(3));
    let list = |pads: &PadFile, counter| {
        let upload = pads
            .complete(&frame(&plan, board_key(), counter))
            .unwrap()
            .upload;
        let (_, list) = Message::parse(&upload).unwrap();
        (
            Message::parse(list).unwrap().0.header.mask_seed,
            list.to_vec(),
        )
    };
    let lists = [
        list(&one, 0),
        list(&one, 1),
        list(&other, 0),
        list(&other, 1),
    ];
    for (i, a) in lists.iter().enumerate() {
        for b in &lists[i + 1..] {
            assert!(a.0 != b.0 && a.1 != b.1);
        }
    }
}

/// A year of hourly readings of 12 bits, as docs/frames.md says: with 16 bits of each body, and as alarms have it.
#[test]
fn pads_of_a_year_have_eighteen_kilobytes() {
    let secret = secret(1);
    for (body_bits, expected) in [(16, 17_993), (18, 20_183)] {
        let year = plan(vec![column("temperature_c", 12, 1, body_bits)], 24, 365);
        let made = make_pads(&secret.device_key(), &board_key(), year, &mut seeds(2)).unwrap();
        assert_eq!(made.to_bytes().unwrap().len(), expected);
    }
}

#[test]
fn columns_that_frames_cannot_carry_are_refused() {
    let radix = Column {
        compact: None,
        ..column("a", 12, 1, 18)
    };
    let mut feedback = column("a", 12, 1, 18);
    feedback.compact.as_mut().unwrap().feedback = true;
    let mut derived = column("a", 12, 10, 30);
    derived.derived.square = Some(Compact {
        headroom: 10,
        body_bits: 40,
        feedback: false,
    });
    for column in [radix, feedback, derived] {
        let refused = plan(vec![column], 1, 1).format().unwrap_err();
        assert!(matches!(refused, PadsError::Column(name) if name == "a"));
    }
    let secret = secret(1);
    let twice = plan(vec![column("a", 12, 1, 18); 2], 1, 1);
    assert!(make_pads(&secret.device_key(), &board_key(), twice, &mut seeds(2)).is_err());
    for (rows, frames) in [(0, 1), (1, 0)] {
        let none = plan(vec![column("a", 12, 1, 18)], rows, frames);
        assert!(matches!(none.format(), Err(PadsError::Format(_))));
    }
}

#[test]
fn damaged_pads_and_pads_of_others_are_refused() {
    let secret = secret(1);
    let (parameters, key) = (secret.parameters(), secret.fingerprint());
    let [plan, ..] = plans();
    let made = make_pads(
        &secret.device_key(),
        &board_key(),
        plan.clone(),
        &mut seeds(2),
    )
    .unwrap();
    let file = made.to_bytes().unwrap();
    for len in 0..file.len() {
        assert!(PadFile::read(&file[..len]).is_err());
    }
    for bit in 0..8 * file.len() {
        let mut flipped = file.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(PadFile::read(&flipped).is_err(), "bit {bit}");
    }
    // Uploads of pads for another key are uploads of that key.
    let other_key = self::secret(4).fingerprint();
    let upload = made.complete(&frame(&plan, board_key(), 0)).unwrap().upload;
    assert!(Upload::parse(&upload, parameters, other_key).is_err());
    assert!(Upload::parse(&upload, parameters, key).is_ok());
    assert_eq!(made.key(), key);

    // Frames of another board, and of a board whose pads have run out.
    let of_other = frame(&plan, BoardKey::from_bytes([6; 32]), 1);
    let refused = made.complete(&of_other).unwrap_err();
    assert!(matches!(refused, PadsError::Frame(FrameError::Tag)));
    let longer = FramePlan { frames: 6, ..plan };
    let refused = made.complete(&frame(&longer, board_key(), 5)).unwrap_err();
    assert!(matches!(refused, PadsError::Frame(FrameError::Counter(5))));
}

#[test]
fn the_file_of_a_board_comes_back_and_damage_is_noticed() {
    let secret = secret(1);
    let [plan, ..] = plans();
    let parameters = secret.parameters().fingerprint();
    let file = BoardFile::new(plan.clone(), board_key());
    let file = file.to_bytes(parameters, secret.fingerprint()).unwrap();
    let (format, read, key) = BoardFile::read(&file).unwrap().into_parts().unwrap();
    assert_eq!((&read, format), (&plan, plan.format().unwrap()));
    assert_eq!(key.as_bytes(), board_key().as_bytes());
    for bit in 0..8 * file.len() {
        let mut flipped = file.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(BoardFile::read(&flipped).is_err(), "bit {bit}");
    }
    for len in 0..file.len() {
        assert!(BoardFile::read(&file[..len]).is_err(), "{len} bytes");
    }
    // Neither file is taken for the other.
    let pads = make_pads(&secret.device_key(), &board_key(), plan, &mut seeds(2)).unwrap();
    assert!(BoardFile::read(&pads.to_bytes().unwrap()).is_err());
    assert!(PadFile::read(&file).is_err());
    // The part that a server keeps in its index makes the same reader of frames.
    let head = PadHead::from_bytes(&pads.head().to_bytes().unwrap()).unwrap();
    let sent = frame(&head.plan, board_key(), 1);
    assert_eq!(head.receiver().unwrap().read(&sent).unwrap().counter(), 1);
    assert!(PadHead::from_bytes(&file).is_err());
}

/// Columns of a plan are checked when it is read, not when the first row comes.
#[test]
fn a_plan_of_impossible_columns_is_refused() {
    let [mut plan, ..] = plans();
    for scale in [f64::NAN, 0.0, f64::INFINITY] {
        plan.columns[0].scale = scale;
        assert!(
            matches!(plan.format(), Err(PadsError::Columns(_))),
            "{scale}"
        );
        let file = BoardFile::new(plan.clone(), board_key());
        let secret = secret(1);
        let file = file.to_bytes(secret.parameters().fingerprint(), secret.fingerprint());
        assert!(BoardFile::read(&file.unwrap()).is_err(), "{scale}");
    }
}
