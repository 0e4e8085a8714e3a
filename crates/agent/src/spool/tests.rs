//! Tests of what the spool keeps, in which order, and of a spool without room.

use super::record::FIXED_BYTES;
use super::*;

struct Desk {
    directory: tempfile::TempDir,
    metrics: Arc<Metrics>,
}

impl Desk {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            metrics: Arc::default(),
        }
    }

    fn open(&self, max_bytes: u64, when_full: WhenFull) -> Spool {
        let path = self.directory.path().join("spool");
        Spool::open(&path, max_bytes, when_full, Arc::clone(&self.metrics)).unwrap()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join("spool").join(name)
    }

    fn assert_counted(&self, line: &str) {
        let text = self.metrics.render();
        assert!(text.contains(line), "no {line} in\n{text}");
    }
}

const MUCH: u64 = 1 << 20;

fn upload(number: u8) -> Vec<u8> {
    vec![number; 1000]
}

/// Returns the length of a file with that upload and a cursor of one byte.
const FILE: u64 = 1000 + FIXED_BYTES as u64 + 1;

fn drain(spool: &Spool) -> Vec<u8> {
    let mut numbers = Vec::new();
    while let Some(waiting) = spool.take() {
        assert_eq!(waiting.id, BlobId::of(&waiting.bytes));
        assert_eq!(waiting.bytes, upload(waiting.bytes[0]));
        numbers.push(waiting.bytes[0]);
        spool.acknowledge(waiting.sequence);
    }
    numbers
}

#[test]
fn batches_and_cursor_survive_reopening_in_their_order() {
    let desk = Desk::new();
    let spool = desk.open(MUCH, WhenFull::DropOldest);
    assert_eq!(spool.cursor(), None);
    for number in 1..=12 {
        assert_eq!(
            spool.push(&upload(number), 3, &[number]).unwrap(),
            Pushed::Stored
        );
    }
    let first = spool.take().unwrap();
    drop(spool);
    let spool = desk.open(MUCH, WhenFull::DropOldest);
    assert_eq!(spool.cursor(), Some(vec![12]));
    // Not acknowledged, so it is sent again, the same bytes.
    let again = spool.take().unwrap();
    assert_eq!((again.sequence, again.bytes), (first.sequence, first.bytes));
    assert_eq!(drain(&spool), (1..=12).collect::<Vec<_>>());
    drop(spool);
    // Nothing is left but the cursor, and numbers go on.
    let spool = desk.open(MUCH, WhenFull::DropOldest);
    assert_eq!((spool.cursor(), spool.depth()), (Some(vec![12]), (0, 0)));
    spool.push(&upload(13), 3, &[13]).unwrap();
    assert_eq!(spool.take().unwrap().sequence, 13);
}

#[test]
fn the_beginning_is_kept_until_there_is_a_batch() {
    let desk = Desk::new();
    let spool = desk.open(MUCH, WhenFull::Block);
    assert!(spool.is_new());
    // A batch of sensors has no cursor.
    spool.push(&upload(1), 3, &[]).unwrap();
    drop(spool);
    let spool = desk.open(MUCH, WhenFull::Block);
    assert!(spool.is_new());
    spool.begin(&[7]);
    drop(spool);
    let spool = desk.open(MUCH, WhenFull::Block);
    assert_eq!((spool.cursor(), spool.depth().0), (Some(vec![7]), 1));
    spool.push(&upload(2), 3, &[8]).unwrap();
    drop(spool);
    let spool = desk.open(MUCH, WhenFull::Block);
    assert_eq!(spool.cursor(), Some(vec![8]));
    assert_eq!(drain(&spool), [1, 2]);
}

#[test]
fn a_beginning_that_cannot_be_written_is_none() {
    let desk = Desk::new();
    let mut spool = desk.open(MUCH, WhenFull::Block);
    spool.replace = |path, _| {
        Err(FileError::Io {
            action: "write",
            path: path.to_owned(),
            source: io::ErrorKind::StorageFull.into(),
        })
    };
    spool.begin(&[7]);
    assert!(spool.is_new());
}

