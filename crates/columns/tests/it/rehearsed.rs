//! Every operator, rehearsed on random tables, against the same in the clear.

use proptest::prelude::*;
use tfhe_sbc_columns::{Branch, Decision, Error, Mask, Number, Relation, Value, decide};

use crate::common::{rehearsal, rehearse, repetitions, table};

/// Temperatures in tenths from -40, and counts from 0 to 7, of the same rows.
fn rows() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    let row = (0u32..1 << 7, 0u32..8);
    prop::collection::vec(row, 1..7).prop_map(|rows| {
        // In tenths, as they would be written down.
        let a = rows.iter().map(|&(a, _)| (f64::from(a) - 400.0) / 10.0);
        let b = rows.iter().map(|&(_, b)| f64::from(b));
        (a.collect(), b.collect())
    })
}

fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn hundredth(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

proptest! {
    #![proptest_config(repetitions(4))]

    #[test]
    fn operators_are_those_of_the_values((a, b) in rows(), limit in -42i32..-25) {
        let server = rehearsal();
        let columns = [("a", -40.0, 0.1, 7), ("b", 0.0, 1.0, 3)];
        let table = table(&server, &columns, &[a.clone(), b.clone()]);
        let (x, y) = (table.column("a").unwrap(), table.column("b").unwrap());
        let limit = f64::from(limit);
        let both = || a.iter().zip(&b);
        let numbers = |number: Result<Number, Error>| match rehearse(&server, &number.unwrap()) {
            Value::Numbers(numbers) => numbers,
            other => panic!("{other:?}"),
        };
        let truths = |mask: Result<Mask, Error>| match rehearse(&server, &mask.unwrap()) {
            Value::Truths(truths) => truths,
            other => panic!("{other:?}"),
        };
        // Arithmetic: equal to the last digit, for the encodings are decimal.
        let expected: Vec<f64> = both().map(|(a, b)| tenth(a + b)).collect();
        prop_assert_eq!(numbers(x.plus(y)), expected);
        let expected: Vec<f64> = both().map(|(a, b)| tenth(a - b)).collect();
        prop_assert_eq!(numbers(x.minus(y)), expected);
        let expected: Vec<f64> = both().map(|(a, b)| tenth(a * b)).collect();
        prop_assert_eq!(numbers(x.times(y)), expected);
        let expected: Vec<f64> = a.iter().map(|a| hundredth(0.25 * a - 3.0)).collect();
        let quarter = numbers(x.affine(0.25, -3.0));
        prop_assert!(quarter.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 0.006));
        let expected: Vec<f64> = a.iter().map(|a| tenth(1.0 - 2.0 * a)).collect();
        prop_assert_eq!(numbers(x.affine(-2.0, 1.0)), expected);
        // Comparisons.
        for (relation, _) in Relation::ALL {
            let expected: Vec<bool> =
                a.iter().map(|a| relation.comparison().apply(*a, limit)).collect();
            prop_assert_eq!(truths(x.compare(relation, limit)), expected);
            let expected: Vec<bool> =
                both().map(|(a, b)| relation.comparison().apply(a, b)).collect();
            prop_assert_eq!(truths(x.compare(relation, y)), expected);
        }
        let expected: Vec<bool> = b.iter().map(|b| [1.0, 2.0, 5.0].contains(b)).collect();
        prop_assert_eq!(truths(y.one_of(&[5.0, 1.0, 2.0, 2.5])), expected);
        let expected: Vec<bool> = b.iter().map(|b| (2.0..=5.0).contains(b)).collect();
        prop_assert_eq!(truths(y.between(2.0, 5.0)), expected);
        // Truth values.
        let (p, q) = (x.gt(limit).unwrap(), y.lt(3.0).unwrap());
        let of = |a: &f64, b: &f64| (*a > limit, *b < 3.0);
        let expected: Vec<bool> = both().map(|(a, b)| of(a, b)).map(|(p, q)| p && q).collect();
        prop_assert_eq!(&truths(p.and(&q)), &expected);
        prop_assert_eq!(truths(Mask::all_of(&[&p, &q])), expected);
        let expected: Vec<bool> = both().map(|(a, b)| of(a, b)).map(|(p, q)| p || q).collect();
        prop_assert_eq!(&truths(p.or(&q)), &expected);
        prop_assert_eq!(truths(Mask::any_of(&[&p, &q])), expected);
        let expected: Vec<bool> = both().map(|(a, b)| of(a, b)).map(|(p, q)| p != q).collect();
        prop_assert_eq!(truths(p.xor(&q)), expected);
        let held = a.iter().filter(|a| **a > limit).count();
        prop_assert_eq!(rehearse(&server, &p.count()).number(), Some(held as f64));
        prop_assert_eq!(rehearse(&server, &p.any()).truth(), Some(held > 0));
        prop_assert_eq!(rehearse(&server, &p.all()).truth(), Some(held == a.len()));
        prop_assert_eq!(rehearse(&server, &p.negated().count()).number(),
            Some((a.len() - held) as f64));
        // Choices.
        let expected: Vec<f64> = both().map(|(a, b)| if *a > limit { *a } else { *b }).collect();
        prop_assert_eq!(numbers(x.select(&p, y)), expected);
        let expected: Vec<f64> =
            a.iter().map(|a| if *a > limit { *a } else { -40.0 }).collect();
        prop_assert_eq!(numbers(x.select(&p, -40.0)), expected);
        // Trees.
        let nodes = [
            (Decision::Compare(x, Relation::Lt, limit), Branch::Leaf(3), Branch::Node(1)),
            (Decision::Holds(&q), Branch::Leaf(0), Branch::Leaf(5)),
        ];
        let expected: Vec<f64> = both()
            .map(|(a, b)| if *a < limit { 3.0 } else if *b < 3.0 { 0.0 } else { 5.0 })
            .collect();
        prop_assert_eq!(numbers(decide(&nodes)), expected);
    }

    #[test]
    fn reductions_are_those_of_the_values((a, _) in rows()) {
        let server = rehearsal();
        let table = table(&server, &[("a", -40.0, 0.1, 7)], std::slice::from_ref(&a));
        let x = table.column("a").unwrap();
        let number = |number: &Number| rehearse(&server, number).number().unwrap();
        let mut sorted = a.clone();
        sorted.sort_by(f64::total_cmp);
        let n = a.len() as f64;
        prop_assert_eq!(number(&x.min()), sorted[0]);
        prop_assert_eq!(number(&x.max()), sorted[a.len() - 1]);
        prop_assert_eq!(number(&x.sum()), tenth(a.iter().sum()));
        prop_assert_eq!(number(&x.median().unwrap()), sorted[(a.len() - 1) / 2]);
        let (place, value) = x.arg_max();
        let largest = sorted[a.len() - 1];
        let first = a.iter().position(|a| *a == largest);
        prop_assert_eq!(number(&value), largest);
        prop_assert_eq!(number(&place), first.unwrap() as f64);
        let in_order = rehearse(&server, &x.smallest(a.len()).unwrap());
        prop_assert_eq!(in_order.numbers().unwrap(), &sorted);
        let largest = rehearse(&server, &x.largest(1).unwrap());
        prop_assert_eq!(largest.numbers().unwrap(), &sorted[a.len() - 1..]);
        let edges = [-50.0, -38.0, -33.3, 0.0];
        let counts = rehearse(&server, &x.histogram(&edges, false).unwrap());
        let bins = edges.windows(2).map(|bin| {
            a.iter().filter(|a| (bin[0]..bin[1]).contains(*a)).count() as f64
        });
        prop_assert_eq!(counts.numbers().unwrap(), bins.collect::<Vec<_>>());
        let mean = a.iter().sum::<f64>() / n;
        let found = rehearse(&server, &x.mean()).number().unwrap();
        prop_assert!((found - mean).abs() < 1e-9);
        let variance = a.iter().map(|a| (a - mean).powi(2)).sum::<f64>() / n;
        let found = rehearse(&server, &x.variance()).number().unwrap();
        prop_assert!((found - variance).abs() < 1e-9);
        let found = rehearse(&server, &x.std()).number().unwrap();
        prop_assert!((found - variance.sqrt()).abs() < 1e-6);
    }

    #[test]
    fn rows_are_taken_and_stacked((a, _) in rows()) {
        let server = rehearsal();
        let table = table(&server, &[("a", -40.0, 0.1, 7)], std::slice::from_ref(&a));
        let x = table.column("a").unwrap();
        let last = a.len() - 1;
        let taken = rehearse(&server, &x.take(&[last, 0]).unwrap());
        prop_assert_eq!(taken.numbers().unwrap(), &[a[last], a[0]]);
        prop_assert_eq!(rehearse(&server, &x.item(last).unwrap()).number(), Some(a[last]));
        let ends = Number::stack(&[&x.min(), &x.max()]).unwrap();
        prop_assert_eq!(rehearse(&server, &ends.max()), rehearse(&server, &x.max()));
    }
}
