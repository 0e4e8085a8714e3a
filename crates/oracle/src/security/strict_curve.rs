//! The least noise that a level needs in the strict count, by dimension.
//!
//! The bundled table `data/strict.csv` has it for 128 bits. Between its rows that of the next shorter
//! key counts, because more coefficients make no key weaker. For other levels the distance to the
//! customary count at 128 bits is scaled, and a margin is added that tests bound.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::strict::StrictKind;
use super::{SecretKind, minimal_log2_sigma};

/// The level of the bundled table.
const TABLE_LAMBDA: f64 = 128.0;

/// The keys for which both tables have rows, of blocks larger than 1 and others.
const DIMENSIONS_OF_BLOCKS: (usize, usize) = (512, 1024);
const DIMENSIONS: (usize, usize) = (512, 4096);

/// The margin of noise at other levels than the table's.
const MARGIN: f64 = 0.05;

/// Returns the smallest log2(σ/q) at which dimension `n` reaches `lambda` bits in the strict count and
/// in the customary one, where the least is `customary`. `None` if the key is shorter than those of the
/// table.
///
/// At 128 bits it is exact to 0.02. At other levels it is a scaled estimate with a margin.
pub fn strict_least_log2_sigma(
    lambda: f64,
    n: usize,
    kind: StrictKind,
    customary: f64,
) -> Option<f64> {
    let row = |n| {
        let rows = TABLE.get(&kind)?;
        rows.range(..=n).next_back().map(|(_, &row)| row)
    };
    if lambda == TABLE_LAMBDA {
        return Some(customary.max(row(n)?));
    }
    let secret = match kind {
        StrictKind::Blocks(size) => SecretKind::of_blocks(size).ok()?,
        StrictKind::Ternary => SecretKind::Ternary,
    };
    let (shortest, longest) = match secret {
        SecretKind::Sparse { .. } => DIMENSIONS_OF_BLOCKS,
        SecretKind::Binary | SecretKind::Ternary => DIMENSIONS,
    };
    let near = n.clamp(shortest, longest);
    let distance = row(near)? - minimal_log2_sigma(TABLE_LAMBDA, near, secret).ok()?;
    Some(customary + distance.max(0.0) * TABLE_LAMBDA / lambda + MARGIN)
}

/// log2(σ/q) by dimension, for each kind of key.
static TABLE: LazyLock<BTreeMap<StrictKind, BTreeMap<usize, f64>>> = LazyLock::new(|| {
    let mut table: BTreeMap<StrictKind, BTreeMap<usize, f64>> = BTreeMap::new();
    for row in include_str!("../../data/strict.csv").lines().skip(1) {
        let (kind, n, log2_sigma) =
            parse_row(row).unwrap_or_else(|| panic!("the bundled table has a bad row: {row}"));
        table.entry(kind).or_default().insert(n, log2_sigma);
    }
    table
});

