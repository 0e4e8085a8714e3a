//! Decrypted answers as a table for other programs: a row for each group of rows, and a column for each question.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Map, Value};
use tfhe_sbc_query::results::{AnswerValue, Decryption};
use tfhe_sbc_query::scope::GroupKey;
use tfhe_sbc_upload::moments::Moment;

use super::Format;
use crate::answers;
use crate::report;

/// The answers to all questions about one group; `None` for a question without an answer that can be read.
type Row<'a> = Vec<Option<&'a AnswerValue>>;

/// The table of a decryption.
pub(crate) struct AnswerTable<'a> {
    questions: Vec<&'a str>,
    /// By device and time; `None` is the key of answers about all rows.
    rows: BTreeMap<Option<GroupKey>, Row<'a>>,
}

/// The unit of answers that are one number each.
fn unit<'a>(answers: impl Iterator<Item = &'a AnswerValue>) -> Option<&'a str> {
    let mut units = answers.map(|answer| match answer {
        AnswerValue::Number { unit, .. } => Some(unit.as_str()),
        AnswerValue::Missing {
            row: None, unit, ..
        } => Some(unit.as_str()),
        _ => None,
    });
    let first = units.next()??;
    units.all(|unit| unit == Some(first)).then_some(first)
}

impl<'a> AnswerTable<'a> {
    pub(crate) fn new(decryption: &'a Decryption) -> Self {
        let mut questions: Vec<&str> = Vec::new();
        let mut rows: BTreeMap<Option<GroupKey>, Row<'a>> = BTreeMap::new();
        for answer in &decryption.answers {
            let (name, group, value) = match answer {
                Ok(answer) => (&answer.name, answer.group.as_ref(), Some(&answer.value)),
                Err(unreadable) => (&unreadable.name, unreadable.group.as_deref(), None),
            };
            let row = rows.entry(group.cloned()).or_default();
            // Equal questions are asked as often as they stand there.
            let places = questions.iter().enumerate();
            let mut places = places.filter(|(_, question)| **question == name.as_str());
            let place = places.find(|(place, _)| row.get(*place).is_none_or(Option::is_none));
            let place = match place {
                Some((place, _)) => place,
                None => {
                    questions.push(name);
                    questions.len() - 1
                }
            };
            if row.len() <= place {
                row.resize(place + 1, None);
            }
            if let Some(cell) = row.get_mut(place) {
                *cell = value;
            }
        }
        for row in rows.values_mut() {
            row.resize(questions.len(), None);
        }
        Self { questions, rows }
    }

    pub(crate) fn write(&self, format: Format, to: impl Write) -> io::Result<()> {
        match format {
            Format::Csv => self.write_csv(to),
            Format::Jsonl => self.write_jsonl(to),
            Format::Parquet => Err(io::Error::other("answers are not all numbers")),
        }
    }

    /// Writes CSV. A number stands without its unit, which is in the heading; any other answer is text.
    fn write_csv(&self, to: impl Write) -> io::Result<()> {
        let columns = 0..self.questions.len();
        let column = |place: usize| self.rows.values().filter_map(move |row| *row.get(place)?);
        let units: Vec<Option<&str>> = columns.map(|place| unit(column(place))).collect();
        let mut writer = csv::Writer::from_writer(to);
        for heading in ["device", "from", "until", "rows"] {
            writer.write_field(heading)?;
        }
        for (question, unit) in self.questions.iter().zip(&units) {
            let heading = match unit {
                None | Some("") => report::plain(question),
                Some(unit) => format!("{} [{}]", report::plain(question), report::plain(unit)),
            };
            writer.write_field(heading)?;
        }
        writer.write_record(None::<&[u8]>)?;
        for (group, row) in &self.rows {
            let group = group.as_ref();
            let time = |time: Option<Moment>| time.map(|time| time.to_string()).unwrap_or_default();
            let device = group.and_then(|group| group.device.as_deref());
            writer.write_field(device.unwrap_or_default())?;
            writer.write_field(time(group.and_then(|group| group.from)))?;
            writer.write_field(time(group.and_then(|group| group.until)))?;
            let rows = group.map(|group| group.rows.to_string());
            writer.write_field(rows.unwrap_or_default())?;
            for (answer, unit) in row.iter().zip(&units) {
                let cell = match (answer, unit) {
                    (None | Some(AnswerValue::Missing { row: None, .. }), _) => String::new(),
                    (Some(AnswerValue::Number { value, .. }), Some(_)) => value.to_string(),
                    (Some(answer), _) => answers::text(answer),
                };
                writer.write_field(cell)?;
            }
            writer.write_record(None::<&[u8]>)?;
        }
        writer.flush()
    }

