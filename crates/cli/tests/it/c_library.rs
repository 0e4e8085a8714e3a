//! An upload that the C library makes, from its bytes through a server to decrypted answers.
#![allow(
    clippy::borrow_as_ptr,
    clippy::undocumented_unsafe_blocks,
    reason = "calls with pointers to what is declared a line before"
)]

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};

use crate::common::{Server, shared, tfhe_sbc, tfhe_sbc_fed};
use crate::derived_columns::{DERIVED, UPLOADS, answers, csv, definitions, questions};
use ::c_library::*;
use serde_json::json;
use tfhe_sbc_core::wire::Message;
use tfhe_sbc_upload::readings::ReadingsMetadata;
use tfhe_sbc_upload::{metadata, readings};

const NOT_COMPACT: Compact = Compact {
    headroom: 0,
    body_bits: 0,
    feedback: 0,
};
const NOTHING_DERIVED: Derived = Derived {
    square: NOT_COMPACT,
    flags_from: null(),
    flag_count: 0,
    flags: NOT_COMPACT,
};
const OK: i32 = Status::Ok as i32;
const LEVELS: [f64; 3] = [1.5, -2.0, 5.5];
const FLOWS: [f64; 3] = [17.0, 3.0, 60.0];

unsafe extern "C" fn entropy(_: *mut c_void, out: *mut u8, len: usize) -> c_int {
    let out = unsafe { std::slice::from_raw_parts_mut(out, len) };
    getrandom::fill(out).is_err().into()
}

unsafe extern "C" fn append(context: *mut c_void, piece: *const u8, len: usize) -> c_int {
    let piece = unsafe { std::slice::from_raw_parts(piece, len) };
    unsafe { &mut *context.cast::<Vec<u8>>() }.extend_from_slice(piece);
    0
}

fn column(
    name: &'static std::ffi::CStr,
    unit: &'static std::ffi::CStr,
    encoding: Encoding,
) -> Column {
    Column {
        name: name.as_ptr(),
        unit: unit.as_ptr(),
        encoding,
        compact: NOT_COMPACT,
        derived: NOTHING_DERIVED,
    }
}

/// Calls `work` with a session of a device key or a device public key, and wipes it then.
fn with_session<R>(key: &[u8], public: bool, work: impl FnOnce(*mut Encryptor) -> R) -> R {
    let (mut encryptor, mut workspace_len) = (Encryptor::new(), 0);
    let plan = Plan::Balanced as u32;
    let status =
        unsafe { tfhe_sbc_workspace_bytes(key.as_ptr(), key.len(), plan, &mut workspace_len) };
    assert_eq!(status, OK);
    let mut workspace = vec![0_u64; workspace_len.div_ceil(8)];
    let options = Options {
        key: key.as_ptr(),
        key_len: key.len(),
        plan,
        expander: Expander::Chacha20 as u32,
        entropy: Some(entropy),
        entropy_context: null_mut(),
        workspace: workspace.as_mut_ptr().cast(),
        workspace_len,
    };
    let init = if public {
        tfhe_sbc_encryptor_init_public
    } else {
        tfhe_sbc_encryptor_init
    };
    assert_eq!(unsafe { init(&mut encryptor, &options) }, OK);
    let result = work(&raw mut encryptor);
    assert_eq!(unsafe { tfhe_sbc_encryptor_wipe(&mut encryptor) }, OK);
    result
}

