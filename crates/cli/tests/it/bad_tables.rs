//! Tables, column definitions and questions that are wrong: each is refused with what is
//! wrong and what to do, before anything is written.

use crate::common::{self, COLUMNS, READINGS, shared, tfhe_sbc};

#[track_caller]
fn encrypting_is_refused(csv: &[u8], columns: &str, words: &[&str]) {
    let desk = tempfile::tempdir().unwrap();
    let keys = shared().directory.join("keys/device.tsbc");
    std::fs::write(desk.path().join("table.csv"), csv).unwrap();
    std::fs::write(desk.path().join("mine.toml"), columns).unwrap();
    let arguments = ["encrypt", "table.csv", "--columns", "mine.toml", "--key"];
    let arguments = [&arguments[..], &[keys.to_str().unwrap()]].concat();
    tfhe_sbc(desk.path(), &arguments).refused(words);

    let out = desk.path().join("out.bin");
    let arguments = [&arguments[..], &["--out", "out.bin"]].concat();
    tfhe_sbc(desk.path(), &arguments).refused(words);
    assert!(!out.exists());
    std::fs::write(&out, "of an earlier run").unwrap();
    tfhe_sbc(desk.path(), &arguments).refused(words);
    assert_eq!(std::fs::read(&out).unwrap(), b"of an earlier run");
    assert_eq!(std::fs::read_dir(desk.path()).unwrap().count(), 3);
}

#[test]
fn a_wrong_reading_is_named_by_row_and_column() {
    for (reading, what) in [
        ("5.8", "the reading is outside the declared range -2 to 5.5"),
        (
            "-2.3",
            "the reading is outside the declared range -2 to 5.5",
        ),
        ("NaN", "the reading is not a finite number"),
        ("nan", "optional = true"),
        ("NA", "optional = true"),
        ("null", "optional = true"),
        ("inf", "the reading is not a finite number"),
        ("-infinity", "the reading is not a finite number"),
        ("wet", "'wet'"),
        ("", "''"),
        ("", "optional = true"),
        ("1,5", "fields"),
    ] {
        let csv = format!("timestamp,level,flow\n10:00,1,1\n11:00,{reading},1\n");
        let row = if what == "fields" {
            "record 2 (line: 3"
        } else {
            "row 2"
        };
        encrypting_is_refused(csv.as_bytes(), COLUMNS, &[what, row, "help:"]);
        if what != "fields" {
            encrypting_is_refused(csv.as_bytes(), COLUMNS, &["'level'", "correct the reading"]);
        }
    }
}

#[test]
fn a_table_without_what_is_needed_is_refused() {
    let like = "like `tfhe-sbc sample` prints";
    for (csv, words) in [
        (&b""[..], ["table.csv has no heading", like]),
        (b"\n\n", ["table.csv has no heading", like]),
        (
            b"timestamp,level,flow\n",
            ["table.csv has no readings", like],
        ),
        (
            b"timestamp,level\n1,2\n",
            [
                "no column 'flow': its columns are timestamp, level",
                "--columns",
            ],
        ),
        (
            b"timestamp,level,flow\n1,2\n",
            ["2 fields, but the previous record has 3", like],
        ),
        (
            b"timestamp,level,flow\n1,2,3\n1,2,3,4\n",
            ["4 fields, but the previous", like],
        ),
        (
            b"level,flow,level\n1,2,3\n",
            ["has two columns 'level'", "rename or remove"],
        ),
        (
            b"timestamp,level,flow\n\xff\xfe,1,2\n",
            ["invalid UTF-8", "give CSV in UTF-8"],
        ),
        (
            b"\xfftimestamp,level,flow\n1,1,2\n",
            ["invalid UTF-8", "give CSV in UTF-8"],
        ),
        (
            b"timestamp,level,flow\n\x1b[31m,1,2\n",
            ["control characters", "shorten"],
        ),
    ] {
        encrypting_is_refused(csv, COLUMNS, &words);
    }
}

#[test]
fn column_definitions_that_cannot_be_are_refused() {
    let column = |rest: &str| format!("[[column]]\nname = \"level\"\noffset = 0.0\n{rest}\n");
    let good = column("scale = 1.0\nbits = 4");
    for (columns, what) in [
        (
            column("scale = 1.0\nbits = 0"),
            "column 'level': the width of 0 bits",
        ),
        (
            column("scale = 1.0\nbits = 53"),
            "column 'level': the width of 53 bits",
        ),
        (
            column("scale = -0.5\nbits = 4"),
            "column 'level': the scale is not a positive",
        ),
        (
            column("scale = nan\nbits = 4"),
            "column 'level': the scale is not a positive",
        ),
        (good.repeat(2), "two columns are called 'level'"),
        (
            column("scale = 1.0\nbits = 4\ncolour = 1"),
            "unknown field `colour`",
        ),
        (column("scale = 1.0"), "missing field `bits`"),
        (
            good.replace("level", "the level"),
            "letters, digits and underscores",
        ),
        ("column = []".to_owned(), "no columns"),
        ("rows = 1".to_owned(), "unknown field `rows`"),
        ("[[column".to_owned(), "TOML parse error at line 1"),
        (String::new(), "missing field `column`"),
    ] {
        let words = [
            "mine.toml",
            what,
            "`tfhe-sbc sample --columns` prints an example",
        ];
        encrypting_is_refused(READINGS.as_bytes(), &columns, &words);
    }
}

