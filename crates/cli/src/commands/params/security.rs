//! `params security`: the attacks on an LWE key, by the estimator and by the table, and on the keys
//! of parameter sets, in the customary count and in the strict one.

mod sets;
mod strict;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::{Map, Value, json};
use tfhe_sbc_oracle::estimator::{
    CostModel, Estimate, LweInstance, SecretDistribution, StrictEstimate, estimate,
};
use tfhe_sbc_oracle::security::{
    Attack, Level, MARGIN_LOG2_SIGMA, SecretKind, StrictKind, log2_sigma_floor, security_level,
    strict_level,
};

use crate::failure::{Explain, Outcome, failure};
use crate::output;
use crate::parameters::{Chosen, chosen};

/// Prices the known attacks on the keys of parameter sets, or on any LWE key, in two counts.
///
/// lambda is log2 of the cost of the cheapest attack. The customary count is that of the lattice
/// estimator of June 2026: primal uSVP, primal BDD and dual hybrid. If the table by which parameter
/// sets are judged covers the key, its level is printed beside it: interpolated, and with the
/// margin to rely on. The strict count prices guesses of binary keys and of keys of blocks at their
/// entropy, takes the covariance of a block into account, and has more hybrid attacks.
///
/// Without a key and without names, all shipped sets are priced.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc params security message_2_carry_2\n  tfhe-sbc params security --n 630 --q-log2 32 --secret binary --sigma-log2=-13.4"
)]
pub(crate) struct Arguments {
    /// Parameter sets: names of shipped ones, or files
    #[arg(value_name = "NAME|FILE", value_parser = chosen)]
    sets: Vec<Chosen>,
    /// The key to price instead of sets
    #[command(flatten)]
    key: Option<Key>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A key that is given by its numbers.
#[derive(Args)]
#[group(id = "key", conflicts_with = "sets")]
struct Key {
    /// The dimension n of the key, k times N for a GLWE key
    #[arg(long, required = false, requires_all = ["q_log2", "sigma_log2"])]
    n: usize,
    /// log2 of the modulus q
    #[arg(long, value_name = "BITS", required = false, requires = "n")]
    q_log2: f64,
    /// log2 of the noise's standard deviation over q, as in --sigma-log2=-13.4
    #[arg(
        long,
        value_name = "BITS",
        required = false,
        requires = "n",
        allow_negative_numbers = true
    )]
    sigma_log2: f64,
    /// The distribution of the key's coefficients
    #[arg(long, value_enum, default_value = "binary", requires = "n")]
    secret: Secret,
    /// The number of ones of a sparse key
    #[arg(
        long,
        value_name = "ONES",
        required_if_eq("secret", "sparse"),
        requires = "n"
    )]
    weight: Option<usize>,
    /// The block size of a key of blocks, 1 to 5
    #[arg(
        long,
        value_name = "BITS",
        required_if_eq("secret", "blocks"),
        requires = "n"
    )]
    block_size: Option<u32>,
    /// The standard deviation of a Gaussian key, in integers
    #[arg(
        long,
        value_name = "SIGMA",
        required_if_eq("secret", "gaussian"),
        requires = "n"
    )]
    secret_sigma: Option<f64>,
    /// The cost model of lattice reduction: matzov (the table's), bdgl16, core-svp, or all
    #[arg(long, default_value = "matzov", value_parser = models(), requires = "n")]
    model: Models,
}

/// The kinds of keys.
#[derive(Clone, Copy, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
enum Secret {
    /// Uniform over 0 and 1
    Binary,
    /// Uniform over -1, 0 and 1
    Ternary,
    /// As many ones as --weight says, and zeros
    Sparse,
    /// Blocks of --block-size with at most a single 1, judged as the sparse key that stands
    /// in for it in the table
    Blocks,
    /// A discrete Gaussian of standard deviation --secret-sigma
    Gaussian,
}

/// The cost models asked for; the first one decides.
#[derive(Clone, Copy)]
struct Models(&'static [CostModel]);

fn models() -> impl TypedValueParser<Value = Models> {
    const ALL: [CostModel; 3] = CostModel::ALL;
    const NAMES: [&str; 4] = [ALL[0].name(), ALL[1].name(), ALL[2].name(), "all"];
    PossibleValuesParser::new(NAMES).map(|given| {
        let one = CostModel::ALL
            .iter()
            .position(|model| model.name() == given);
        Models(one.map_or(&ALL, |at| &CostModel::ALL[at..=at]))
    })
}

/// The question and the outcome.
struct Answer<'a> {
    key: &'a Key,
    estimates: Vec<(CostModel, Estimate)>,
    /// The table's level, and the level with its margin.
    table: Option<(Level, Level, Attack)>,
    /// The strict count of the same cost model, for keys whose parts are independent.
    strict: Option<StrictEstimate>,
    below_floor: bool,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    match &arguments.key {
        Some(key) => price_key(key, arguments.json),
        None => sets::run(&arguments.sets, arguments.json),
    }
}

