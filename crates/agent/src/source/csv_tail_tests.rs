//! Tests that every line is read once, whatever a rotation does, and that reading goes on from a
//! cursor.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use super::*;
use crate::config::Config;

struct Desk {
    directory: tempfile::TempDir,
    metrics: Metrics,
}

impl Desk {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            metrics: Metrics::default(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        append(&self.path(name), text);
    }

    fn try_open(&self, csv: &str, cursor: Option<&[u8]>) -> Result<CsvTail, AgentError> {
        let text = format!(
            r#"
            [server]
            url = "https://localhost:1"
            [device]
            key = "k"
            [tls]
            ca = "c"
            certificate = "c"
            key = "k"
            [csv]
            path = "log.csv"
            {csv}
            [[column]]
            name = "level"
            offset = 0.0
            scale = 1.0
            bits = 16
            source = {{ kind = "csv" }}
            "#
        );
        let config = Config::parse(&text, self.directory.path(), []).unwrap();
        let settings = config.csv.as_ref().unwrap();
        let fields = vec!["level".to_owned()];
        CsvTail::open(
            config.path(&settings.path),
            settings,
            fields,
            cursor,
            &self.metrics,
        )
    }

    fn open(&self, cursor: Option<&[u8]>) -> CsvTail {
        self.try_open("label = \"time\"", cursor).unwrap()
    }

    /// Returns the levels of the lines that there are now.
    fn levels(&self, tail: &mut CsvTail) -> Vec<u32> {
        self.levels_up_to(tail, 1000)
    }

    fn levels_up_to(&self, tail: &mut CsvTail, most: usize) -> Vec<u32> {
        let rows = tail.rows(most, &self.metrics).unwrap();
        assert!(rows.len() <= most);
        rows.iter()
            .map(|row| {
                let level = *row.values[0].as_ref().unwrap() as u32;
                assert_eq!(row.label, Some(format!("t{level}")));
                level
            })
            .collect()
    }

    fn gaps(&self) -> bool {
        !self.metrics.render().contains("csv_gaps_total 0\n")
    }
}

fn set_written(path: &Path, seconds: u64) {
    let time = std::time::UNIX_EPOCH + Duration::from_secs(seconds);
    let file = OpenOptions::new().append(true).open(path).unwrap();
    file.set_modified(time).unwrap();
}

