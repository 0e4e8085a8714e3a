//! Jobs and kept results: questions that go on without their asker, and answers that are given again.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::common::{ANY_LENGTH, Site, TestServer, eventually, file_names, metric, refused};
use tfhe_sbc_service::certificates;
use tfhe_sbc_service::server::Keeping;
use tfhe_sbc_transport::client::{Client, ClientError, Freshness};
use tfhe_sbc_transport::jobs::{Job, JobId, JobState};
use tfhe_sbc_transport::protocol::Selection;
use tfhe_sbc_transport::role::Role;

fn start() -> TestServer {
    let server = TestServer::with_jobs(Site::new(), Keeping::default());
    server.device().upload(b"readings").unwrap();
    server
}

/// Another owner than alice.
fn bob(server: &TestServer) -> Client {
    let directory = server.site.directory.path().join("tls");
    let files = certificates::add_client(&directory, "bob", Role::Owner).unwrap();
    server.connect(&files).unwrap()
}

#[track_caller]
fn ended(client: &Client, id: JobId) -> Job {
    eventually("the job ends", || client.job(id).unwrap().state.is_ended());
    client.job(id).unwrap()
}

#[test]
fn a_job_goes_on_when_its_asker_is_gone() {
    let server = start();
    let asker = server.owner();
    let job = asker.detach(&Selection::Latest, b"hold").unwrap();
    assert_eq!((job.state, job.uploads), (JobState::Waiting, 1));
    assert_eq!(job.selection, "latest");
    drop(asker);
    let owner = server.owner();
    eventually("it runs", || {
        let job = owner.job(job.id).unwrap();
        job.state == JobState::Running && (job.bootstraps, job.expected) == (7, 42)
    });
    let early = refused(owner.job_result(job.id, ANY_LENGTH), 404);
    assert!(early.contains("not answered yet"), "{early}");
    // Another question waits behind it, and is listed first.
    let second = owner
        .detach(&"stored?device=pi-1".parse().unwrap(), b" + q")
        .unwrap();
    assert_eq!(owner.job(second.id).unwrap().state, JobState::Waiting);
    let ids = |jobs: Vec<Job>| jobs.iter().map(|job| job.id).collect::<Vec<_>>();
    eventually("the later one is listed first", || {
        let listed = ids(owner.jobs().unwrap());
        listed.len() == 2 && listed.contains(&job.id) && listed.contains(&second.id)
    });
    server.backend.released.store(true, Ordering::SeqCst);
    let first = ended(&owner, job.id);
    assert_eq!((first.state, first.bootstraps), (JobState::Answered, 42));
    assert_eq!(first.result_bytes, Some(12));
    assert!(first.ended_at.is_some() && !first.was_kept);
    for _ in 0..2 {
        let fetched = owner.job_result(job.id, ANY_LENGTH).unwrap();
        assert_eq!(fetched.result, b"readingshold");
        assert_eq!(fetched.bootstraps, 42);
    }
    let second = ended(&owner, second.id);
    assert_eq!(second.selection, "stored?device=pi-1");
    assert_eq!(
        owner.job_result(second.id, ANY_LENGTH).unwrap().result,
        b"readings + q"
    );
    assert!(!server.backend.cancelled.load(Ordering::SeqCst));
    assert_eq!(metric(&owner, "tfhe_sbc_jobs_total{end=\"answered\"}"), 2);
    assert_eq!(metric(&owner, "tfhe_sbc_kept_results"), 2);
    // Once a job has ended, the same call removes it.
    owner.cancel_job(job.id).unwrap();
    refused(owner.job(job.id), 404);
    assert_eq!(ids(owner.jobs().unwrap()), [second.id]);
    assert_eq!(
        file_names(&server.site.store_directory().join("jobs")).len(),
        1
    );
    assert_eq!(
        file_names(&server.site.store_directory().join("results")).len(),
        1
    );
}

