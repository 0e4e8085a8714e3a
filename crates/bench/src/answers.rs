//! The table of answers: the bytes of results on their way back to the key owner. Every answer is decrypted and
//! compared with the readings.

use tfhe_sbc_columns::{Progress, Server};
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_query::Question;
use tfhe_sbc_query::evaluate::evaluate;
use tfhe_sbc_query::request::Request;
use tfhe_sbc_query::results::{AnswerValue, Decryption, Results};

use crate::columns::year;
use crate::error::BenchError;
use crate::keys::Keys;
use crate::report::{Row, Unit};

/// All rows.
pub(crate) fn rows() -> Result<Vec<Row>, BenchError> {
    let keys = Keys::<u64>::generate(MESSAGE_2_CARRY_2)?;
    let (parameters, fingerprint) = (*keys.parameters(), keys.secret.fingerprint());
    let metadata = year::metadata(&parameters)?;
    let readings = year::readings();
    let upload = year::upload(&keys.secret, &metadata, &readings)?;
    let server = Server::new(keys.server);
    let wrong = |what: &dyn std::fmt::Display| BenchError::WrongAnswer(what.to_string());
    let answer = |text: &str| -> Result<(usize, AnswerValue), BenchError> {
        let question: Question = text.parse().map_err(|error| wrong(&error))?;
        let request = Request::seal(&[question], &metadata, &parameters, fingerprint, None);
        let request = request.map_err(|error| wrong(&error))?;
        let evaluated = evaluate(&server, &[&upload], &request, 0, &Progress::default());
        let (result, _) = evaluated.map_err(|error| wrong(&error))?;
        let answers = Results::decrypt(&result, &keys.secret).and_then(Decryption::all);
        let answers = answers.map_err(|error| wrong(&error))?;
        let first = answers.into_iter().next();
        let first = first.ok_or_else(|| wrong(&"no answer"))?;
        Ok((result.len(), first.value))
    };
    let [a, b, ..] = &readings;
    let (mean_bytes, mean) = answer("mean(c10)")?;
    let expected = a.iter().sum::<f64>() / a.len() as f64;
    match mean {
        AnswerValue::Number { value, .. } if (value - expected).abs() < 1e-9 => {}
        other => return Err(wrong(&format!("{other:?}, not {expected}"))),
    }
    let (score_bytes, scores) = answer("score(2 * c10 - c7)")?;
    let expected = a.iter().zip(b).map(|(a, b)| 2.0 * a - b);
    match scores {
        AnswerValue::Scores { rows, .. } if rows.iter().map(|row| row.value).eq(expected) => {}
        _ => return Err(wrong(&"scores of a year")),
    }
    let bytes = |name: &str, bytes: usize, note: &str| {
        let note = format!("The result of {note} a year of hourly readings, in one upload");
        Row::figures(name, Unit::Bytes, bytes as f64, None, note)
    };
    Ok(vec![
        bytes("year_mean_answer_bytes", mean_bytes, "the mean of"),
        bytes(
            "year_score_answer_bytes",
            score_bytes,
            "a weighted sum of two columns in each row of",
        ),
    ])
}
