//! Counts and depths of a week of hours. More bootstraps need a reason, such as far fewer rounds.

use tfhe_sbc_columns::{Computable, Cost, Number, Progress, Relation, Server, Table};

use crate::common::{metadata, rehearsal};

/// Counts with the shapes that operators choose on two threads.
fn cost(server: &Server, value: &dyn Computable) -> (u64, u32) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2);
    let parts = value.parts();
    let counted = || server.cost(&parts, &Progress::default());
    let Cost {
        bootstraps, depth, ..
    } = pool.build().unwrap().install(counted).unwrap();
    (bootstraps, depth)
}

fn week(server: &Server) -> Table {
    server.describe(metadata(
        &[("level", -40.0, 0.1, 11), ("flow", 0.0, 1.0, 7)],
        168,
    ))
}

#[test]
fn reductions_cost_what_they_did() {
    let server = rehearsal();
    let table = week(&server);
    let [level, flow] = ["level", "flow"].map(|name| table.column(name).unwrap());
    let difference = level.minus(flow).unwrap();
    let sum = level.plus(flow).unwrap();
    let edges = [0.0, 2.0, 3.0, 6.0];
    let counted: [(&dyn Computable, (u64, u32)); 17] = [
        (&level.min(), (1861, 46)),
        (&level.max(), (1855, 46)),
        (&level.arg_min().0, (2474, 60)),
        (&level.sum(), (637, 12)),
        (&level.mean(), (637, 12)),
        (&level.variance(), (4079, 22)),
        (&level.median().unwrap(), (2946, 94)),
        (&level.histogram(&edges, false).unwrap(), (2100, 9)),
        (&level.smallest(168).unwrap(), (28573, 228)),
        (&level.largest(2).unwrap(), (3735, 93)),
        (&flow.min(), (1187, 32)),
        (&flow.sum(), (407, 10)),
        (&flow.std(), (1841, 18)),
        (&flow.compare(Relation::Gt, 2.0).unwrap().count(), (522, 7)),
        (&flow.smallest(168).unwrap(), (18301, 156)),
        (&sum.sum(), (2501, 15)),
        (&difference.variance(), (6696, 25)),
    ];
    let (found, expected): (Vec<_>, Vec<_>) = counted
        .into_iter()
        .map(|(value, expected)| (cost(&server, value), expected))
        .unzip();
    assert_eq!(found, expected);
}

#[test]
fn what_is_common_is_counted_once() {
    let server = rehearsal();
    let table = week(&server);
    let level = table.column("level").unwrap();
    let one = |number: Number| tfhe_sbc_columns::Computed::Number(number);
    let lists = [
        vec![one(level.sum())],
        vec![one(level.sum())],
        vec![one(level.min()), one(level.max())],
        vec![one(level.max())],
    ];
    let (each, together) = server.costs(&lists, &Progress::default()).unwrap();
    // A sum costs by itself what it costs where no rows are loaded.
    assert_eq!(each[0].bootstraps, 637);
    assert_eq!(each[0], each[1]);
    assert!(together.bootstraps < each[0].bootstraps * 2 + each[2].bootstraps);
    assert!(together.bootstraps > each[2].bootstraps);
}

/// A year is recorded in a time that grows as its rows do.
#[test]
fn a_year_is_counted() {
    let server = rehearsal();
    let table = server.describe(metadata(&[("level", -40.0, 0.1, 11)], 8760));
    let level = table.column("level").unwrap();
    assert_eq!(cost(&server, &level.variance()), (205_740, 28));
}
