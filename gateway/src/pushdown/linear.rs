//! SQL expressions of readings as expressions and conditions of questions.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Between, BinaryExpr, Cast, Expr, Operator, TryCast};
use tfhe_sbc_query::condition::{Condition, Relation, Threshold};
use tfhe_sbc_query::expression::Expression;
use tfhe_sbc_upload::readings::ReadingsMetadata;

/// The columns of a table, as expressions name them and as uploads do.
pub(super) struct Columns<'a> {
    /// The names in SQL and in uploads.
    pub(super) names: &'a [crate::catalogue::TableColumn],
    /// The definitions that thresholds are encoded by.
    pub(super) readings: &'a ReadingsMetadata,
    /// Whether the server may see the constants in conditions.
    pub(super) clear: bool,
}

/// A sum of readings times numbers, plus a number.
struct Sum {
    terms: Vec<(String, f64)>,
    constant: f64,
}

/// Returns the number of a literal.
pub(super) fn number(value: &ScalarValue) -> Option<f64> {
    let number = value.cast_to(&DataType::Float64).ok()?;
    match (value.data_type().is_numeric(), number) {
        (true, ScalarValue::Float64(Some(number))) if number.is_finite() => Some(number),
        _ => None,
    }
}

/// Returns the number that a constant expression is.
pub(super) fn constant(expr: &Expr) -> Option<f64> {
    match expr {
        Expr::Literal(value, _) => number(value),
        Expr::Negative(expr) => constant(expr).map(|number| -number),
        Expr::Alias(alias) => constant(&alias.expr),
        Expr::Cast(Cast { expr, field, .. }) if field.data_type().is_numeric() => constant(expr),
        _ => None,
    }
}

