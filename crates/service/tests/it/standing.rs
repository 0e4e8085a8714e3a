//! Standing queries: periods that are computed once they are over, and again when their uploads change.

mod kept;
mod work;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use crate::common::{ANY_LENGTH, Site, TestServer, eventually, file_names, metric, refused};
use tfhe_sbc_service::certificates;
use tfhe_sbc_service::server::{Clock, StandingConfig, complete_catalogue};
use tfhe_sbc_service::store::{Retention, Store};
use tfhe_sbc_transport::client::Client;
use tfhe_sbc_transport::role::Role;
use tfhe_sbc_transport::standing::{
    Period, PeriodFilter, PeriodState, Standing, StandingName, Terms,
};
use tfhe_sbc_upload::moments::Moment;

/// The clock of a server, which stands until it is set.
#[derive(Clone)]
struct Hands(Arc<AtomicI64>);

impl Hands {
    fn at(time: &str) -> Self {
        let hands = Self(Arc::default());
        hands.set(time);
        hands
    }

    fn set(&self, time: &str) {
        self.0.store(moment(time).unix_ms(), Ordering::SeqCst);
    }

    fn config(&self) -> StandingConfig {
        let hands = Arc::clone(&self.0);
        let now = move || {
            let ms = hands.load(Ordering::SeqCst);
            UNIX_EPOCH + Duration::from_millis(ms.try_into().unwrap())
        };
        StandingConfig {
            clock: Clock::new(now),
            ..StandingConfig::default()
        }
    }
}

fn moment(time: &str) -> Moment {
    let time = match time.len() {
        5 => format!("2026-11-23T{time}"),
        _ => time.to_owned(),
    };
    time.parse().unwrap()
}

fn start(hands: &Hands) -> TestServer {
    TestServer::with_standing(Site::new(), Retention::default(), hands.config())
}

fn name(text: &str) -> StandingName {
    text.parse().unwrap()
}

fn hourly() -> Terms {
    Terms::from_query("every=1h").unwrap()
}

fn since(time: &str) -> Terms {
    Terms {
        since: Some(moment(time)),
        ..hourly()
    }
}

/// Uploads readings with rows of these moments.
fn upload(server: &TestServer, times: &[&str]) -> tfhe_sbc_transport::BlobId {
    let times: Vec<String> = times.iter().map(|time| moment(time).to_string()).collect();
    let readings = format!("readings {} ", times.join(" "));
    server.device().upload(readings.as_bytes()).unwrap().id
}

/// The periods of a standing query, the earliest first.
fn periods(client: &Client, query: &str) -> Vec<Period> {
    let list = client.periods(&name(query), &PeriodFilter::default());
    let mut periods = list.unwrap().periods;
    periods.reverse();
    periods
}

/// The hours of the periods that have results.
fn computed(client: &Client, query: &str) -> Vec<String> {
    let periods = periods(client, query);
    let computed = periods
        .iter()
        .filter(|period| period.state == PeriodState::Computed);
    computed
        .map(|period| period.from.to_string()[11..16].to_owned())
        .collect()
}

fn result(client: &Client, query: &str, from: &str) -> String {
    let reply = client.period_result(&name(query), moment(from), ANY_LENGTH);
    String::from_utf8(reply.unwrap().result).unwrap()
}

/// Waits until a standing query has nothing to do.
#[track_caller]
fn settled(client: &Client, query: &str, results: u64) -> Standing {
    eventually("everything is computed", || {
        let standing = client.standing(&name(query)).unwrap();
        (standing.waiting, standing.results) == (0, results)
    });
    client.standing(&name(query)).unwrap()
}

/// Waits until uploads have made so many periods new.
#[track_caller]
fn seen(client: &Client, query: &str, waiting: u64) {
    eventually("the uploads are seen", || {
        client.standing(&name(query)).unwrap().waiting == waiting
    });
}

/// The periods that were evaluated, in order, each by its beginning.
fn evaluated(server: &TestServer) -> Vec<String> {
    let asked = server.backend.asked.lock().unwrap();
    let periods = asked.iter().filter_map(|text| text.split_once(" in "));
    periods
        .map(|(_, period)| period[11..16].to_owned())
        .collect()
}

