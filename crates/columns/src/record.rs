//! Nodes recorded in a circuit: on ciphertexts, or on stand-ins for them.

pub(crate) mod inputs;
mod operators;
mod staged;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use tfhe_sbc_core::encoding::BlockEncoding;
use tfhe_sbc_engine::analytics::AnalyticsError;
use tfhe_sbc_engine::analytics::extremes::{Indexed, Order};
use tfhe_sbc_engine::analytics::rows::Condition;
use tfhe_sbc_engine::circuit::{Block, Circuit};
use tfhe_sbc_engine::integer::{FheBool, FheUint, IntegerError, Unsigned, Width};

use crate::compact::plan::Plan;
use crate::compact::stage::Stage;
use crate::node::{Kind, Logic, Node, Op, PlacePart, WindowFunction};

/// The values of a node in a circuit, row by row.
enum Values {
    Codes(Vec<FheUint>),
    Truths(Vec<FheBool>),
}

type Recording = Result<Values, AnalyticsError>;

/// The first rows of nodes in an order, which the places of rows and the numbers in them share.
type Places = HashMap<(*const Node, Order, usize), Rc<[Indexed<Unsigned>]>>;

/// Records nodes.
pub(crate) struct Recorder<'a> {
    circuit: &'a Circuit,
    plan: &'a Plan,
    stage: &'a Stage,
    /// All inputs are stand-ins, even where there are ciphertexts.
    stand_ins: bool,
    /// Nodes all of whose rows are wanted.
    wanted: HashSet<*const Node>,
    values: HashMap<*const Node, Rc<Values>>,
    places: RefCell<Places>,
    /// The blocks of parts of the plan that several nodes need.
    parts: RefCell<HashMap<usize, Rc<Vec<Vec<Block>>>>>,
    /// The rows that were loaded of columns of which several nodes take some.
    loaded: RefCell<HashMap<*const Node, HashMap<usize, FheUint>>>,
    /// Sums of columns that were begun on polynomials.
    sums: RefCell<HashMap<*const Node, FheUint>>,
}

/// Returns whether an operator loads the part of a radix column that it needs.
pub(crate) fn loads_itself(op: &Op) -> bool {
    match op {
        Op::Sum(of) => {
            is_radix_column(of) || matches!(&*of.op(), Op::Take { of, .. } if is_radix_column(of))
        }
        Op::Take { of, .. } => is_radix_column(of),
        _ => false,
    }
}

fn is_radix_column(node: &Node) -> bool {
    match &*node.op() {
        Op::Load { source, column } => {
            let column = source.metadata.columns.get(*column);
            column.is_some_and(|column| column.compact.is_none())
        }
        _ => false,
    }
}