#[test]
fn a_spool_has_one_agent() {
    let desk = Desk::new();
    let spool = desk.open(MUCH, WhenFull::Block);
    let path = desk.file("");
    let second = Spool::open(&path, MUCH, WhenFull::Block, Arc::default());
    let error = second.err().unwrap();
    assert!(error.to_string().contains("another agent"), "{error}");
    assert!(Survey::of(&path).unwrap().running);
    drop(spool);
    assert!(!Survey::of(&path).unwrap().running);
    desk.open(MUCH, WhenFull::Block);
}

#[test]
fn without_room_the_policy_decides() {
    for when_full in [WhenFull::DropOldest, WhenFull::DropNewest, WhenFull::Block] {
        let desk = Desk::new();
        let spool = desk.open(3 * FILE, when_full);
        for number in 1..=3 {
            spool.push(&upload(number), 3, &[number]).unwrap();
        }
        let pushed = spool.push(&upload(4), 3, &[4]).unwrap();
        assert_eq!(spool.depth(), (3, 3 * FILE));
        let (expected, left, cursor): (_, &[u8], u8) = match when_full {
            WhenFull::DropOldest => (Pushed::Stored, &[2, 3, 4], 4),
            WhenFull::DropNewest => (Pushed::Dropped, &[1, 2, 3], 4),
            WhenFull::Block => (Pushed::Full, &[1, 2, 3], 3),
        };
        assert_eq!(pushed, expected);
        drop(spool);
        let spool = desk.open(3 * FILE, when_full);
        assert_eq!(spool.cursor(), Some(vec![cursor]));
        assert_eq!(drain(&spool), left);
        match when_full {
            WhenFull::DropOldest => desk.assert_counted("dropped_total{reason=\"oldest\"} 1"),
            WhenFull::DropNewest => desk.assert_counted("dropped_total{reason=\"newest\"} 1"),
            WhenFull::Block => desk.assert_counted("dropped_total{reason=\"oldest\"} 0"),
        }
    }
}

#[test]
fn what_is_being_sent_is_not_dropped() {
    let desk = Desk::new();
    let spool = desk.open(2 * FILE, WhenFull::DropOldest);
    spool.push(&upload(1), 3, &[1]).unwrap();
    spool.push(&upload(2), 3, &[2]).unwrap();
    let sending = spool.take().unwrap();
    spool.push(&upload(3), 3, &[3]).unwrap();
    spool.acknowledge(sending.sequence);
    assert_eq!(drain(&spool), [3]);
}

#[test]
fn a_full_disk_is_a_full_spool() {
    static FULL_ABOVE: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(2);
    fn write(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
        let files = fs::read_dir(path.parent().unwrap()).unwrap();
        let batches = files.filter(|file| {
            let path = file.as_ref().unwrap().path();
            path.extension()
                .is_some_and(|extension| extension == EXTENSION)
        });
        if batches.count() >= FULL_ABOVE.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(FileError::Io {
                action: "write",
                path: path.to_owned(),
                source: io::ErrorKind::StorageFull.into(),
            });
        }
        files::write_private_new(path, bytes)
    }
    for (when_full, expected, left) in [
        (WhenFull::DropOldest, Pushed::Stored, [2, 3]),
        (WhenFull::DropNewest, Pushed::Dropped, [1, 2]),
        (WhenFull::Block, Pushed::Full, [1, 2]),
    ] {
        let desk = Desk::new();
        let mut spool = desk.open(MUCH, when_full);
        spool.write = write;
        spool.push(&upload(1), 3, &[1]).unwrap();
        spool.push(&upload(2), 3, &[2]).unwrap();
        assert_eq!(spool.push(&upload(3), 3, &[3]).unwrap(), expected);
        assert_eq!(drain(&spool), left);
        if when_full == WhenFull::Block {
            assert_eq!(spool.push(&upload(3), 3, &[3]).unwrap(), Pushed::Stored);
        }
    }
}