fn price_key(arguments: &Key, as_json: bool) -> Outcome<()> {
    let (distribution, in_table) = arguments.secret()?;
    let lwe = LweInstance::new(
        arguments.n,
        arguments.q_log2,
        arguments.sigma_log2,
        distribution,
    )
    .advise(
        "the key cannot be priced",
        "give values inside of that range",
    )?;
    let price = |&model: &CostModel| (model, estimate(&lwe, model));
    // The table has the levels of one model; it has none for a key that it does not cover.
    let table = in_table
        .filter(|_| arguments.model.0.contains(&CostModel::Matzov))
        .and_then(|kind| security_level(arguments.n, arguments.sigma_log2, kind).ok())
        .map(|found| {
            (
                found.lambda,
                found.lambda_with_margin,
                found.limiting_attack,
            )
        });
    let strict = arguments
        .strict_kind()
        .filter(|_| arguments.model.0.contains(&CostModel::Matzov))
        .and_then(|kind| strict_level(arguments.n, arguments.sigma_log2, kind));
    let floor = log2_sigma_floor(0) - arguments.q_log2;
    let answer = Answer {
        key: arguments,
        estimates: arguments.model.0.iter().map(price).collect(),
        table,
        strict,
        below_floor: arguments.sigma_log2 < floor,
    };
    match as_json {
        true => output::print_json(&answer.json()),
        false => answer.print(),
    }
}

impl Key {
    /// The kind of the key in the strict count; `None` for sparse and Gaussian keys, whose guesses it
    /// does not price.
    fn strict_kind(&self) -> Option<StrictKind> {
        match self.secret {
            Secret::Binary => Some(StrictKind::Blocks(1)),
            Secret::Ternary => Some(StrictKind::Ternary),
            Secret::Blocks => Some(StrictKind::Blocks(self.block_size?)),
            Secret::Sparse | Secret::Gaussian => None,
        }
    }

    /// Returns the key as the estimator has it, and as the table has it.
    fn secret(&self) -> Outcome<(SecretDistribution, Option<SecretKind>)> {
        let given = |option: bool, name: &str, kind: &str| match option {
            true => Err(failure(
                format_args!("{name} says nothing about this kind of key"),
                format_args!("leave it out, or say --secret {kind}"),
            )),
            false => Ok(()),
        };
        if !matches!(self.secret, Secret::Sparse) {
            given(self.weight.is_some(), "--weight", "sparse")?;
        }
        if !matches!(self.secret, Secret::Blocks) {
            given(self.block_size.is_some(), "--block-size", "blocks")?;
        }
        if !matches!(self.secret, Secret::Gaussian) {
            given(self.secret_sigma.is_some(), "--secret-sigma", "gaussian")?;
        }
        Ok(match self.secret {
            Secret::Binary => (SecretDistribution::Binary, Some(SecretKind::Binary)),
            Secret::Ternary => (SecretDistribution::Ternary, Some(SecretKind::Ternary)),
            Secret::Sparse => {
                let weight = self.weight.unwrap_or_default();
                (SecretDistribution::FixedWeight { weight }, None)
            }
            Secret::Gaussian => {
                let sigma = self.secret_sigma.unwrap_or_default();
                (SecretDistribution::Gaussian { sigma }, None)
            }
            Secret::Blocks => {
                let kind = SecretKind::of_blocks(self.block_size.unwrap_or_default())
                    .advise("the key cannot be priced", "say a --block-size from 1 to 5")?;
                let distribution = match kind {
                    SecretKind::Binary => SecretDistribution::Binary,
                    SecretKind::Ternary => SecretDistribution::Ternary,
                    SecretKind::Sparse { one_in } => SecretDistribution::FixedWeight {
                        weight: self.n / one_in as usize,
                    },
                };
                (distribution, Some(kind))
            }
        })
    }
}

