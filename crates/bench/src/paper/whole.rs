//! Table 1: whole encryptions, from bits to the bytes that are sent.

use std::cell::RefCell;
use std::time::Duration;

use tfhe_sbc_core::encoding::boolean;
use tfhe_sbc_core::random::{Expander, ExpanderKind, MaskSeed};

use crate::error::BenchError;
use crate::report::Unit;
use crate::timing::{Work, interleave};

use super::method::Method;
use super::ours;
use super::table::{Cell, Line, PaperTable};
use tfhe_sbc_research::paper::configuration::{SIZE, Sampler, Trlwe, encrypt_tlwe};
use tfhe_sbc_research::paper::energy::Meter;
use tfhe_sbc_research::paper::figures::{BIT_COUNTS, Encryption, TFHE_SBC, TLWE, TRLWE};
use tfhe_sbc_research::paper::urandom::Urandom;

/// Table 1.
pub(super) fn table_1(key: &[u8], budget: Duration) -> Result<PaperTable, BenchError> {
    let meter = Meter::detect();
    let mut lines = Vec::new();
    for (place, count) in BIT_COUNTS.into_iter().enumerate() {
        let bits: Vec<u8> = (0..count).map(|i| ((i ^ (i / 5)) % 2) as u8).collect();
        let mut methods: Vec<Box<dyn Method>> = vec![
            Box::new(Tlwe::new(key, count)?),
            Box::new(TrlweMethod::tfhepp(key, count)?),
            Box::new(TrlweMethod::tfhe_sbc(key, count)),
        ];
        methods.extend(ours::methods(count)?);
        let share = budget / (BIT_COUNTS.len() * methods.len()) as u32;
        for method in methods {
            eprintln!("{count} bits, {}", method.name());
            lines.push(line(method, &bits, place, share, &meter)?);
        }
    }
    Ok(PaperTable {
        key: "table_1",
        title: "Table 1. Encryption of bits".to_owned(),
        columns: [
            ("time", "seconds"),
            ("sent", "bytes"),
            ("memory", "memory"),
            ("energy", "joules"),
        ]
        .map(|(head, key)| (head.to_owned(), key))
        .into(),
        lines,
        notes: vec![
            format!("Energy: {}.", meter.label()),
            "Memory: all buffers that the method holds, ciphertext included; the paper's is of \
             its whole process."
                .to_owned(),
        ],
    })
}

fn line(
    method: Box<dyn Method>,
    bits: &[u8],
    place: usize,
    share: Duration,
    meter: &Meter,
) -> Result<Line, BenchError> {
    let (name, key, note) = (method.name(), method.key(), method.note());
    let (paper, watts) = method.paper();
    let method = RefCell::new(method);
    let mut work = Work {
        name: name.clone(),
        run: || method.borrow_mut().encrypt(bits),
        check: |_| Ok(method.borrow().decrypt()? == bits),
    };
    let [timing] = interleave([(&mut work, 1)], share)?;
    let mut method = method.into_inner();
    let joules = meter.joules(timing.median, watts, || method.encrypt(bits).map(drop))?;
    let sent = method.encrypt(bits)?;
    let figure =
        |of: fn(&Encryption) -> &[Option<f64>; 4]| paper.and_then(|paper| of(paper)[place]);
    Ok(Line {
        name: format!("{} bits, {name}", bits.len()),
        key: format!("{}.{key}", bits.len()),
        cells: vec![
            Cell::new(Unit::Seconds, timing.median, figure(|paper| &paper.seconds)),
            Cell::new(Unit::Bytes, sent as f64, figure(|paper| &paper.bytes)),
            Cell::new(
                Unit::Bytes,
                method.memory() as f64,
                figure(|paper| &paper.memory),
            ),
            Cell::new(Unit::Joules, joules, figure(|paper| &paper.joules)),
        ],
        note,
    })
}

struct Tlwe {
    key: Vec<u8>,
    urandom: Urandom,
    out: Vec<u32>,
}

impl Tlwe {
    fn new(key: &[u8], count: usize) -> Result<Self, BenchError> {
        Ok(Self {
            key: key.to_vec(),
            urandom: Urandom::open().map_err(BenchError::Urandom)?,
            out: vec![0; count * (SIZE + 1)],
        })
    }
}

