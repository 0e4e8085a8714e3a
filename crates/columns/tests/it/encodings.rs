//! Encodings of results, and what has none.

use tfhe_sbc_columns::{Error, Mask, Number};

use crate::common::{rehearsal, rehearse, table};

#[test]
fn values_are_decimal() {
    let server = rehearsal();
    let values = [12.8, -12.8, 37.6];
    let table = table(&server, &[("t", -50.0, 0.1, 10)], &[values.to_vec()]);
    let t = table.column("t").unwrap();
    let text = |value: tfhe_sbc_columns::Value| value.number().unwrap().to_string();
    assert_eq!(text(rehearse(&server, &t.mean())), "12.533333333333333");
    assert_eq!(text(rehearse(&server, &t.min())), "-12.8");
    assert_eq!(text(rehearse(&server, &t.sum())), "37.6");
    let range = t.max().minus(&t.min()).unwrap();
    assert_eq!(text(rehearse(&server, &range)), "50.4");
    let scaled = t.max().times(0.01).unwrap();
    assert_eq!(text(rehearse(&server, &scaled)), "0.376");
}

#[test]
fn sums_take_the_largest_common_step() {
    let server = rehearsal();
    let columns = [("half", -10.0, 0.5, 4), ("fifth", 0.0, 0.2, 3)];
    let table = table(&server, &columns, &[vec![-10.0], vec![0.0]]);
    let column = |name: &str| table.column(name).unwrap();
    let sum = column("half").plus(column("fifth")).unwrap();
    assert_eq!((sum.scale(), sum.offset(), sum.bits()), (0.1, -10.0, 7));
    let difference = column("half").minus(column("half")).unwrap();
    assert_eq!((difference.scale(), difference.bits()), (0.5, 5));
    // A positive factor and an offset change no code.
    let celsius = column("half").affine(1.8, 32.0).unwrap();
    assert_eq!(
        (celsius.scale(), celsius.offset(), celsius.bits()),
        (0.9, 14.0, 4)
    );
}

#[test]
fn codes_combine_with_whole_factors_that_need_no_common_step() {
    let server = rehearsal();
    let columns = [("a", -4.0, 0.1, 4), ("b", 7.0, 3.0, 3)];
    let values = [vec![-4.0, -3.1, -2.5], vec![7.0, 28.0, 13.0]];
    let table = table(&server, &columns, &values);
    let (a, b) = (table.column("a").unwrap(), table.column("b").unwrap());
    let sum = Number::combined_codes(&[(a, 1001), (b, -3), (a, 0)], 0.25, 2.0).unwrap();
    // Codes are 0, 9, 15 and 0, 7, 2.
    let expected = [
        2.0,
        2.0 + 0.25 * (9009.0 - 21.0),
        2.0 + 0.25 * (15015.0 - 6.0),
    ];
    assert_eq!(rehearse(&server, &sum).numbers().unwrap(), expected);
    assert_eq!((sum.scale(), sum.offset()), (0.25, 2.0 - 0.25 * 21.0));
    let zero = Number::combined_codes(&[(a, 0)], 1.0, 0.0);
    assert!(matches!(zero, Err(Error::ZeroFactor)));
    let wide = Number::combined_codes(&[(a, 1 << 50), (b, 1)], 1.0, 0.0);
    assert!(matches!(wide, Err(Error::Encoding(_))));
    let wider = Number::combined_codes(&[(a, i64::MAX), (b, i64::MIN)], 1.0, 0.0);
    assert!(matches!(wider, Err(Error::TooWide)));
}

#[test]
fn what_has_no_encoding_is_refused_with_advice() {
    let server = rehearsal();
    let columns = [("a", 0.0, 1.0, 40), ("b", 0.0, 0.5, 3), ("c", 0.0, 1e-9, 3)];
    let table = table(
        &server,
        &columns,
        &[vec![0.0; 2], vec![0.0; 2], vec![0.0; 2]],
    );
    let (a, b) = (table.column("a").unwrap(), table.column("b").unwrap());
    let c = table.column("c").unwrap();
    assert!(matches!(a.times(a), Err(Error::TooWide)));
    assert!(matches!(a.times(0.0), Err(Error::ZeroFactor)));
    assert!(matches!(a.affine(f64::NAN, 0.0), Err(Error::NotFinite)));
    assert!(matches!(
        b.add_weighted(a, std::f64::consts::PI),
        Err(Error::NoCommonStep)
    ));
    assert!(matches!(c.add_weighted(a, 1e9), Err(Error::TooFarApart)));
    assert!(matches!(b.public(&[0.3]), Err(Error::NoMultiple(_))));
    assert!(matches!(b.take(&[]), Err(Error::NoRows)));
    assert!(matches!(b.item(2), Err(Error::NoRow { row: 2, rows: 2 })));
    assert!(matches!(
        b.largest(3),
        Err(Error::Count { asked: 3, rows: 2 })
    ));
    assert!(matches!(b.histogram(&[1.0], false), Err(Error::Bins)));
    assert!(matches!(Number::stack(&[b]), Err(Error::Rows(1, 2))));
    assert!(matches!(Mask::all_of(&[]), Err(Error::NoRows)));
    let error = table.column("d").unwrap_err().to_string();
    assert!(error.contains("the columns are a, b, c"), "{error}");
    let other = rehearsal();
    let theirs = crate::common::table(&other, &columns[..1], &[vec![0.0; 2]]);
    let mixed = a.plus(theirs.column("a").unwrap());
    assert!(matches!(mixed, Err(Error::OtherRehearsal)));
}

#[test]
fn values_of_a_rehearsal_are_checked() {
    let server = rehearsal();
    let metadata = crate::common::metadata(&[("a", 0.0, 1.0, 3)], 2);
    let error = server
        .load_clear(metadata.clone(), &[vec![1.0, 9.0]])
        .unwrap_err();
    assert!(
        error.to_string().starts_with("row 2 (1), column 'a'"),
        "{error}"
    );
    assert!(matches!(
        server.load_clear(metadata, &[vec![1.0]]),
        Err(Error::Shape {
            columns: 1,
            rows: 2
        })
    ));
    assert!(matches!(server.load(&[]), Err(Error::RehearsalLoads)));
}