#[test]
fn a_job_is_called_off_while_it_runs_and_while_it_waits() {
    let server = start();
    let owner = server.owner();
    let running = owner.detach(&Selection::Latest, b"hold").unwrap().id;
    let waiting = owner.detach(&Selection::Latest, b" + q").unwrap().id;
    eventually("it runs", || {
        owner.job(running).unwrap().state == JobState::Running
    });
    assert_eq!(
        owner.cancel_job(waiting).unwrap().state,
        JobState::Cancelled
    );
    assert_eq!(
        owner.cancel_job(running).unwrap().state,
        JobState::Cancelled
    );
    eventually("the evaluation stops", || {
        server.backend.cancelled.load(Ordering::SeqCst)
    });
    for id in [running, waiting] {
        assert_eq!(owner.job(id).unwrap().state, JobState::Cancelled);
        let words = refused(owner.job_result(id, ANY_LENGTH), 404);
        assert!(words.contains("called off"), "{words}");
    }
    assert_eq!(metric(&owner, "tfhe_sbc_jobs_total{end=\"cancelled\"}"), 2);
    // The queue is free again.
    let reply = owner.query(&Selection::Latest, b" + q", ANY_LENGTH);
    assert_eq!(reply.unwrap().result, b"readings + q");
    let failed = owner.detach(&Selection::Latest, b"nonsense").unwrap().id;
    let job = ended(&owner, failed);
    assert_eq!(job.state, JobState::Failed);
    assert_eq!(job.error.unwrap().error, "no query");
    assert!(refused(owner.job_result(failed, ANY_LENGTH), 404).contains("no query"));
    let panicked = owner.detach(&Selection::Latest, b"panic").unwrap().id;
    assert_eq!(ended(&owner, panicked).state, JobState::Failed);
}

#[test]
fn jobs_are_those_of_the_certificate_that_asked() {
    let server = start();
    let (owner, bob) = (server.owner(), bob(&server));
    let id = owner.detach(&Selection::Latest, b" + q").unwrap().id;
    ended(&owner, id);
    assert_eq!(bob.jobs().unwrap(), []);
    refused(bob.job(id), 404);
    refused(bob.job_result(id, ANY_LENGTH), 404);
    refused(bob.cancel_job(id), 404);
    assert_eq!(owner.job(id).unwrap().state, JobState::Answered);
    // What alice asked is not answered to bob with what was kept.
    let reply = bob.query(&Selection::Latest, b" + q", ANY_LENGTH).unwrap();
    assert_eq!(reply.kept_for, None);
    for refusal in [
        server.device().jobs().map(drop),
        server.device().job(id).map(drop),
        server.device().detach(&Selection::Latest, b"q").map(drop),
        server.device().cancel_job(id).map(drop),
    ] {
        let words = refused(refusal, 403);
        assert!(words.contains("owner"), "{words}");
    }
    let nothing = refused(
        owner.detach(&"stored?device=roof".parse().unwrap(), b"q"),
        404,
    );
    assert!(nothing.contains("roof"), "{nothing}");
    assert_eq!(owner.jobs().unwrap().len(), 1);
    let text = server.raw(b"GET /v1/jobs/7 HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    assert!(
        text.starts_with("HTTP/1.1 400") && text.contains("16 hexadecimal"),
        "{text}"
    );
}

#[test]
fn jobs_and_results_survive_a_restart_and_what_had_not_ended_is_interrupted() {
    let server = start();
    let owner = server.owner();
    let answered = owner.detach(&Selection::Latest, b" + q").unwrap().id;
    ended(&owner, answered);
    let held = owner.detach(&Selection::Latest, b"hold").unwrap().id;
    let waiting = owner.detach(&Selection::Latest, b" + r").unwrap().id;
    eventually("it runs", || {
        owner.job(held).unwrap().state == JobState::Running
    });
    drop(owner);
    let server = server.again(Keeping::default());
    let owner = server.owner();
    for id in [held, waiting] {
        let job = owner.job(id).unwrap();
        assert_eq!(job.state, JobState::Interrupted);
        let words = refused(owner.job_result(id, ANY_LENGTH), 404);
        assert!(
            words.contains("stopped") && words.contains("ask again"),
            "{words}"
        );
    }
    let result = owner.job_result(answered, ANY_LENGTH).unwrap();
    assert_eq!(
        (&result.result[..], result.bootstraps),
        (&b"readings + q"[..], 42)
    );
    assert_eq!(
        metric(&owner, "tfhe_sbc_jobs_total{end=\"interrupted\"}"),
        2
    );
    // The kept result serves an equal question, too.
    let again = owner
        .query(&Selection::Latest, b" + q", ANY_LENGTH)
        .unwrap();
    assert!(again.kept_for.is_some());
    drop(owner);
    // After the time for which they are kept, nothing is left.
    let keeping = Keeping {
        age: Duration::ZERO,
        ..Keeping::default()
    };
    std::thread::sleep(Duration::from_millis(5));
    let server = server.again(keeping);
    assert_eq!(server.owner().jobs().unwrap(), []);
    for directory in ["jobs", "results"] {
        let directory = server.site.store_directory().join(directory);
        assert_eq!(file_names(&directory), Vec::<String>::new());
    }
}