/// An empty list of rows for each column of which several nodes take some.
fn taken_columns(order: &[Arc<Node>]) -> HashMap<*const Node, HashMap<usize, FheUint>> {
    let mut takers: HashMap<*const Node, u32> = HashMap::new();
    for node in order {
        if let Op::Take { of, .. } = &*node.op()
            && is_radix_column(of)
        {
            *takers.entry(Arc::as_ptr(of)).or_default() += 1;
        }
    }
    let several = takers.into_iter().filter(|(_, takers)| *takers > 1);
    several
        .map(|(column, _)| (column, HashMap::new()))
        .collect()
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(
        circuit: &'a Circuit,
        stand_ins: bool,
        plan: &'a Plan,
        stage: &'a Stage,
    ) -> Self {
        Self {
            circuit,
            plan,
            stage,
            stand_ins,
            wanted: plan.order.iter().map(Arc::as_ptr).collect(),
            values: HashMap::new(),
            places: RefCell::default(),
            parts: RefCell::default(),
            loaded: RefCell::new(taken_columns(&plan.order)),
            sums: RefCell::default(),
        }
    }

    /// Records a node whose operands are recorded.
    pub(crate) fn record(&mut self, node: &Arc<Node>) -> Result<(), AnalyticsError> {
        let values = self.values_of(node)?;
        self.values.insert(Arc::as_ptr(node), Rc::new(values));
        Ok(())
    }

    /// Returns the blocks of a recorded node: digits of each row, or a bit of each.
    pub(crate) fn blocks(&self, node: &Arc<Node>) -> Result<Vec<Block>, AnalyticsError> {
        Ok(match &*self.get(node)? {
            Values::Codes(codes) => {
                let mut blocks = Vec::new();
                self.circuit.side_by_side(codes.len(), |circuit| {
                    for code in codes {
                        blocks.extend(circuit.propagate(code)?.into_blocks());
                    }
                    Ok::<_, IntegerError>(())
                })?;
                blocks
            }
            Values::Truths(truths) => truths.iter().map(|bit| self.circuit.bit(bit)).collect(),
        })
    }

    fn get(&self, node: &Arc<Node>) -> Result<Rc<Values>, AnalyticsError> {
        match self.values.get(&Arc::as_ptr(node)) {
            Some(values) => Ok(Rc::clone(values)),
            // Another thread has computed it since the order was made.
            None if node.is_known() => Ok(Rc::new(self.values_of(node)?)),
            None => Err(AnalyticsError::NoRows),
        }
    }

    fn codes<R>(
        &self,
        node: &Arc<Node>,
        use_them: impl FnOnce(&[FheUint]) -> Result<R, AnalyticsError>,
    ) -> Result<R, AnalyticsError> {
        match &*self.get(node)? {
            Values::Codes(codes) => use_them(codes),
            Values::Truths(_) => Err(AnalyticsError::Integer(IntegerError::Digits)),
        }
    }

    fn truths<R>(
        &self,
        node: &Arc<Node>,
        use_them: impl FnOnce(&[FheBool]) -> Result<R, AnalyticsError>,
    ) -> Result<R, AnalyticsError> {
        match &*self.get(node)? {
            Values::Truths(truths) => use_them(truths),
            Values::Codes(_) => Err(AnalyticsError::Integer(IntegerError::Digits)),
        }
    }

    /// A single code made of all rows of another node.
    fn code_of(
        &self,
        of: &Arc<Node>,
        one: impl FnOnce(&Circuit, &[FheUint]) -> Result<FheUint, AnalyticsError>,
    ) -> Recording {
        self.codes(of, |codes| {
            Ok(Values::Codes(vec![one(self.circuit, codes)?]))
        })
    }

    fn values_of(&self, node: &Arc<Node>) -> Recording {
        let circuit = self.circuit;
        let rows = node.len();
        let width = Width::new(node.bits())?;
        if let Some(way) = self.plan.way(node) {
            return self.staged(node.kind, way, width);
        }
        let op = node.op();
        Ok(match &*op {
            Op::Load { source, column } => {
                Values::Codes(self.load(source, *column, 0..rows, rows)?)
            }
            Op::Sealed(ciphertexts) => {
                // An evaluation brings them under the big key first.
                let places = 0..ciphertexts.len();
                let degree = |place| degree_at(node.kind, circuit.encoding(), place);
                let blocks = places.map(|place| circuit.stand_in(0, degree(place)));
                self.of_blocks(node, blocks.collect())?
            }
            Op::Known(known) => {
                let blocks = known.blocks.iter().map(|block| self.known(block));
                self.of_blocks(node, blocks.collect::<Result<_, _>>()?)?
            }
            // The plan has a way for each of them.
            Op::Compact(_) | Op::Valid { .. } => return Err(AnalyticsError::NoRows),
            Op::Clear(values) => match node.kind {
                Kind::Code(_) => {
                    let codes = values.iter().map(|&code| self.stand_in(code, width));
                    Values::Codes(codes.collect())
                }
                Kind::Truth => {
                    let bits = values.iter().map(|&bit| circuit.stand_in_bool(bit == 1));
                    Values::Truths(bits.collect())
                }
            },
            Op::Public(values) => match node.kind {
                Kind::Code(_) => {
                    let codes = values.iter().map(|&code| circuit.clear(code, width));
                    Values::Codes(codes.collect())
                }
                Kind::Truth => {
                    let bits = values.iter().map(|&bit| circuit.clear_bool(bit == 1));
                    Values::Truths(bits.collect())
                }
            },
            Op::Blocks(of) => match &*self.get(of)? {
                Values::Codes(codes) => Values::Codes(codes.clone()),
                Values::Truths(truths) => Values::Truths(truths.clone()),
            },
            Op::Constant(truth) => Values::Truths(vec![circuit.clear_bool(*truth); rows]),
            Op::Linear { terms, shift } => Values::Codes(self.linear(terms, *shift, rows, width)?),
            Op::Product(a, b) => self.codes(a, |a| {
                self.codes(b, |b| {
                    let product = circuit.side_by_side(rows, |circuit| {
                        let product = |row: usize| {
                            let a: FheUint = circuit.cast(at(a, row), width)?;
                            let b: FheUint = circuit.cast(at(b, row), width)?;
                            circuit.mul(&a, &b)
                        };
                        (0..rows).map(product).collect::<Result<Vec<_>, _>>()
                    })?;
                    Ok(Values::Codes(product))
                })
            })?,
            Op::Take { of, rows } => match &*of.op() {
                Op::Load { source, column } if !self.wanted.contains(&Arc::as_ptr(of)) => {
                    Values::Codes(self.load_some(of, source, *column, rows)?)
                }
                _ => match &*self.get(of)? {
                    Values::Codes(codes) => Values::Codes(picked(codes, rows)),
                    Values::Truths(truths) => Values::Truths(picked(truths, rows)),
                },
            },
            Op::Stack(nodes) => {
                let first = |node| self.codes(node, |codes| Ok(at(codes, 0).clone()));
                Values::Codes(nodes.iter().map(first).collect::<Result<_, _>>()?)
            }
            Op::Select {
                mask,
                then,
                otherwise,
            } => self.truths(mask, |mask| {
                self.codes(then, |then| {
                    self.codes(otherwise, |otherwise| {
                        let chosen = circuit.side_by_side(rows, |circuit| {
                            let select = |row: usize| {
                                circuit.select(at(mask, row), at(then, row), at(otherwise, row))
                            };
                            (0..rows).map(select).collect::<Result<Vec<_>, _>>()
                        })?;
                        Ok(Values::Codes(chosen))
                    })
                })
            })?,
            Op::Keep { of, mask } => self.codes(of, |codes| {
                self.truths(mask, |mask| {
                    Ok(Values::Codes(circuit.keep_where(codes, mask)?))
                })
            })?,
            Op::Sorted { of, order, count } => self.codes(of, |codes| {
                Ok(Values::Codes(circuit.sorted_first(*order, codes, *count)?))
            })?,
            Op::Histogram { of, bins } => self.histogram(of, bins, width)?,
            Op::Extreme { of, order } => {
                self.code_of(of, |circuit, codes| extreme_of(circuit, *order, codes))?
            }
            Op::Place { of, order, part } => {
                let found = self.places(of, *order, rows)?;
                let part = found.iter().map(|found| match part {
                    PlacePart::Index => found.index.clone(),
                    PlacePart::Value => found.value.clone(),
                });
                Values::Codes(part.collect())
            }
            Op::Rank { of, rank } => {
                self.code_of(of, |circuit, codes| circuit.nth_smallest(codes, *rank))?
            }
            Op::Windows {
                of,
                function,
                window,
                first,
            } => self.codes(of, |codes| {
                Ok(Values::Codes(match function {
                    WindowFunction::Extreme(order) => {
                        circuit.window_extremes(*order, codes, *window, *first)?
                    }
                    WindowFunction::Sum => {
                        let sums = circuit.window_sums(codes, *window, *first)?.into_iter();
                        let sums = sums.map(|sum| circuit.resized(sum, width));
                        sums.collect::<Result<_, _>>()?
                    }
                }))
            })?,
            Op::Sum(of) => self.sum(of)?,
            Op::SumOfSquares(of) => self.code_of(of, Circuit::sum_of_squares)?,
            Op::SumOfProducts(a, b) => self.codes(a, |a| {
                self.codes(b, |b| {
                    Ok(Values::Codes(vec![circuit.sum_of_products(a, b)?]))
                })
            })?,
            Op::Count(of) => self.truths(of, |truths| {
                let count = circuit.propagate(&circuit.count(truths)?)?;
                Ok(Values::Codes(vec![count]))
            })?,
            Op::Bits(of) => self.truths(of, |truths| {
                let number = |truth| circuit.integer_of_digits(vec![circuit.bit(truth)], width);
                let numbers = truths.iter().map(number).collect::<Result<_, _>>()?;
                Ok(Values::Codes(numbers))
            })?,
            Op::Compare(comparison, a, b) => self.codes(a, |a| {
                self.codes(b, |b| {
                    Ok(Values::Truths(self.compare(*comparison, a, b, rows)?))
                })
            })?,
            Op::CompareCode(comparison, of, code) => self.codes(of, |codes| {
                let limit: FheUint = circuit.clear(*code, Width::new(of.bits())?);
                let condition = Condition::<Unsigned>::Compare(0, *comparison, limit);
                Ok(Values::Truths(circuit.rows_where(&[codes], &condition)?))
            })?,
            Op::OneOf(of, list) => self.codes(of, |codes| {
                let single = |node| self.codes(node, |codes| Ok(at(codes, 0).clone()));
                let list = list.iter().map(single).collect::<Result<_, _>>()?;
                let condition = Condition::<Unsigned>::OneOf(0, list);
                Ok(Values::Truths(circuit.rows_where(&[codes], &condition)?))
            })?,
            Op::Not(of) => self.truths(of, |truths| {
                Ok(Values::Truths(
                    truths.iter().map(|bit| circuit.not(bit)).collect(),
                ))
            })?,
            Op::Logic(logic, a, b) => self.truths(a, |a| {
                self.truths(b, |b| {
                    let apply = |row: usize| {
                        let (a, b) = (at(a, row), at(b, row));
                        match logic {
                            Logic::And => circuit.and(a, b),
                            Logic::Or => circuit.or(a, b),
                            Logic::Xor => circuit.xor(a, b),
                        }
                    };
                    let applied = (0..rows).map(apply).collect::<Result<Vec<_>, _>>()?;
                    Ok(Values::Truths(applied))
                })
            })?,
            Op::All(of) => {
                self.truths(of, |truths| Ok(Values::Truths(vec![circuit.all(truths)?])))?
            }
            Op::Any(of) => {
                self.truths(of, |truths| Ok(Values::Truths(vec![circuit.any(truths)?])))?
            }
            Op::AllOf(nodes) => self.row_by_row(nodes, rows, |bits| circuit.all(bits))?,
            Op::AnyOf(nodes) => self.row_by_row(nodes, rows, |bits| circuit.any(bits))?,
            Op::Decide { tree, columns } => {
                let columns = columns.iter().map(|column| self.get(column));
                let columns: Vec<Rc<Values>> = columns.collect::<Result<_, _>>()?;
                let columns = all_codes(&columns)?;
                let decided = circuit.side_by_side(rows, |circuit| {
                    let decide = |row: usize| {
                        let row: Vec<FheUint> =
                            columns.iter().map(|codes| at(codes, row).clone()).collect();
                        circuit.decide(tree, &row)
                    };
                    (0..rows).map(decide).collect::<Result<Vec<_>, _>>()
                })?;
                Values::Codes(decided)
            }
        })
    }

    /// The first `count` rows of a node in an order, and the numbers in them.
    fn places(
        &self,
        of: &Arc<Node>,
        order: Order,
        count: usize,
    ) -> Result<Rc<[Indexed<Unsigned>]>, AnalyticsError> {
        let key = (Arc::as_ptr(of), order, count);
        if let Some(found) = self.places.borrow().get(&key) {
            return Ok(Rc::clone(found));
        }
        let found: Rc<[_]> = self
            .codes(of, |codes| {
                Ok(match (count, order) {
                    (1, Order::Ascending) => vec![self.circuit.arg_min(codes)?],
                    (1, Order::Descending) => vec![self.circuit.arg_max(codes)?],
                    _ => self.circuit.sorted_first_indexed(order, codes, count)?,
                })
            })?
            .into();
        self.places.borrow_mut().insert(key, Rc::clone(&found));
        Ok(found)
    }
}

