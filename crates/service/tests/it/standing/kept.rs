//! Standing queries and their results outlive readings, servers and stores.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::common::{ANY_LENGTH, Site, TestServer, eventually, file_names, metric, refused};
use tfhe_sbc_service::server::StandingConfig;
use tfhe_sbc_service::store::{Retention, backup};
use tfhe_sbc_transport::standing::Terms;

use super::{
    Hands, computed, evaluated, moment, name, result, seen, settled, since, start, upload,
};

#[test]
fn results_stay_when_retention_removes_the_readings() {
    let hands = Hands::at("11:30");
    let retention = Retention {
        bytes: Some(64 << 20),
        ..Retention::default()
    };
    let server = TestServer::with_standing(Site::new(), retention, hands.config());
    let owner = server.owner();
    upload(&server, &["08:30"]);
    upload(&server, &["08:40", "09:10"]);
    owner
        .leave(&name("hourly"), &since("08:00"), b"mean")
        .unwrap();
    settled(&owner, "hourly", 2);
    let before = result(&owner, "hourly", "08:00");
    // What retention does with the first of them.
    let first = owner
        .list(&crate::common::ALL)
        .unwrap()
        .readings
        .pop()
        .unwrap();
    server.store.remove(&first.id).unwrap();
    // A late upload for an hour that is not there any more as a whole, and for one that is.
    upload(&server, &["08:50", "09:20"]);
    seen(&owner, "hourly", 2);
    hands.set("11:45");
    let standing = settled(&owner, "hourly", 2);
    assert_eq!(standing.late, 1);
    assert_eq!(result(&owner, "hourly", "08:00"), before);
    assert_eq!(
        result(&owner, "hourly", "09:00")
            .matches("readings")
            .count(),
        2
    );
    assert_eq!(evaluated(&server), ["08:00", "09:00", "09:00"]);
    // So does the owner's removal of another one of that hour, and everything is there after a restart.
    let second = owner
        .list(&crate::common::ALL)
        .unwrap()
        .readings
        .pop()
        .unwrap();
    owner.remove(&second.id).unwrap();
    hands.set("12:00");
    settled(&owner, "hourly", 2);
    assert_eq!(result(&owner, "hourly", "08:00"), before);
    assert_eq!(
        result(&owner, "hourly", "09:00")
            .matches("readings")
            .count(),
        1
    );
    drop(owner);
    let server = TestServer::with_standing(server.stopped(), retention, hands.config());
    let owner = server.owner();
    assert_eq!(result(&owner, "hourly", "08:00"), before);
    assert_eq!(owner.standing(&name("hourly")).unwrap().late, 1);
}

#[test]
fn standing_queries_survive_a_restart_and_nothing_is_computed_twice() {
    let hands = Hands::at("11:30");
    let server = start(&hands);
    let owner = server.owner();
    upload(&server, &["08:30"]);
    owner
        .leave(&name("hourly"), &since("08:00"), b"mean")
        .unwrap();
    settled(&owner, "hourly", 1);
    upload(&server, &["09:30"]);
    owner
        .leave(&name("held"), &since("08:00"), b"hold")
        .unwrap();
    eventually("a period is half computed", || {
        evaluated(&server).len() == 2
    });
    drop(owner);
    let site = server.stopped();
    let directory = site.store_directory().join("standing");
    // What crashes leave: a query that was not yet made, and files that were not yet written.
    std::fs::create_dir_all(directory.join("00000000000000aa/results")).unwrap();
    for query in file_names(&directory) {
        let half = directory.join(query).join("results/.tfhe-sbc-temporary-1");
        std::fs::write(half, "half").unwrap();
    }
    // And one of a later version.
    std::fs::create_dir_all(directory.join("00000000000000bb")).unwrap();
    std::fs::write(directory.join("00000000000000bb/definition"), "{}").unwrap();
    let retention = Retention::default();
    let server = TestServer::with_standing(site, retention, hands.config());
    server.backend.released.store(true, Ordering::SeqCst);
    let owner = server.owner();
    assert_eq!(owner.standing_queries().unwrap().len(), 2);
    settled(&owner, "held", 2);
    hands.set("11:50");
    settled(&owner, "hourly", 2);
    let mut evaluated = evaluated(&server);
    evaluated.sort();
    assert_eq!(evaluated, ["08:00", "09:00", "09:00"]);
    assert!(!directory.join("00000000000000aa").exists());
    assert!(directory.join("00000000000000bb").exists());
    let mode = |path: &std::path::Path| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    };
    for query in file_names(&directory)
        .iter()
        .filter(|query| !query.ends_with("bb"))
    {
        let query = directory.join(query);
        for file in file_names(&query).iter().filter(|file| *file != "results") {
            assert_eq!(mode(&query.join(file)), 0o600, "{file}");
        }
        for file in file_names(&query.join("results")) {
            assert_eq!(mode(&query.join("results").join(&file)), 0o600, "{file}");
        }
    }
    // A damaged result is none, and is not given out.
    let query = file_names(&directory).into_iter().find(|query| {
        let definition = directory.join(query).join("definition");
        std::fs::read_to_string(definition)
            .unwrap()
            .contains("hourly")
    });
    let results = directory.join(query.unwrap()).join("results");
    let file = results.join(&file_names(&results)[0]);
    let mut bytes = std::fs::read(&file).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&file, bytes).unwrap();
    refused(
        owner.period_result(&name("hourly"), moment("08:00"), ANY_LENGTH),
        404,
    );
}

