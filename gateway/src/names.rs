//! The names that PostgreSQL would give the columns of a statement.

/// Returns the name that PostgreSQL would give a column of the statement `sql` which DataFusion calls `name`: that of
/// the function for `avg(readings.temperature_c)`, and `other` for an expression that is no function. A name that the statement quotes is
/// an alias, which stays as it is.
pub(crate) fn postgres_name(name: &str, sql: &str, other: &str) -> String {
    let is_word = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let quoted = format!("\"{}\"", name.replace('"', "\"\""));
    if sql.contains(&quoted) {
        return name.to_owned();
    }
    // `f(x) + 1` is no function, though it begins like one, and `Int64(1)` is a constant.
    let call = name.split_once('(').filter(|(function, rest)| {
        is_word(function)
            && !function.starts_with(|first: char| first.is_ascii_uppercase())
            && closing_parenthesis(rest).is_some_and(|place| place + 1 == rest.len())
    });
    match call {
        Some((function, _)) => function.to_owned(),
        None if name.contains(['(', ' ']) => other.to_owned(),
        None => name.rsplit('.').next().unwrap_or(name).to_owned(),
    }
}

/// The place of the parenthesis that closes one before the text.
fn closing_parenthesis(text: &str) -> Option<usize> {
    let mut depth = 1;
    for (place, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(place);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_give_their_names_and_aliases_stay() {
        let sql = "SELECT avg(temperature_c), x AS \"mean (°C)\", y AS \"a.b\" FROM readings";
        for (name, expected) in [
            ("device", "device"),
            ("readings.device", "device"),
            ("avg(readings.temperature_c)", "avg"),
            ("count(*)", "count"),
            ("avg(readings.a + abs(readings.b))", "avg"),
            ("avg(readings.a) + max(readings.b)", "?column?"),
            ("readings.a * Int64(2)", "?column?"),
            ("Int64(1)", "?column?"),
            ("mean (°C)", "mean (°C)"),
            ("a.b", "a.b"),
            ("open(", "?column?"),
        ] {
            assert_eq!(postgres_name(name, sql, "?column?"), expected);
        }
    }
}
