//! A decision tree on four sensors: see the module `decision_tree` of this package.

use tfhe_sbc_examples::{Outcome, decision_tree, run};

fn main() -> Outcome<()> {
    run(24, decision_tree::example)
}
