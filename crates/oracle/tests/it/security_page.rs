//! The levels of the shipped sets in both counts, as SECURITY.md has them.
//! `UPDATE_SECURITY=1 cargo test -p tfhe-sbc-oracle security_page` writes the table anew.

use std::fmt::Write as _;
use std::path::Path;

use tfhe_sbc_core::parameter_sets::{ALL, FOR_COMPARISON, LOOSER, superseded};
use tfhe_sbc_oracle::prediction::StrictSecurity;
use tfhe_sbc_oracle::search::KeyLevels;

const BEGIN: &str = "<!-- levels: begin -->\n";
const END: &str = "<!-- levels: end -->";

fn table() -> String {
    let mut table =
        "| set | small key, n | customary | strict | GLWE key, kN | customary | strict |\n\
                     |---|---:|---:|---:|---:|---:|---:|\n"
            .to_owned();
    let offered = ALL.iter().chain(&LOOSER).chain(&FOR_COMPARISON);
    let offered = offered.map(|set| (set, String::new()));
    let superseded = superseded::ALL.iter().map(|set| {
        let generation = superseded::generation_of(set).unwrap();
        (set, format!(" of {generation}"))
    });
    for (set, release) in offered.chain(superseded) {
        let set = set.validate().unwrap();
        let customary = KeyLevels::of_set(&set).unwrap();
        let strict = StrictSecurity::new(&set).unwrap();
        // Levels are rounded down.
        let tenth = |bits: f64| (bits * 10.0).floor() / 10.0;
        writeln!(
            table,
            "| `{}`{release} | {} | {:.1} | {:.1} | {} | {:.1} | {:.1} |",
            set.name(),
            set.lwe_dimension().0,
            tenth(customary.lwe.lambda),
            tenth(strict.lwe.lambda()),
            set.big_lwe_dimension().0,
            tenth(customary.glwe.lambda),
            tenth(strict.glwe.lambda()),
        )
        .unwrap();
    }
    table
}

#[test]
fn the_page_has_both_levels_of_every_set() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../SECURITY.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (shown, after) = rest.split_once(END).unwrap();
    let table = table();
    if std::env::var_os("UPDATE_SECURITY").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
    } else {
        assert_eq!(shown, table);
    }
}
