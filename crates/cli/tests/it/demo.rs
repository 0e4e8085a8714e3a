//! The demo: what it prints for programs.

use crate::common::{self, Run, tfhe_sbc};

#[test]
fn the_demo_answers_right_and_says_so_in_json_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(
        directory.path().join("tfhe-sbc-demo.svg"),
        "of an earlier run",
    )
    .unwrap();
    let Run {
        status,
        stdout,
        stderr,
    } = tfhe_sbc(directory.path(), &["demo", "--json"]);
    assert!(status.success(), "{stderr}");
    let report: serde_json::Value = serde_json::from_slice(&stdout).expect("only JSON");
    assert_eq!(report["ok"], true);

    let results = report["results"].as_array().unwrap();
    assert_eq!(results.len(), 10);
    for result in results {
        let name = result["name"].as_str().unwrap();
        let (encrypted, plain) = (&result["encrypted"], &result["plain"]);
        match (encrypted.as_f64(), plain.as_f64()) {
            (Some(encrypted), Some(plain)) => {
                assert!((encrypted - plain).abs() < 1e-6, "{result}");
            }
            _ => {
                assert!(name.starts_with("rows("), "{result}");
                assert!(encrypted.is_array() && encrypted == plain, "{result}");
            }
        }
    }
    let names = results
        .iter()
        .map(|result| result["name"].as_str().unwrap());
    assert!(
        names
            .into_iter()
            .any(|name| name == "count(illuminance_lx > encrypted(20000))")
    );

    for figure in ["bytes_uploaded", "bootstraps", "result_bytes"] {
        assert!(report[figure].as_u64().unwrap() > 0, "{figure}");
    }
    assert!(report["ciphertext_expansion"].as_f64().unwrap() > 1.0);
    let seconds = report["seconds"].as_object().unwrap();
    for stage in [
        "keygen",
        "device_start",
        "encrypt",
        "server_start",
        "upload",
        "query",
        "decrypt",
    ] {
        assert!(seconds[stage].as_f64().unwrap() > 0.0, "{stage}");
    }

    let picture = report["picture"].as_str().unwrap();
    let svg = std::fs::read_to_string(directory.path().join(picture)).unwrap();
    assert!(svg.starts_with("<svg"), "{svg}");
    // Nothing else is left behind, so that it can run again.
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn a_demo_that_cannot_draw_says_so_before_it_computes() {
    let directory = tempfile::tempdir().unwrap();
    let begun = std::time::Instant::now();
    tfhe_sbc(directory.path(), &["demo", "--picture", "nowhere/day.svg"]).refused(&[
        "nowhere/day.svg",
        "no directory",
        "make the directory",
    ]);
    tfhe_sbc(directory.path(), &["demo", "--day", "366"]).refused(&["no day 366", "1 to 365"]);
    assert!(begun.elapsed().as_secs() < 5);
}

#[test]
fn a_demo_that_keeps_its_keys_overwrites_none() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(directory.path().join("kept/owner")).unwrap();
    std::fs::write(directory.path().join("kept/owner/secret.tsbc"), "a key").unwrap();
    let before = common::contents(directory.path());
    tfhe_sbc(directory.path(), &["demo", "--keep", "kept"])
        .refused(&["secret.tsbc exists already", "choose another directory"]);
    assert_eq!(common::contents(directory.path()), before);
}

#[test]
fn a_demo_that_is_killed_takes_its_server_along() {
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    let directory = tempfile::tempdir().unwrap();
    let demo = ["demo", "--keep", "kept"];
    let mut demo = common::command(directory.path(), &demo)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let servers = || {
        let kept = directory.path().join("kept/server/server.tsbc");
        let kept = kept.strip_prefix(directory.path()).unwrap().to_owned();
        let processes = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let process = entry.ok()?.path();
            let here = std::fs::read_link(process.join("cwd")).ok()? == directory.path();
            let line = std::fs::read(process.join("cmdline")).ok()?;
            (here && String::from_utf8_lossy(&line).contains(kept.to_str()?)).then_some(())
        });
        processes.count()
    };
    let wait_for = |count: usize| {
        let deadline = Instant::now() + Duration::from_secs(30);
        while servers() != count {
            assert!(Instant::now() < deadline, "{} servers", servers());
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    wait_for(1);
    demo.kill().unwrap();
    demo.wait().unwrap();
    wait_for(0);
}
