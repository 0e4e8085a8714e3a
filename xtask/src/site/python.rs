//! The Python reference has an entry for every public name of the package.

use std::collections::BTreeSet;
use std::path::Path;

use crate::failure::{Failure, read};

/// The modules that users import, with their files.
const MODULES: [(&str, &str); 5] = [
    ("tfhe_sbc", "__init__.py"),
    ("tfhe_sbc.params", "params.py"),
    ("tfhe_sbc.fleet", "fleet/__init__.py"),
    ("tfhe_sbc.sklearn", "sklearn/__init__.py"),
    ("tfhe_sbc.arrow", "arrow.py"),
];

/// Fails if a name in the `__all__` of a module of `package` has no entry in the page `reference`.
pub(super) fn check(package: &Path, reference: &Path) -> Result<(), Failure> {
    let page = read(reference)?;
    let entries: BTreeSet<&str> = page
        .split("id=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    let mut missing = Vec::new();
    let mut count = 0;
    for (module, file) in MODULES {
        let source = read(&package.join(file))?;
        let names = public(&source).ok_or_else(|| Failure(format!("{file} has no __all__")))?;
        for name in names {
            count += 1;
            // A name that several modules have is entered once.
            let is_there =
                |(module, _): &(&str, &str)| entries.contains(format!("{module}.{name}").as_str());
            if !MODULES.iter().any(is_there) {
                missing.push(format!("{module}.{name}"));
            }
        }
    }
    eprintln!("{count} public names of Python");
    if missing.is_empty() {
        return Ok(());
    }
    Err(Failure(format!(
        "xtask/site/python-api.md has no {}: name it among the members",
        missing.join(", ")
    )))
}

/// The names in the `__all__` of a module.
fn public(source: &str) -> Option<Vec<&str>> {
    let (_, rest) = source.split_once("\n__all__ = [")?;
    let (list, _) = rest.split_once(']')?;
    Some(list.split('"').skip(1).step_by(2).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_names_are_read() {
        let source = "import a\n\n__all__ = [\n    \"one\",\n    \"two\",\n]\nx = [\"three\"]\n";
        assert_eq!(public(source), Some(vec!["one", "two"]));
        assert_eq!(public("\n__all__ = [\"a\", \"b\"]\n"), Some(vec!["a", "b"]));
        assert_eq!(public("x = 1\n"), None);
    }
}