#[test]
fn results_are_kept_for_their_time_and_no_others_have_room() {
    let hands = Hands::at("11:30");
    let server = start(&hands);
    let owner = server.owner();
    upload(&server, &["08:30", "09:30"]);
    upload(&server, &["10:30"]);
    let terms = Terms {
        keep: Some("2h".parse().unwrap()),
        ..since("2026-11-20")
    };
    owner.leave(&name("short"), &terms, b"mean").unwrap();
    settled(&owner, "short", 2);
    assert_eq!(computed(&owner, "short"), ["09:00", "10:00"]);
    hands.set("12:00");
    settled(&owner, "short", 1);
    assert_eq!(computed(&owner, "short"), ["10:00"]);
    let used = metric(&owner, "tfhe_sbc_standing_result_bytes");
    drop(owner);
    // A server that keeps little more than there is.
    let small = StandingConfig {
        bytes: used + 10,
        ..hands.config()
    };
    let server = TestServer::with_standing(server.stopped(), Retention::default(), small);
    let owner = server.owner();
    owner
        .leave(&name("more"), &since("08:00"), b"mean")
        .unwrap();
    eventually("there is no room", || {
        owner.standing(&name("more")).unwrap().problem.is_some()
    });
    let standing = owner.standing(&name("more")).unwrap();
    assert_eq!((standing.results, standing.waiting), (0, 3));
    let problem = standing.problem.unwrap();
    assert!(problem.hint.contains("--standing-bytes"), "{problem:?}");
    assert_eq!(owner.standing(&name("short")).unwrap().results, 1);
    // It has, once others are gone.
    owner.remove_standing(&name("short")).unwrap();
    eventually("one has room", || {
        owner.standing(&name("more")).unwrap().results == 1
    });
}

#[test]
fn backups_have_standing_queries_with_their_results() {
    let hands = Hands::at("11:30");
    let server = start(&hands);
    let owner = server.owner();
    let first = upload(&server, &["08:30"]);
    upload(&server, &["09:30"]);
    owner
        .leave(&name("hourly"), &since("08:00"), b"mean")
        .unwrap();
    settled(&owner, "hourly", 2);
    let before = result(&owner, "hourly", "08:00");
    let store = server.site.store_directory();
    let out = server.site.directory.path().join("backup");
    let back_up = || {
        backup::back_up(&store, &out, false, |_| {})
            .unwrap()
            .standing
    };
    let made = back_up();
    assert_eq!((made.queries, made.results, made.damaged), (1, 2, 0));
    // What retention removes later is in the next backup as an answer, and what is new comes to it.
    server.store.remove(&first).unwrap();
    upload(&server, &["10:30"]);
    seen(&owner, "hourly", 1);
    owner
        .leave(&name("later"), &since("10:00"), b"sum")
        .unwrap();
    hands.set("12:30");
    settled(&owner, "later", 1);
    settled(&owner, "hourly", 3);
    let made = back_up();
    assert_eq!((made.queries, made.results, made.damaged), (2, 4, 0));
    let checked = backup::check(&out, |_| {}).unwrap().standing;
    assert_eq!(checked, made);
    owner.remove_standing(&name("later")).unwrap();
    assert_eq!(back_up().queries, 1);
    assert_eq!(file_names(&out.join("standing")).len(), 1);

    let site = Site::new();
    let restored = backup::restore(&out, &site.store_directory(), false, |_| {}).unwrap();
    assert_eq!(
        (restored.standing.queries, restored.standing.results),
        (1, 3)
    );
    let server = TestServer::with_standing(site, Retention::default(), hands.config());
    let owner = server.owner();
    settled(&owner, "hourly", 3);
    assert_eq!(result(&owner, "hourly", "08:00"), before);
    std::thread::sleep(Duration::from_millis(1200));
    assert_eq!(evaluated(&server), Vec::<String>::new());
    upload(&server, &["10:40"]);
    seen(&owner, "hourly", 1);

    // A damaged result is named, and left out.
    let query = out
        .join("standing")
        .join(&file_names(&out.join("standing"))[0]);
    let results = query.join("results");
    let file = results.join(&file_names(&results)[0]);
    std::fs::write(&file, "{").unwrap();
    let checked = backup::check(&out, |_| {}).unwrap().standing;
    assert_eq!((checked.results, checked.damaged), (2, 1));
    let site = Site::new();
    let restored = backup::restore(&out, &site.store_directory(), false, |_| {}).unwrap();
    assert_eq!(
        (restored.standing.results, restored.standing.damaged),
        (2, 1)
    );
    // The next backup replaces it.
    assert_eq!(back_up().damaged, 0);
    assert_eq!(backup::check(&out, |_| {}).unwrap().standing.damaged, 0);
}
