//! Sets that were shipped once and whose names now belong to others. Keys, uploads and stores of these sets go on
//! working: [`by_fingerprint`](super::by_fingerprint) finds them, and nothing offers them for new keys.

pub mod late_november_2026;
pub mod november_2026;
pub mod release_0_1;

use super::ParameterSet;

const GENERATIONS: [(&str, &[ParameterSet; 8]); 3] = [
    ("release 0.1", &release_0_1::ALL),
    ("November 2026", &november_2026::ALL),
    ("late November 2026", &late_november_2026::ALL),
];

/// All superseded sets, the oldest first.
pub const ALL: [ParameterSet; 24] = {
    let mut all = [release_0_1::MESSAGE_2_CARRY_2; 24];
    let mut at = 0;
    while at < all.len() {
        all[at] = GENERATIONS[at / 8].1[at % 8];
        at += 1;
    }
    all
};

/// Returns the release or the month of which a superseded set is; `None` for other sets.
pub fn generation_of(set: &ParameterSet) -> Option<&'static str> {
    let (name, _) = GENERATIONS.iter().find(|(_, sets)| sets.contains(set))?;
    Some(name)
}
