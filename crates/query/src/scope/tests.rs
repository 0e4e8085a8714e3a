use super::*;

fn labels(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

fn moment(text: &str) -> Moment {
    text.parse().unwrap()
}

/// Two uploads of `hill`, the second of which came late, and one of `lake`.
fn stored() -> Vec<(Option<&'static str>, Vec<String>)> {
    vec![
        (
            Some("hill"),
            labels(&["2026-11-23T10:00", "2026-11-23T10:30", "2026-11-23T11:00"]),
        ),
        (
            Some("lake"),
            labels(&["2026-11-23T10:15Z", "2026-11-23T11:15Z"]),
        ),
        (
            Some("hill"),
            labels(&["2026-11-23T09:59:59", "2026-11-23T10:30:00"]),
        ),
    ]
}

fn rows<'a>(uploads: &'a [(Option<&'static str>, Vec<String>)]) -> Vec<UploadRows<'a>> {
    let each = uploads.iter();
    each.map(|(device, labels)| UploadRows {
        device: *device,
        labels,
    })
    .collect()
}

/// The keys and rows of the groups of a scope.
fn groups(scope: Scope) -> Vec<(String, Vec<usize>)> {
    let stored = stored();
    let scoped = scope.of(&rows(&stored)).unwrap();
    let groups = scoped.groups.into_iter();
    groups
        .map(|group| {
            let name = group.key.map(|key| key.to_string());
            (name.unwrap_or_default(), group.rows)
        })
        .collect()
}

#[test]
fn rows_are_selected_one_by_one() {
    let all = Scope::default();
    assert_eq!(groups(all), [(String::new(), vec![0, 1, 2, 3, 4, 5, 6])]);
    let since = Scope {
        since: Some(moment("2026-11-23T10:15")),
        ..all
    };
    assert_eq!(groups(since)[0].1, [1, 2, 3, 4, 6]);
    let between = Scope {
        until: Some(moment("2026-11-23T11:00")),
        ..since
    };
    assert_eq!(groups(between)[0].1, [1, 3, 6]);
    let newest = Scope {
        newest: Some(1),
        ..all
    };
    assert_eq!(groups(newest)[0].1, [2, 4]);
    let newest = Scope {
        newest: Some(2),
        ..between
    };
    assert_eq!(groups(newest)[0].1, [1, 3, 6]);
}

#[test]
fn groups_have_a_device_and_a_period() {
    let by = |text: &str| Scope {
        by: text.parse().unwrap(),
        ..Scope::default()
    };
    let named = |list: &[(&str, &[usize])]| -> Vec<(String, Vec<usize>)> {
        let each = list.iter();
        each.map(|(name, rows)| ((*name).to_owned(), rows.to_vec()))
            .collect()
    };
    assert_eq!(
        groups(by("device")),
        named(&[("hill", &[0, 1, 2, 5, 6]), ("lake", &[3, 4])])
    );
    assert_eq!(
        groups(by("hour")),
        named(&[
            ("2026-11-23T09:00:00Z", &[5]),
            ("2026-11-23T10:00:00Z", &[0, 1, 3, 6]),
            ("2026-11-23T11:00:00Z", &[2, 4]),
        ])
    );
    assert_eq!(
        groups(by("device,week")),
        named(&[
            ("hill 2026-11-23T00:00:00Z", &[0, 1, 2, 5, 6]),
            ("lake 2026-11-23T00:00:00Z", &[3, 4])
        ])
    );
}

#[test]
fn the_latest_row_is_that_of_the_latest_moment() {
    let stored = stored();
    let scope = Scope {
        by: "device".parse().unwrap(),
        ..Scope::default()
    };
    let scoped = scope.of(&rows(&stored)).unwrap();
    let ends: Vec<_> = scoped
        .groups
        .iter()
        .map(|group| (group.rows[group.earliest], group.rows[group.latest]))
        .collect();
    assert_eq!(ends, [(5, 2), (3, 4)]);
    // Rows without times are in the order in which they were stored.
    let plain = labels(&["a", "b", "c"]);
    let upload = UploadRows {
        device: None,
        labels: &plain,
    };
    let scoped = Scope::default().of(&[upload]).unwrap();
    let group = &scoped.groups[0];
    assert_eq!((group.earliest, group.latest, &group.key), (0, 2, &None));
    assert_eq!(scoped.about.span, None);
}

#[test]
fn an_answer_says_what_it_is_about() {
    let stored = stored();
    let uploads = rows(&stored);
    let scope = Scope {
        since: Some(moment("2026-11-23T10:00")),
        ..Scope::default()
    };
    let scoped = scope.of(&uploads).unwrap();
    let device = |name: &str, rows, uploads| AboutDevice {
        name: Some(name.to_owned()),
        rows,
        uploads,
    };
    let about = About {
        devices: vec![device("hill", 4, 2), device("lake", 2, 1)],
        span: Some(Span {
            first: moment("2026-11-23T10:00"),
            last: moment("2026-11-23T11:15"),
        }),
        rows: 6,
        uploads: 3,
        repeated: 1,
    };
    assert_eq!(scoped.about, about);
    let labels = scoped.groups[0].labels(&uploads);
    assert_eq!(labels[0], "hill 2026-11-23T10:00");
    assert_eq!(labels[3], "lake 2026-11-23T10:15Z");
    let alone = Scope {
        by: "device".parse().unwrap(),
        ..scope
    };
    let scoped = alone.of(&uploads).unwrap();
    assert_eq!(scoped.groups[1].labels(&uploads)[0], "2026-11-23T10:15Z");
}

#[test]
fn scopes_without_rows_times_or_devices_are_refused() {
    let stored = stored();
    let uploads = rows(&stored);
    let all = Scope::default();
    let future = Scope {
        since: Some(moment("2030-01-01")),
        ..all
    };
    let error = future.of(&uploads).unwrap_err().to_string();
    assert!(
        error.contains("none of the 7 rows") && error.contains("2026-11-23T09:59:59Z to"),
        "{error}"
    );
    let reversed = Scope {
        until: Some(moment("2029-01-01")),
        ..future
    };
    assert!(matches!(reversed.check(), Err(ScopeError::Reversed { .. })));
    let zero = Scope {
        newest: Some(0),
        ..all
    };
    assert_eq!(zero.check(), Err(ScopeError::NoneNewest));
    let plain = labels(&["2026-11-23T10:00", "7"]);
    let unnamed = [UploadRows {
        device: None,
        labels: &plain,
    }];
    for scope in [
        future,
        Scope {
            newest: Some(1),
            ..all
        },
        Scope {
            by: "15m".parse().unwrap(),
            ..all
        },
    ] {
        let error = scope.of(&unnamed).unwrap_err();
        assert_eq!(
            error,
            ScopeError::NoTime {
                label: "7".to_owned()
            }
        );
    }
    let by_device = Scope {
        by: "device".parse().unwrap(),
        ..all
    };
    assert_eq!(by_device.of(&unnamed).unwrap_err(), ScopeError::NoDevice);
    let seconds: Vec<String> = (0..=MAX_GROUPS)
        .map(|second| Moment::from_unix_ms(1000 * second as i64).to_string())
        .collect();
    let long = [UploadRows {
        device: None,
        labels: &seconds,
    }];
    let by_second = Scope {
        by: "1s".parse().unwrap(),
        ..all
    };
    assert_eq!(
        by_second.of(&long).unwrap_err(),
        ScopeError::Groups(MAX_GROUPS + 1)
    );
}

#[test]
fn groupings_go_through_text() {
    for text in ["device", "hour", "device,15m", "day", "week", "90s", "2d"] {
        let grouping: Grouping = text.parse().unwrap();
        assert_eq!(grouping.to_string(), text);
    }
    for (text, same) in [
        ("hour,device", "device,hour"),
        ("60m", "hour"),
        ("device, 7d", "device,week"),
    ] {
        let grouping: Grouping = text.parse().unwrap();
        assert_eq!(grouping.to_string(), same);
    }
    for text in ["", "month", "0h", "1ms", "hour,day", "device,device", "5"] {
        assert_eq!(text.parse::<Grouping>(), Err(NoGrouping), "{text}");
    }
}

#[test]
fn periods_begin_as_people_expect() {
    for (period, text, from) in [
        ("hour", "2026-11-23T10:59:59.999Z", "2026-11-23T10:00"),
        ("day", "2026-11-23T10:59", "2026-11-23"),
        // A Monday.
        ("week", "2026-11-29T23:59", "2026-11-23"),
        ("week", "1969-12-31", "1969-12-29"),
        ("15m", "1969-12-31T23:59", "1969-12-31T23:45"),
    ] {
        let period: Period = period.parse().unwrap();
        let (begin, end) = period.around(moment(text));
        assert_eq!(begin, moment(from), "{text}");
        assert_eq!(end.unix_ms() - begin.unix_ms(), period.ms);
    }
}