/// The bytes of an upload of `LEVELS` and `FLOWS`.
fn upload(encryptor: *mut Encryptor) -> Vec<u8> {
    let level = Encoding {
        offset: -2.0,
        scale: 0.5,
        bits: 4,
    };
    let flow = Encoding {
        offset: 0.0,
        scale: 1.0,
        bits: 6,
    };
    let columns = [column(c"level", c"m", level), column(c"flow", c"", flow)];
    let rows: [*const c_char; 3] = [c"10:00".as_ptr(), c"11:00".as_ptr(), c"12:00 °".as_ptr()];
    let describe = |columns: &[Column], rows: &[*const c_char], out: &mut [u8]| {
        let (mut len, out, capacity) = (0, out.as_mut_ptr(), out.len());
        let (columns, column_count) = (columns.as_ptr(), columns.len());
        let (rows, row_count) = (rows.as_ptr(), rows.len());
        let status = unsafe {
            tfhe_sbc_describe(
                encryptor,
                columns,
                column_count,
                rows,
                row_count,
                out,
                capacity,
                &mut len,
            )
        };
        (status, len)
    };
    let mut upload = vec![0; 1000];
    let (status, len) = describe(&columns, &rows, &mut upload);
    assert_eq!(status, OK);
    upload.truncate(len);
    // Wrong input is refused.
    let mut room = [0; 1000];
    let refused = |(status, len), expected: Status| assert_eq!((status, len), (expected as i32, 0));
    refused(
        describe(&columns, &rows, &mut room[..len - 1]),
        Status::OutputTooSmall,
    );
    refused(describe(&[], &rows, &mut room), Status::Description);
    refused(
        describe(&columns, &rows[..0], &mut room),
        Status::Description,
    );
    refused(
        describe(&[columns[0]; 2], &rows, &mut room),
        Status::Description,
    );
    refused(describe(&columns, &[null()], &mut room), Status::Null);
    let endless = [b'a' as c_char; 300];
    refused(
        describe(&columns, &[endless.as_ptr()], &mut room),
        Status::Description,
    );
    let broken = column(c"a", c"", Encoding { bits: 0, ..flow });
    refused(describe(&[broken], &rows, &mut room), Status::Encoding);
    let label = c"12:00".to_bytes_with_nul();
    room[..label.len()].copy_from_slice(label);
    let inside = room.as_ptr().cast();
    refused(describe(&columns, &[inside], &mut room), Status::Overlap);

    let mut streamed = Vec::<u8>::new();
    let context = (&raw mut streamed).cast();
    let status = unsafe {
        let (columns, rows) = (columns.as_ptr(), rows.as_ptr());
        tfhe_sbc_describe_to(encryptor, columns, 2, rows, 3, Some(append), context)
    };
    assert_eq!((status, &streamed), (OK, &upload));

    let mut blocks = [0; 3 * (2 + 3)];
    let (level_blocks, flow_blocks) = blocks.split_at_mut(6);
    for (encoding, readings, blocks) in [(level, LEVELS, level_blocks), (flow, FLOWS, flow_blocks)]
    {
        let (out, capacity) = (blocks.as_mut_ptr(), blocks.len());
        let status = unsafe {
            tfhe_sbc_encode_readings(encryptor, &encoding, readings.as_ptr(), 3, out, capacity)
        };
        assert_eq!(status, OK);
    }
    let context = (&raw mut upload).cast();
    let status = unsafe {
        tfhe_sbc_encrypt_blocks_to(
            encryptor,
            blocks.as_ptr(),
            blocks.len(),
            Some(append),
            context,
        )
    };
    assert_eq!(status, OK);
    upload
}

#[test]
fn a_server_answers_questions_about_an_upload_in_c() {
    let shared = shared();
    let desk = shared.desk();
    let directory = desk.path();
    let public = ["device-key", "--public", "--out-device", "public.tsbc"];
    tfhe_sbc(directory, &public).succeeded();
    let public_key = std::fs::read(directory.join("public.tsbc")).unwrap();
    let server = Server::start(directory, &["--allow-public-key"]);
    for (key, public) in [(shared.read("keys/device.tsbc"), false), (public_key, true)] {
        let upload = with_session(&key, public, upload);
        std::fs::write(directory.join("board.tsbc"), upload).unwrap();
        tfhe_sbc(directory, &["send", "board.tsbc", "--to", &server.url]).succeeded();
        let query = ["query", "--to", &server.url, "--columns", "columns.toml"];
        let questions = ["max(level)", "sum(flow)", "rows(level >= 1)"];
        let result = tfhe_sbc(directory, &[&query[..], &questions].concat()).succeeded();
        let decoded = tfhe_sbc_fed(directory, &["decrypt", "--json"], &result.stdout);
        assert_eq!(
            decoded.succeeded().json()["answers"],
            json!([
                {"name": "max(level)", "answer": {"value": 5.5, "unit": "m"}},
                {"name": "sum(flow)", "answer": {"value": 80.0, "unit": ""}},
                {"name": "rows(level >= 1)", "answer": ["10:00", "12:00 °"]},
            ])
        );
    }
}

/// A form as a C program takes it.
fn in_c(form: readings::Compact) -> Compact {
    Compact {
        headroom: form.headroom,
        body_bits: form.body_bits,
        feedback: form.feedback.into(),
    }
}

