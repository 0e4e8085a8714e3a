//! A fleet's daily maxima: see the module `daily_maxima` of this package.

use tfhe_sbc_examples::{Outcome, daily_maxima, run};

fn main() -> Outcome<()> {
    run(6, daily_maxima::example)
}
