//! Tests of the effect of a part, of the bound on memory, and of a session with a backlog.

use super::*;

const LIMITS: IngestLimits = IngestLimits {
    upload_bytes: 10_000,
    buffered_bytes: 20_000,
    idle: Duration::from_secs(60),
};

fn parts(upload: &[u8]) -> Vec<Vec<u8>> {
    Part::cut(upload, 100).map(|part| part.to_bytes()).collect()
}

fn statuses(added: Added) -> Vec<(String, u16)> {
    match added {
        Added::Nothing => Vec::new(),
        Added::Whole(..) => panic!("it is whole"),
        Added::Answers(answers) => {
            let mut answers = answers.into_iter();
            let one = |(device, answer): (Arc<str>, Answer)| (device.to_string(), answer.status);
            answers.by_ref().map(one).collect()
        }
    }
}

#[test]
fn a_device_hears_how_far_its_upload_is() {
    let mut pending = Pending::new(LIMITS, Arc::default());
    let device: Arc<str> = "hill".into();
    let upload = vec![5; 6550];
    let mut told = 0;
    for (place, part) in parts(&upload).iter().enumerate() {
        match pending.add(&device, part) {
            Added::Whole(id, whole) => {
                assert_eq!((id, place), (BlobId::of(&upload), 65));
                assert_eq!(whole, upload);
            }
            added => told += statuses(added).len(),
        }
    }
    assert_eq!(told, 2);
    assert!(pending.uploads.is_empty());
}

#[test]
fn what_is_too_large_or_too_much_is_refused() {
    let mut pending = Pending::new(LIMITS, Arc::default());
    let large = parts(&vec![1; 10_001]);
    let answer = statuses(pending.add(&"hill".into(), &large[0]));
    assert_eq!(answer, [("hill".to_owned(), 413)]);
    assert!(statuses(pending.add(&"hill".into(), b"TSBP?")).is_empty());
    // Three uploads of which two fit, but for their last parts.
    let mut given_up = Vec::new();
    for (number, name) in ["a", "b", "c"].into_iter().enumerate() {
        for part in parts(&vec![number as u8; 9950]).split_last().unwrap().1 {
            given_up.extend(statuses(pending.add(&name.into(), part)));
        }
    }
    given_up.retain(|(_, status)| *status != CONTINUE);
    assert_eq!(given_up, [("a".to_owned(), 503), ("b".to_owned(), 503)]);
    let memory: usize = pending.uploads.values().map(|u| u.assembly.memory()).sum();
    assert!(memory <= LIMITS.buffered_bytes);
    pending.limits.idle = Duration::ZERO;
    pending.forget_idle();
    assert!(pending.uploads.is_empty());
}

#[test]
fn a_devices_next_upload_takes_the_place_of_the_one_before() {
    let mut pending = Pending::new(LIMITS, Arc::default());
    let device: Arc<str> = "hill".into();
    pending.add(&device, &parts(&[1; 500])[0]);
    let next = parts(&[2; 150]);
    pending.add(&device, &next[1]);
    assert!(
        matches!(pending.add(&device, &next[0]), Added::Whole(_, upload) if upload == [2; 150])
    );
}

#[test]
fn one_upload_alone_stays_within_the_memory() {
    let mut pending = Pending::new(LIMITS, Arc::default());
    let device: Arc<str> = "hill".into();
    let most = |pending: &Pending| pending.uploads.values().map(|u| u.assembly.memory()).sum();
    // In parts of 64 bytes, 9600 bytes take 24000 with what each part costs.
    let upload = vec![5; 9600];
    let mut answers = Vec::new();
    for part in Part::cut(&upload, 64) {
        answers.extend(statuses(pending.add(&device, &part.to_bytes())));
        let memory: usize = most(&pending);
        assert!(memory <= LIMITS.buffered_bytes);
    }
    assert!(answers.contains(&("hill".to_owned(), 413)), "{answers:?}");
    // Smaller parts are none.
    let mut tiny = Part::cut(&upload, 63);
    let added = pending.add(&device, &tiny.next().unwrap().to_bytes());
    assert_eq!(statuses(added), [("hill".to_owned(), 422)]);
    // An upload that is being stored counts.
    pending.uploads.clear();
    let held = Held::new(&pending.storing, LIMITS.buffered_bytes - 100);
    let part = &parts(&[1; 500])[0];
    assert_eq!(
        statuses(pending.add(&device, part)),
        [("hill".to_owned(), 503)]
    );
    drop(held);
    assert!(statuses(pending.add(&device, part)).is_empty());
}

#[test]
fn a_device_that_begins_again_hears_how_far_it_was() {
    let mut pending = Pending::new(LIMITS, Arc::default());
    let device: Arc<str> = "hill".into();
    let parts = parts(&vec![5; 9950]);
    for part in &parts[..60] {
        pending.add(&device, part);
    }
    let mut told = Vec::new();
    for (place, part) in parts[..60].iter().enumerate() {
        if let Added::Answers(answers) = pending.add(&device, part) {
            told.extend(answers.iter().map(|(_, answer)| (place, answer.parts)));
        }
    }
    assert_eq!(told, [(0, 60), (32, 60)]);
}

/// A broker of one connection, which has a backlog.
async fn backlog(uploads: Vec<Vec<u8>>) -> (String, tokio::task::JoinHandle<usize>) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("mqtt://{}", listener.local_addr().unwrap());
    let broker = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut bytes = b"\x20\x02\0\0\x90\x03\0\x01\x01".to_vec();
        for (number, upload) in uploads.iter().enumerate() {
            for part in Part::cut(upload, 1000) {
                let (topic, payload) = (format!("t/d{number}/up"), part.to_bytes());
                let packet = Outgoing::Publish {
                    topic: &topic,
                    payload: &payload,
                    id: 1,
                    retain: false,
                };
                bytes.extend(packet.to_bytes());
            }
        }
        stream.write_all(&bytes).await.unwrap();
        let (mut received, mut answers) = (Vec::new(), 0);
        while answers < uploads.len() {
            assert!(stream.read_buf(&mut received).await.unwrap() > 0);
            let words = b"\"status\":201";
            answers = received
                .windows(words.len())
                .filter(|window| window == words)
                .count();
        }
        answers
    });
    (url, broker)
}

#[tokio::test]
async fn a_backlog_is_taken_in_to_its_end() {
    let uploads = (0..100).map(|number| vec![number; 500]).collect();
    let (url, broker) = backlog(uploads).await;
    let config = IngestConfig {
        broker: Broker::new(&url, None, None).unwrap(),
        prefix: "t".to_owned(),
        client: "server".to_owned(),
    };
    let (stop, stopping) = watch::channel(false);
    let take_in = |_: Arc<str>, id, _: Vec<u8>| async move { Answer::new(id, 201) };
    let ingest = tokio::spawn(run(config, LIMITS, take_in, stopping));
    let answers = tokio::time::timeout(Duration::from_secs(20), broker).await;
    assert_eq!(answers.expect("it hangs").unwrap(), 100);
    stop.send(true).unwrap();
    ingest.await.unwrap();
}