    /// Writes an object for each row, on a line of its own. A number stands without its unit.
    fn write_jsonl(&self, to: impl Write) -> io::Result<()> {
        let mut writer = io::BufWriter::new(to);
        for (group, row) in &self.rows {
            let mut object = match serde_json::to_value(group)? {
                Value::Object(object) => object,
                _ => Map::new(),
            };
            for (question, answer) in self.questions.iter().zip(row) {
                let value = match answer {
                    None | Some(AnswerValue::Missing { row: None, .. }) => Value::Null,
                    Some(AnswerValue::Number { value, .. }) => serde_json::to_value(value)?,
                    Some(answer) => serde_json::to_value(answer)?,
                };
                object.insert((*question).to_owned(), value);
            }
            serde_json::to_writer(&mut writer, &object)?;
            writer.write_all(b"\n")?;
        }
        writer.flush()
    }
}

#[cfg(test)]
mod tests {
    use tfhe_sbc_query::results::Answer;

    use super::*;

    fn answer(name: &str, device: Option<&str>, value: AnswerValue) -> Answer {
        Answer {
            name: name.to_owned(),
            group: device.map(|device| GroupKey {
                device: Some(device.to_owned()),
                rows: 2,
                ..GroupKey::default()
            }),
            value,
            missing: None,
        }
    }

    fn number(value: f64, unit: &str) -> AnswerValue {
        AnswerValue::Number {
            value,
            unit: unit.to_owned(),
        }
    }

    fn written(answers: Vec<Answer>, format: Format) -> String {
        let decryption = Decryption {
            answers: answers.into_iter().map(Ok).collect(),
            bootstraps: 0,
            about: None,
            sanitised: None,
        };
        let mut bytes = Vec::new();
        let table = AnswerTable::new(&decryption);
        table.write(format, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_group_has_a_row_and_a_question_a_column() {
        let answers = || {
            let rows = AnswerValue::Rows(vec!["9:00".to_owned(), "9:10".to_owned()]);
            vec![
                answer("mean(a)", Some("lake"), number(2.5, "m")),
                answer("mean(a)", Some("hill"), number(-1.0, "m")),
                answer("rows(a > 1)", Some("lake"), rows),
            ]
        };
        assert_eq!(
            written(answers(), Format::Csv),
            "device,from,until,rows,mean(a) [m],rows(a > 1)\nhill,,,2,-1,\nlake,,,2,2.5,9:00 9:10\n"
        );
        assert_eq!(
            written(answers(), Format::Jsonl),
            "{\"device\":\"hill\",\"mean(a)\":-1.0,\"rows\":2,\"rows(a > 1)\":null}\n\
             {\"device\":\"lake\",\"mean(a)\":2.5,\"rows\":2,\"rows(a > 1)\":[\"9:00\",\"9:10\"]}\n"
        );
    }

    /// A group without readings does not make texts of the numbers of the others.
    #[test]
    fn a_missing_answer_is_an_empty_cell() {
        let answers = || {
            let missing = AnswerValue::Missing {
                row: None,
                value: (),
                unit: "m".to_owned(),
            };
            vec![
                answer("mean(a)", Some("hill"), number(-1.0, "m")),
                answer("mean(a)", Some("lake"), missing),
            ]
        };
        assert_eq!(
            written(answers(), Format::Csv),
            "device,from,until,rows,mean(a) [m]\nhill,,,2,-1\nlake,,,2,\n"
        );
        assert_eq!(
            written(answers(), Format::Jsonl),
            "{\"device\":\"hill\",\"mean(a)\":-1.0,\"rows\":2}\n{\"device\":\"lake\",\"mean(a)\":null,\"rows\":2}\n"
        );
    }

    #[test]
    fn a_question_that_is_asked_twice_has_two_columns() {
        let answers = vec![
            answer("max(a)", None, number(2.0, "")),
            answer("max(a)", None, number(2.0, "")),
        ];
        assert_eq!(
            written(answers, Format::Csv),
            "device,from,until,rows,max(a),max(a)\n,,,,2,2\n"
        );
    }
}
