//! Our lines of Table 1, and those of TFHE-rs if it is built in.

use tfhe_sbc_core::parameter_sets::{PAPER_N1024, PAPER_N1024_TUNIFORM};
use tfhe_sbc_device::{ExpanderKind, KeyMode, MemoryPlan};

use crate::board::{Board, Setup};
use crate::device::key_of;
use crate::error::BenchError;

use super::method::Method;
use tfhe_sbc_research::paper::figures::{Encryption, TFHE_SBC};

/// Returns the methods to encrypt `count` bits that the paper does not have.
pub(super) fn methods(count: usize) -> Result<Vec<Box<dyn Method>>, BenchError> {
    let setup = |set, plan, expander| Setup {
        set,
        mode: KeyMode::Symmetric,
        plan,
        expander,
    };
    let (fast, small) = (MemoryPlan::Fast, MemoryPlan::Small);
    let (aes, chacha20) = (ExpanderKind::Aes128Ctr, ExpanderKind::ChaCha20);
    let mut methods: Vec<Box<dyn Method>> = Vec::new();
    for (name, setup) in [
        ("gaussian", setup(PAPER_N1024, fast, aes)),
        ("gaussian", setup(PAPER_N1024, fast, chacha20)),
        ("tuniform", setup(PAPER_N1024_TUNIFORM, fast, aes)),
        ("tuniform", setup(PAPER_N1024_TUNIFORM, small, chacha20)),
        (
            "public_key",
            Setup {
                mode: KeyMode::Public,
                ..setup(PAPER_N1024, fast, aes)
            },
        ),
    ] {
        methods.push(Box::new(Ours {
            name,
            setup,
            board: Board::new(setup)?,
            sent: 0,
        }));
    }
    #[cfg(feature = "tfhe-rs")]
    methods.extend(super::tfhe_rs::methods(count));
    #[cfg(not(feature = "tfhe-rs"))]
    let _ = count;
    Ok(methods)
}

struct Ours {
    name: &'static str,
    setup: Setup,
    board: Board<u32>,
    sent: usize,
}

impl Method for Ours {
    fn name(&self) -> String {
        let Setup { plan, expander, .. } = self.setup;
        format!("ours, {}, {expander}, {plan}", self.name.replace('_', " "))
    }
    fn key(&self) -> String {
        let Setup { plan, expander, .. } = self.setup;
        format!("ours_{}_{}_{plan}", self.name, key_of(expander))
    }
    fn note(&self) -> String {
        "the device library, from bits to wire bytes".to_owned()
    }
    fn paper(&self) -> (Option<&'static Encryption>, f64) {
        (None, TFHE_SBC.watts)
    }
    fn encrypt(&mut self, bits: &[u8]) -> Result<usize, BenchError> {
        self.sent = self.board.encrypt(bits)?;
        Ok(self.sent)
    }
    fn decrypt(&self) -> Result<Vec<u8>, BenchError> {
        self.board.decrypt()
    }
    fn memory(&self) -> usize {
        self.board.state_bytes() + self.sent
    }
}
