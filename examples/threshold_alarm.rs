//! A threshold alarm: see the module `threshold_alarm` of this package.

use tfhe_sbc_examples::{Outcome, run, threshold_alarm};

fn main() -> Outcome<()> {
    run(48, threshold_alarm::example)
}