/// A row of `secret,n,log2_sigma_over_q_min`.
fn parse_row(row: &str) -> Option<(StrictKind, usize, f64)> {
    let mut fields = row.split(',');
    let kind = match fields.next()? {
        "ternary" => StrictKind::Ternary,
        blocks => StrictKind::Blocks(blocks.strip_prefix("blocks_")?.parse().ok()?),
    };
    let row = (
        kind,
        fields.next()?.parse().ok()?,
        fields.next()?.parse().ok()?,
    );
    fields.next().is_none().then_some(row)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::path::Path;

    use super::*;
    use crate::estimator::{StrictAttack, StrictKey, strict_log2_cost};
    use crate::security::{least_log2_sigma, strict_level};

    /// The attacks that decide for keys in use. The others are checked at the result.
    const DECISIVE: [StrictAttack; 5] = [
        StrictAttack::DualHybrid,
        StrictAttack::DualWalsh,
        StrictAttack::DualMitm,
        StrictAttack::PrimalBdd,
        StrictAttack::PrimalUsvp,
    ];

    /// Returns the least log2(σ/q) at which dimension `n` reaches `lambda` bits, to 1/2048.
    fn computed(lambda: f64, n: usize, kind: StrictKind) -> Option<f64> {
        let key = kind.key(n)?;
        let mut found = f64::NEG_INFINITY;
        for attack in DECISIVE {
            let cost = |log2_sigma| strict_log2_cost(attack, &key, log2_sigma);
            if found == f64::NEG_INFINITY || cost(found)? < lambda {
                found = solve(lambda, &key, cost)?;
            }
        }
        // If another attack decides after all, all of them are searched.
        let level = |log2_sigma| Some(strict_level(n, log2_sigma, kind)?.lambda());
        if level(found)? < lambda {
            found = solve(lambda, &key, level)?;
        }
        Some(found)
    }

    /// Returns the least x at which the rising `cost` reaches `lambda`, to 1/2048, by bisection from about
    /// where it is for usual keys. `None` if it is above -3, or `cost` is `None`.
    fn solve(lambda: f64, key: &StrictKey, cost: impl Fn(f64) -> Option<f64>) -> Option<f64> {
        const STEPS: f64 = 2048.0;
        const LEAST: f64 = -110.0 * STEPS;
        const MOST: f64 = -3.0 * STEPS;
        let reaches = |steps: f64| Some(cost(steps / STEPS)? >= lambda);
        let usual = (2.9 - 0.0256 * key.dimension() as f64) * TABLE_LAMBDA / lambda * STEPS;
        let mut width = 0.25 * STEPS;
        let mut high = usual.round().clamp(LEAST + 1.0, MOST);
        let mut low = (high - width).max(LEAST);
        while !reaches(high)? {
            if high >= MOST {
                return None;
            }
            (low, width) = (high, 2.0 * width);
            high = (high + width).min(MOST);
        }
        while low > LEAST && reaches(low)? {
            (high, width) = (low, 2.0 * width);
            low = (low - width).max(LEAST);
        }
        while high - low > 1.0 {
            let middle = ((low + high) / 2.0).round();
            match reaches(middle)? {
                true => high = middle,
                false => low = middle,
            }
        }
        Some(high / STEPS)
    }

    fn rows() -> impl Iterator<Item = (StrictKind, usize, f64)> {
        let of_kind = |(&kind, rows): (&StrictKind, &'static BTreeMap<usize, f64>)| {
            let rows: Vec<_> = rows.iter().map(|(&n, &row)| (kind, n, row)).collect();
            rows
        };
        TABLE.iter().flat_map(of_kind)
    }

    /// The rows of the table: small keys, and GLWE keys.
    fn wanted() -> Vec<(StrictKind, usize)> {
        let glwe = || (512..=4096).step_by(256);
        let mut wanted: Vec<_> = Vec::new();
        // Shorter keys of blocks of 5 can be searched in the middle, whatever their noise.
        for (size, step, first) in [
            (1, 6, 450),
            (2, 6, 450),
            (3, 3, 450),
            (4, 4, 452),
            (5, 5, 500),
        ] {
            let small = (first..=1404).step_by(step);
            wanted.extend(small.map(|n| (StrictKind::Blocks(size), n)));
        }
        wanted.extend(glwe().map(|n| (StrictKind::Blocks(1), n)));
        wanted.extend(glwe().map(|n| (StrictKind::Ternary, n)));
        wanted.sort_unstable();
        wanted.dedup();
        wanted
    }

    fn name(kind: StrictKind) -> String {
        match kind {
            StrictKind::Blocks(size) => format!("blocks_{size}"),
            StrictKind::Ternary => "ternary".to_owned(),
        }
    }

    /// The row of the table that is there, raised until it reaches the level.
    fn raised(n: usize, kind: StrictKind) -> Option<f64> {
        let key = kind.key(n)?;
        let mut log2_sigma = *TABLE.get(&kind)?.get(&n)?;
        for attack in DECISIVE {
            while strict_log2_cost(attack, &key, log2_sigma)? < TABLE_LAMBDA {
                log2_sigma += 0.002;
            }
        }
        let is_enough = strict_level(n, log2_sigma, kind)?.lambda() >= TABLE_LAMBDA;
        is_enough.then_some(log2_sigma)
    }

    /// Compares the table with what the estimator finds from its rows on, and writes it instead if `TFHE_SBC_BLESS` is set:
    /// `TFHE_SBC_BLESS=1 cargo test --release -p tfhe-sbc-oracle --lib -- --ignored the_table_is_that`.
    #[test]
    #[ignore = "minutes of estimates"]
    fn the_table_is_that_of_the_estimator() {
        // A row is raised in steps of 0.002, and rounded up to 0.0001.
        const TOLERANCE: f64 = 0.003;
        let mut text = "secret,n,log2_sigma_over_q_min\n".to_owned();
        let known: BTreeMap<_, f64> = rows()
            .map(|(kind, n, log2)| ((name(kind), n), log2))
            .collect();
        let mut moved = Vec::new();
        for (kind, n) in wanted() {
            let log2_sigma = raised(n, kind).or_else(|| computed(TABLE_LAMBDA, n, kind));
            if let Some(log2_sigma) = log2_sigma {
                // Rounded up.
                let digits = (log2_sigma * 1e4).ceil() / 1e4;
                writeln!(text, "{},{n},{digits}", name(kind)).unwrap();
                let row = known.get(&(name(kind), n));
                if row.is_none_or(|row| (row - digits).abs() > TOLERANCE) {
                    moved.push((name(kind), n, row.copied(), digits));
                }
            }
        }
        if std::env::var_os("TFHE_SBC_BLESS").is_some() {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/strict.csv");
            std::fs::write(path, text).unwrap();
            return;
        }
        assert!(moved.is_empty(), "{moved:?}");
    }

    #[test]
    fn the_table_has_all_rows_and_they_fall() {
        let found: Vec<_> = rows().map(|(kind, n, _)| (kind, n)).collect();
        assert_eq!(found, wanted());
        for (_, rows) in TABLE.iter() {
            let noise: Vec<f64> = rows.values().copied().collect();
            assert!(noise.is_sorted_by(|a, b| a > b));
        }
    }

    #[test]
    fn rows_of_the_table_are_the_least_noise() {
        for (at, (kind, n, log2_sigma)) in rows().enumerate() {
            if at % 61 != 7 {
                continue;
            }
            let level = |log2_sigma| strict_level(n, log2_sigma, kind).unwrap().lambda();
            assert!(level(log2_sigma) >= 128.0, "{kind:?} {n}");
            assert!(level(log2_sigma - 0.02) < 128.0, "{kind:?} {n}");
        }
    }

    #[test]
    fn between_rows_the_shorter_key_counts() {
        let least = |n| strict_least_log2_sigma(128.0, n, StrictKind::Blocks(3), -100.0);
        assert_eq!(least(727), least(726));
        assert_eq!(least(728), least(726));
        assert!(least(729) < least(728));
        assert_eq!(least(449), None);
        assert_eq!(least(5000), least(1404));
        let customary = strict_least_log2_sigma(128.0, 726, StrictKind::Blocks(3), -5.0);
        assert_eq!(customary, Some(-5.0));
    }

    #[test]
    fn other_levels_are_reached() {
        let blocks = SecretKind::of_blocks(3).unwrap();
        assert_eq!(SecretKind::of_blocks(5).unwrap(), blocks);
        let blocks_of_4 = SecretKind::of_blocks(4).unwrap();
        for (lambda, n, kind, secret) in [
            (80.0, 480, StrictKind::Blocks(3), blocks),
            (100.0, 600, StrictKind::Blocks(3), blocks),
            (132.0, 900, StrictKind::Blocks(3), blocks),
            (132.0, 800, StrictKind::Blocks(1), SecretKind::Binary),
            (132.0, 2048, StrictKind::Blocks(1), SecretKind::Binary),
            (160.0, 1200, StrictKind::Blocks(3), blocks),
            (100.0, 640, StrictKind::Blocks(4), blocks_of_4),
            (132.0, 900, StrictKind::Blocks(4), blocks_of_4),
            (100.0, 640, StrictKind::Blocks(5), blocks),
            (132.0, 900, StrictKind::Blocks(5), blocks),
            (192.0, 1024, StrictKind::Ternary, SecretKind::Ternary),
        ] {
            let customary = least_log2_sigma(lambda, n, secret).unwrap();
            let log2_sigma = strict_least_log2_sigma(lambda, n, kind, customary).unwrap();
            let level = strict_level(n, log2_sigma, kind).unwrap().lambda();
            println!("{lambda} {n} {kind:?} {customary} {log2_sigma} {level}");
            assert!(
                (lambda..lambda + 4.0).contains(&level),
                "{lambda} {n}: {level}"
            );
        }
    }

    #[test]
    fn bad_rows_are_refused() {
        assert!(parse_row("blocks_3,726,-15.3").is_some());
        assert!(parse_row("ternary,1024,-24.8").is_some());
        for row in [
            "",
            "blocks_3,726",
            "blocks_x,726,-15",
            "sparse,726,-15",
            "ternary,1,2,3",
        ] {
            assert!(parse_row(row).is_none(), "{row}");
        }
    }
}
