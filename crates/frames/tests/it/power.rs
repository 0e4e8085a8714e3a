//! Boards whose power fails at any moment, in a simulated flash.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use tfhe_sbc_frames::{Counter, CounterError, CounterStore, Flash, Form, Format, Journal};

use crate::support::day;

/// The flash of a board: programming clears bits, erasing sets them, and both can be interrupted halfway.
struct Pages {
    bytes: [Vec<[u8; 8]>; 2],
    /// The operations until power fails, or a number that is never reached.
    left: u32,
    /// Which bits an interrupted operation has changed.
    random: u64,
    erased: [u32; 2],
}

#[derive(Clone)]
struct Board(Rc<RefCell<Pages>>);

#[derive(Debug, PartialEq)]
struct NoPower;

impl Pages {
    fn random(&mut self) -> u64 {
        // Xorshift (Marsaglia, 2003).
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    /// `Err` if power fails at this operation.
    fn step(&mut self) -> Result<(), NoPower> {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 { Err(NoPower) } else { Ok(()) }
    }
}

impl Flash for Board {
    type Error = NoPower;

    fn records(&self) -> usize {
        self.0.borrow().bytes[0].len()
    }

    fn read(&mut self, page: usize, index: usize) -> Result<[u8; 8], NoPower> {
        Ok(self.0.borrow().bytes[page][index])
    }

    fn program(&mut self, page: usize, index: usize, record: [u8; 8]) -> Result<(), NoPower> {
        let mut pages = self.0.borrow_mut();
        let place = u64::from_le_bytes(pages.bytes[page][index]);
        assert_eq!(place, u64::MAX, "programmed without erasing");
        let powered = pages.step();
        let mut programmed = u64::from_le_bytes(record);
        if powered.is_err() {
            // Some bits are not cleared yet.
            programmed |= pages.random();
        }
        pages.bytes[page][index] = programmed.to_le_bytes();
        powered
    }

    fn erase(&mut self, page: usize) -> Result<(), NoPower> {
        let mut pages = self.0.borrow_mut();
        let powered = pages.step();
        for index in 0..pages.bytes[page].len() {
            let noise = if powered.is_ok() {
                u64::MAX
            } else {
                pages.random()
            };
            let erased = u64::from_le_bytes(pages.bytes[page][index]) | noise;
            pages.bytes[page][index] = erased.to_le_bytes();
        }
        pages.erased[page] += 1;
        powered
    }
}

fn flash(records: usize, random: u64) -> Board {
    Board(Rc::new(RefCell::new(Pages {
        bytes: [vec![[0xff; 8]; records], vec![[0xff; 8]; records]],
        left: u32::MAX,
        random,
        erased: [0; 2],
    })))
}

fn many_frames() -> Format {
    Format::new(
        crate::support::ID,
        Form::Bare,
        day(Form::Bare).columns(),
        24,
        1_000_000,
    )
    .unwrap()
}

#[test]
fn no_counter_is_used_twice_whenever_power_fails() {
    for seed in 1..=400_u64 {
        let board = flash(
            1 + seed as usize % 5,
            seed.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        );
        Counter::provision(&mut Journal(board.clone())).unwrap();
        let leap = 1 + seed as u32 % 4;
        let mut used = BTreeSet::new();
        let mut starts = 0;
        for _ in 0..60 {
            board.0.borrow_mut().left = 1 + (seed as u32 * 31 + starts * 17) % 9;
            starts += 1;
            let mut counter = Counter::open(Journal(board.clone()), leap, &many_frames()).unwrap();
            let frames = if starts % 3 == 0 { 2 } else { 1000 };
            for _ in 0..frames {
                match counter.take() {
                    Ok(taken) => {
                        let new = used.last().is_none_or(|last| *last < taken);
                        assert!(new, "counter {taken} after {:?}", used.last());
                        used.insert(taken);
                    }
                    Err(error) => {
                        assert_eq!(error, CounterError::Store(NoPower));
                        break;
                    }
                }
            }
        }
        // A start skips no more than a leap and what a torn write held back.
        let highest = used.last().copied().unwrap_or(0);
        assert!(used.len() > 60, "{} frames", used.len());
        assert!(
            highest < used.len() as u32 + 2 * leap * starts,
            "up to {highest} in {starts} starts"
        );
    }
}

#[test]
fn the_test_notices_a_counter_that_is_stored_too_late() {
    // A store that forgets its last write stands for a counter that is used before it is stored.
    struct Late(Journal<Board>, Option<u32>);
    impl CounterStore for Late {
        type Error = NoPower;

        fn read(&mut self) -> Result<Option<u32>, NoPower> {
            Ok(self.1.or(self.0.read()?))
        }

        fn write(&mut self, limit: u32) -> Result<(), NoPower> {
            if let Some(before) = self.1.replace(limit) {
                self.0.write(before)?;
            }
            Ok(())
        }
    }
    let board = flash(4, 1);
    Counter::provision(&mut Journal(board.clone())).unwrap();
    let start = || {
        let store = Late(Journal(board.clone()), None);
        let mut counter = Counter::open(store, 1, &many_frames()).unwrap();
        [counter.take().unwrap(), counter.take().unwrap()]
    };
    assert_eq!((start(), start()), ([0, 1], [1, 2]));
}

#[test]
fn pages_are_erased_in_turn() {
    let board = flash(128, 1);
    Counter::provision(&mut Journal(board.clone())).unwrap();
    let mut counter = Counter::open(Journal(board.clone()), 1, &many_frames()).unwrap();
    for expected in 0..1280 {
        assert_eq!(counter.take(), Ok(expected));
    }
    assert_eq!(board.0.borrow().erased, [6, 5]);
}

#[test]
fn a_page_that_does_not_keep_its_records_gives_no_counter() {
    struct Worn(Option<u32>);
    impl CounterStore for Worn {
        type Error = ();

        fn read(&mut self) -> Result<Option<u32>, ()> {
            Ok(self.0)
        }

        fn write(&mut self, _: u32) -> Result<(), ()> {
            Ok(())
        }
    }
    let mut counter = Counter::open(Worn(Some(5)), 10, &many_frames()).unwrap();
    assert_eq!(counter.take(), Err(CounterError::Lost));
    assert_eq!(counter.take(), Err(CounterError::Lost));
}

#[test]
fn erased_and_garbled_pages_have_no_counter() {
    for garbage in [0xff, 0x00, 0x5a] {
        let board = flash(4, 1);
        board.0.borrow_mut().bytes = [vec![[garbage; 8]; 4], vec![[garbage; 8]; 4]];
        assert_eq!(Journal(board).read(), Ok(None));
    }
}
