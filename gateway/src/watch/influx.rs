//! InfluxDB, by its line protocol: labels are tags, numbers are fields. Its second version takes the same requests.

use std::fmt::Write;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use zeroize::Zeroizing;

use super::Delivery;
use super::http::Post;
use crate::answers::Row;
use crate::error::{GatewayError, Outcome};

/// A database of InfluxDB.
pub(super) struct Influx {
    url: String,
    measurement: String,
    authorization: Option<Zeroizing<String>>,
}

impl Influx {
    /// Returns the database of a server. `login` is `USER:PASSWORD` or a token.
    pub(super) fn new(
        server: &str,
        database: &str,
        measurement: &str,
        login: Option<Zeroizing<String>>,
    ) -> Self {
        let authorization = login.map(|login| {
            Zeroizing::new(match login.contains(':') {
                true => format!("Basic {}", BASE64_STANDARD.encode(login.as_bytes())),
                false => format!("Token {}", login.as_str()),
            })
        });
        Self {
            url: format!("{server}/write?db={database}&precision=ns"),
            measurement: measurement.to_owned(),
            authorization,
        }
    }

    /// Returns the request of an answer; none if it has no numbers.
    ///
    /// # Errors
    /// If a value is too large for its column's role.
    pub(super) fn request(&self, delivery: &Delivery) -> Outcome<Option<Post>> {
        let answer = &delivery.answer;
        let rows = answer.taken_apart().map_err(GatewayError::internal)?;
        let asked = answer.asked.unix_ms().saturating_mul(1_000_000);
        let mut body = String::new();
        for row in &rows {
            self.line(&mut body, row, asked);
        }
        Ok((!body.is_empty()).then(|| Post {
            url: self.url.clone(),
            kind: "text/plain; charset=utf-8",
            authorization: self.authorization.clone(),
            body: body.into_bytes(),
        }))
    }

    /// Writes the line of a row; one without a time gets the moment of the question, in nanoseconds since 1970.
    fn line(&self, body: &mut String, row: &Row, asked: i64) {
        if row.values.is_empty() {
            return;
        }
        body.push_str(&self.measurement);
        // The protocol has no empty tags.
        for (name, text) in row.labels.iter().filter(|(_, text)| !text.is_empty()) {
            let _ = write!(body, ",{}={}", escaped(name), escaped(text));
        }
        for (place, (name, value)) in row.values.iter().enumerate() {
            body.push(if place == 0 { ' ' } else { ',' });
            let _ = write!(body, "{}={value}", escaped(name));
        }
        let _ = writeln!(body, " {}", row.time.unwrap_or(asked));
    }
}

/// Escapes a name or a tag. A line cannot hold a line break, which becomes a space.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            ',' | '=' | ' ' => escaped.extend(['\\', letter]),
            '\n' | '\r' => escaped.push_str("\\ "),
            letter => escaped.push(letter),
        }
    }
    // A backslash at the end would escape what follows.
    match escaped.ends_with('\\') {
        true => escaped + "_",
        false => escaped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_a_line() {
        let influx = Influx::new("http://localhost:8086", "db", "means", None);
        let text = |text: &str| text.to_owned();
        let row = Row {
            labels: vec![
                (text("device"), text("a b,c=d\n")),
                (text("room"), String::new()),
            ],
            time: None,
            values: vec![(text("avg"), 20.8), (text("count"), 24.0)],
        };
        let mut body = String::new();
        influx.line(&mut body, &row, 7);
        assert_eq!(body, "means,device=a\\ b\\,c\\=d\\  avg=20.8,count=24 7\n");
    }

    #[test]
    fn logins_are_passwords_or_tokens() {
        let of = |login: &str| {
            let login = Some(Zeroizing::new(login.to_owned()));
            let influx = Influx::new("http://localhost:8086", "db", "means", login);
            influx.authorization.unwrap().to_string()
        };
        assert_eq!(of("me:secret"), "Basic bWU6c2VjcmV0");
        assert_eq!(of("abc=="), "Token abc==");
    }
}
