//! The work on standing queries: failures, pauses, and who goes first.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::common::{ANY_LENGTH, TestServer, eventually, metric};
use tfhe_sbc_service::store::Retention;
use tfhe_sbc_transport::client::Client;
use tfhe_sbc_transport::protocol::Selection;
use tfhe_sbc_transport::standing::PeriodState;

use super::{Hands, evaluated, hourly, moment, name, periods, seen, settled, since, start, upload};

#[test]
fn a_period_that_fails_says_why_and_stops_no_other() {
    let hands = Hands::at("11:30");
    let server = start(&hands);
    let owner = server.owner();
    upload(&server, &["08:30"]);
    owner
        .leave(&name("costly"), &since("08:00"), b"costly")
        .unwrap();
    owner
        .leave(&name("hourly"), &since("08:00"), b"mean")
        .unwrap();
    settled(&owner, "hourly", 1);
    let standing = settled(&owner, "costly", 0);
    assert_eq!(standing.failed, 1);
    let failure = standing.last_failure.unwrap();
    assert_eq!(
        (failure.from, failure.reason.error.as_str()),
        (moment("08:00"), "too costly")
    );
    let failed = &periods(&owner, "costly")[0];
    assert_eq!(failed.state, PeriodState::Failed);
    assert_eq!(failed.error.as_ref().unwrap().hint, "ask less");
    // It is not tried again by itself.
    let tries = evaluated(&server).len();
    hands.set("13:00");
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(evaluated(&server).len(), tries);
    assert_eq!(metric(&owner, "tfhe_sbc_standing_failed_periods"), 1);
    // A change of its uploads has it tried again.
    upload(&server, &["08:40"]);
    seen(&owner, "costly", 1);
    hands.set("13:20");
    eventually("it fails again", || {
        owner.standing(&name("costly")).unwrap().failed == 1
    });
    assert!(evaluated(&server).len() > tries);
    // And so has the owner, once it can succeed.
    server.backend.released.store(true, Ordering::SeqCst);
    owner.resume_standing(&name("costly")).unwrap();
    let standing = settled(&owner, "costly", 1);
    assert_eq!((standing.failed, standing.last_failure), (0, None));
}

#[test]
fn a_paused_query_computes_nothing_and_catches_up() {
    let hands = Hands::at("08:30");
    let server = start(&hands);
    let owner = server.owner();
    owner.leave(&name("hourly"), &hourly(), b"mean").unwrap();
    let paused = owner.pause_standing(&name("hourly")).unwrap();
    assert!(paused.paused && paused.next_at.is_none());
    upload(&server, &["08:40"]);
    hands.set("11:00");
    std::thread::sleep(Duration::from_millis(1200));
    assert_eq!(evaluated(&server), Vec::<String>::new());
    drop(owner);
    let server = TestServer::with_standing(server.stopped(), Retention::default(), hands.config());
    let owner = server.owner();
    assert!(owner.standing(&name("hourly")).unwrap().paused);
    assert!(!owner.resume_standing(&name("hourly")).unwrap().paused);
    settled(&owner, "hourly", 1);
    assert_eq!(evaluated(&server), ["08:00"]);
}

#[test]
fn a_period_that_is_computed_is_called_off_with_its_query() {
    let hands = Hands::at("11:30");
    let server = start(&hands);
    let owner = server.owner();
    upload(&server, &["08:30"]);
    owner
        .leave(&name("held"), &since("08:00"), b"hold")
        .unwrap();
    eventually("the period runs", || evaluated(&server).len() == 1);
    owner.pause_standing(&name("held")).unwrap();
    eventually("it is called off", || {
        server.backend.cancelled.swap(false, Ordering::SeqCst)
    });
    owner.resume_standing(&name("held")).unwrap();
    eventually("the period runs again", || evaluated(&server).len() == 2);
    owner.remove_standing(&name("held")).unwrap();
    eventually("it is called off", || {
        server.backend.cancelled.load(Ordering::SeqCst)
    });
    let running = || metric(&owner, "tfhe_sbc_evaluations_running");
    eventually("nothing is computed", || running() == 0);
    assert_eq!(evaluated(&server).len(), 2);
}

#[test]
fn queries_of_those_who_wait_go_first() {
    let hands = Hands::at("11:30");
    let server = start(&hands);
    let owner = server.owner();
    let readings = upload(&server, &["08:30"]);
    owner
        .leave(&name("held"), &since("08:00"), b"hold")
        .unwrap();
    eventually("the period runs", || evaluated(&server).len() == 1);
    // It is called off, and begins anew: five times.
    for times in 1..=5 {
        let answer = owner.query(&Selection::from(readings), b" + q", ANY_LENGTH);
        assert!(answer.unwrap().result.ends_with(b" + q"));
        eventually("the period runs again", || {
            evaluated(&server).len() == 1 + times
        });
    }
    let gave_way = "tfhe_sbc_standing_periods_total{end=\"gave_way\"}";
    assert_eq!(metric(&owner, gave_way), 5);
    // Then it is computed to its end, and the next query waits. It is not refused.
    let address = server.url();
    let identity = server.site.identity(&server.site.tls.owner);
    let asking = std::thread::spawn(move || {
        let client = Client::connect(&address, &identity).unwrap();
        client.query(&Selection::from(readings), b" + r", ANY_LENGTH)
    });
    eventually("it waits", || {
        metric(&owner, "tfhe_sbc_evaluations_waiting") == 1
    });
    server.backend.released.store(true, Ordering::SeqCst);
    assert!(asking.join().unwrap().unwrap().result.ends_with(b" + r"));
    settled(&owner, "held", 1);
    assert_eq!(metric(&owner, gave_way), 5);
}