impl Columns<'_> {
    fn sum(&self, expr: &Expr) -> Option<Sum> {
        let of_constant = |constant| Sum {
            terms: Vec::new(),
            constant,
        };
        match expr {
            Expr::Column(column) => {
                let known = self.names.iter().find(|known| known.name == column.name)?;
                Some(Sum {
                    terms: vec![(known.reading.clone(), 1.0)],
                    constant: 0.0,
                })
            }
            Expr::Literal(value, _) => number(value).map(of_constant),
            Expr::Alias(alias) => self.sum(&alias.expr),
            Expr::Negative(expr) => Some(self.sum(expr)?.times(-1.0)),
            Expr::Cast(Cast { expr, field, .. }) | Expr::TryCast(TryCast { expr, field })
                if *field.data_type() == DataType::Float64 =>
            {
                self.sum(expr)
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                let (left, right) = (self.sum(left)?, self.sum(right)?);
                match op {
                    Operator::Plus => Some(left.plus(right)),
                    Operator::Minus => Some(left.plus(right.times(-1.0))),
                    Operator::Multiply if right.terms.is_empty() => {
                        Some(left.times(right.constant))
                    }
                    Operator::Multiply if left.terms.is_empty() => Some(right.times(left.constant)),
                    Operator::Divide if right.terms.is_empty() && right.constant != 0.0 => {
                        Some(left.times(1.0 / right.constant))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Returns the expression of readings that an SQL expression is, if it is a linear one.
    pub(super) fn expression(&self, expr: &Expr) -> Option<Expression> {
        let Sum { terms, constant } = self.sum(expr)?;
        let expression = Expression { terms, constant };
        let is_one = !expression.terms.is_empty() && expression.encoding(self.readings).is_ok();
        is_one.then_some(expression)
    }

    /// Returns the condition on readings that an SQL expression is.
    pub(super) fn condition(&self, expr: &Expr) -> Option<Condition> {
        match expr {
            Expr::Alias(alias) => self.condition(&alias.expr),
            Expr::Not(expr) => Some(Condition::Not(Box::new(self.condition(expr)?))),
            Expr::IsTrue(expr) => self.condition(expr),
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => match op {
                Operator::And => {
                    let parts = [self.condition(left)?, self.condition(right)?];
                    Some(Condition::All(joined(parts, |part| match part {
                        Condition::All(parts) => Ok(parts),
                        other => Err(other),
                    })))
                }
                Operator::Or => {
                    let parts = [self.condition(left)?, self.condition(right)?];
                    Some(Condition::Any(joined(parts, |part| match part {
                        Condition::Any(parts) => Ok(parts),
                        other => Err(other),
                    })))
                }
                _ => self.comparison(left, relation(*op)?, right),
            },
            Expr::Between(Between {
                expr,
                negated,
                low,
                high,
            }) => {
                let both = Condition::All(vec![
                    self.comparison(expr, Relation::Ge, low)?,
                    self.comparison(expr, Relation::Le, high)?,
                ]);
                Some(match negated {
                    true => Condition::Not(Box::new(both)),
                    false => both,
                })
            }
            Expr::InList(InList {
                expr,
                list,
                negated,
            }) => {
                let each = list
                    .iter()
                    .map(|one| self.comparison(expr, Relation::Eq, one));
                let any = Condition::Any(each.collect::<Option<_>>()?);
                Some(match negated {
                    true => Condition::Not(Box::new(any)),
                    false => any,
                })
            }
            _ => None,
        }
    }

    fn comparison(&self, left: &Expr, relation: Relation, right: &Expr) -> Option<Condition> {
        let difference = self.sum(left)?.plus(self.sum(right)?.times(-1.0));
        if difference.terms.is_empty() {
            return None;
        }
        let Sum { terms, constant } = difference;
        // The constant is that of the comparison, so that it can be encrypted.
        let (terms, threshold, relation) = match &terms[..] {
            // A single column is compared as it is.
            [(name, factor)] => {
                let relation = match *factor < 0.0 {
                    true => mirrored(relation),
                    false => relation,
                };
                (vec![(name.clone(), 1.0)], -constant / factor, relation)
            }
            _ => (terms, -constant, relation),
        };
        let of = Expression {
            terms,
            constant: 0.0,
        };
        let (relation, value) = self.fitting(&of, relation, threshold)?;
        let threshold = match self.clear {
            true => Threshold::Clear(value),
            false => Threshold::ToEncrypt(value),
        };
        Some(Condition::Compare {
            of,
            relation,
            threshold,
        })
    }

    /// Returns a comparison with a value that the expression can have, which is true for the same values. An encrypted threshold
    /// has the encoding of what it is compared with.
    fn fitting(&self, of: &Expression, relation: Relation, value: f64) -> Option<(Relation, f64)> {
        let column = of.encoding(self.readings).ok()?;
        let encoding = column.fixed_point().ok()?;
        let (least, most) = (encoding.minimum(), encoding.maximum());
        // What is always true where there is a reading, and what never is.
        let (always, never) = ((Relation::Ge, least), (Relation::Lt, least));
        let steps = (value - column.offset) / column.scale;
        let is_a_step = (steps - steps.round()).abs() < 1e-6;
        Some(match relation {
            Relation::Gt if value >= most => never,
            Relation::Ge if value > most => never,
            Relation::Gt if value < least => always,
            Relation::Ge if value <= least => always,
            Relation::Lt if value > most => always,
            Relation::Le if value >= most => always,
            Relation::Lt if value <= least => never,
            Relation::Le if value < least => never,
            Relation::Eq if value < least || value > most || !is_a_step => never,
            Relation::Ne if value < least || value > most || !is_a_step => always,
            relation => (relation, value),
        })
    }
}

/// Returns the parts of two conditions; `apart` tells those of a condition of the same kind.
fn joined(
    conditions: [Condition; 2],
    apart: impl Fn(Condition) -> Result<Vec<Condition>, Condition>,
) -> Vec<Condition> {
    let parts = conditions
        .into_iter()
        .flat_map(|condition| apart(condition).unwrap_or_else(|condition| vec![condition]));
    parts.collect()
}

fn relation(op: Operator) -> Option<Relation> {
    Some(match op {
        Operator::Lt => Relation::Lt,
        Operator::LtEq => Relation::Le,
        Operator::Gt => Relation::Gt,
        Operator::GtEq => Relation::Ge,
        Operator::Eq => Relation::Eq,
        Operator::NotEq => Relation::Ne,
        _ => return None,
    })
}

/// The relation of the negatives.
fn mirrored(relation: Relation) -> Relation {
    match relation {
        Relation::Lt => Relation::Gt,
        Relation::Le => Relation::Ge,
        Relation::Gt => Relation::Lt,
        Relation::Ge => Relation::Le,
        same => same,
    }
}

impl Sum {
    fn plus(mut self, other: Self) -> Self {
        for (name, weight) in other.terms {
            match self.terms.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum += weight,
                None => self.terms.push((name, weight)),
            }
        }
        self.terms.retain(|(_, weight)| *weight != 0.0);
        self.constant += other.constant;
        self
    }

    fn times(mut self, factor: f64) -> Self {
        for (_, weight) in &mut self.terms {
            *weight *= factor;
        }
        self.terms.retain(|(_, weight)| *weight != 0.0);
        self.constant *= factor;
        self
    }
}
