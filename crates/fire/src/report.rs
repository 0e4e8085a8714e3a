//! What came of it, for people and machines.

use serde::Serialize;

use crate::attacks::Attacks;
use crate::chaos::Chaos;
use crate::load::Load;
use crate::server::Figures;

/// A whole run.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    pub(crate) seconds: u64,
    pub(crate) boards: usize,
    /// The server before the first upload.
    pub(crate) idle: Figures,
    pub(crate) burst: Option<Load>,
    pub(crate) paced: Option<Load>,
    pub(crate) drained_in: Option<f64>,
    pub(crate) attacks: Option<Attacks>,
    pub(crate) chaos: Option<Chaos>,
}

impl Report {
    pub(crate) fn new(seconds: u64, boards: usize) -> Self {
        Self {
            seconds,
            boards,
            idle: Figures::default(),
            burst: None,
            paced: None,
            drained_in: None,
            attacks: None,
            chaos: None,
        }
    }

    pub(crate) fn passed(&self) -> bool {
        self.attacks.as_ref().is_none_or(Attacks::passed)
            && self.chaos.as_ref().is_none_or(Chaos::passed)
    }

    pub(crate) fn print(&self) {
        println!("{}", serde_json::to_string_pretty(self).unwrap_or_default());
    }

    pub(crate) fn markdown(&self) -> String {
        String::new()
    }
}
