//! CKKS for servers with Microsoft SEAL, on the command line: from keys and numbers to numbers, and
//! what is refused.

use std::path::Path;

use crate::common::{Run, run_bash, tfhe_sbc};
use crate::vectors;

fn vector(name: &str) -> String {
    vectors::seal_path(name).display().to_string()
}

/// A directory with keys, numbers and a ciphertext.
fn desk() -> tempfile::TempDir {
    let desk = tempfile::tempdir().unwrap();
    tfhe_sbc(desk.path(), &["ckks", "keygen"]).succeeded();
    std::fs::write(desk.path().join("numbers.csv"), "1.5\n-2\n0.25\n").unwrap();
    let numbers = ["ckks", "encrypt", "numbers.csv", "--out", "numbers.seal"];
    tfhe_sbc(desk.path(), &numbers).succeeded();
    desk
}

fn decrypted(desk: &Path, arguments: &[&str]) -> Vec<f64> {
    let all = [&["ckks", "decrypt", "--json"], arguments].concat();
    let run = tfhe_sbc(desk, &all).succeeded();
    let numbers = run.json()["real"].as_array().unwrap().clone();
    numbers
        .iter()
        .map(|number| number.as_f64().unwrap())
        .collect()
}

#[track_caller]
fn near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-3, "{found} {expected}");
    }
}

#[test]
fn every_form_and_key_gives_the_numbers_again() {
    let desk = desk();
    let desk = desk.path();
    for options in [
        "--key keys/secret.seal",
        "--key keys/secret.seal --generator shake256 --plan small",
        "--key keys/secret.seal --form expanded --scale 1e8",
        "--key keys/sk_4096.dat",
        "--key keys/public.seal",
        "--key keys/public.seal --parms keys/parms.seal",
    ] {
        run_bash(
            desk,
            &format!("tfhe-sbc ckks encrypt numbers.csv {options} --out a.seal"),
        )
        .succeeded();
        near(
            &decrypted(desk, &["a.seal", "--count", "4"]),
            &[1.5, -2.0, 0.25, 0.0],
        );
        run_bash(desk, "tfhe-sbc convert --to seal a.seal --out b.seal").succeeded();
        near(
            &decrypted(desk, &["b.seal", "--count", "3"]),
            &[1.5, -2.0, 0.25],
        );
    }
    run_bash(
        desk,
        "tfhe-sbc ckks encrypt numbers.csv --form raw --out raw.bin",
    )
    .succeeded();
    run_bash(
        desk,
        "tfhe-sbc convert --to seal raw.bin --scale 2^25 --out b.seal",
    )
    .succeeded();
    near(
        &decrypted(desk, &["b.seal", "--count", "3"]),
        &[1.5, -2.0, 0.25],
    );
    near(
        &decrypted(desk, &["raw.bin", "--scale", "2^25", "--count", "3"]),
        &[1.5, -2.0, 0.25],
    );
}

/// More numbers than slots are several ciphertexts; complex ones are two columns.
#[test]
fn long_and_complex_columns() {
    let desk = desk();
    let desk = desk.path();
    let rows = (0..3000).map(|i| format!("{},{i},{}\n", i * 2, -f64::from(i) / 8.0));
    let csv: String = std::iter::once("id,re,im\n".to_owned())
        .chain(rows)
        .collect();
    std::fs::write(desk.join("long.csv"), csv).unwrap();
    let encrypt = "tfhe-sbc ckks encrypt long.csv --column re --imaginary im --out long.seal";
    run_bash(desk, encrypt).succeeded();
    let run = run_bash(
        desk,
        "tfhe-sbc ckks decrypt long.seal --complex --count 3000",
    )
    .succeeded();
    for (i, line) in run.text().lines().enumerate() {
        let (re, im) = line.split_once(',').unwrap();
        near(
            &[re.parse().unwrap(), im.parse().unwrap()],
            &[i as f64, -(i as f64) / 8.0],
        );
    }
    assert_eq!(run.text().lines().count(), 3000);
}

