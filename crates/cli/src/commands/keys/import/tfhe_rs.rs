//! Keys of TFHE-rs.

use super::Arguments;
use crate::failure::{Outcome, failure};

pub(super) fn run(_arguments: &Arguments) -> Outcome<()> {
    Err(failure("STUB", "STUB"))
}