#[test]
fn refused_batches_are_kept_with_the_servers_words_while_there_is_room() {
    let desk = Desk::new();
    let spool = desk.open(3 * FILE, WhenFull::Block);
    spool.push(&upload(1), 3, &[1]).unwrap();
    let waiting = spool.take().unwrap();
    spool.refuse(waiting.sequence, "unknown key");
    let refused = desk.file("refused/00000000000000000001.batch");
    assert!(refused.exists());
    let survey = Survey::of(&desk.file("")).unwrap();
    assert_eq!(
        (survey.refused, survey.refusals),
        (1, vec!["unknown key".to_owned()])
    );
    drop(spool);
    let spool = desk.open(3 * FILE, WhenFull::Block);
    let with_words = FILE + "unknown key".len() as u64;
    assert_eq!(
        (spool.cursor(), spool.depth()),
        (Some(vec![1]), (0, with_words))
    );
    for number in 2..=4 {
        assert_eq!(
            spool.push(&upload(number), 3, &[number]).unwrap(),
            Pushed::Stored
        );
    }
    assert!(!refused.exists());
    assert_eq!(drain(&spool), [2, 3, 4]);
}

#[test]
fn damaged_files_are_set_aside_and_the_rest_is_sent() {
    let desk = Desk::new();
    let spool = desk.open(MUCH, WhenFull::Block);
    for number in 1..=5 {
        spool.push(&upload(number), 3, &[number]).unwrap();
    }
    drop(spool);
    let name = |number: u64| file_name(number);
    let damage = |number: u64, change: &dyn Fn(&mut Vec<u8>)| {
        let path = desk.file(&name(number));
        let mut bytes = fs::read(&path).unwrap();
        change(&mut bytes);
        fs::write(path, bytes).unwrap();
    };
    damage(1, &|bytes| bytes[20] ^= 1);
    damage(2, &|bytes| bytes.truncate(900));
    damage(3, &|bytes| bytes[500] ^= 1);
    fs::rename(desk.file(&name(4)), desk.file(&name(44))).unwrap();
    fs::write(desk.file(".tfhe-sbc-temporary-x"), b"half").unwrap();
    let spool = desk.open(MUCH, WhenFull::Block);
    assert_eq!(spool.cursor(), Some(vec![5]));
    assert_eq!(drain(&spool), [5]);
    assert_eq!(Survey::of(&desk.file("")).unwrap().damaged, 4);
    assert!(!desk.file(".tfhe-sbc-temporary-x").exists());
    desk.assert_counted("dropped_total{reason=\"damaged\"} 4");
}

#[test]
fn a_newer_programs_files_are_left_alone() {
    let desk = Desk::new();
    let spool = desk.open(MUCH, WhenFull::Block);
    spool.push(&upload(1), 3, &[1]).unwrap();
    drop(spool);
    let path = desk.file(&file_name(1));
    let mut bytes = fs::read(&path).unwrap();
    bytes[8] = 2;
    fs::write(&path, bytes).unwrap();
    let opened = Spool::open(&desk.file(""), MUCH, WhenFull::Block, Arc::default());
    let error = opened.err().unwrap();
    assert!(error.advice().contains("newer program"), "{error}");
    assert!(path.exists());
}

fn full(path: &Path, _: &[u8]) -> Result<(), FileError> {
    Err(FileError::Io {
        action: "write",
        path: path.to_owned(),
        source: io::ErrorKind::StorageFull.into(),
    })
}

