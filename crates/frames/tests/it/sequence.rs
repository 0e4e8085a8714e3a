//! Frames that are lost, repeated and out of order, and counters that run out.

use tfhe_sbc_frames::{
    Arrival, Arrivals, Counter, CounterError, EncodeError, Form, PadUsedTwice, Receiver,
};

use crate::support::{Ram, day, encoder, example_codes, frame, key};

#[test]
fn order_does_not_matter_and_gaps_are_counted() {
    let format = day(Form::Bare);
    let server = Receiver::new(format, key(1).mac_key());
    let mut arrivals = Arrivals::new();
    assert!(arrivals.is_empty());
    for (counter, missing) in [(3, 3), (0, 2), (1, 1), (6, 3), (2, 2)] {
        let frame = frame(format, key(1), counter, &example_codes());
        let frame = server.read(&frame).unwrap();
        assert_eq!(arrivals.record(&frame), Ok(Arrival::New));
        assert_eq!(arrivals.missing(), missing);
        assert_eq!(arrivals.record(&frame), Ok(Arrival::Repeated));
    }
    assert_eq!(arrivals.len(), 5);
}

#[test]
fn a_pad_used_twice_is_noticed() {
    let format = day(Form::Bare);
    let server = Receiver::new(format, key(1).mac_key());
    let mut arrivals = Arrivals::new();
    let mut codes = example_codes();
    let first = frame(format, key(1), 4, &codes);
    codes[23] += 1;
    let second = frame(format, key(1), 4, &codes);
    let (first, second) = (server.read(&first).unwrap(), server.read(&second).unwrap());
    assert_eq!(arrivals.record(&first), Ok(Arrival::New));
    assert_eq!(arrivals.record(&second), Err(PadUsedTwice(4)));
    assert_eq!(arrivals.record(&first), Ok(Arrival::Repeated));
}

#[test]
fn counters_end_with_the_pads() {
    let mut board = encoder(day(Form::Bare), key(1), 998);
    let mut buffer = [0; 51];
    for counter in [998_u32, 999] {
        let frame = board.encode(&[1_u8; 24], &mut buffer).unwrap();
        assert_eq!(frame[..4], counter.to_le_bytes());
    }
    for _ in 0..3 {
        let error = board.encode(&[1_u8; 24], &mut buffer).unwrap_err();
        assert_eq!(error, EncodeError::Counter(CounterError::Exhausted));
    }
}

#[test]
fn the_store_is_written_once_a_leap_and_never_beyond_the_pads() {
    let format = day(Form::Bare);
    let mut store = Ram::default();
    Counter::provision(&mut store).unwrap();
    assert_eq!(
        Counter::provision(&mut store),
        Err(CounterError::Provisioned)
    );
    let mut counter = Counter::open(store, 300, &format).unwrap();
    let taken: Vec<u32> = core::iter::from_fn(|| counter.take().ok()).collect();
    assert!(taken.iter().copied().eq(0..1000));
    assert_eq!(counter.left(), 0);
    // A board that starts with all pads used stays there.
    let mut again = Counter::open(Ram(Some(1000)), 300, &format).unwrap();
    assert_eq!(again.take(), Err(CounterError::Exhausted));
    let mut damaged = Counter::open(Ram(Some(u32::MAX)), 300, &format).unwrap();
    assert_eq!(damaged.take(), Err(CounterError::Exhausted));
}

#[test]
fn a_board_without_a_counter_sends_nothing() {
    let lost = Counter::open(Ram(None), 1, &day(Form::Bare));
    assert_eq!(lost.map(|_| ()), Err(CounterError::Lost));
}
