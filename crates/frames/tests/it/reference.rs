//! Frames against a slow description of them: other people's ChaCha20 and SipHash, and numbers bit by bit.
#![allow(
    deprecated,
    reason = "the standard library's SipHash-2-4 is the reference"
)]

use std::hash::{Hasher as _, SipHasher};

use chacha20::cipher::{KeyIvInit as _, StreamCipher as _};
use chacha20::{ChaCha20, Key};
use proptest::prelude::*;
use tfhe_sbc_frames::{Column, Form, Format, Pads, Receiver};

use crate::support::{ID, frame, key};

/// The keystream of a board's key with a nonce of two words and a zero.
fn keystream(key: &[u8; 32], counter: u32, domain: u32, len: usize) -> Vec<u8> {
    let mut nonce = [0; 12];
    nonce[..4].copy_from_slice(&counter.to_le_bytes());
    nonce[4..8].copy_from_slice(&domain.to_le_bytes());
    let mut bytes = vec![0; len];
    ChaCha20::new(&Key::from(*key), &nonce.into()).apply_keystream(&mut bytes);
    bytes
}

fn slow_pads(key: &[u8; 32], columns: &[(u8, u8)], rows: usize, counter: u32) -> Vec<u128> {
    let widths: Vec<u32> = columns
        .iter()
        .map(|&(bits, headroom)| u32::from(bits + headroom))
        .collect();
    let lane = match widths.iter().max() {
        Some(..=16) => 2,
        Some(..=32) => 4,
        _ => 8,
    };
    let stream = keystream(key, counter, 0, rows * widths.len() * lane);
    stream
        .chunks(lane)
        .zip(widths.iter().cycle())
        .map(|(lane, width)| {
            let number = lane
                .iter()
                .rev()
                .fold(0_u128, |number, &byte| number << 8 | u128::from(byte));
            number % (1 << width)
        })
        .collect()
}

fn slow_frame(
    key: &[u8; 32],
    named: bool,
    columns: &[(u8, u8)],
    counter: u32,
    codes: &[u64],
) -> Vec<u8> {
    let pads = slow_pads(key, columns, codes.len() / columns.len(), counter);
    let mut bits = Vec::new();
    for ((code, pad), &(width, headroom)) in codes.iter().zip(pads).zip(columns.iter().cycle()) {
        let masked = (u128::from(*code) + pad) % (1 << (width + headroom));
        bits.extend((0..width + headroom).map(|bit| (masked >> bit & 1) as u8));
    }
    let mut frame = counter.to_le_bytes().to_vec();
    frame.extend(
        bits.chunks(8)
            .map(|byte| byte.iter().rev().fold(0, |all, bit| all << 1 | bit)),
    );

    let mac_key = keystream(key, 0, 1, 16);
    let half = |at: usize| u64::from_le_bytes(mac_key[at..at + 8].try_into().unwrap());
    let mut tag = SipHasher::new_with_keys(half(0), half(8));
    tag.write(&ID.0);
    tag.write(&frame);
    frame.extend(tag.finish().to_le_bytes());
    if named {
        [&ID.0[..], &frame].concat()
    } else {
        frame
    }
}

prop_compose! {
    fn column()(bits in 1..=40_u8)(bits in Just(bits), headroom in 0..=48 - bits) -> (u8, u8) {
        (bits, headroom)
    }
}

prop_compose! {
    /// Columns of narrow, middle and large lanes, some rows, and codes.
    fn case()(
        mut columns in prop::collection::vec(column(), 1..=16),
        narrow in 0..3_u8,
        rows in 1..=30_usize,
    )(
        codes in prop::collection::vec(any::<u64>(), rows * columns.len()),
        columns in {
            let most = [48, 32, 16][usize::from(narrow)];
            for (bits, headroom) in &mut columns {
                *bits = (*bits).min(most);
                *headroom = (*headroom).min(most - *bits);
            }
            Just(columns)
        },
    ) -> (Vec<(u8, u8)>, Vec<u64>) {
        let columns: Vec<(u8, u8)> = columns;
        let bits = columns.iter().cycle().map(|(bits, _)| bits);
        let codes = codes.iter().zip(bits).map(|(code, bits)| code >> (64 - bits)).collect();
        (columns, codes)
    }
}

proptest! {
    #[test]
    fn frames_are_those_of_the_reference(
        (columns, codes) in case(),
        named: bool,
        counter: u32,
        number: u8,
    ) {
        let form = if named { Form::Named } else { Form::Bare };
        let made: Vec<_> = columns.iter().map(|&(bits, headroom)| Column::new(bits, headroom).unwrap()).collect();
        let counter = counter.min(u32::MAX - 1);
        let format = Format::new(ID, form, &made, (codes.len() / columns.len()) as u8, u32::MAX).unwrap();
        let board = key(number);

        let made = frame(format, key(number), counter, &codes);
        prop_assert_eq!(&made, &slow_frame(board.as_bytes(), named, &columns, counter, &codes));

        let server = Receiver::new(format, board.mac_key());
        let read = server.read(&made).unwrap();
        prop_assert_eq!(read.counter(), counter);
        let pads = slow_pads(board.as_bytes(), &columns, codes.len() / columns.len(), counter);
        prop_assert!(Pads::new(&board, &format, counter).map(u128::from).eq(pads.iter().copied()));
        let widths = columns.iter().cycle().map(|(bits, headroom)| bits + headroom);
        let unmasked = read.codes().zip(&pads).zip(widths).map(|((masked, pad), width)| {
            masked.wrapping_sub(*pad as u64) & ((1 << width) - 1)
        });
        prop_assert!(unmasked.eq(codes.iter().copied()));
    }
}
