//! The numbers, names and signs of a question's text.

use std::fmt;

use tfhe_sbc_upload::readings::is_column_name;

/// A piece of a question's text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'t> {
    Number(f64),
    Name(&'t str),
    Sign(&'static str),
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(value) => write!(f, "{value}"),
            Self::Name(name) => f.write_str(name),
            Self::Sign(sign) => f.write_str(sign),
        }
    }
}

/// The signs, the longest first.
const SIGNS: [&str; 14] = [
    "<=", ">=", "==", "!=", "<>", "<", ">", "=", "(", ")", ",", "+", "-", "*",
];

pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, len) = if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            (Token::Sign(sign), sign.len())
        } else {
            let word = &rest[..word_len(rest)];
            let token = if first.is_ascii_digit() || first == '.' {
                number(word)?
            } else if is_column_name(word) {
                Token::Name(word)
            } else {
                let shown = if word.is_empty() { rest } else { word };
                return Err(format!("'{shown}' is not a column name"));
            };
            (token, word.len())
        };
        tokens.push(token);
        rest = rest[len..].trim_start();
    }
    Ok(tokens)
}

fn number<'t>(word: &'t str) -> Result<Token<'t>, String> {
    match word.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(Token::Number(value)),
        Ok(_) => Err(format!("'{word}' is not a number")),
        // A name may start with a digit.
        Err(_) if is_column_name(word) && word.contains(char::is_alphabetic) => {
            Ok(Token::Name(word))
        }
        Err(_) => Err(format!("'{word}' is not a number")),
    }
}

/// Returns the length of the number or name that a text starts with.
fn word_len(text: &str) -> usize {
    let is_number = text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let mut before = ' ';
    let end = text.char_indices().find(|&(at, c)| {
        // The sign of an exponent.
        let in_exponent = is_number
            && matches!(c, '+' | '-')
            && matches!(before, 'e' | 'E')
            && text[..at - 1]
                .bytes()
                .all(|b| b.is_ascii_digit() || b == b'.');
        before = c;
        !(c.is_alphanumeric() || matches!(c, '_' | '.') || in_exponent)
    });
    end.map_or(text.len(), |(at, _)| at)
}
