//! Planted leaks, which the check must find: without them a check that sees nothing would pass.

use std::hint::black_box;

use tfhe_sbc_core::memcheck::mark_secret;

use super::{bytes, secret_bytes};
use crate::check::Check;

pub(super) fn run(check: &mut Check) {
    check.control("a branch on a bit of a key", || {
        let key: [u8; 32] = secret_bytes(1);
        let mut sum = 0u32;
        for byte in key {
            if byte & 1 == 1 {
                sum = black_box(sum + 1);
            }
        }
        black_box(sum);
        Ok(())
    });
    check.control("a table at the place of a byte of a key", || {
        let key: [u8; 32] = secret_bytes(2);
        let table: [u8; 256] = black_box(bytes(3));
        let sum = key
            .iter()
            .fold(0, |sum, &byte| sum ^ table[usize::from(byte)]);
        black_box(sum);
        Ok(())
    });
    check.control("a comparison that ends at the first difference", || {
        let (mut ours, theirs): ([u8; 64], [u8; 64]) = (bytes(4), bytes(4));
        mark_secret(&mut ours);
        black_box(black_box(&ours[..]) == black_box(&theirs[..]));
        Ok(())
    });
    check.control("numbers that are drawn again if they are too large", || {
        let random: [u8; 32] = secret_bytes(5);
        let drawn = random.iter().position(|&byte| byte < 200);
        black_box(drawn);
        Ok(())
    });
}
