//! The text form of questions:
//!
//! ```text
//! question    = aggregate "(" expression ")"
//!             | ("cov" | "corr" | "dot") "(" expression "," expression ")"
//!             | "percentile" "(" expression "," number ")"
//!             | ("count" | "rows") "(" condition ")"
//!             | "count" "(" expression ")"
//!             | "histogram" "(" expression "," number { "," number } ")"
//!             | ("sort" | "score" | "logistic") "(" expression ")"
//!             | "top_k" "(" expression "," number ")"
//!             | ("rolling_sum" | "rolling_mean" | "rolling_min" | "rolling_max")
//!                   "(" expression "," number ["," number] ")"
//!             | ("cumsum" | "cummin" | "cummax") "(" expression ")"
//!             | ("shift" | "diff") "(" expression ["," ["-"] number] ")"
//!             | "tree" "(" file ")"
//! aggregate   = "min" | "max" | "range" | "argmin" | "argmax" | "sum" | "mean" | "variance"
//!             | "std" | "sample_variance" | "sample_std" | "median"
//! condition   = conjunction { "or" conjunction }
//! conjunction = negation { "and" negation }
//! negation    = "not" negation | "(" condition ")" | comparison
//! comparison  = expression ("<" | "<=" | ">" | ">=" | "==" | "=" | "!=" | "<>")
//!                   (expression | encrypted)
//!             | expression ["not"] "between" threshold "and" threshold
//!             | expression ["not"] "in" "(" threshold { "," threshold } ")"
//! threshold   = ["-"] number | encrypted
//! encrypted   = "encrypted" "(" ["-"] number ")"
//! expression  = ["-"] term { ("+" | "-") term }
//! term        = column | number | number "*" column | column "*" number
//! ```
//!
//! Names of functions, and the words of conditions, may be in capitals. Several levels of
//! parentheses are allowed around conditions, none in expressions.

mod token;

use std::str::FromStr;

use tfhe_sbc_columns::nearest::did_you_mean;
use thiserror::Error;

use crate::condition::{Condition, Relation, Threshold};
use crate::error::MAX_DEPTH;
use crate::expression::Expression;
use crate::tree::Tree;
use crate::{Aggregate, Ordered, Pair, Question, Window};
use token::{Token, tokens};

/// A text that is not a question.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "'{text}' is not a question: {reason}. Questions look like min(column), mean(column), \
     count(column > 20), rows(a > 20 and b <= encrypted(40))"
)]
pub struct ParseError {
    text: String,
    reason: String,
}

impl Question {
    /// Parses a question. `read` returns the contents of files that the text names.
    pub fn parse(
        text: &str,
        read: impl FnOnce(&str) -> Result<String, String>,
    ) -> Result<Self, ParseError> {
        question(text.trim(), read).map_err(|reason| ParseError {
            text: text.to_owned(),
            reason,
        })
    }
}

impl FromStr for Question {
    type Err = ParseError;

    /// Parses a question that names no files.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse(text, |_| Err("no files are read here".to_owned()))
    }
}

/// The functions that are not aggregates.
const OTHER_FUNCTIONS: [&str; 8] = [
    "percentile",
    "rows",
    "histogram",
    "sort",
    "top_k",
    "score",
    "logistic",
    "tree",
];

fn question(
    text: &str,
    read: impl FnOnce(&str) -> Result<String, String>,
) -> Result<Question, String> {
    let (function, inside) = text
        .split_once('(')
        .and_then(|(name, rest)| Some((name.trim(), rest.strip_suffix(')')?)))
        .ok_or("it has no function and parentheses")?;
    let function = function.to_ascii_lowercase();
    if function == "tree" {
        let file = inside.trim();
        let json = read(file).map_err(|error| format!("{file}: {error}"))?;
        let tree = Tree::from_json(file, &json).map_err(|error| format!("{file}: {error}"))?;
        return Ok(Question::Tree(tree));
    }
    let aggregate = Aggregate::ALL.iter().find(|(_, name)| *name == function);
    let others = || {
        let pairs = Pair::ALL.iter().map(|(_, name)| *name);
        let others = OTHER_FUNCTIONS.into_iter().chain(Ordered::NAMES);
        others.chain(pairs)
    };
    if aggregate.is_none() && !others().any(|name| name == function) {
        let aggregates = Aggregate::ALL.iter().map(|(_, name)| *name);
        let known: Vec<&str> = aggregates.chain(others()).collect();
        return Err(format!(
            "there is no function '{function}'{} There are {}",
            match did_you_mean(&function, known.iter().copied()) {
                hint if hint.is_empty() => ".".to_owned(),
                hint => hint,
            },
            known.join(", ")
        ));
    }
    let mut parser = Parser::new(inside)?;
    let question = parser.arguments(&function, aggregate.map(|(aggregate, _)| *aggregate))?;
    parser.end()?;
    Ok(question)
}

