//! The mischances and their order: they are drawn like cards, so that each has happened once the
//! deck is through.

use crate::random::Random;

/// One mischance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    ServerKilled,
    AgentKilled,
    ServerDiskFull,
    AgentDiskFull,
    ServerClock,
    AgentClock,
    Cut,
    Replay,
    Renamed,
    Truncated,
}

impl Event {
    pub(super) const ALL: [Self; 10] = [
        Self::ServerKilled,
        Self::AgentKilled,
        Self::ServerDiskFull,
        Self::AgentDiskFull,
        Self::ServerClock,
        Self::AgentClock,
        Self::Cut,
        Self::Replay,
        Self::Renamed,
        Self::Truncated,
    ];

    /// Returns its name in the report.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ServerKilled => "kill -9 of the server",
            Self::AgentKilled => "kill -9 of an agent",
            Self::ServerDiskFull => "the server's disk full for a while",
            Self::AgentDiskFull => "an agent's disk full for a while",
            Self::ServerClock => "server's clock set",
            Self::AgentClock => "agent's clock set",
            Self::Cut => "all connections cut",
            Self::Replay => "old uploads sent again",
            Self::Renamed => "an agent's file rotated by renaming",
            Self::Truncated => "an agent's file rotated by copying and truncating",
        }
    }

    /// Returns the number of its cards in a deck.
    fn cards(self) -> usize {
        match self {
            Self::AgentKilled => 3,
            Self::ServerKilled => 2,
            _ => 1,
        }
    }
}

/// A deck that is shuffled anew whenever it is through.
#[derive(Debug, Default)]
pub(super) struct Deck {
    left: Vec<Event>,
    shuffled: u64,
}

impl Deck {
    pub(super) fn draw(&mut self, random: &mut Random) -> Event {
        if self.left.is_empty() {
            self.shuffled += 1;
            let cards = |event: Event| std::iter::repeat_n(event, event.cards());
            self.left = Event::ALL.into_iter().flat_map(cards).collect();
        }
        self.left.swap_remove(random.below(self.left.len()))
    }

    /// Returns the number of times that the deck is through.
    pub(super) fn rounds(&self) -> u64 {
        self.shuffled - u64::from(!self.left.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_happens_before_the_deck_is_through() {
        for seed in 0..20 {
            let (mut deck, mut random) = (Deck::default(), Random::new(seed));
            let mut drawn = Vec::new();
            while deck.rounds() == 0 {
                drawn.push(deck.draw(&mut random));
            }
            assert_eq!(drawn.len(), 13);
            assert!(Event::ALL.iter().all(|event| drawn.contains(event)));
            deck.draw(&mut random);
            assert_eq!(deck.rounds(), 1);
        }
    }
}