#[test]
fn periods_are_computed_once_when_they_are_over() {
    let hands = Hands::at("09:20");
    let server = start(&hands);
    let owner = server.owner();
    upload(&server, &["08:30", "09:10"]);
    let left = owner.leave(&name("hourly"), &hourly(), b"mean").unwrap();
    assert_eq!((left.results, left.waiting, left.failed), (0, 0, 0));
    assert_eq!(
        (left.since, left.computed_until),
        (moment("09:00"), moment("09:00"))
    );
    assert_eq!(
        (left.every.to_string(), left.by.as_str()),
        ("1h".to_owned(), "hour")
    );
    assert_eq!(left.questions, ["mean"]);
    assert_eq!(left.next_at.as_deref(), Some("2026-11-23T10:10:00Z"));
    upload(&server, &["09:50", "10:05"]);
    hands.set("10:09");
    std::thread::sleep(Duration::from_millis(1200));
    assert_eq!(evaluated(&server), Vec::<String>::new());
    hands.set("10:10");
    let standing = settled(&owner, "hourly", 1);
    assert_eq!(standing.computed_until, moment("10:00"));
    let first = result(&owner, "hourly", "09:00");
    assert!(
        first.ends_with("mean in 2026-11-23T09:00:00Z 2026-11-23T10:00:00Z"),
        "{first}"
    );
    assert_eq!(first.matches("readings").count(), 2);
    // Nothing is computed again, and a period without uploads not at all.
    hands.set("12:30");
    settled(&owner, "hourly", 2);
    assert_eq!(evaluated(&server), ["09:00", "10:00"]);
    assert_eq!(computed(&owner, "hourly"), ["09:00", "10:00"]);
    let reply = owner.period_result(&name("hourly"), moment("10:00"), ANY_LENGTH);
    let reply = reply.unwrap();
    assert_eq!(
        (reply.bootstraps, reply.kept_for),
        (42, Some(Duration::ZERO))
    );
    let none = owner.period_result(&name("hourly"), moment("11:00"), ANY_LENGTH);
    assert!(refused(none, 404).contains("no result"), "");
    assert_eq!(metric(&owner, "tfhe_sbc_standing_queries"), 1);
    assert_eq!(metric(&owner, "tfhe_sbc_standing_results"), 2);
    assert_eq!(
        metric(&owner, "tfhe_sbc_standing_periods_total{end=\"computed\"}"),
        2
    );
    let page = server.raw(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    assert!(page.contains("Standing queries (1)"), "{page}");
}

#[test]
fn the_past_is_computed_from_since_on_and_the_end_is_an_end() {
    let hands = Hands::at("12:30");
    let server = start(&hands);
    let owner = server.owner();
    upload(&server, &["07:59", "08:00"]);
    upload(&server, &["09:30"]);
    upload(&server, &["11:30", "12:10"]);
    let terms = Terms {
        until: Some(moment("13:30")),
        ..since("08:20")
    };
    let left = owner.leave(&name("past"), &terms, b"mean").unwrap();
    assert_eq!(left.waiting + left.results, 3);
    let standing = settled(&owner, "past", 3);
    assert_eq!(computed(&owner, "past"), ["08:00", "09:00", "11:00"]);
    assert_eq!(
        (standing.since, standing.until),
        (moment("08:00"), Some(moment("13:00")))
    );
    // One upload has rows of both ends of a gap: it is selected for the hour, and has no rows of it.
    upload(&server, &["09:59", "11:01"]);
    seen(&owner, "past", 3);
    hands.set("12:45");
    settled(&owner, "past", 3);
    hands.set("18:00");
    let standing = settled(&owner, "past", 4);
    assert_eq!(
        computed(&owner, "past"),
        ["08:00", "09:00", "11:00", "12:00"]
    );
    assert_eq!(standing.next_at, None);
    let filter = |text: &str| PeriodFilter::from_query(text).unwrap();
    let page = owner.periods(&name("past"), &filter("limit=2")).unwrap();
    let from = |page: &[Period]| page.iter().map(|it| it.from).collect::<Vec<_>>();
    assert_eq!(from(&page.periods), [moment("12:00"), moment("11:00")]);
    let next = PeriodFilter {
        before: page.next,
        ..filter("limit=2")
    };
    let page = owner.periods(&name("past"), &next).unwrap();
    assert_eq!(
        (from(&page.periods), page.next),
        (vec![moment("09:00"), moment("08:00")], None)
    );
    let some = filter("since=2026-11-23T09:00&until=2026-11-23T11:00");
    assert_eq!(
        from(&owner.periods(&name("past"), &some).unwrap().periods),
        [moment("09:00")]
    );
}

#[test]
fn a_late_upload_makes_its_periods_new_and_a_removed_one_too() {
    let hands = Hands::at("11:30");
    let server = start(&hands);
    let owner = server.owner();
    upload(&server, &["08:30"]);
    upload(&server, &["09:30"]);
    owner
        .leave(&name("hourly"), &since("08:00"), b"mean")
        .unwrap();
    settled(&owner, "hourly", 2);
    let before = result(&owner, "hourly", "09:00");
    let late = upload(&server, &["09:40", "10:20"]);
    seen(&owner, "hourly", 2);
    let states = |client: &Client| {
        let periods = periods(client, "hourly");
        periods.iter().map(|it| it.state).collect::<Vec<_>>()
    };
    let outdated = [
        PeriodState::Computed,
        PeriodState::Outdated,
        PeriodState::Waiting,
    ];
    assert_eq!(states(&owner), outdated);
    // The former result stays until then.
    assert_eq!(result(&owner, "hourly", "09:00"), before);
    hands.set("11:40");
    settled(&owner, "hourly", 3);
    assert_eq!(evaluated(&server), ["08:00", "09:00", "09:00", "10:00"]);
    assert_eq!(
        result(&owner, "hourly", "09:00")
            .matches("readings")
            .count(),
        2
    );
    // The owner takes it away again: one of its periods has others, one has not.
    owner.remove(&late).unwrap();
    assert_eq!(owner.standing(&name("hourly")).unwrap().waiting, 2);
    hands.set("11:50");
    settled(&owner, "hourly", 2);
    assert_eq!(computed(&owner, "hourly"), ["08:00", "09:00"]);
    assert_eq!(result(&owner, "hourly", "09:00"), before);
    // Uploads of other devices than those that are named change nothing.
    let names = Terms::from_query("every=1h&device=roof&since=2026-11-23").unwrap();
    owner.leave(&name("roof"), &names, b"mean").unwrap();
    upload(&server, &["08:40"]);
    seen(&owner, "hourly", 1);
    hands.set("12:05");
    settled(&owner, "hourly", 2);
    settled(&owner, "roof", 0);
    assert_eq!(evaluated(&server).last().unwrap(), "08:00");
}

#[test]
fn standing_queries_are_those_of_the_certificate_that_left_them() {
    let hands = Hands::at("11:30");
    let server = start(&hands);
    let owner = server.owner();
    upload(&server, &["08:30"]);
    owner
        .leave(&name("hourly"), &since("08:00"), b"mean")
        .unwrap();
    settled(&owner, "hourly", 1);
    let directory = server.site.directory.path().join("tls");
    let files = certificates::add_client(&directory, "bob", Role::Owner).unwrap();
    let bob = server.connect(&files).unwrap();
    assert_eq!(bob.standing_queries().unwrap(), []);
    let shared = name("hourly");
    refused(bob.standing(&shared), 404);
    refused(bob.periods(&shared, &PeriodFilter::default()), 404);
    refused(bob.period_result(&shared, moment("08:00"), ANY_LENGTH), 404);
    refused(bob.pause_standing(&shared), 404);
    refused(bob.resume_standing(&shared), 404);
    refused(bob.remove_standing(&shared), 404);
    // Bob may have one of the same name.
    bob.leave(&shared, &since("08:00"), b"sum").unwrap();
    settled(&bob, "hourly", 1);
    assert!(result(&bob, "hourly", "08:00").contains("sum"));
    assert!(result(&owner, "hourly", "08:00").contains("mean"));
    for refusal in [
        server.device().standing_queries().map(drop),
        server.device().standing(&shared).map(drop),
        server.device().leave(&shared, &hourly(), b"q").map(drop),
        server.device().remove_standing(&shared).map(drop),
    ] {
        let words = refused(refusal, 403);
        assert!(words.contains("owner"), "{words}");
    }
    let removed = owner.remove_standing(&shared).unwrap();
    assert_eq!(removed.results, 1);
    refused(owner.standing(&shared), 404);
    assert_eq!(bob.standing(&shared).unwrap().results, 1);
    let directory = server.site.store_directory().join("standing");
    assert_eq!(file_names(&directory).len(), 1);
}

#[test]
fn what_makes_no_sense_is_refused_and_the_same_may_be_left_again() {
    let hands = Hands::at("11:30");
    let server = start(&hands);
    let owner = server.owner();
    let leave = |terms: &str, query: &str| {
        let terms = Terms::from_query(terms).unwrap();
        owner.leave(&name("q"), &terms, query.as_bytes())
    };
    for (terms, query, words) in [
        ("every=30s", "mean", "no periods of 30s"),
        ("every=30m", "mean", "groups of the request are not of 30m"),
        ("every=90m", "mean", "groups of the request are not of 90m"),
        ("every=1h", "newest", "chooses among them"),
        ("every=1h&keep=30m", "mean", "at least that time"),
        (
            "every=1h&until=2026-11-23T11:00",
            "mean",
            "before there is any to come",
        ),
        (
            "every=1h&until=2026-11-23T11:45",
            "mean",
            "before there is any to come",
        ),
        ("every=1h&since=1970-01-01", "mean", "more than the 100000"),
    ] {
        let refused = refused(leave(terms, query), 400);
        assert!(refused.contains(words), "{terms}: {refused}");
    }
    let nonsense = refused(leave("every=1h", "nonsense"), 422);
    assert!(nonsense.contains("no query"), "{nonsense}");
    assert_eq!(owner.standing_queries().unwrap(), []);
    // Long kept periods of a long past are refused, and fewer of them are not.
    leave("every=1h&since=1970-01-01&keep=5y", "mean").unwrap();
    owner.remove_standing(&name("q")).unwrap();

    let left = leave("every=1h", "mean").unwrap();
    hands.set("13:30");
    let again = leave("every=1h", "mean").unwrap();
    assert_eq!(again.since, left.since);
    for (terms, query) in [
        ("every=1h", "sum"),
        ("every=1h&keep=1d", "mean"),
        ("every=2h", "mean"),
    ] {
        let words = refused(leave(terms, query), 400);
        assert!(words.contains("another standing query 'q'"), "{words}");
    }
    assert_eq!(owner.standing_queries().unwrap().len(), 1);
    for request in [
        "POST /v1/standing/a%2Fb?every=1h",
        "POST /v1/standing/q",
        "POST /v1/standing/q?every=1h&newest=1",
        "GET /v1/standing/q/periods?device=a",
        "GET /v1/standing/q/periods/monday",
    ] {
        let request = format!(
            "{request} HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        );
        let text = server.raw(request.as_bytes());
        assert!(text.starts_with("HTTP/1.1 400"), "{request}: {text}");
    }
    for number in 1..64 {
        owner
            .leave(&name(&format!("q{number}")), &hourly(), b"mean")
            .unwrap();
    }
    let words = refused(owner.leave(&name("one-more"), &hourly(), b"mean"), 400);
    assert!(words.contains("64 standing queries"), "{words}");

    let server = TestServer::start();
    let words = refused(server.owner().leave(&name("q"), &hourly(), b"mean"), 404);
    assert!(words.contains("takes no standing queries"), "{words}");
}

#[test]
fn a_clock_that_was_wrong_for_one_row_makes_no_year_of_hours_new() {
    let hands = Hands::at("11:30");
    let server = start(&hands);
    let owner = server.owner();
    upload(&server, &["08:30"]);
    upload(&server, &["09:30"]);
    owner
        .leave(&name("hourly"), &since("2026-01-01"), b"mean")
        .unwrap();
    settled(&owner, "hourly", 2);
    upload(&server, &["2026-01-01T00:30", "09:40"]);
    seen(&owner, "hourly", 2);
    hands.set("11:50");
    settled(&owner, "hourly", 3);
    assert_eq!(computed(&owner, "hourly"), ["00:00", "08:00", "09:00"]);
    // One hour is looked at again, and the span of that upload is around it by now.
    let extra = upload(&server, &["08:35"]);
    seen(&owner, "hourly", 1);
    owner.remove(&extra).unwrap();
    hands.set("12:05");
    settled(&owner, "hourly", 3);
    assert_eq!(
        evaluated(&server),
        ["08:00", "09:00", "00:00", "09:00", "08:00"]
    );
    // The index is lost, and made anew of the segments, with the same numbers: nothing is computed again.
    drop(owner);
    let backend = Arc::clone(&server.backend);
    let site = server.stopped();
    for file in file_names(&site.store_directory()) {
        if file.starts_with("index") {
            std::fs::remove_file(site.store_directory().join(file)).unwrap();
        }
    }
    let store = Store::open(&site.store_directory()).unwrap();
    let completed = complete_catalogue(&store, &*backend).unwrap();
    assert_eq!((completed.adopted, store.last_number().unwrap()), (0, 4));
    drop(store);
    let server = TestServer::with_standing(site, Retention::default(), hands.config());
    let owner = server.owner();
    seen(&owner, "hourly", 0);
    hands.set("12:20");
    settled(&owner, "hourly", 3);
    assert_eq!(evaluated(&server), Vec::<String>::new());
}