/// A heading may begin with a digit where it is named, and words are a heading where they are not.
#[test]
fn headings_of_columns() {
    let desk = desk();
    let desk = desk.path();
    for (csv, column) in [
        ("level\n1\n2\n", ""),
        ("2024\n1\n2\n", "--column 2024"),
        ("id,10m_wind\n7,1\n8,2\n", "--column 10m_wind"),
        ("-1e0\n2\n", ""),
    ] {
        std::fs::write(desk.join("a.csv"), csv).unwrap();
        run_bash(
            desk,
            &format!("tfhe-sbc ckks encrypt a.csv {column} --out a.seal"),
        )
        .succeeded();
        let sign = if csv.starts_with('-') { -1.0 } else { 1.0 };
        near(
            &decrypted(desk, &["a.seal", "--count", "3"]),
            &[sign, 2.0, 0.0],
        );
    }
}

/// SEAL's own key and ciphertexts, and SEAL-Embedded's.
#[test]
fn files_of_seal_and_seal_embedded() {
    let desk = tempfile::tempdir().unwrap();
    let desk = desk.path();
    let import = |from: &str, file: &str, out: &str| -> Run {
        tfhe_sbc(
            desk,
            &[
                "keys",
                "import",
                "--from",
                from,
                &vector(file),
                "--out",
                out,
                "--public",
            ],
        )
    };
    import("seal", "sk.seal", "keys").succeeded();
    import("seal-embedded", "sk_4096.dat", "again").succeeded();
    let read = |file: &str| std::fs::read(desk.join(file)).unwrap();
    for file in ["parms.seal", "secret.seal", "sk_4096.dat"] {
        assert!(
            read(&format!("keys/{file}")) == read(&format!("again/{file}")),
            "{file}"
        );
    }
    // A directory with SEAL-Embedded's files.
    let folder = desk.join("embedded");
    std::fs::create_dir(&folder).unwrap();
    std::fs::copy(
        vectors::seal_path("sk_4096.dat"),
        folder.join("sk_4096.dat"),
    )
    .unwrap();
    run_bash(
        desk,
        "tfhe-sbc keys import --from seal-embedded embedded --out third",
    )
    .succeeded();
    assert!(read("third/secret.seal") == read("keys/secret.seal"));

    let expected: Vec<f64> = (0..8)
        .map(|i| 3.0 * (0.01 * f64::from(i)).sin() + f64::from(i) / 512.0 - 2.0)
        .collect();
    for file in ["ct_sym_seeded.seal", "ct_sym_expanded.seal", "ct_asym.seal"] {
        near(
            &decrypted(desk, &[&vector(file), "--count", "8"]),
            &expected,
        );
    }
    #[cfg(unix)]
    for file in ["secret.seal", "sk_4096.dat"] {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(desk.join("keys").join(file))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    import("seal", "sk.seal", "keys").refused(&["exists already"]);
}

#[test]
fn custom_parameters_are_found_beside_their_keys() {
    let desk = tempfile::tempdir().unwrap();
    let desk = desk.path();
    let keygen =
        "tfhe-sbc ckks keygen --n 4096 --primes 1073692673,1073643521 --special 1073479681";
    run_bash(desk, keygen).succeeded();
    std::fs::write(desk.join("numbers.csv"), "level\n7.5\n").unwrap();
    for key in ["secret.seal", "sk_4096.dat", "public.seal"] {
        let encrypt = format!("tfhe-sbc ckks encrypt numbers.csv --key keys/{key} --out a.seal");
        run_bash(desk, &encrypt).succeeded();
        near(&decrypted(desk, &["a.seal", "--count", "1"]), &[7.5]);
    }
    // The directory, and with the board's file alone in it.
    let packed = desk.join("packed");
    std::fs::create_dir(&packed).unwrap();
    for file in ["parms.seal", "sk_4096.dat"] {
        std::fs::copy(desk.join("keys").join(file), packed.join(file)).unwrap();
    }
    for key in ["keys", "packed"] {
        let encrypt = format!("tfhe-sbc ckks encrypt numbers.csv --key {key} --out b.seal");
        run_bash(desk, &encrypt).succeeded();
        near(&decrypted(desk, &["b.seal", "--count", "1"]), &[7.5]);
        let import = format!("tfhe-sbc keys import --from seal-embedded {key} --out of-{key}");
        run_bash(desk, &import).succeeded();
        for file in ["parms.seal", "secret.seal"] {
            let [ours, theirs] = ["keys".to_owned(), format!("of-{key}")]
                .map(|folder| std::fs::read(desk.join(folder).join(file)).unwrap());
            assert!(ours == theirs, "{key} {file}");
        }
    }
    // Away from its parameters a key of SEAL's is refused.
    std::fs::copy(desk.join("keys/secret.seal"), desk.join("alone.seal")).unwrap();
    tfhe_sbc(desk, &["ckks", "decrypt", "a.seal", "--key", "alone.seal"])
        .refused(&["parameters that are not known here", "--parms"]);
}

#[test]
fn bad_input_is_refused_with_what_to_do() {
    let desk = desk();
    let desk = desk.path();
    let file = |name: &str, bytes: &[u8]| std::fs::write(desk.join(name), bytes).unwrap();
    let read = |name: &str| std::fs::read(desk.join(name)).unwrap();
    file("empty.csv", b"");
    file("words.csv", b"level\nhigh\n");
    file("two.csv", b"a,b\n1,2\n");
    file("infinite.csv", b"1\ninf\n");
    file("slip.csv", b"1O.5\n2\n");
    file(
        "later-slip.csv",
        b"\xef\xbb\xbf\r\n1\r\n\r\n\"2\"\r\n\n-x\r\n",
    );
    file("two-bare.csv", b"1,2\n3,4\n");
    file("twice.csv", b"a,b,a\n1,2,3\n");
    file("many-lines.csv", b"\"a\nb\",c\n1,2\n3,x\n");
    file("huge.csv", b"1e30\n");
    let ciphertext = read("numbers.seal");
    file("cut.seal", &ciphertext[..1000]);
    file("noise.bin", &[0xff; 98304]);
    let mut zlib = ciphertext.clone();
    zlib[5] = 1;
    file("zlib.seal", &zlib);
    let mut zstd = ciphertext.clone();
    zstd[5] = 2;
    file("zstd.seal", &zstd);
    let key = read("keys/secret.seal");
    file("cut-key.seal", &key[..key.len() - 1]);
    let mut forged = key.clone();
    forged[100] ^= 1;
    file("forged-key.seal", &forged);
    file("short.dat", &[0; 100]);
    file("codes.dat", &[0xff; 1024]);
    tfhe_sbc(desk, &["ckks", "keygen", "--n", "2048", "--out", "other"]).succeeded();

    for (arguments, words) in [
        (
            "ckks keygen --n 3000 --out new",
            &["no parameters of polynomial size 3000", "4096"][..],
        ),
        (
            "ckks keygen --n 4096 --primes 12289 --special 40961 --out new",
            &["no transform exists"],
        ),
        (
            "ckks keygen --parms numbers.csv --out new",
            &["numbers.csv", "not an object of Microsoft SEAL"],
        ),
        ("ckks keygen", &["exists already", "never overwritten"]),
        ("ckks encrypt none.csv", &["cannot read none.csv"]),
        ("ckks encrypt empty.csv", &["empty.csv is empty"]),
        (
            "ckks encrypt words.csv",
            &["line 2", "'high' is not a number"],
        ),
        (
            "ckks encrypt two.csv",
            &["several columns: a, b", "--column"],
        ),
        ("ckks encrypt two.csv --column c", &["no column 'c'"]),
        (
            "ckks encrypt slip.csv",
            &["line 1", "'1O.5' is not a number", "--column"],
        ),
        (
            "ckks encrypt later-slip.csv",
            &["line 6", "'-x' is not a number"],
        ),
        (
            "ckks encrypt two-bare.csv",
            &["several columns: 1, 2", "--column"],
        ),
        ("ckks encrypt twice.csv --column a", &["two columns 'a'"]),
        (
            "ckks encrypt twice.csv --column b --imaginary a",
            &["two columns 'a'"],
        ),
        (
            "ckks encrypt many-lines.csv --column c",
            &["line 4", "'x' is not a number"],
        ),
        (
            "ckks encrypt infinite.csv",
            &["line 2", "'inf' is not a number"],
        ),
        (
            "ckks encrypt huge.csv",
            &["do not fit the moduli", "--scale"],
        ),
        (
            "ckks encrypt numbers.csv --scale 0",
            &["a scale is a positive number"],
        ),
        (
            "ckks encrypt numbers.csv --scale 2^2000",
            &["a scale is a positive number"],
        ),
        (
            "ckks encrypt numbers.csv --key keys/public.seal --form seeded",
            &["cannot be seeded", "--form"],
        ),
        (
            "ckks encrypt numbers.csv --key numbers.seal",
            &["numbers.seal"],
        ),
        (
            "ckks encrypt numbers.csv --key cut-key.seal",
            &["should have", "SecretKey"],
        ),
        (
            "ckks encrypt numbers.csv --key forged-key.seal",
            &["not ternary"],
        ),
        (
            "ckks encrypt numbers.csv --key short.dat",
            &["no key of SEAL's"],
        ),
        ("ckks encrypt numbers.csv --key codes.dat", &["not ternary"]),
        (
            "ckks encrypt numbers.csv --parms other/parms.seal",
            &["made with other parameters"],
        ),
        (
            "ckks decrypt cut.seal",
            &["ciphertext 1", "should have 98490 bytes"],
        ),
        ("ckks decrypt zlib.seal", &["compressed"]),
        ("ckks decrypt zstd.seal", &["damaged"]),
        (
            "ckks decrypt noise.bin",
            &["does not say its scale", "--scale"],
        ),
        (
            "ckks decrypt noise.bin --scale 2^25",
            &["not below its prime"],
        ),
        (
            "ckks decrypt numbers.csv --scale 2^25",
            &["should have 98304 bytes"],
        ),
        (
            "ckks decrypt numbers.seal --key keys/public.seal",
            &["a public key, which decrypts nothing"],
        ),
        (
            "ckks decrypt numbers.seal --key other/secret.seal",
            &["made with other parameters"],
        ),
        (
            "convert --to seal cut.seal",
            &["ciphertext 1", "should have"],
        ),
        ("convert --to seal noise.bin", &["does not say its scale"]),
        (
            "convert --to seal numbers.seal --parms other/parms.seal",
            &["made with other parameters"],
        ),
        (
            "keys import --from seal numbers.csv --out new",
            &["not an object of Microsoft SEAL"],
        ),
        (
            "keys import --from seal cut-key.seal --out new",
            &["should have"],
        ),
        (
            "keys import --from seal-embedded codes.dat --out new",
            &["not ternary"],
        ),
        (
            "keys import --from seal-embedded other --parms keys/parms.seal --out new",
            &["cannot read"],
        ),
    ] {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let out = ["--out", "out.bin"];
        let takes_out = matches!(arguments[..2], ["ckks", "encrypt"] | ["convert", _]);
        let all = [&arguments[..], if takes_out { &out } else { &[] }].concat();
        tfhe_sbc(desk, &all).refused(words);
        assert!(
            !desk.join("out.bin").exists() && !desk.join("new").exists(),
            "{all:?}"
        );
    }
}
