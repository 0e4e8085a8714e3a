//! Values whose signs or digits are found before the circuit, each once however many nodes need it.
//!
//! A column and the same column moved by a row, slices that overlap, and several questions about one function have values in common.
//! They are the same ciphertexts, so that their lookups are the same, too.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use tfhe_sbc_core::encoding::chunks::DigitPlan;
use tfhe_sbc_engine::analytics::extremes::Order;
use tfhe_sbc_engine::compact::{digit_bootstraps, extreme_bootstraps, sign_bootstraps};

use super::extremes::Extremes;
use super::linear::{Linear, Rows, Term, element};

/// Values of linear functions of which a node needs the signs or the digits.
pub(crate) struct Part {
    /// The functions, and the number of rows of each.
    functions: Vec<(Linear, usize)>,
    /// The number of bits of a value; in two's complement if its sign is wanted.
    pub(crate) bits: u32,
    pub(crate) lookups: Lookups,
    /// For each value, the number of the part and the value there that is the same and found earlier; `None` of a value that is
    /// found for this part. Empty if all are.
    taken: Vec<Option<(usize, usize)>>,
    /// The blocks of its values are needed more than once: other parts take some of them, or several nodes ask for them.
    pub(crate) is_shared: bool,
}

/// The lookups that a value takes.
#[derive(PartialEq, Eq)]
pub(crate) enum Lookups {
    /// Those of its sign, in chunks of these numbers of bits.
    Sign(Vec<u32>),
    /// Those of its radix digits.
    Digits(DigitPlan),
    /// Those of the radix digits of the first of each group of values in an order.
    Extremes(Extremes),
}

impl Part {
    /// The values of functions, one function after the other.
    pub(super) fn new(functions: Vec<(Linear, usize)>, bits: u32, lookups: Lookups) -> Self {
        Self {
            functions,
            bits,
            lookups,
            taken: Vec::new(),
            is_shared: false,
        }
    }

    fn len(&self) -> usize {
        self.functions.iter().map(|(_, rows)| rows).sum()
    }

    /// The number of values that are found for this part.
    pub(super) fn count(&self) -> usize {
        match self.taken.is_empty() {
            true => self.len(),
            false => self.taken.iter().filter(|taken| taken.is_none()).count(),
        }
    }

    /// The number of bootstraps.
    pub(super) fn bootstraps(&self) -> u64 {
        let count = self.count() as u64;
        match &self.lookups {
            Lookups::Sign(chunks) => count * sign_bootstraps(chunks),
            Lookups::Digits(plan) => count * digit_bootstraps(plan),
            Lookups::Extremes(extremes) => extreme_bootstraps(&extremes.plan, self.count()),
        }
    }

    /// The number of bootstraps one after the other.
    pub(super) fn depth(&self) -> u32 {
        match &self.lookups {
            _ if self.count() == 0 => 0,
            Lookups::Sign(chunks) => sign_bootstraps(chunks) as u32,
            Lookups::Digits(plan) => digit_bootstraps(plan) as u32,
            Lookups::Extremes(extremes) => extremes.plan.rounds().len() as u32,
        }
    }

    /// The number of ciphertexts that are held at once.
    pub(super) fn held(&self) -> usize {
        match &self.lookups {
            Lookups::Sign(_) => self.count(),
            Lookups::Digits(plan) => self.count() * plan.digit_count(),
            Lookups::Extremes(extremes) => {
                let digits = extremes.plan.digits().digit_count();
                let groups = extremes.groups(self.count());
                self.count().max(groups * digits)
            }
        }
    }

    /// The order of which the first values are found.
    pub(crate) fn order(&self) -> Option<Order> {
        match &self.lookups {
            Lookups::Extremes(extremes) => Some(extremes.order),
            Lookups::Sign(_) | Lookups::Digits(_) => None,
        }
    }

    /// Returns whether the values of some function here are those of the only function of another part.
    pub(super) fn has_values_of(&self, other: &Self) -> bool {
        let [(of, count)] = &other.functions[..] else {
            return false;
        };
        self.functions.iter().any(|(linear, rows)| {
            let key = |row| value_key(linear, row) == value_key(of, row);
            rows == count && are_alike(linear, of) && (0..*rows).all(key)
        })
    }

    /// The functions that have the values that are found for this part, and the number of rows of each.
    pub(super) fn own(&self) -> impl Iterator<Item = (Cow<'_, Linear>, usize)> {
        let mut taken = self.taken.iter();
        self.functions.iter().filter_map(move |(linear, rows)| {
            if self.taken.is_empty() {
                return Some((Cow::Borrowed(linear), *rows));
            }
            let taken = taken.by_ref().take(*rows).enumerate();
            let own = taken.filter_map(|(row, taken)| taken.is_none().then_some(row));
            let own: Vec<usize> = own.collect();
            match own.len() {
                0 => None,
                count if count == *rows => Some((Cow::Borrowed(linear), count)),
                count => Some((Cow::Owned(linear.taken(&own)), count)),
            }
        })
    }

    /// The number of bits of code and headroom that all functions have.
    pub(super) fn plaintext_bits(&self) -> u32 {
        let functions = self.functions.iter();
        let bits = functions.map(|(linear, _)| linear.plaintext_bits());
        bits.min().unwrap_or(self.bits)
    }

