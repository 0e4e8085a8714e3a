//! The table of answers: the bytes of results on their way back to the key owner, the packing of what
//! bootstraps compute, and the frames of small radios. Every answer is decrypted and compared with what it
//! should be.

mod frames;

use std::time::Duration;

use tfhe_sbc_columns::{Progress, Server};
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::packing::PackingSecret;
use tfhe_sbc_core::parameter_sets::{MESSAGE_2_CARRY_2, packing_of};
use tfhe_sbc_core::wire::packed::PackedList;
use tfhe_sbc_engine::packing_key::{PackingKey, SeededPackingKey};
use tfhe_sbc_engine::server_key::SeededServerKey;
use tfhe_sbc_oracle::packing::{PackingRequest, find};
use tfhe_sbc_query::Question;
use tfhe_sbc_query::evaluate::{Form, evaluate};
use tfhe_sbc_query::request::Request;
use tfhe_sbc_query::results::{
    Answer, AnswerValue, Ciphertexts, Decryption, EncryptedAnswer, Meaning, Results,
};
use tfhe_sbc_upload::fresh_seeds;

use crate::columns::year;
use crate::error::BenchError;
use crate::keys::Keys;
use crate::report::{Row, Unit};
use crate::timing::{Work, interleave};

/// The values of a timed packing: as many as a ciphertext has slots under the default set.
const PACKED: usize = 256;

/// Measures all rows; the timed one on one thread.
pub(crate) fn rows(budget: Duration) -> Result<Vec<Row>, BenchError> {
    let keys = Keys::<u64>::generate(MESSAGE_2_CARRY_2)?;
    let mut rows = linear(&keys)?;
    rows.extend(packed(&keys, budget)?);
    rows.extend(frames::rows(&keys.secret.device_key())?);
    rows.extend(frames::demo()?);
    Ok(rows)
}

fn wrong(what: &dyn std::fmt::Display) -> BenchError {
    BenchError::WrongAnswer(what.to_string())
}

/// Rows about answers that are linear in compact columns.
fn linear(keys: &Keys<u64>) -> Result<Vec<Row>, BenchError> {
    let (parameters, fingerprint) = (*keys.parameters(), keys.secret.fingerprint());
    let metadata = year::metadata(&parameters)?;
    let readings = year::readings();
    let upload = year::upload(&keys.secret, &metadata, &readings)?;
    let server = SeededServerKey::generate(&keys.secret, &mut fresh_seeds()?, &|_| ())?;
    let server = Server::new(server.prepare(&|_| ()));
    let answer = |text: &str| -> Result<(usize, AnswerValue), BenchError> {
        let question: Question = text.parse().map_err(|error| wrong(&error))?;
        let request = Request::seal(&[question], &metadata, &parameters, fingerprint, None);
        let request = request.map_err(|error| wrong(&error))?;
        let (form, progress) = (Form::ForDecryption, Progress::default());
        let evaluated = evaluate(
            &server,
            &[&upload[..]],
            &request,
            form,
            0,
            &progress,
            fresh_seeds,
        );
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
        AnswerValue::Scores { rows, .. }
            if rows.iter().map(|row| row.value).eq(expected.map(Some)) => {}
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

/// Rows about answers that are blocks under the small key.
fn packed(keys: &Keys<u64>, budget: Duration) -> Result<Vec<Row>, BenchError> {
    let (parameters, fingerprint) = (*keys.parameters(), keys.secret.fingerprint());
    let packing = packing_of(&parameters).ok_or_else(|| wrong(&"no packing parameters"))?;
    let seeded = SeededPackingKey::generate(&keys.secret, &packing, &mut fresh_seeds()?)?;
    let key = seeded.prepare();
    let encoding = parameters.block_encoding();
    let block =
        |value: i64| LweCiphertext::trivial(parameters.lwe_dimension(), encoding.encode(value));

    // A year's flags, as many in a block as it has bits: that they are made for the purpose changes neither bytes
    // nor time.
    let labels = year::metadata(&parameters)?.rows;
    let flags: Vec<bool> = (0..labels.len()).map(|row| row % 7 < 3).collect();
    let joined = flags.chunks(encoding.message_bits() as usize).map(|flags| {
        let bits = flags.iter().zip(0..);
        block(bits.map(|(&flag, bit)| i64::from(flag) << bit).sum())
    });
    let joined: Vec<_> = joined.collect();
    let result_bytes = |key: &PackingKey| -> Result<usize, BenchError> {
        let mut ciphertexts: Ciphertexts = joined.clone().into();
        ciphertexts.shorten(&parameters, Some(key));
        let answer = EncryptedAnswer {
            name: "rows(c10 > encrypted)".to_owned(),
            group: None,
            blocks: joined.len() as u32,
            compact: Vec::new(),
            joined: true,
            meaning: Meaning::Rows(labels.clone()),
        };
        let result = Results::new(vec![answer], 0).seal(&parameters, fingerprint, &ciphertexts);
        let result = result.map_err(|error| wrong(&error))?;
        let met = labels.iter().zip(&flags).filter(|(_, met)| **met);
        let met: Vec<String> = met.map(|(label, _)| label.clone()).collect();
        let found = Results::decrypt(&result, &keys.secret).and_then(Decryption::all);
        let found = found.map_err(|error| wrong(&error))?;
        match &found[..] {
            [
                Answer {
                    value: AnswerValue::Rows(rows),
                    ..
                },
            ] if *rows == met => Ok(result.len()),
            _ => Err(wrong(&"rows of a year")),
        }
    };
    let request = PackingRequest::for_long_answers(&parameters);
    let large = find(&parameters, &request).ok_or_else(|| wrong(&"no packing parameters"))?;
    let large_key = SeededPackingKey::generate(&keys.secret, &large, &mut fresh_seeds()?)?;

    let values: Vec<u8> = (0..PACKED).map(|i| (i * 7 % 4) as u8).collect();
    let blocks: Vec<_> = values.iter().map(|&value| block(value.into())).collect();
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let one_thread = one_thread.map_err(|error| wrong(&error))?;
    let secret = PackingSecret::derive(&keys.secret, &packing);
    let mut work = Work {
        name: "pack_us_per_value".to_owned(),
        run: || {
            let list = one_thread.install(|| key.pack(&blocks));
            list.ok_or_else(|| wrong(&"too many blocks"))
        },
        check: |list: PackedList| Ok(secret.decrypt(&list) == values),
    };
    let [timing] = interleave([(&mut work, PACKED)], budget)?;
    let bytes = |name: &str, bytes: usize, note: String| {
        Row::figures(name, Unit::Bytes, bytes as f64, None, note)
    };
    Ok(vec![
        bytes(
            "year_rows_answer_bytes",
            result_bytes(&key)?,
            format!("The result with a flag for each of {} hours", flags.len()),
        ),
        bytes(
            "year_rows_answer_bytes_large_key",
            result_bytes(&large_key.prepare())?,
            "The same with a packing key of `keygen --large-packing`".to_owned(),
        ),
        bytes(
            "packing_key_bytes_large",
            SeededPackingKey::message_len(&parameters, &large),
            format!(
                "That packing key: k = {}, N = {}",
                large.glwe_dimension.0,
                large.polynomial_size.get()
            ),
        ),
        bytes(
            "packing_key_bytes",
            SeededPackingKey::message_len(&parameters, &packing),
            "The packing key in a server key file".to_owned(),
        ),
        Row::microseconds(
            "pack_us_per_value",
            timing,
            1,
            format!("{PACKED} values into one ciphertext, for each of them"),
        ),
    ])
}