#[test]
fn questions_that_cannot_be_answered_are_refused_before_anything_is_computed() {
    let desk = shared().desk();
    let about = |questions: &[&str], words: &[&str]| {
        let eval = ["eval", "--readings", "day.tsbc", "--out", "out.bin"];
        tfhe_sbc(desk.path(), &[&eval, questions].concat()).refused(words);
        assert!(!desk.path().join("out.bin").exists());
    };
    // Questions that no readings can answer are refused before a server is asked for their columns.
    let ask = |questions: &[&str], words: &[&str]| {
        about(questions, words);
        let query = ["query", "--to", "https://127.0.0.1:1"];
        tfhe_sbc(desk.path(), &[&query, questions].concat()).refused(words);
    };
    let like = "Questions look like min(column)";
    ask(
        &["average(level)"],
        &["there is no function 'average'. There are min, max", like],
    );
    ask(&["meen(level)"], &["did you mean 'mean'?", like]);
    ask(
        &["day.tsbc", "mean(level)"],
        &[
            "'day.tsbc' is a file, where a question is expected",
            "--readings",
        ],
    );
    about(
        &["count(level > high)"],
        &["no column 'high'", "tfhe-sbc inspect"],
    );
    ask(&["percentile(level)"], &["lacks a percentage", like]);
    ask(&["histogram(level, 1, 3, 2)"], &["its bins overlap", like]);
    ask(&["tree(none.json)"], &["none.json", "No such file", like]);
    ask(
        &["tree(columns.toml)"],
        &["columns.toml: it is no tree", like],
    );
    ask(&["rows(level)"], &["no comparison", like]);
    ask(&["count(level and flow)"], &["no comparison", like]);
    about(&["count(level > NaN)"], &["no column 'NaN'"]);
    ask(
        &["count(level > 1e999)"],
        &["'1e999' is not a number", like],
    );
    about(
        &["max(depth)"],
        &[
            "no column 'depth': the columns are level, flow",
            "tfhe-sbc inspect",
        ],
    );
    about(
        &["count(level > encrypted(6.3))"],
        &[
            "the threshold for 'level': the reading is outside the declared range -2 to 5.5",
            "values of their ranges",
        ],
    );
    about(&["max(level)"; 257], &["1 to 256 questions"]);
    let conditions = vec!["level > 1"; 257].join(" and ");
    about(&[&format!("rows({conditions})")], &["1 to 256 conditions"]);
    ask(&[], &["required arguments were not provided", "<QUESTION>"]);
}

#[test]
fn definitions_that_are_not_those_of_the_readings_are_refused() {
    let desk = shared().desk();
    let other = COLUMNS.replace("scale = 0.5", "scale = 0.25");
    std::fs::write(desk.path().join("other.toml"), other).unwrap();
    let eval = ["eval", "--columns", "other.toml", "--readings", "day.tsbc"];
    let question = "count(level > encrypted(1))";
    tfhe_sbc(desk.path(), &[&eval[..], &[question]].concat()).refused(&[
        "other.toml defines the column 'level' as [m]: 4 bits from -2 in steps of 0.25",
        "in the readings it is [m]: 4 bits from -2 in steps of 0.5",
        "leave --columns out",
    ]);
    // Another use is no other encoding, and the readings need no file.
    let radix = COLUMNS.replace("bits = 4\n", "bits = 4\nuse = \"radix\"\n");
    std::fs::write(desk.path().join("other.toml"), radix).unwrap();
    tfhe_sbc(desk.path(), &[&eval[..], &[question]].concat()).succeeded();
    let eval = ["eval", "--readings", "day.tsbc", question];
    tfhe_sbc(desk.path(), &eval).succeeded();
}

#[test]
fn output_that_has_nowhere_to_go_is_a_failure_and_no_panic() {
    let desk = shared().desk();
    let full = || {
        std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap()
    };
    let encrypt = ["encrypt", "readings.csv", "--columns", "columns.toml"];
    for arguments in [
        &["sample"][..],
        &["inspect", "day.tsbc"],
        &["inspect", "--json", "day.tsbc"],
        &["decrypt", "result.tsbc"],
        &["decrypt", "--json", "result.tsbc"],
        &encrypt,
    ] {
        let run = common::command(desk.path(), arguments)
            .stdout(full())
            .output()
            .unwrap();
        let stderr = String::from_utf8(run.stderr).unwrap();
        assert_eq!(run.status.code(), Some(1), "{arguments:?}: {stderr}");
        assert!(
            stderr.contains("No space left on device"),
            "{arguments:?}: {stderr}"
        );
    }
    let encrypt = [&encrypt[..], &["--out", "out.tsbc"]].concat();
    let run = common::command(desk.path(), &encrypt)
        .stderr(full())
        .status()
        .unwrap();
    assert!(
        run.success(),
        "what it has to say is not what it was asked for"
    );
    let run = common::command(desk.path(), &["max"])
        .stderr(full())
        .status()
        .unwrap();
    assert_eq!(run.code(), Some(2));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let desk = shared().desk();
    for command in [
        "sample",
        "inspect day.tsbc",
        "decrypt result.tsbc",
        "inspect --json day.tsbc",
    ] {
        let run = common::run_bash(desk.path(), &format!("tfhe-sbc {command} | true"));
        assert!(run.status.success(), "{command}: {}", run.stderr);
        assert_eq!(run.stderr, "", "{command}");
    }
}

#[test]
fn options_of_the_demo_are_not_taken_for_those_of_a_command() {
    let desk = tempfile::tempdir().unwrap();
    tfhe_sbc(desk.path(), &["--day", "5", "keygen"]).refused(&["cannot be used with", "--help"]);
    assert_eq!(std::fs::read_dir(desk.path()).unwrap().count(), 0);
}
