//! The terms of the model, and the seconds of a unit of each.

use serde::{Deserialize, Serialize};

/// Number of terms.
pub const TERMS: usize = 14;

/// Amounts of every term, by [`Term`].
pub type Counts = [f64; TERMS];

/// A term: what takes time in proportion to how much of it there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// Transforms: seconds by themselves.
    Transform,
    /// Complex products of a digit and a key's polynomial, by half a point.
    MultiplyAdd,
    /// Products of a bit's sums with `X^a - 1`, likewise.
    Turn,
    /// That factor, likewise.
    Factor,
    /// Steps of a blind rotation.
    Step,
    /// Bytes of keys in the second-level cache.
    Level2Byte,
    /// Bytes of keys in the last cache.
    Level3Byte,
    /// Bytes of keys in memory.
    MemoryByte,
    /// Products of a digit and a scalar of the key-switching key.
    SwitchMultiply,
    /// Bytes of that key, for as many ciphertexts as registers hold.
    SwitchByte,
    /// Digits of a key switch.
    SwitchDigit,
    /// Coefficients of accumulators.
    Coefficient,
    /// Batches that threads are woken for.
    Wake,
    /// Times that threads wait for each other.
    Meeting,
}

impl Term {
    pub(super) const TRANSFORMS: [Self; 1] = [Self::Transform];
    pub(super) const PRODUCTS: [Self; 3] = [Self::MultiplyAdd, Self::Turn, Self::Factor];
    pub(super) const KEY_STREAMING: [Self; 3] =
        [Self::Level2Byte, Self::Level3Byte, Self::MemoryByte];
    pub(super) const KEY_SWITCH: [Self; 3] =
        [Self::SwitchMultiply, Self::SwitchByte, Self::SwitchDigit];
    pub(super) const REST: [Self; 4] = [Self::Step, Self::Coefficient, Self::Wake, Self::Meeting];
}

/// Seconds of a unit of every [`Term`], and of all of them together in a crowd.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seconds {
    /// A factor: of a transform in a blind rotation over one by itself.
    pub transform: f64,
    /// See [`Term::MultiplyAdd`].
    pub multiply_add: f64,
    /// See [`Term::Turn`].
    pub turn: f64,
    /// See [`Term::Factor`].
    pub factor: f64,
    /// See [`Term::Step`].
    pub step: f64,
    /// See [`Term::Level2Byte`].
    pub level_2_byte: f64,
    /// See [`Term::Level3Byte`].
    pub level_3_byte: f64,
    /// See [`Term::MemoryByte`].
    pub memory_byte: f64,
    /// See [`Term::SwitchMultiply`].
    pub switch_multiply: f64,
    /// See [`Term::SwitchByte`].
    pub switch_byte: f64,
    /// See [`Term::SwitchDigit`].
    pub switch_digit: f64,
    /// See [`Term::Coefficient`].
    pub coefficient: f64,
    /// See [`Term::Wake`].
    pub wake: f64,
    /// See [`Term::Meeting`].
    pub meeting: f64,
    /// A factor, at least 1: of everything on all threads at once over a single one.
    pub crowding: f64,
}

impl Seconds {
    /// From units in the order of [`Term`].
    pub fn new(units: Counts, crowding: f64) -> Self {
        let of = |term: Term| units[term as usize];
        Self {
            transform: of(Term::Transform),
            multiply_add: of(Term::MultiplyAdd),
            turn: of(Term::Turn),
            factor: of(Term::Factor),
            step: of(Term::Step),
            level_2_byte: of(Term::Level2Byte),
            level_3_byte: of(Term::Level3Byte),
            memory_byte: of(Term::MemoryByte),
            switch_multiply: of(Term::SwitchMultiply),
            switch_byte: of(Term::SwitchByte),
            switch_digit: of(Term::SwitchDigit),
            coefficient: of(Term::Coefficient),
            wake: of(Term::Wake),
            meeting: of(Term::Meeting),
            crowding,
        }
    }

    /// The units in the order of [`Term`].
    pub fn units(&self) -> Counts {
        [
            self.transform,
            self.multiply_add,
            self.turn,
            self.factor,
            self.step,
            self.level_2_byte,
            self.level_3_byte,
            self.memory_byte,
            self.switch_multiply,
            self.switch_byte,
            self.switch_digit,
            self.coefficient,
            self.wake,
            self.meeting,
        ]
    }

    /// Seconds of every term, without the crowd.
    pub fn of(&self, counts: &Counts) -> Counts {
        let units = self.units();
        std::array::from_fn(|term| units[term] * counts[term])
    }
}
