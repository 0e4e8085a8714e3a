//! The name that somebody may have meant.

/// Returns the candidate that differs least from `name`, if it differs by little: letters that are
/// inserted, removed, replaced or exchanged with their neighbours, upper and lower case alike.
pub fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let most = (name.chars().count() / 3).max(1);
    let lower = name.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| {
            let distance = strsim::osa_distance(&lower, &candidate.to_lowercase());
            (distance, candidate)
        })
        .filter(|&(distance, _)| distance <= most)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Returns what an error adds to the name of something that is not there.
pub fn did_you_mean<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> String {
    nearest(name, candidates).map_or_else(String::new, |near| format!("; did you mean '{near}'?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_errors_are_seen_through() {
        let known = ["temperature_c", "humidity_pct", "min", "mean", "median"];
        for (typed, meant) in [
            ("temprature_c", Some("temperature_c")),
            ("Temperature_C", Some("temperature_c")),
            ("humidty", None),
            ("mena", Some("mean")),
            ("meen", Some("mean")),
            ("medain", Some("median")),
            ("average", None),
        ] {
            assert_eq!(nearest(typed, known), meant, "{typed}");
        }
    }
}