    /// Returns what belongs to all values, given what belongs to those that are found for this part, which has a number, and a
    /// function that returns what belongs to a value of another part.
    pub(crate) fn joined<V: Clone, E>(
        &self,
        number: usize,
        own: Vec<V>,
        other: impl Fn(usize, usize) -> Result<V, E>,
    ) -> Result<Vec<V>, E> {
        if self.taken.is_empty() {
            return Ok(own);
        }
        let mut own = own.into_iter();
        let mut all: Vec<V> = Vec::with_capacity(self.taken.len());
        for taken in &self.taken {
            let value = match *taken {
                None => own.next(),
                Some((part, value)) if part == number => all.get(value).cloned(),
                Some((part, value)) => Some(other(part, value)?),
            };
            all.extend(value);
        }
        Ok(all)
    }

    /// Returns whether values that two parts have in common are looked up in the same way.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        (self.bits, &self.lookups) == (other.bits, &other.lookups)
    }
}

/// Finds the values that parts have in common.
pub(super) fn share(parts: &mut [Part]) {
    let classes = classes_of(parts);
    let mut taken: Vec<Vec<Option<(usize, usize)>>> = parts.iter().map(|_| Vec::new()).collect();
    for members in classes {
        if let [(part, function, _)] = members[..]
            && has_distinct_rows(&parts[part].functions[function].0)
        {
            continue;
        }
        let mut known: HashMap<Box<[u64]>, (usize, usize)> = HashMap::new();
        for (part, function, first) in members {
            let (linear, rows) = &parts[part].functions[function];
            for row in 0..*rows {
                let value = (part, first + row);
                match known.entry(value_key(linear, row)) {
                    Entry::Vacant(unknown) => {
                        unknown.insert(value);
                    }
                    Entry::Occupied(known) => {
                        let own = &mut taken[part];
                        own.resize(parts[part].len(), None);
                        own[first + row] = Some(*known.get());
                    }
                }
            }
        }
    }
    for (number, taken) in taken.into_iter().enumerate() {
        for (other, _) in taken.iter().flatten() {
            parts[*other].is_shared |= *other != number;
        }
        parts[number].taken = taken;
    }
}

/// A part, the place of a function in it, and the place of the first value of that.
type Member = (usize, usize, usize);

/// The functions of parts, those together that may have values in common, in the order of parts.
fn classes_of(parts: &[Part]) -> Vec<Vec<Member>> {
    let mut classes: Vec<Vec<Member>> = Vec::new();
    // Functions of different keys are different; those of one key are compared.
    let mut known: HashMap<u64, Vec<usize>> = HashMap::new();
    // Extremes are of groups of rows, in which a row of its own has no lookups.
    let of_rows = |(_, part): &(usize, &Part)| !matches!(part.lookups, Lookups::Extremes(_));
    for (number, part) in parts.iter().enumerate().filter(of_rows) {
        let mut first = 0;
        for (place, (linear, rows)) in part.functions.iter().enumerate() {
            let alike = known.entry(class_key(linear)).or_default();
            let is_same = |class: &&usize| {
                classes[**class].first().is_some_and(|&(other, at, _)| {
                    let other = &parts[other];
                    other.is_like(part) && are_alike(&other.functions[at].0, linear)
                })
            };
            let member = (number, place, first);
            match alike.iter().find(is_same) {
                Some(&class) => classes[class].push(member),
                None => {
                    alike.push(classes.len());
                    classes.push(vec![member]);
                }
            }
            first += rows;
        }
    }
    classes
}

/// The terms of values that are encrypted.
fn encrypted(linear: &Linear) -> impl Iterator<Item = &Term> {
    let terms = linear.terms().iter();
    terms.filter(|term| !term.origin.is_public())
}

/// A number that [alike](are_alike) functions have in common, and few others.
fn class_key(linear: &Linear) -> u64 {
    encrypted(linear).fold(0, |key: u64, term| {
        (key.rotate_left(7) ^ term.origin.place()).rotate_left(7) ^ term.weight as u64
    })
}

/// Returns whether two functions have the same encrypted terms but for the rows, so that their values are the same where their
/// [keys](value_key) are.
fn are_alike(one: &Linear, other: &Linear) -> bool {
    let rows = |one: &Rows, other: &Rows| match (one, other) {
        (
            Rows::Windows { rows, window, .. },
            Rows::Windows {
                rows: other,
                window: other_window,
                ..
            },
        ) => window == other_window && rows == other,
        (Rows::Each { .. } | Rows::Picked(_), Rows::Each { .. } | Rows::Picked(_)) => true,
        (Rows::Sum(_), Rows::Sum(_)) => true,
        _ => false,
    };
    let alike = |one: &Term, other: &Term| {
        one.weight == other.weight
            && one.origin.is_same(&other.origin)
            && rows(&one.rows, &other.rows)
    };
    encrypted(one).count() == encrypted(other).count()
        && encrypted(one)
            .zip(encrypted(other))
            .all(|(one, other)| alike(one, other))
}

/// The rows of columns that a value is made of, and what is added to it.
fn value_key(linear: &Linear, row: usize) -> Box<[u64]> {
    let mut key = Vec::with_capacity(linear.terms().len() + 1);
    key.push(linear.clear_at(row));
    for term in encrypted(linear) {
        match &term.rows {
            Rows::Each { first } => key.push((first + row) as u64),
            Rows::Picked(list) | Rows::Windows { ends: list, .. } => {
                key.push(element(list, row) as u64);
            }
            Rows::Sum(range) => key.extend([range.start as u64, range.end as u64]),
        }
    }
    key.into()
}

/// Returns whether no two rows of a function can have the same value.
fn has_distinct_rows(linear: &Linear) -> bool {
    encrypted(linear).any(|term| matches!(term.rows, Rows::Each { .. }))
}