fn append(path: &Path, text: &str) {
    let mut options = OpenOptions::new();
    let mut file = options.create(true).append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

const HEADING: &str = "time,level\n";

fn lines(levels: std::ops::Range<u32>) -> String {
    levels.map(|level| format!("t{level}, {level}\n")).collect()
}

fn numbers(levels: std::ops::Range<u32>) -> Vec<u32> {
    levels.collect()
}

#[test]
fn lines_are_taken_when_they_are_whole() {
    let desk = Desk::new();
    let mut tail = desk.open(None);
    assert!(desk.levels(&mut tail).is_empty());
    desk.write("log.csv", "time,le");
    assert!(desk.levels(&mut tail).is_empty());
    desk.write("log.csv", "vel\nt1,1\nt22,2");
    assert_eq!(desk.levels(&mut tail), [1]);
    desk.write("log.csv", "2\n");
    assert_eq!(desk.levels(&mut tail), [22]);
    // A heading in the middle, of a program that was started again, and an empty line.
    desk.write("log.csv", HEADING);
    desk.write("log.csv", "\n\"t3\",\"3\"\r\n");
    assert_eq!(desk.levels(&mut tail), [3]);
    // A long line is left out, the next is not.
    desk.write("log.csv", &"x".repeat(3 * CHUNK));
    assert!(desk.levels(&mut tail).is_empty());
    desk.write("log.csv", "\nt4,4\n");
    assert_eq!(desk.levels(&mut tail), [4]);
    assert!(desk.gaps());
}

#[test]
fn lines_are_taken_up_to_a_bound_and_on_from_the_cursor() {
    let desk = Desk::new();
    desk.write("log.csv", HEADING);
    desk.write("log.csv", &lines(0..20_000));
    let mut tail = desk.open(None);
    let mut all = desk.levels_up_to(&mut tail, 7);
    assert_eq!(all, numbers(0..7));
    for step in 0.. {
        let more = desk.levels_up_to(&mut tail, 1237);
        if more.is_empty() {
            break;
        }
        all.extend(more);
        if step % 3 == 0 {
            let cursor = tail.cursor();
            tail = desk.open(Some(&cursor));
        }
    }
    assert_eq!(all, numbers(0..20_000));
    assert!(!desk.gaps());
}

#[test]
fn a_rotation_by_renaming_loses_and_doubles_nothing() {
    for restart in [false, true] {
        let desk = Desk::new();
        desk.write("log.csv", HEADING);
        desk.write("log.csv", &lines(0..10));
        let mut tail = desk.open(None);
        let mut all = desk.levels(&mut tail);
        for round in 1..=4 {
            let cursor = tail.cursor();
            for old in (1..4).rev() {
                let (from, to) = (format!("log.csv.{old}"), format!("log.csv.{}", old + 1));
                let _ = fs::rename(desk.path(&from), desk.path(&to));
            }
            // The writer goes on in the old file until it opens the next one.
            desk.write("log.csv", &lines(round * 10..round * 10 + 3));
            fs::rename(desk.path("log.csv"), desk.path("log.csv.1")).unwrap();
            desk.write("log.csv.1", &lines(round * 10 + 3..round * 10 + 6));
            all.extend(desk.levels_up_to(&mut tail, 2));
            desk.write("log.csv", "");
            all.extend(desk.levels_up_to(&mut tail, 2));
            desk.write("log.csv.1", &lines(round * 10 + 6..round * 10 + 8));
            desk.write("log.csv", HEADING);
            desk.write("log.csv", &lines(round * 10 + 8..round * 10 + 10));
            if restart {
                let taken = all.len() as u32;
                all.truncate(taken as usize - 4);
                tail = desk.open(Some(&cursor));
            }
            all.extend(desk.levels(&mut tail));
        }
        assert_eq!(all, numbers(0..50), "restart: {restart}");
        assert!(!desk.gaps());
    }
}

#[test]
fn several_rotations_while_the_agent_was_away() {
    let desk = Desk::new();
    desk.write("log.csv", HEADING);
    desk.write("log.csv", &lines(0..10));
    let mut tail = desk.open(None);
    assert_eq!(desk.levels_up_to(&mut tail, 4), numbers(0..4));
    let cursor = tail.cursor();
    drop(tail);
    for (round, name) in [(1, "log-20260101.csv"), (2, "log-20260102.csv")] {
        fs::rename(desk.path("log.csv"), desk.path(name)).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        desk.write("log.csv", HEADING);
        desk.write("log.csv", &lines(round * 10..round * 10 + 10));
    }
    // Not of this log.
    desk.write("log-old.csv", &lines(90..99));
    desk.write("log.csv.gz", "zip");
    let mut tail = desk.open(Some(&cursor));
    let mut all = Vec::new();
    while let more @ [_, ..] = desk.levels_up_to(&mut tail, 7).as_slice() {
        all.extend_from_slice(more);
    }
    assert_eq!(all, numbers(4..30));
    assert!(!desk.gaps());
}

#[test]
fn a_rotation_by_copying_and_truncating_loses_and_doubles_nothing() {
    for restart in [false, true] {
        let desk = Desk::new();
        desk.write("log.csv", HEADING);
        desk.write("log.csv", &lines(0..10));
        let mut tail = desk.open(None);
        assert_eq!(desk.levels_up_to(&mut tail, 8), numbers(0..8));
        let cursor = tail.cursor();
        fs::copy(desk.path("log.csv"), desk.path("log.csv.1")).unwrap();
        fs::write(desk.path("log.csv"), "").unwrap();
        desk.write("log.csv", HEADING);
        // Longer than before, so that the size does not tell.
        desk.write("log.csv", &lines(10..100));
        if restart {
            tail = desk.open(Some(&cursor));
        }
        assert_eq!(desk.levels(&mut tail), numbers(8..100));
        assert!(!desk.gaps());
    }
}

#[test]
fn what_is_gone_is_counted_and_the_rest_is_read() {
    let desk = Desk::new();
    desk.write("log.csv", HEADING);
    desk.write("log.csv", &lines(0..10));
    let mut tail = desk.open(None);
    assert_eq!(desk.levels_up_to(&mut tail, 4), numbers(0..4));
    fs::remove_file(desk.path("log.csv")).unwrap();
    desk.write("log.csv", HEADING);
    desk.write("log.csv", &lines(10..12));
    let mut tail = desk.open(Some(&tail.cursor()));
    assert_eq!(desk.levels(&mut tail), [10, 11]);
    assert!(desk.gaps());
    // Bytes that are no cursor begin at the beginning.
    let mut tail = desk.open(Some(b"?"));
    assert_eq!(desk.levels(&mut tail), [10, 11]);
}

#[test]
fn rows_say_what_is_missing_in_them() {
    let desk = Desk::new();
    desk.write("log.csv", "time,level\nt1\nt2,high\nt3,3\n");
    let rows = desk.open(None).rows(10, &desk.metrics).unwrap();
    let found: Vec<_> = rows.iter().map(|row| row.values[0].clone()).collect();
    assert!(found[0].as_ref().unwrap_err().contains("too few"));
    assert!(found[1].as_ref().unwrap_err().contains("not a number"));
    assert_eq!(found[2], Ok(3.0));
}

#[test]
fn a_file_with_other_fields_is_refused() {
    let desk = Desk::new();
    desk.write("log.csv", "a,b\n1,2\n");
    let error = desk.try_open("", None).err().unwrap();
    assert!(error.to_string().contains("no field 'level'"), "{error}");
    assert!(error.advice().contains("its fields are a, b"), "{error}");
    let mut tail = desk.try_open("heading = [\"level\", \"b\"]", None).unwrap();
    let rows = tail.rows(10, &desk.metrics).unwrap();
    assert_eq!(rows[1].values, [Ok(1.0)]);

    fs::remove_file(desk.path("log.csv")).unwrap();
    fs::create_dir(desk.path("log.csv")).unwrap();
    let error = desk.try_open("", None).err().unwrap();
    assert!(error.to_string().contains("csv.path"), "{error}");
}

/// The clock of a board jumps, so it does not say which file is younger.
#[test]
fn rotated_files_are_read_in_the_order_of_their_names() {
    // The times of log.csv.2, log.csv.1 and log.csv.
    for times in [[1, 2, 3], [9, 5, 7], [5, 5, 5], [3, 9, 1]] {
        let desk = Desk::new();
        for (name, levels, time) in [
            ("log.csv.10", 0..10, 100),
            ("log.csv.2", 10..20, times[0]),
            ("log.csv.1", 20..30, times[1]),
        ] {
            desk.write(name, HEADING);
            desk.write(name, &lines(levels));
            set_written(&desk.path(name), time);
        }
        desk.write("log.csv", HEADING);
        let mut tail = desk.open(None);
        desk.write("log.csv", &lines(30..35));
        set_written(&desk.path("log.csv"), times[2]);
        assert_eq!(desk.levels(&mut tail), numbers(30..35));
        // An empty one is left out.
        fs::rename(desk.path("log.csv.10"), desk.path("log.csv.12")).unwrap();
        fs::rename(desk.path("log.csv.2"), desk.path("log.csv.5")).unwrap();
        fs::rename(desk.path("log.csv.1"), desk.path("log.csv.4")).unwrap();
        fs::rename(desk.path("log.csv"), desk.path("log.csv.3")).unwrap();
        desk.write("log.csv.2", "");
        desk.write("log.csv.1", HEADING);
        desk.write("log.csv.1", &lines(35..40));
        desk.write("log.csv", HEADING);
        desk.write("log.csv", &lines(40..45));
        assert_eq!(desk.levels(&mut tail), numbers(35..45), "{times:?}");
        assert!(!desk.gaps());
    }
}

#[test]
fn a_rotated_file_that_seems_older_is_read_and_counted_as_a_gap() {
    let desk = Desk::new();
    desk.write("log.csv", HEADING);
    desk.write("log.csv", &lines(0..5));
    let mut tail = desk.open(None);
    assert_eq!(desk.levels(&mut tail), numbers(0..5));
    fs::rename(desk.path("log.csv"), desk.path("log.csv.2")).unwrap();
    for (name, levels) in [("log.csv.1", 5..10), ("log.csv", 10..12)] {
        desk.write(name, HEADING);
        desk.write(name, &lines(levels));
    }
    set_written(&desk.path("log.csv.1"), 5);
    assert_eq!(desk.levels(&mut tail), numbers(5..12));
    assert!(desk.gaps());
}

#[test]
fn without_a_heading_the_old_file_is_read_until_there_is_a_line_in_the_next() {
    let desk = Desk::new();
    let settings = "label = \"time\"\nheading = [\"time\", \"level\"]";
    let mut tail = desk.try_open(settings, None).unwrap();
    desk.write("log.csv", &lines(0..3));
    assert_eq!(desk.levels(&mut tail), numbers(0..3));
    fs::rename(desk.path("log.csv"), desk.path("log.csv.1")).unwrap();
    desk.write("log.csv", "");
    assert!(desk.levels(&mut tail).is_empty());
    desk.write("log.csv.1", &lines(3..5));
    desk.write("log.csv", &lines(5..7));
    assert_eq!(desk.levels(&mut tail), numbers(3..7));
    assert!(!desk.gaps());
}

#[test]
fn each_row_has_its_own_cursor() {
    let desk = Desk::new();
    desk.write("log.csv", HEADING);
    desk.write("log.csv", &lines(0..300));
    let rows = desk.open(None).rows(1000, &desk.metrics).unwrap();
    for taken in [1, 2, 57, 299] {
        let cursor = rows[taken as usize - 1].cursor.as_deref();
        assert_eq!(desk.levels(&mut desk.open(cursor)), numbers(taken..300));
    }
}

#[test]
fn rows_before_an_error_are_given_first() {
    let desk = Desk::new();
    desk.write("log.csv", HEADING);
    desk.write("log.csv", &lines(0..3));
    let mut tail = desk.open(None);
    fs::rename(desk.path("log.csv"), desk.path("log.csv.1")).unwrap();
    desk.write("log.csv", "other,fields\n1,2\n");
    assert_eq!(desk.levels(&mut tail), numbers(0..3));
    let cursor = tail.cursor();
    let error = tail.rows(10, &desk.metrics).err().unwrap();
    assert!(error.to_string().contains("no field"), "{error}");
    assert_eq!(tail.cursor(), cursor);
}

/// A truncation between two looks at the file is not taken for its end.
#[test]
fn a_file_that_became_shorter_is_truncated_not_unreadable() {
    let desk = Desk::new();
    desk.write("log.csv", HEADING);
    desk.write("log.csv", &lines(0..10));
    let mut tail = desk.open(None);
    assert_eq!(desk.levels_up_to(&mut tail, 8), numbers(0..8));
    let file = OpenOptions::new().write(true).open(desk.path("log.csv"));
    file.unwrap().set_len(HEADING.len() as u64 + 3).unwrap();
    let open = tail.open.as_mut().unwrap();
    let end = open.lines(10, &mut Vec::new(), &desk.metrics).unwrap();
    assert!(matches!(end, End::Truncated));
}