/// An upload of these columns, level and flow: codes of levels and readings of flows, from which the library
/// derives squares and flags.
fn derived_upload(
    encryptor: *mut Encryptor,
    columns: &[readings::Column],
    flows: &[f64],
) -> Vec<u8> {
    let names: Vec<CString> = columns
        .iter()
        .flat_map(|column| [&column.name, &column.unit])
        .map(|text| CString::new(text.as_str()).unwrap())
        .collect();
    let described: Vec<Column> = columns
        .iter()
        .zip(names.chunks(2))
        .map(|(column, names)| Column {
            name: names[0].as_ptr(),
            unit: names[1].as_ptr(),
            encoding: Encoding {
                offset: column.offset,
                scale: column.scale,
                bits: column.bits,
            },
            compact: in_c(column.compact.unwrap()),
            derived: match (&column.derived.square, &column.derived.flags) {
                (Some(square), Some(flags)) => Derived {
                    square: in_c(*square),
                    flags_from: flags.from.as_ptr(),
                    flag_count: flags.from.len(),
                    flags: in_c(flags.compact),
                },
                _ => NOTHING_DERIVED,
            },
        })
        .collect();
    // 0.5 m in steps of 0.5 from -2.
    let levels = vec![5; flows.len()];
    let values: Vec<ColumnValues> = described
        .iter()
        .zip([(levels.as_ptr(), null()), (null(), flows.as_ptr())])
        .map(|(column, (codes, readings))| ColumnValues {
            blocks: null(),
            codes,
            readings,
            count: flows.len(),
            encoding: column.encoding,
            compact: column.compact,
            derived: column.derived,
        })
        .collect();
    let labels: Vec<CString> = (0..flows.len())
        .map(|row| CString::new(row.to_string()).unwrap())
        .collect();
    let rows: Vec<*const c_char> = labels.iter().map(|label| label.as_ptr()).collect();
    let mut upload = Vec::<u8>::new();
    let context = (&raw mut upload).cast();
    let (columns, count) = (described.as_ptr(), described.len());
    let (labels, values) = (rows.as_ptr(), values.as_ptr());
    unsafe {
        let status = tfhe_sbc_describe_to(
            encryptor,
            columns,
            count,
            labels,
            rows.len(),
            Some(append),
            context,
        );
        assert_eq!(status, OK);
        let status = tfhe_sbc_encrypt_columns_to(encryptor, values, count, Some(append), context);
        assert_eq!(status, OK);
    }
    upload
}

/// Uploads of a program in C and of the command line are rows of one table.
#[test]
fn squares_and_flags_of_a_board_in_c_are_asked_about_without_a_bootstrap() {
    let shared = shared();
    let desk = shared.desk();
    let directory = desk.path();
    let public = ["device-key", "--public", "--out-device", "public.tsbc"];
    tfhe_sbc(directory, &public).succeeded();
    definitions(directory, "derived.toml", DERIVED);
    let server = Server::start(directory, &["--allow-public-key"]);
    let [(_, first), (_, second), _] = UPLOADS;
    let all = [first, second].concat();
    for (key, public) in [("keys/device.tsbc", false), ("public.tsbc", true)] {
        let encrypt = ["encrypt", "--columns", "derived.toml", "--key", key];
        let of_command = tfhe_sbc_fed(directory, &encrypt, csv(first).as_bytes())
            .succeeded()
            .stdout;
        let message = Message::parse(&of_command).unwrap().0;
        let described: ReadingsMetadata = metadata::read(message).unwrap();
        let [_, flow] = &described.columns[..] else {
            panic!("{:?}", described.columns);
        };
        assert_eq!(flow.derived.count(), 5);
        let key = std::fs::read(directory.join(key)).unwrap();
        let of_c = with_session(&key, public, |encryptor| {
            derived_upload(encryptor, &described.columns, second)
        });
        let ids = [of_command, of_c].map(|upload| {
            let sent = tfhe_sbc_fed(directory, &["send", "--to", &server.url], &upload);
            sent.succeeded().text().trim().to_owned()
        });
        let ids = ids.join(",");
        let texts = questions();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let query = ["query", "--to", &server.url, "--readings", &ids];
        let result = tfhe_sbc(directory, &[&query[..], &texts].concat()).succeeded();
        let decrypted = tfhe_sbc_fed(directory, &["decrypt", "--json"], &result.stdout);
        let decrypted = decrypted.succeeded().json();
        assert_eq!(decrypted["answers"], answers(&all), "public: {public}");
        assert_eq!(decrypted["bootstraps"], 0, "public: {public}");
    }
}
