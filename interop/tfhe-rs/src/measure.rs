//! 1024 readings: bytes that are sent and time on the device, ours beside TFHE-rs's own client, on
//! one thread.

use std::time::Instant;

use tfhe::prelude::*;
use tfhe::*;
use tfhe_sbc_core::random::ExpanderKind;
use tfhe_sbc_core::workspace::HeapWorkspace;
use tfhe_sbc_device::{Encryptor, KeyMode, MemoryPlan, PublicEncryptor, workspace_bytes};

use crate::keys::{Keys, seeds, serialized};

const READINGS: usize = 1024;

/// The least time of some repetitions, in microseconds.
fn least_us(repetitions: usize, mut work: impl FnMut()) -> f64 {
    (0..repetitions)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64() * 1e6
        })
        .fold(f64::INFINITY, f64::min)
}

fn row(name: &str, us: f64, bytes: usize) {
    println!("{name:<58} {us:>12.1} us {bytes:>12} bytes");
}

macro_rules! theirs {
    ($keys:expr, $clear:ident $fhe:ident $compressed:ident) => {{
        let keys = $keys;
        let mut bytes = 0;
        let us = least_us(1, || {
            bytes = (0..READINGS)
                .map(|i| serialized(&$fhe::encrypt(i as $clear, &keys.client)).len())
                .sum();
        });
        row(concat!("TFHE-rs, 1024 x ", stringify!($fhe)), us, bytes);
        let us = least_us(1, || {
            bytes = (0..READINGS)
                .map(|i| serialized(&$compressed::encrypt(i as $clear, &keys.client)).len())
                .sum();
        });
        row(
            concat!("TFHE-rs, 1024 x ", stringify!($compressed)),
            us,
            bytes,
        );
        let public = CompactPublicKey::new(&keys.client);
        let us = least_us(2, || {
            let mut builder = CompactCiphertextList::builder(&public);
            for i in 0..READINGS {
                builder.push(i as $clear);
            }
            bytes = serialized(&builder.build_packed()).len();
        });
        let name = concat!(
            "TFHE-rs, CompactCiphertextList of 1024 ",
            stringify!($clear)
        );
        row(name, us, bytes);
    }};
}

pub fn all(keys: &Keys) {
    rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap()
        .install(|| {
            for bits in [8, 32] {
                ours(keys, bits);
            }
            theirs!(keys, u8 FheUint8 CompressedFheUint8);
            theirs!(keys, u32 FheUint32 CompressedFheUint32);
        });
}

fn ours(keys: &Keys, bits: u32) {
    let count = READINGS * keys.parameters().block_encoding().block_count(bits);
    let blocks: Vec<u8> = (0..count).map(|i| (i % 4) as u8).collect();
    let plan = MemoryPlan::recommended();
    for mode in [KeyMode::Symmetric, KeyMode::Public] {
        let mut workspace = HeapWorkspace::new(workspace_bytes(keys.parameters(), plan, mode));
        for expander in [ExpanderKind::ChaCha20, ExpanderKind::Aes128Ctr] {
            let workspace = workspace.as_mut_slice();
            let (us, bytes) = match mode {
                KeyMode::Symmetric => {
                    let key = &keys.device_bytes;
                    let mut session =
                        Encryptor::<u64>::new(key, plan, expander, seeds(4), workspace).unwrap();
                    let mut out = vec![0; session.message_len(count)];
                    let us = least_us(50, || {
                        session.encrypt_blocks(&blocks, &mut out).unwrap();
                    });
                    (us, out.len())
                }
                KeyMode::Public => {
                    let key = &keys.public_bytes;
                    let mut session =
                        PublicEncryptor::<u64>::new(key, plan, expander, seeds(5), workspace)
                            .unwrap();
                    let mut out = vec![0; session.message_len(count)];
                    let us = least_us(50, || {
                        session.encrypt_blocks(&blocks, &mut out).unwrap();
                    });
                    (us, out.len())
                }
            };
            let key = match mode {
                KeyMode::Symmetric => "device key",
                KeyMode::Public => "public key",
            };
            row(
                &format!("tfhe-sbc, 1024 x {bits} bits, {key}, {expander}"),
                us,
                bytes,
            );
        }
    }
}
