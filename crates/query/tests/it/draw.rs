//! Random numbers that are the same in every run.

/// The state of a linear congruential generator (Knuth's MMIX).
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    /// Draws a number below a bound.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }

    /// Draws one of some texts.
    pub(crate) fn one_of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len() as u64) as usize]
    }
}