impl Answer<'_> {
    fn json(&self) -> Value {
        let by_model = |(model, estimate): &(CostModel, Estimate)| {
            (model.name().to_owned(), estimate_json(estimate))
        };
        let (model, first) = &self.estimates[0];
        let mut object = Map::new();
        let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
        put("n", json!(self.key.n));
        put("q_log2", json!(self.key.q_log2));
        put("sigma_log2", json!(self.key.sigma_log2));
        put("secret", json!(self.key.secret));
        put("model", json!(model.name()));
        put("lambda", json!(finite(first.lambda())));
        put("limiting_attack", json!(first.limiting_attack().name()));
        put("attacks", estimate_json(first)["attacks"].clone());
        if self.estimates.len() > 1 {
            put("models", self.estimates.iter().map(by_model).collect());
        }
        let table = self.table.map(|(level, with_margin, attack)| {
            json!({
                "level": level.to_string(),
                "lambda": level.lower_bound(),
                "lambda_with_margin": with_margin.lower_bound(),
                "margin_sigma_log2": MARGIN_LOG2_SIGMA,
                "limiting_attack": attack.name(),
            })
        });
        put("table", json!(table));
        put("strict", json!(self.strict.as_ref().map(strict::json)));
        put("noise_below_floor", json!(self.below_floor));
        Value::Object(object)
    }

    fn print(&self) -> Outcome<()> {
        let (model, first) = &self.estimates[0];
        let attack = first.limiting_attack().name();
        let lambda = bits(first.lambda());
        let mut lines = vec![format!("lambda {lambda} by {attack} ({})", model.name())];
        if let Some((level, with_margin, attack)) = self.table {
            lines.push(format!(
                "the table: {level} by {}, {with_margin} with its margin of {MARGIN_LOG2_SIGMA} in sigma_log2",
                attack.name()
            ));
        }
        if let Some(estimate) = &self.strict {
            let cheapest = estimate.cheapest();
            lines.push(format!(
                "the strict count: lambda {} by {}",
                bits(cheapest.log2_cost),
                cheapest.attack.name()
            ));
        }
        let mut table = output::text_table();
        table.set_header(["model", "attack", "log2 cost", "parameters"]);
        for (model, estimate) in &self.estimates {
            for attack in Attack::ALL {
                table.add_row([
                    model.name().to_owned(),
                    attack.name().to_owned(),
                    bits(estimate.log2_cost(attack)),
                    parameters(estimate, attack),
                ]);
            }
        }
        for cost in self.strict.iter().flat_map(StrictEstimate::costs) {
            table.add_row([
                "strict".to_owned(),
                cost.attack.name().to_owned(),
                bits(cost.log2_cost),
                strict::parameters(cost),
            ]);
        }
        lines.push(table.to_string());
        if self.below_floor {
            lines.push(
                "The noise is below 4 integers: take no figure for a level, and more noise."
                    .to_owned(),
            );
        }
        output::emit(lines.join("\n"))
    }
}

/// Returns a cost for people: past the end of the searches there are no digits.
fn bits(log2_cost: f64) -> String {
    match log2_cost > 512.0 {
        true => "over 512".to_owned(),
        false => format!("{log2_cost:.1}"),
    }
}

fn finite(log2_cost: f64) -> Option<f64> {
    log2_cost.is_finite().then_some(log2_cost)
}

/// Returns the parameters that an attack chose, for people.
fn parameters(estimate: &Estimate, attack: Attack) -> String {
    let Estimate {
        usvp,
        bdd,
        dual_hybrid: dual,
    } = estimate;
    if estimate.log2_cost(attack).is_infinite() {
        return "none found".to_owned();
    }
    match attack {
        Attack::PrimalUsvp => format!("beta {}, d {}", usvp.block_size, usvp.lattice_dimension),
        Attack::PrimalBdd => format!(
            "beta {}, eta {}, d {}",
            bdd.block_size, bdd.svp_dimension, bdd.lattice_dimension
        ),
        Attack::DualHybrid => format!(
            "beta {}, zeta {}, t {}, p {}",
            dual.block_size, dual.guessed, dual.transformed, dual.transform_modulus
        ),
    }
}

/// Returns an estimate with the parameters that each attack chose; infinite costs are null.
fn estimate_json(estimate: &Estimate) -> Value {
    let Estimate {
        usvp,
        bdd,
        dual_hybrid: dual,
    } = estimate;
    json!({
        "lambda": finite(estimate.lambda()),
        "limiting_attack": estimate.limiting_attack().name(),
        "attacks": {
            Attack::PrimalUsvp.name(): {
                "cost_log2": finite(usvp.log2_cost),
                "beta": usvp.block_size,
                "d": usvp.lattice_dimension,
            },
            Attack::PrimalBdd.name(): {
                "cost_log2": finite(bdd.log2_cost),
                "beta": bdd.block_size,
                "eta": bdd.svp_dimension,
                "d": bdd.lattice_dimension,
            },
            Attack::DualHybrid.name(): {
                "cost_log2": finite(dual.log2_cost),
                "beta": dual.block_size,
                "zeta": dual.guessed,
                "t": dual.transformed,
                "p": dual.transform_modulus,
            },
        },
    })
}
