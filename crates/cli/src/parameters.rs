//! Parameter sets as people name them: a shipped one by its name, their own by its file.

use std::path::Path;

use tfhe_sbc_core::parameter_sets;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_oracle::parameter_file::{from_toml, weakness};

use crate::failure::{Explain, Outcome, failure};

/// A named set.
#[derive(Clone, Copy)]
pub(crate) struct Chosen(Parameters);

/// The longest parameter file that is read, in bytes: ten times the usual length.
const MAX_FILE_BYTES: u64 = 1 << 14;

/// Parses the name of a set, for an argument.
pub(crate) fn chosen(name: &str) -> Result<Chosen, String> {
    if let Some(shipped) = parameter_sets::by_name(name) {
        return shipped.map(Chosen).map_err(|error| error.to_string());
    }
    let is_file = name.ends_with(".toml") || Path::new(name).is_file();
    if !is_file {
        let names: Vec<_> = parameter_sets::ALL
            .iter()
            .map(|set| set.name.to_string())
            .collect();
        return Err(format!(
            "the parameter sets are {}; one of your own is a file that `tfhe-sbc params find \
             --toml` writes",
            names.join(", ")
        ));
    }
    let in_file = |what: String| format!("{name}: {what}");
    let size = std::fs::metadata(name)
        .map_err(|error| in_file(error.to_string()))?
        .len();
    if size > MAX_FILE_BYTES {
        return Err(in_file(format!("{size} bytes are no parameter file")));
    }
    let text = std::fs::read_to_string(name).map_err(|error| in_file(error.to_string()))?;
    from_toml(&text)
        .map(Chosen)
        .map_err(|error| in_file(error.to_string()))
}

impl Chosen {
    /// Returns the set, however weak it is: to ask about it.
    pub(crate) fn to_ask_about(self) -> Parameters {
        self.0
    }

    /// Returns the set to make keys for. A weak set needs the user's word, also if it is shipped for
    /// comparison.
    pub(crate) fn for_keys(self, insecure_for_tests: bool) -> Outcome<Parameters> {
        let set = self.0;
        match weakness(&set) {
            Some(weakness) if !insecure_for_tests => Err(failure(
                format_args!("no keys for {}: {weakness}", set.name()),
                "ask `tfhe-sbc params find` for another set; for tests, not for readings that \
                 matter, add --insecure-for-tests",
            )),
            _ => Ok(set),
        }
    }
}

/// Reads a file of JSON or TOML of a bounded length.
pub(crate) fn read_small(path: &Path, what: &str) -> Outcome<String> {
    std::fs::read_to_string(path).advise(
        format_args!("cannot read {}", path.display()),
        format_args!("name {what}"),
    )
}
