use super::*;

#[test]
fn terms_go_through_the_query_of_a_url() {
    let terms = Terms {
        names: "hill,lake-*".parse().unwrap(),
        every: "1h".parse().unwrap(),
        grace: "10m".parse().unwrap(),
        since: Some("2026-11-23".parse().unwrap()),
        until: Some("2027-01-01".parse().unwrap()),
        keep: Some("5y".parse().unwrap()),
    };
    let query = terms.to_query();
    assert_eq!(
        query,
        "?every=1h&device=hill,lake-*&since=2026-11-23T00:00:00Z&until=2027-01-01T00:00:00Z&grace=10m&keep=5y"
    );
    assert_eq!(Terms::from_query(&query[1..]), Ok(terms));
    let least = Terms::from_query("every=15m").unwrap();
    assert_eq!((least.grace.0, least.keep), (GRACE, None));
    let filter = PeriodFilter {
        since: Some("2026-11-23".parse().unwrap()),
        limit: Some(5),
        ..PeriodFilter::default()
    };
    assert_eq!(filter.to_query(), "?since=2026-11-23T00:00:00Z&limit=5");
    let query = filter.to_query();
    assert_eq!(PeriodFilter::from_query(&query[1..]), Ok(filter));
    assert_eq!(PeriodFilter::default().to_query(), "");
}

#[test]
fn what_are_no_terms_is_refused() {
    for (query, words) in [
        ("", "has a period"),
        ("every=often", "a number and a unit"),
        ("every=1h&keep=ever", "a number and a unit"),
        ("every=1h&device=a%20b", "letters, digits"),
        ("every=1h&since=monday", "since: times are like"),
        ("every=1h&newest=1", "no term 'newest'"),
        (
            "every=1h&since=2026-11-24&until=2026-11-23",
            "is not before",
        ),
    ] {
        let error = Terms::from_query(query).unwrap_err().to_string();
        assert!(error.contains(words), "{query}: {error}");
    }
    let error = PeriodFilter::from_query("device=a").unwrap_err();
    assert!(error.to_string().contains("no filter 'device'"), "{error}");
}

#[test]
fn names_have_no_path_in_them() {
    for text in ["hourly", "a.b-c_1", "7"] {
        assert_eq!(text.parse::<StandingName>().unwrap().to_string(), text);
    }
    let long = "a".repeat(65);
    for text in ["", ".", "..", "-a", "a/b", "a b", "ä", &long] {
        assert_eq!(text.parse::<StandingName>(), Err(NoStandingName), "{text}");
    }
}

#[test]
fn a_period_has_a_usual_name() {
    for (every, name) in [
        ("1h", "hourly"),
        ("24h", "daily"),
        ("7d", "weekly"),
        ("60s", "every-1m"),
        ("90m", "every-90m"),
        ("1500ms", "every-1500ms"),
    ] {
        let usual = StandingName::usual(every.parse().unwrap());
        assert_eq!(usual.to_string(), name);
        assert_eq!(name.parse(), Ok(usual));
    }
}

#[test]
fn lengths_have_the_largest_unit_that_fits() {
    for (text, shown) in [
        ("1h", "1h"),
        ("60m", "1h"),
        ("90m", "90m"),
        ("1w", "7d"),
        ("365d", "1y"),
        ("0s", "0ms"),
        ("1500ms", "1500ms"),
    ] {
        assert_eq!(text.parse::<Length>().unwrap().to_string(), shown);
    }
}