#[test]
fn the_newest_batch_stays_as_long_as_its_cursor_has_no_other_place() {
    for refused in [false, true] {
        let end = |spool: &Spool| {
            let waiting = spool.take().unwrap();
            match refused {
                false => spool.acknowledge(waiting.sequence),
                true => spool.refuse(waiting.sequence, "no"),
            }
            waiting.bytes
        };
        let desk = Desk::new();
        let mut spool = desk.open(MUCH, WhenFull::DropOldest);
        spool.replace = full;
        spool.push(&upload(1), 3, &[1]).unwrap();
        let sent = end(&spool);
        // It is not sent again now, nor dropped,
        assert!(spool.take().is_none());
        assert_eq!(spool.depth().0, 0);
        let file = desk.file(&file_name(1));
        assert!(file.exists());
        drop(spool);
        // but after a crash, the same bytes, with the cursor behind them.
        let mut spool = desk.open(MUCH, WhenFull::DropOldest);
        assert_eq!(spool.cursor(), Some(vec![1]));
        spool.replace = full;
        assert_eq!(end(&spool), sent);
        // A newer batch has a newer cursor.
        spool.push(&upload(2), 3, &[2]).unwrap();
        assert!(!file.exists());
        end(&spool);
        assert!(desk.file(&file_name(2)).exists());
        // There is room again.
        spool.replace = files::write_atomic;
        assert!(spool.take().is_none());
        assert!(!desk.file(&file_name(2)).exists());
        // A refused batch is not lost by that.
        let kept = desk.file("refused").join(file_name(2)).exists();
        assert_eq!(kept, refused);
        drop(spool);
        let spool = desk.open(MUCH, WhenFull::DropOldest);
        assert_eq!((spool.cursor(), spool.depth().0), (Some(vec![2]), 0));
    }
}

#[test]
fn a_full_disk_that_takes_no_position_brings_no_row_twice() {
    let desk = Desk::new();
    let mut spool = desk.open(MUCH, WhenFull::DropNewest);
    spool.push(&upload(1), 3, &[1]).unwrap();
    (spool.write, spool.replace) = (full, full);
    assert_eq!(spool.push(&upload(2), 3, &[2]).unwrap(), Pushed::Dropped);
    // Its cursor is the only one on the disk.
    assert_eq!(drain(&spool), [1]);
    drop(spool);
    let mut spool = desk.open(MUCH, WhenFull::DropNewest);
    assert_eq!(spool.cursor(), Some(vec![1]));
    // With a position on the disk it may go.
    spool.write = full;
    assert_eq!(spool.push(&upload(2), 3, &[2]).unwrap(), Pushed::Dropped);
    spool.replace = full;
    assert_eq!(drain(&spool), [1]);
    drop(spool);
    let spool = desk.open(MUCH, WhenFull::DropNewest);
    assert_eq!((spool.cursor(), spool.depth().0), (Some(vec![2]), 0));
}

#[test]
fn a_position_that_cannot_be_read_is_not_the_beginning() {
    let desk = Desk::new();
    let spool = desk.open(MUCH, WhenFull::Block);
    spool.require_cursor().unwrap();
    spool.push(&upload(1), 3, &[1]).unwrap();
    assert_eq!(drain(&spool), [1]);
    drop(spool);
    desk.open(MUCH, WhenFull::Block).require_cursor().unwrap();
    let path = desk.file(POSITION);
    let good = fs::read(&path).unwrap();
    let mut bytes = good.clone();
    bytes[20] ^= 1;
    fs::write(&path, bytes).unwrap();
    let error = desk.open(MUCH, WhenFull::Block).require_cursor();
    let error = error.unwrap_err();
    assert!(error.to_string().contains("position"), "{error}");
    fs::write(&path, good).unwrap();
    desk.open(MUCH, WhenFull::Block).require_cursor().unwrap();
    fs::remove_file(&path).unwrap();
    desk.open(MUCH, WhenFull::Block).require_cursor().unwrap();
}

#[test]
fn a_servers_words_are_short_and_go_with_their_batch() {
    let desk = Desk::new();
    let spool = desk.open(MUCH, WhenFull::Block);
    spool.push(&upload(1), 3, &[1]).unwrap();
    spool.refuse(spool.take().unwrap().sequence, &"é".repeat(5000));
    let words = desk.file("refused").join("00000000000000000001.txt");
    let len = fs::metadata(&words).unwrap().len();
    assert!((1000..=1024).contains(&len));
    assert_eq!(spool.depth(), (0, FILE + len));
    drop(spool);
    let spool = desk.open(MUCH, WhenFull::Block);
    assert_eq!(spool.depth(), (0, FILE + len));
    drop(spool);
    fs::remove_file(words.with_extension(EXTENSION)).unwrap();
    assert_eq!(desk.open(MUCH, WhenFull::Block).depth(), (0, 0));
    assert!(!words.exists());
}
