//! TFHE-rs' side: its high-level integers under its default parameters.

use std::ops::{Add, BitAnd, Mul, Shl};

use rayon::prelude::*;
use tfhe::prelude::*;
use tfhe::shortint::AtomicPatternParameters;
use tfhe::{ClientKey, ConfigBuilder, FheBool, FheUint8, FheUint16, FheUint32, FheUint64};
use tfhe::{generate_keys, set_server_key};

use crate::error::BenchError;
use crate::integers::contestant::Peer;
use crate::integers::tasks::{Operator, Task};
use crate::timing::{Subject, Work};

/// Keys under the default parameters, the server's known to every thread of the pool of the caller: that
/// is what the peer's users do before they work on several threads.
pub(super) fn generate() -> Result<Option<Box<dyn Peer>>, BenchError> {
    eprintln!("TFHE-rs makes keys");
    let (client, server) = generate_keys(ConfigBuilder::default().build());
    rayon::broadcast(|_| set_server_key(server.clone()));
    Ok(Some(Box::new(TfheRs { client })))
}

struct TfheRs {
    client: ClientKey,
}

impl Peer for TfheRs {
    fn description(&self) -> String {
        let AtomicPatternParameters::Standard(p) = self.client.computation_parameters() else {
            return "TFHE-rs' default parameters".to_owned();
        };
        format!(
            "TFHE-rs' default parameters: q 2^64, n {}, k {}, N {}, PBS 2^{} x {}, KS 2^{} x {}, \
             p_fail 2^{:.0}",
            p.lwe_dimension().0,
            p.glwe_dimension().0,
            p.polynomial_size().0,
            p.pbs_base_log().0,
            p.pbs_level().0,
            p.ks_base_log().0,
            p.ks_level().0,
            p.log2_p_fail(),
        )
    }

    fn subject(&self, task: Task) -> Result<Box<dyn Subject + '_>, BenchError> {
        let operands = task.operands();
        let outcome = task.outcome(&operands);
        match task.bits() {
            8 => Side::<FheUint8>::new(self, &operands)?.subject(task, outcome),
            16 => Side::<FheUint16>::new(self, &operands)?.subject(task, outcome),
            32 => Side::<FheUint32>::new(self, &operands)?.subject(task, outcome),
            64 => Side::<FheUint64>::new(self, &operands)?.subject(task, outcome),
            bits => Err(BenchError::Peer(format!("no row has {bits} bits"))),
        }
    }
}

/// A width of the peer's integers.
trait Width: Clone + Send + Sync + FheTryEncrypt<u64, ClientKey> + FheDecrypt<u64> {
    fn apply(operator: Operator, a: &Self, b: &Self) -> Vec<Outcome<Self>>;
    fn larger(a: &Self, b: &Self) -> Self;
}

macro_rules! width {
    ($($integer:ty),*) => {$(
        impl Width for $integer {
            fn apply(operator: Operator, a: &Self, b: &Self) -> Vec<Outcome<Self>> {
                match operator {
                    Operator::Add => vec![Outcome::Integer(a.add(b))],
                    Operator::Eq => vec![Outcome::Bit(a.eq(b))],
                    Operator::Lt => vec![Outcome::Bit(a.lt(b))],
                    Operator::Max => vec![Outcome::Integer(a.max(b))],
                    Operator::BitAnd => vec![Outcome::Integer(a.bitand(b))],
                    Operator::Shl => vec![Outcome::Integer(a.shl(b))],
                    Operator::Mul => vec![Outcome::Integer(a.mul(b))],
                    Operator::DivRem => {
                        let (quotient, remainder) = a.div_rem(b);
                        vec![Outcome::Integer(quotient), Outcome::Integer(remainder)]
                    }
                }
            }

            fn larger(a: &Self, b: &Self) -> Self {
                a.max(b)
            }
        }
    )*};
}

width!(FheUint8, FheUint16, FheUint32, FheUint64);

/// Something that an operator gives.
enum Outcome<I> {
    Integer(I),
    Bit(FheBool),
}

impl<I: Width> Outcome<I> {
    fn decrypt(&self, client: &ClientKey) -> u64 {
        match self {
            Self::Integer(integer) => integer.decrypt(client),
            Self::Bit(bit) => u64::from(bit.decrypt(client)),
        }
    }
}

/// Encrypted operands.
struct Side<'c, I> {
    client: &'c ClientKey,
    pairs: Vec<(I, I)>,
}

impl<'c, I: Width + 'c> Side<'c, I> {
    fn new(peer: &'c TfheRs, operands: &[(u64, u64)]) -> Result<Self, BenchError> {
        let encrypt = |value: u64| {
            I::try_encrypt(value, &peer.client).map_err(|error| BenchError::Peer(error.to_string()))
        };
        let pairs = operands
            .iter()
            .map(|&(a, b)| Ok((encrypt(a)?, encrypt(b)?)));
        Ok(Self {
            client: &peer.client,
            pairs: pairs.collect::<Result<_, BenchError>>()?,
        })
    }

    /// The work as a good user would write it: elements in parallel, on the threads that have the
    /// key.
    fn subject(self, task: Task, outcome: Vec<u64>) -> Result<Box<dyn Subject + 'c>, BenchError> {
        let Self { client, pairs } = self;
        Ok(Box::new(Work {
            name: format!("TFHE-rs, {task:?}"),
            run: move || {
                Ok(match task {
                    Task::Largest { .. } => vec![Outcome::Integer(largest(&pairs))],
                    Task::Pairs { .. } | Task::Columns { .. } => each(&pairs, task.operators()),
                })
            },
            check: move |found: Vec<Outcome<I>>| {
                let found = found.iter().map(|one| one.decrypt(client));
                Ok(found.eq(outcome.iter().copied()))
            },
        }))
    }
}

/// One task for each pair.
fn each<I: Width>(pairs: &[(I, I)], operators: &[Operator]) -> Vec<Outcome<I>> {
    let apply = |(a, b)| {
        operators
            .iter()
            .flat_map(move |&operator| I::apply(operator, a, b))
    };
    pairs
        .par_iter()
        .map(|(a, b)| (a, b))
        .flat_map_iter(apply)
        .collect()
}

/// A tournament among the first ones: the pairs of every round in parallel.
fn largest<I: Width>(pairs: &[(I, I)]) -> I {
    let mut left: Vec<I> = pairs.iter().map(|(a, _)| a.clone()).collect();
    while left.len() > 1 {
        left = left
            .par_chunks(2)
            .map(|pair| match pair {
                [a, b] => I::larger(a, b),
                _ => pair[0].clone(),
            })
            .collect();
    }
    left.remove(0)
}
