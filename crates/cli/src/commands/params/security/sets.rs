//! Both counts for parameter sets.

use serde_json::{Value, json};
use tfhe_sbc_core::parameter_sets::{ALL, FOR_COMPARISON, LOOSER, superseded};
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_oracle::prediction::StrictSecurity;
use tfhe_sbc_oracle::search::KeyLevels;

use super::strict;
use crate::failure::{Explain, Outcome, failure};
use crate::output;
use crate::parameters::Chosen;

/// A set with the levels of its keys.
struct Priced {
    set: Parameters,
    customary: KeyLevels,
    strict: StrictSecurity,
}

/// Prices the keys of `sets`, or of all that are or were shipped if none is named.
pub(super) fn run(sets: &[Chosen], as_json: bool) -> Outcome<()> {
    let named: Vec<Parameters> = match sets {
        [] => ALL
            .iter()
            .chain(&LOOSER)
            .chain(&FOR_COMPARISON)
            .chain(&superseded::ALL)
            .map(|set| set.validate())
            .collect::<Result<_, _>>()
            .explain("a shipped set is not usable")?,
        named => named.iter().map(|set| set.to_ask_about()).collect(),
    };
    let priced: Vec<Priced> = named.into_iter().map(price).collect::<Outcome<_>>()?;
    if as_json {
        let rows: Vec<Value> = priced.iter().map(Priced::json).collect();
        return output::print_json(&rows);
    }
    let mut table = output::text_table();
    table.set_header(["set", "key", "n", "customary", "by", "strict", "by"]);
    for set in &priced {
        for row in set.rows() {
            table.add_row(row);
        }
    }
    output::emit(table.to_string())
}

fn price(set: Parameters) -> Outcome<Priced> {
    let unknown = || {
        failure(
            format_args!("the keys of {} cannot be priced", set.name()),
            "ask about a set with keys of 32 coefficients or more, in blocks of 1 to 5",
        )
    };
    Ok(Priced {
        set,
        customary: KeyLevels::of_set(&set).ok_or_else(unknown)?,
        strict: StrictSecurity::new(&set).ok_or_else(unknown)?,
    })
}

impl Priced {
    /// The name, with the time of the set and the word `superseded` if it now belongs to another one.
    fn title(&self) -> String {
        let name = self.set.name();
        match self.generation() {
            Some(generation) => format!("{name} of {generation}, superseded"),
            None => name.to_string(),
        }
    }

    /// The time of a superseded set.
    fn generation(&self) -> Option<&'static str> {
        superseded::generation_of(self.set.as_set())
    }

    fn dimensions(&self) -> [(&'static str, usize); 2] {
        [
            ("small", self.set.lwe_dimension().0),
            ("GLWE", self.set.big_lwe_dimension().0),
        ]
    }

    fn rows(&self) -> [[String; 7]; 2] {
        let [small, glwe] = self.dimensions();
        let keys = [
            (small, self.customary.lwe, &self.strict.lwe),
            (glwe, self.customary.glwe, &self.strict.glwe),
        ];
        keys.map(|((key, n), customary, strict)| {
            let cheapest = strict.cheapest();
            [
                self.title(),
                key.to_owned(),
                n.to_string(),
                format!("{:.1}", customary.lambda),
                customary.attack.name().to_owned(),
                format!("{:.1}", cheapest.log2_cost),
                cheapest.attack.name().to_owned(),
            ]
        })
    }

    fn json(&self) -> Value {
        let [small, glwe] = self.dimensions();
        let keys = [
            ((small.1, self.customary.lwe), &self.strict.lwe),
            ((glwe.1, self.customary.glwe), &self.strict.glwe),
        ];
        let [small, glwe] = keys.map(|((n, customary), strict)| {
            json!({
                "n": n,
                "customary": {
                    "lambda": customary.lambda,
                    "limiting_attack": customary.attack.name(),
                    "source": customary.source.name(),
                },
                "strict": strict::json(strict),
            })
        });
        json!({
            "name": self.set.name().as_str(),
            "superseded": self.generation().is_some(),
            "superseded_set_of": self.generation(),
            "customary_bits": self.customary.bits(),
            "strict_bits": self.strict.bits(),
            "small_key": small,
            "glwe_key": glwe,
        })
    }
}
