//! Logistic scoring: see the module `logistic` of this package.

use tfhe_sbc_examples::{Outcome, logistic, run};

fn main() -> Outcome<()> {
    run(24, logistic::example)
}