impl Method for Tlwe {
    fn name(&self) -> String {
        "TLWE as TFHEpp".to_owned()
    }
    fn key(&self) -> String {
        "tlwe".to_owned()
    }
    fn note(&self) -> String {
        "reproduction: /dev/urandom read once a word, polar method".to_owned()
    }
    fn paper(&self) -> (Option<&'static Encryption>, f64) {
        (Some(&TLWE), TLWE.watts)
    }
    fn encrypt(&mut self, bits: &[u8]) -> Result<usize, BenchError> {
        encrypt_tlwe(
            &self.key,
            bits,
            &mut self.urandom,
            Sampler::Polar,
            &mut self.out,
        );
        Ok(size_of_val(&self.out[..]))
    }
    fn decrypt(&self) -> Result<Vec<u8>, BenchError> {
        let bit = |tlwe: &[u32]| {
            let phase = tlwe[..SIZE]
                .iter()
                .zip(&self.key)
                .fold(tlwe[SIZE], |phase, (&a, &s)| {
                    phase.wrapping_sub(a * u32::from(s))
                });
            u8::from(boolean::decode(phase))
        };
        Ok(self.out.chunks_exact(SIZE + 1).map(bit).collect())
    }
    fn memory(&self) -> usize {
        self.key.len() + size_of_val(&self.out[..])
    }
}

/// Either TRLWE of the paper: TFHEpp's or its own.
struct TrlweMethod {
    trlwe: Trlwe,
    randomness: Randomness,
    count: usize,
    out: Vec<u32>,
}

enum Randomness {
    /// TFHEpp: every word from the system, polar method, key transformed every time.
    Urandom(Urandom),
    /// TFHE-SBC: BLAKE2, Ziggurat, transformed key kept.
    Blake2 { ciphertexts: u32 },
}

impl TrlweMethod {
    fn tfhepp(key: &[u8], count: usize) -> Result<Self, BenchError> {
        let randomness = Randomness::Urandom(Urandom::open().map_err(BenchError::Urandom)?);
        Ok(Self::new(key, count, randomness))
    }

    fn tfhe_sbc(key: &[u8], count: usize) -> Self {
        Self::new(key, count, Randomness::Blake2 { ciphertexts: 0 })
    }

    fn new(key: &[u8], count: usize, randomness: Randomness) -> Self {
        Self {
            trlwe: Trlwe::new(key),
            randomness,
            count,
            out: vec![0; count.div_ceil(SIZE) * 2 * SIZE],
        }
    }
}

/// The paper's generator, mask and noise under keys of their own.
fn blake2(role: u8, stream: u32) -> impl Expander {
    ExpanderKind::Blake2xb.mask_stream(&MaskSeed([role; 32]), stream)
}

impl Method for TrlweMethod {
    fn name(&self) -> String {
        match self.randomness {
            Randomness::Urandom(_) => "TRLWE as TFHEpp".to_owned(),
            Randomness::Blake2 { .. } => "TFHE-SBC as the paper".to_owned(),
        }
    }
    fn key(&self) -> String {
        match self.randomness {
            Randomness::Urandom(_) => "trlwe".to_owned(),
            Randomness::Blake2 { .. } => "tfhe_sbc_paper".to_owned(),
        }
    }
    fn note(&self) -> String {
        match self.randomness {
            Randomness::Urandom(_) => {
                "reproduction: /dev/urandom read once a word, polar method, key transformed \
                 every time"
            }
            Randomness::Blake2 { .. } => {
                "reproduction: BLAKE2X, Ziggurat, transformed key kept, every word sent"
            }
        }
        .to_owned()
    }
    fn paper(&self) -> (Option<&'static Encryption>, f64) {
        let paper = match self.randomness {
            Randomness::Urandom(_) => &TRLWE,
            Randomness::Blake2 { .. } => &TFHE_SBC,
        };
        (Some(paper), paper.watts)
    }
    fn encrypt(&mut self, bits: &[u8]) -> Result<usize, BenchError> {
        match &mut self.randomness {
            Randomness::Urandom(urandom) => {
                let mut noise = Urandom::open().map_err(BenchError::Urandom)?;
                self.trlwe.encrypt(
                    bits,
                    false,
                    urandom,
                    &mut noise,
                    Sampler::Polar,
                    &mut self.out,
                );
            }
            Randomness::Blake2 { ciphertexts } => {
                *ciphertexts += 1;
                self.trlwe.encrypt(
                    bits,
                    true,
                    &mut blake2(1, *ciphertexts),
                    &mut blake2(2, *ciphertexts),
                    Sampler::Ziggurat,
                    &mut self.out,
                );
            }
        }
        Ok(size_of_val(&self.out[..]))
    }
    fn decrypt(&self) -> Result<Vec<u8>, BenchError> {
        let mut bits: Vec<u8> = Vec::new();
        for trlwe in self.out.chunks_exact(2 * SIZE) {
            let (mask, body) = trlwe.split_at(SIZE);
            let phase = self.trlwe.phase(mask, body);
            bits.extend(
                phase
                    .into_iter()
                    .map(|phase| u8::from(boolean::decode(phase))),
            );
        }
        bits.truncate(self.count);
        Ok(bits)
    }
    fn memory(&self) -> usize {
        self.trlwe.memory() + size_of_val(&self.out[..])
    }
}