/// Parses a condition.
pub(super) fn condition(text: &str) -> Result<Condition, String> {
    let mut parser = Parser::new(text)?;
    let condition = parser.condition(1)?;
    parser.end()?;
    Ok(condition)
}

/// The words that stand between expressions.
const WORDS: [&str; 6] = ["and", "or", "not", "between", "in", "encrypted"];

struct Parser<'t> {
    tokens: Vec<Token<'t>>,
    at: usize,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Result<Self, String> {
        Ok(Self {
            tokens: tokens(text)?,
            at: 0,
        })
    }

    fn peek(&self) -> Option<Token<'t>> {
        self.tokens.get(self.at).copied()
    }

    /// Takes a sign or a word if it is next.
    fn take(&mut self, text: &str) -> bool {
        let is_next = match self.peek() {
            Some(Token::Sign(sign)) => sign == text,
            Some(Token::Name(name)) => WORDS.contains(&text) && name.eq_ignore_ascii_case(text),
            _ => false,
        };
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, text: &str) -> Result<(), String> {
        match self.take(text) {
            true => Ok(()),
            false => Err(format!("'{text}' is expected {}", self.place())),
        }
    }

    fn place(&self) -> String {
        match self.peek() {
            Some(token) => format!("before '{token}'"),
            None => "at the end".to_owned(),
        }
    }

    fn end(&self) -> Result<(), String> {
        match self.peek() {
            None => Ok(()),
            Some(Token::Sign(",")) => Err("it has too many arguments".to_owned()),
            Some(token) => Err(format!("'{token}' is too much")),
        }
    }

    fn arguments(
        &mut self,
        function: &str,
        aggregate: Option<Aggregate>,
    ) -> Result<Question, String> {
        if let Some(Aggregate::Count) = aggregate {
            // Of values, and not of rows that meet a condition.
            let begin = self.at;
            match self.expression() {
                Ok(of) if self.peek().is_none() && !of.terms.is_empty() => {
                    return Ok(Question::Aggregate(Aggregate::Count, of));
                }
                _ => self.at = begin,
            }
        }
        if let "count" | "rows" = function {
            let condition = self.condition(1)?;
            return Ok(match function {
                "count" => Question::Count(condition),
                _ => Question::Rows(condition),
            });
        }
        let of = self.expression()?;
        if of.terms.is_empty() {
            return Err(format!("{function} is of a column, not of a number"));
        }
        if let Some(aggregate) = aggregate {
            return Ok(Question::Aggregate(aggregate, of));
        }
        if let Some((pair, name)) = Pair::ALL.iter().find(|(_, name)| *name == function) {
            if !self.take(",") {
                return Err(format!("it lacks a second column, as in {name}(a, b)"));
            }
            let other = self.expression()?;
            return match other.terms.is_empty() {
                true => Err(format!("{name} is of two columns, not of a number")),
                false => Ok(Question::Pair(*pair, of, other)),
            };
        }
        Ok(match function {
            "sort" => Question::Sort(of),
            "score" => Question::Score(of),
            name if Ordered::NAMES.contains(&name) => Question::Ordered(self.ordered(name)?, of),
            "logistic" => Question::Logistic(of),
            "percentile" => {
                let percent = self.argument("a percentage, as in percentile(column, 95)")?;
                if !(0.0..=100.0).contains(&percent) {
                    return Err(format!("{percent} is no percentage from 0 to 100"));
                }
                Question::Percentile(of, percent)
            }
            "top_k" => {
                let count = self.argument("how many, as in top_k(column, 3)")?;
                if count < 1.0 || count.fract() != 0.0 || count > f64::from(u32::MAX) {
                    return Err(format!("{count} is no number of rows"));
                }
                Question::TopK(of, count as u32)
            }
            _ => {
                let edges = "the edges of bins, as in histogram(column, 0, 10, 20)";
                let mut list = vec![self.argument(edges)?, self.argument(edges)?];
                while self.peek().is_some() {
                    list.push(self.argument(edges)?);
                }
                if let Some(pair) = list.windows(2).find(|pair| pair[0] >= pair[1]) {
                    return Err(format!(
                        "its bins overlap: {} is not above {}",
                        pair[1], pair[0]
                    ));
                }
                Question::Histogram(of, list)
            }
        })
    }

    /// Parses the arguments of a function of rows in their order, behind the expression.
    fn ordered(&mut self, function: &str) -> Result<Ordered, String> {
        let whole = |number: f64| match number.fract() == 0.0 && number.abs() < f64::from(i32::MAX)
        {
            true => Ok(number as i32),
            false => Err(format!("{number} is no number of rows")),
        };
        let count = |number: f64| match number >= 1.0 {
            true => whole(number).map(i32::unsigned_abs),
            false => Err(format!(
                "{number} is no number of rows: a window has 1 row or more"
            )),
        };
        let function = match function {
            "cumsum" => Ordered::Cumsum,
            "cummin" => Ordered::Cummin,
            "cummax" => Ordered::Cummax,
            "shift" | "diff" => {
                let rows = match self.peek() {
                    None => 1,
                    Some(_) => whole(self.argument("a number of rows, as in shift(column, 1)")?)?,
                };
                match function {
                    "shift" => Ordered::Shift(rows),
                    _ => Ordered::Diff(rows),
                }
            }
            rolling => {
                let what = format!("the rows of a window, as in {rolling}(column, 24)");
                let rows = count(self.argument(&what)?)?;
                let min_periods = match self.peek() {
                    None => None,
                    Some(_) => Some(count(self.argument("how many values a window needs")?)?),
                };
                let window = Window { rows, min_periods };
                Ordered::of_window(rolling, window).ok_or("there is no such function of windows")?
            }
        };
        function.check().map_err(|error| error.to_string())?;
        Ok(function)
    }

    /// Parses a number after a comma.
    fn argument(&mut self, what: &str) -> Result<f64, String> {
        match self.take(",") {
            true => self.number(),
            false => Err(format!("it lacks {what}")),
        }
    }

    fn condition(&mut self, depth: usize) -> Result<Condition, String> {
        let mut list = vec![self.conjunction(depth)?];
        while self.take("or") {
            list.push(self.conjunction(depth)?);
        }
        Ok(one_or(list, Condition::Any))
    }

    fn conjunction(&mut self, depth: usize) -> Result<Condition, String> {
        let mut list = vec![self.negation(depth)?];
        while self.take("and") {
            list.push(self.negation(depth)?);
        }
        Ok(one_or(list, Condition::All))
    }

    fn negation(&mut self, depth: usize) -> Result<Condition, String> {
        if depth > MAX_DEPTH {
            return Err(format!("it is nested more than {MAX_DEPTH} deep"));
        }
        if self.take("not") {
            return Ok(Condition::Not(Box::new(self.negation(depth + 1)?)));
        }
        if self.take("(") {
            let condition = self.condition(depth + 1)?;
            self.expect(")")?;
            return Ok(condition);
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Result<Condition, String> {
        let of = self.expression()?;
        let negated = self.take("not");
        let condition = if self.take("between") {
            let low = self.threshold()?;
            self.expect("and")?;
            let high = self.threshold()?;
            Condition::Between { of, low, high }
        } else if self.take("in") {
            self.expect("(")?;
            let mut values = vec![self.threshold()?];
            while self.take(",") {
                values.push(self.threshold()?);
            }
            self.expect(")")?;
            Condition::In { of, values }
        } else if negated {
            return Err(format!("'between' or 'in' is expected {}", self.place()));
        } else {
            return self.relation(of);
        };
        if let Condition::Between { of, .. } | Condition::In { of, .. } = &condition
            && of.terms.is_empty()
        {
            return Err("a condition is on a column, not on a number".to_owned());
        }
        Ok(match negated {
            true => Condition::Not(Box::new(condition)),
            false => condition,
        })
    }

    fn relation(&mut self, left: Expression) -> Result<Condition, String> {
        let relation = match self.peek() {
            Some(Token::Sign(sign)) => Relation::of_sign(sign),
            _ => None,
        };
        let relation =
            relation.ok_or_else(|| format!("'{left}' has no comparison {}", self.place()))?;
        self.at += 1;
        if let Some(Token::Name(name)) = self.peek()
            && name.eq_ignore_ascii_case("encrypted")
        {
            let threshold = self.threshold()?;
            return compare(left, relation, threshold);
        }
        let right = self.expression()?;
        match (left.terms.is_empty(), right.terms.is_empty()) {
            (_, true) => compare(left, relation, Threshold::Clear(right.constant)),
            (true, false) => compare(right, relation.flipped(), Threshold::Clear(left.constant)),
            // Columns to the left, numbers to the right.
            (false, false) => {
                let threshold = right.constant - left.constant;
                let mut of = left;
                of.add(&right, -1.0);
                of.constant = 0.0;
                compare(of, relation, Threshold::Clear(threshold))
            }
        }
    }

    fn threshold(&mut self) -> Result<Threshold, String> {
        if !self.take("encrypted") {
            return Ok(Threshold::Clear(self.number()?));
        }
        self.expect("(")?;
        let value = self.number()?;
        if !self.take(")") {
            return Err("'encrypted(' is not closed".to_owned());
        }
        Ok(Threshold::ToEncrypt(value))
    }

    fn number(&mut self) -> Result<f64, String> {
        let negative = self.take("-");
        match self.peek() {
            Some(Token::Number(value)) => {
                self.at += 1;
                Ok(if negative { -value } else { value })
            }
            Some(token) => Err(format!("'{token}' is not a number")),
            None => Err("a number is expected at the end".to_owned()),
        }
    }

    fn expression(&mut self) -> Result<Expression, String> {
        let mut sum = Expression::default();
        let mut factor = if self.take("-") { -1.0 } else { 1.0 };
        loop {
            sum.add(&self.term()?, factor);
            factor = if self.take("+") {
                1.0
            } else if self.take("-") {
                -1.0
            } else {
                return Ok(sum);
            };
        }
    }

    fn term(&mut self) -> Result<Expression, String> {
        let of_number = |constant: f64| Expression {
            terms: Vec::new(),
            constant,
        };
        let first = self.factor()?;
        if !self.take("*") {
            return Ok(match first {
                Factor::Number(value) => of_number(value),
                Factor::Column(name) => Expression::from(name),
            });
        }
        let (name, weight) = match (first, self.factor()?) {
            (Factor::Number(weight), Factor::Column(name))
            | (Factor::Column(name), Factor::Number(weight)) => (name, weight),
            (Factor::Number(a), Factor::Number(b)) => return Ok(of_number(a * b)),
            (Factor::Column(a), Factor::Column(b)) => {
                return Err(format!("'{a} * {b}' multiplies columns: use numbers only"));
            }
        };
        let mut term = Expression::default();
        term.add(&Expression::from(name), weight);
        Ok(term)
    }

    fn factor(&mut self) -> Result<Factor<'t>, String> {
        match self.peek() {
            Some(Token::Number(value)) => {
                self.at += 1;
                Ok(Factor::Number(value))
            }
            Some(Token::Name(name))
                if !WORDS.iter().any(|word| name.eq_ignore_ascii_case(word)) =>
            {
                self.at += 1;
                Ok(Factor::Column(name))
            }
            _ => Err(format!("a column or a number is expected {}", self.place())),
        }
    }
}

enum Factor<'t> {
    Number(f64),
    Column(&'t str),
}

fn one_or(mut list: Vec<Condition>, many: fn(Vec<Condition>) -> Condition) -> Condition {
    match (list.len(), list.pop()) {
        (1, Some(only)) => only,
        (_, last) => {
            list.extend(last);
            many(list)
        }
    }
}

fn compare(of: Expression, relation: Relation, threshold: Threshold) -> Result<Condition, String> {
    if of.terms.is_empty() {
        return Err("a condition compares a column, not two numbers".to_owned());
    }
    Ok(Condition::Compare {
        of,
        relation,
        threshold,
    })
}

#[cfg(test)]
mod tests;
