//! The caches of the processor, as far as the system describes them.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// A cache of the first core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// The level: 1 is next to the core.
    pub level: u32,
    /// The kind, in the words of Linux: `Data`, `Instruction` or `Unified`, which is both.
    pub kind: String,
    /// The number of bytes.
    pub bytes: usize,
}

/// Returns the caches of the first core. There are none if the system does not describe them.
pub fn caches() -> Vec<Cache> {
    described_in(Path::new("/sys/devices/system/cpu/cpu0/cache"))
}

/// Reads caches from a directory like Linux's `/sys/devices/system/cpu/cpu0/cache`. What cannot be read is left out.
fn described_in(directory: &Path) -> Vec<Cache> {
    let all = (0..8).map(|index| {
        let of = directory.join(format!("index{index}"));
        let line = |name: &str| fs::read_to_string(of.join(name)).ok();
        let size = line("size")?;
        let kibibytes: usize = size.trim().strip_suffix('K')?.parse().ok()?;
        Some(Cache {
            level: line("level")?.trim().parse().ok()?,
            kind: line("type")?.trim().to_owned(),
            bytes: kibibytes.checked_mul(1 << 10)?,
        })
    });
    all.flatten().collect()
}

/// The number of bytes of the second-level cache of the first core, or 1 MiB if the system does not tell: most processors
/// have at least this much for a core.
pub fn second_level_bytes() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let of_level_2 = caches().into_iter().find(|cache| cache.level == 2);
        of_level_2.map_or(1 << 20, |cache| cache.bytes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_left_out() {
        let directory =
            std::env::temp_dir().join(format!("tfhe-sbc-caches-{}", std::process::id()));
        for (index, size, level, kind) in [
            (0, "32K\n", "1\n", "Data\n"),
            (1, "a lot", "1", "Instruction"),
            (2, "512K\n", "2\n", "Unified\n"),
            (3, "18014398509481984K", "3", "Unified"),
        ] {
            let of = directory.join(format!("index{index}"));
            fs::create_dir_all(&of).unwrap();
            for (name, text) in [("size", size), ("level", level), ("type", kind)] {
                fs::write(of.join(name), text).unwrap();
            }
        }
        let cache = |level, kind: &str, bytes| Cache {
            level,
            kind: kind.to_owned(),
            bytes,
        };
        let expected = [cache(1, "Data", 32 << 10), cache(2, "Unified", 512 << 10)];
        let found = described_in(&directory);
        fs::remove_dir_all(&directory).unwrap();
        assert_eq!(found, expected);
        assert_eq!(described_in(Path::new("/nowhere")), []);
    }
}