#[test]
fn an_equal_question_about_unchanged_uploads_is_answered_with_the_kept_result() {
    let server = start();
    let owner = server.owner();
    let all: Selection = "stored".parse().unwrap();
    let ask = |query: &[u8]| owner.query(&all, query, ANY_LENGTH).unwrap();
    let first = ask(b" + q");
    assert_eq!(first.kept_for, None);
    let kept = ask(b" + q");
    assert!(kept.kept_for.is_some());
    assert_eq!(
        (&kept.result, kept.bootstraps),
        (&first.result, first.bootstraps)
    );
    assert!((kept.seconds - first.seconds).abs() < 0.001);
    assert_eq!(metric(&owner, "tfhe_sbc_queries_total"), 1);
    assert_eq!(metric(&owner, "tfhe_sbc_kept_answers_total"), 1);
    assert_eq!(owner.metrics_bootstraps().unwrap(), 42);
    // Other bytes are another question, and so is the same one when the client wants none that was kept.
    assert_eq!(ask(b" + r").kept_for, None);
    let fresh = owner.query_for(Freshness::Fresh, &all, b" + q", ANY_LENGTH);
    assert_eq!(fresh.unwrap().kept_for, None);
    // A job asks the same question, and is answered at once.
    let job = owner.detach(&all, b" + q").unwrap().id;
    let job = ended(&owner, job);
    assert!(job.was_kept && job.state == JobState::Answered);
    // An upload that comes late makes another question of it.
    server.device().upload(b"readings 2").unwrap();
    let later = ask(b" + q");
    assert_eq!(
        (later.kept_for, &later.result[..]),
        (None, &b"readingsreadings 2 + q"[..])
    );
    // A removed one brings the old question back.
    let id = owner.list(&crate::common::ALL).unwrap().readings[0].id;
    owner.remove(&id).unwrap();
    assert!(ask(b" + q").kept_for.is_some());
}

#[test]
fn results_beyond_the_bounds_are_not_kept() {
    let keeping = Keeping {
        bytes: 1000,
        ..Keeping::default()
    };
    let server = TestServer::with_jobs(Site::new(), keeping);
    let owner = server.owner();
    let small = server.device().upload(b"readings").unwrap().id;
    let large = [&b"readings "[..], &[b'x'; 2000]].concat();
    let large = server.device().upload(&large).unwrap().id;
    let job = owner.detach(&small.into(), b" + q").unwrap().id;
    assert_eq!(ended(&owner, job).state, JobState::Answered);
    // A query is answered all the same; a job cannot be.
    let asked = || owner.query(&large.into(), b" + q", 1 << 20).unwrap();
    assert_eq!((asked().kept_for, asked().kept_for), (None, None));
    let failed = owner.detach(&large.into(), b" + q").unwrap().id;
    let failed = ended(&owner, failed);
    assert_eq!(failed.state, JobState::Failed);
    assert!(failed.error.unwrap().hint.contains("--keep-result-bytes"));
    // Newer results push out the oldest, and its job says so.
    for number in 0..40 {
        let query = format!(" + {number}");
        owner
            .query(&small.into(), query.as_bytes(), ANY_LENGTH)
            .unwrap();
    }
    let kept = metric(&owner, "tfhe_sbc_kept_results");
    assert!((1..40).contains(&kept), "{kept}");
    assert!((1..=1000).contains(&metric(&owner, "tfhe_sbc_kept_result_bytes")));
    assert_eq!(owner.job(job).unwrap().result_bytes, None);
    let words = refused(owner.job_result(job, ANY_LENGTH), 404);
    assert!(words.contains("not kept any more"), "{words}");

    // A server that keeps nothing takes no jobs.
    let server = TestServer::start();
    server.device().upload(b"readings").unwrap();
    let owner = server.owner();
    let words = refused(owner.detach(&Selection::Latest, b"q"), 404);
    assert!(words.contains("takes no jobs"), "{words}");
    refused(owner.jobs(), 404);
    let ask = || owner.query(&Selection::Latest, b" + q", ANY_LENGTH);
    assert_eq!(
        (ask().unwrap().kept_for, ask().unwrap().kept_for),
        (None, None)
    );
}

#[test]
fn jobs_have_places_in_the_queue_of_queries() {
    let server = start();
    let owner = server.owner();
    let mut ids = Vec::new();
    loop {
        match owner.detach(&Selection::Latest, b"hold") {
            Ok(job) => ids.push(job.id),
            Err(ClientError::Busy { message, .. }) => {
                assert!(message.contains("queue is full"), "{message}");
                break;
            }
            Err(other) => panic!("{other}"),
        }
        assert!(ids.len() <= 9, "the queue has no end");
    }
    assert_eq!(ids.len(), 9);
    assert_eq!(owner.jobs().unwrap().len(), 9);
    for id in &ids {
        owner.cancel_job(*id).unwrap();
    }
    eventually("there is room again", || {
        owner.query(&Selection::Latest, b" + q", ANY_LENGTH).is_ok()
    });
}
