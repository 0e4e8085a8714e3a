//! Keys of Microsoft SEAL and SEAL-Embedded.

use super::Arguments;
use crate::failure::{Outcome, failure};

pub(super) fn run(_arguments: &Arguments) -> Outcome<()> {
    Err(failure("STUB", "STUB"))
}

pub(super) fn run_embedded(_arguments: &Arguments) -> Outcome<()> {
    Err(failure("STUB", "STUB"))
}
