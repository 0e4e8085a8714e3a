//! `first` and `last`, of TimescaleDB, and `percentile_disc`.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::error::{DataFusionError, Result};
use datafusion::functions_aggregate::first_last::{first_value_udaf, last_value_udaf};
use datafusion::logical_expr::expr::{AggregateFunction, Sort};
use datafusion::logical_expr::function::{
    AccumulatorArgs, AggregateFunctionSimplification, StateFieldsArgs,
};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;

/// `first(value, time)` or `last(value, time)`: `first_value(value ORDER BY time)` or `last_value(…)`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct OfTime {
    name: &'static str,
    signature: Signature,
}

impl OfTime {
    pub(super) fn first() -> Self {
        Self::new("first")
    }

    pub(super) fn last() -> Self {
        Self::new("last")
    }

    fn new(name: &'static str) -> Self {
        Self {
            name,
            signature: Signature::any(2, Volatility::Immutable),
        }
    }
}

impl AggregateUDFImpl for OfTime {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        types
            .first()
            .cloned()
            .ok_or_else(|| DataFusionError::Plan(format!("{} takes a value and a time", self.name)))
    }

    fn accumulator(&self, _: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Err(DataFusionError::NotImplemented(format!(
            "{0}(value, time) in a window: use {0}_value(value) OVER (ORDER BY time)",
            self.name
        )))
    }

    fn simplify(&self) -> Option<AggregateFunctionSimplification> {
        let function: Arc<AggregateUDF> = match self.name {
            "first" => first_value_udaf(),
            _ => last_value_udaf(),
        };
        Some(Box::new(move |aggregate: AggregateFunction, _| {
            let mut params = aggregate.params;
            let time = params.args.pop().ok_or_else(|| {
                DataFusionError::Plan("first and last take a value and a time".to_owned())
            })?;
            params.order_by = vec![Sort::new(time, true, true)];
            Ok(datafusion::logical_expr::Expr::AggregateFunction(
                AggregateFunction {
                    func: Arc::clone(&function),
                    params,
                },
            ))
        }))
    }
}

/// The name of the percentile by nearest rank.
pub(crate) const NEAREST_RANK: &str = "percentile_disc";

/// `percentile_disc(fraction) WITHIN GROUP (ORDER BY value)`: the smallest value that this fraction of the values does not exceed.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct NearestRank {
    signature: Signature,
}

impl NearestRank {
    pub(super) fn new() -> Self {
        Self {
            signature: Signature::coercible(vec![float(), float()], Volatility::Immutable),
        }
    }
}

fn float() -> datafusion::logical_expr::Coercion {
    use datafusion::common::types::{NativeType, logical_float64};
    use datafusion::logical_expr::{Coercion, TypeSignatureClass};
    Coercion::new_implicit(
        TypeSignatureClass::Native(logical_float64()),
        vec![TypeSignatureClass::Numeric],
        NativeType::Float64,
    )
}

impl AggregateUDFImpl for NearestRank {
    fn name(&self) -> &'static str {
        NEAREST_RANK
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        use datafusion::arrow::datatypes::Field;
        let values = DataType::List(Arc::new(Field::new_list_field(DataType::Float64, true)));
        Ok(vec![
            Arc::new(Field::new(format!("{}_values", args.name), values, true)),
            Arc::new(Field::new(
                format!("{}_fraction", args.name),
                DataType::Float64,
                true,
            )),
        ])
    }

    fn supports_within_group_clause(&self) -> bool {
        true
    }

    fn accumulator(&self, _: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Ranked {
            values: Vec::new(),
            fraction: None,
        }))
    }
}

/// The values of a group, and the fraction.
#[derive(Debug)]
struct Ranked {
    values: Vec<f64>,
    fraction: Option<f64>,
}

impl Ranked {
    fn add(&mut self, values: &dyn datafusion::arrow::array::Array) -> Result<()> {
        let values = datafusion::common::cast::as_float64_array(values)?;
        self.values.extend(values.iter().flatten());
        Ok(())
    }

    fn set_fraction(&mut self, fractions: &dyn datafusion::arrow::array::Array) -> Result<()> {
        let fractions = datafusion::common::cast::as_float64_array(fractions)?;
        self.fraction = self.fraction.or(fractions.iter().flatten().next());
        Ok(())
    }
}

impl Accumulator for Ranked {
    fn update_batch(&mut self, values: &[datafusion::arrow::array::ArrayRef]) -> Result<()> {
        if let [values, fraction] = values {
            self.add(values)?;
            self.set_fraction(fraction)?;
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.values.sort_by(f64::total_cmp);
        let Some(fraction) = self.fraction else {
            return Ok(ScalarValue::Float64(None));
        };
        if !(0.0..=1.0).contains(&fraction) {
            return Err(DataFusionError::Execution(format!(
                "percentile value {fraction} is not between 0 and 1"
            )));
        }
        let rank = (fraction * self.values.len() as f64).ceil().max(1.0);
        let value = self.values.get(rank as usize - 1);
        Ok(ScalarValue::Float64(value.copied()))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.values.capacity() * size_of::<f64>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values: Vec<ScalarValue> = self
            .values
            .iter()
            .map(|value| ScalarValue::Float64(Some(*value)))
            .collect();
        Ok(vec![
            ScalarValue::List(ScalarValue::new_list_nullable(&values, &DataType::Float64)),
            ScalarValue::Float64(self.fraction),
        ])
    }

    fn merge_batch(&mut self, states: &[datafusion::arrow::array::ArrayRef]) -> Result<()> {
        if let [values, fraction] = states {
            let lists = datafusion::common::cast::as_list_array(values)?;
            for list in lists.iter().flatten() {
                self.add(&list)?;
            }
            self.set_fraction(fraction)?;
        }
        Ok(())
    }
}