fn all_codes(values: &[Rc<Values>]) -> Result<Vec<&[FheUint]>, AnalyticsError> {
    let codes = values.iter().map(|values| match &**values {
        Values::Codes(codes) => Ok(&codes[..]),
        Values::Truths(_) => Err(AnalyticsError::Integer(IntegerError::Digits)),
    });
    codes.collect()
}

/// Returns the first code in an order.
fn extreme_of(
    circuit: &Circuit,
    order: Order,
    codes: &[FheUint],
) -> Result<FheUint, AnalyticsError> {
    match order {
        Order::Ascending => circuit.min_of(codes),
        Order::Descending => circuit.max_of(codes),
    }
}

/// Returns the largest value of the block of a node that is at `place` among all of them.
pub(crate) fn degree_at(kind: Kind, encoding: BlockEncoding, place: usize) -> u64 {
    let Kind::Code(bits) = kind else {
        return 1;
    };
    let digit = place % encoding.block_count(bits);
    let below = digit as u32 * encoding.message_bits();
    (1 << encoding.message_bits().min(bits - below)) - 1
}

/// Returns the value of a row; a single one is in all rows.
fn at<V>(values: &[V], row: usize) -> &V {
    match values {
        [only] => only,
        _ => &values[row],
    }
}

fn picked<V: Clone>(values: &[V], rows: &[usize]) -> Vec<V> {
    rows.iter().map(|&row| values[row].clone()).collect()
}
