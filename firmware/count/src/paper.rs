//! The TFHE-SBC paper's own configuration, as the benchmarks reproduce it: BLAKE2X, the
//! Ziggurat, the transformed key kept, every word sent.

use core::hint::black_box;

use tfhe_sbc_core::encoding::boolean;
use tfhe_sbc_core::random::{Expander, ExpanderKind, MaskSeed};

use crate::configuration::{SIZE, Sampler, Trlwe};
use crate::marker::counted;
use crate::{BITS, RUNS, readings};

/// The keys of mask and noise.
fn blake2(role: u8, run: usize) -> impl Expander {
    ExpanderKind::Blake2xb.mask_stream(&MaskSeed([role; 32]), run as u32)
}

/// Encrypts as region `ID`, into the words that would be sent.
pub(crate) fn run<const ID: u32>(name: &str) {
    const { assert!(BITS == SIZE) };
    let readings = readings();
    let mut trlwe = Trlwe::new(&readings);
    let mut sent = [0; 2 * SIZE];
    println!("region {ID} {name}");
    for run in 0..RUNS {
        counted::<ID, _>(|| {
            trlwe.encrypt(
                black_box(&readings),
                true,
                &mut blake2(1, run),
                &mut blake2(2, run),
                Sampler::Ziggurat,
                black_box(&mut sent),
            );
        });
        let (mask, body) = sent.split_at(SIZE);
        let phase = trlwe.phase(mask, body);
        let decrypted = phase.into_iter().map(|x| u8::from(boolean::decode(x)));
        assert!(decrypted.eq(readings), "the paper's encryption decrypts");
    }
    println!("bytes {name}_message {}", size_of_val(&sent));
}
