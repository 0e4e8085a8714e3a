//! A histogram of readings with its picture: see the module `histogram` of this package.

use tfhe_sbc_examples::{Outcome, histogram, run};

fn main() -> Outcome<()> {
    run(168, histogram::example)
}
