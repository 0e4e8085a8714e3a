//! The file of a cost model: TOML that people can read.

use std::io;
use std::path::{Path, PathBuf};

use tfhe_sbc_oracle::cost::CostModel;
use thiserror::Error;

/// The reason for which a file is not a cost model, or cannot be read or written.
#[derive(Debug, Error)]
pub enum CostFileError {
    /// The file cannot be read.
    #[error("cannot read {path}: {error}")]
    Read {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The file cannot be written.
    #[error("cannot write {path}: {error}")]
    Write {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The text is not TOML, or has other fields.
    #[error("not a cost model of this version: {0}")]
    Syntax(String),
    /// The figures cannot be those of a machine.
    #[error("its figures are not those of a machine: a price is negative or no number")]
    Unsound,
}

/// Returns the text of the file of a model.
///
/// # Errors
/// If a figure cannot be written in TOML.
pub fn to_toml(model: &CostModel) -> Result<String, CostFileError> {
    let text = toml::to_string(model).map_err(|error| CostFileError::Syntax(error.to_string()))?;
    Ok(format!(
        "# Seconds of the engine's kernels on this machine, by `tfhe-sbc params calibrate`.\n{text}"
    ))
}

/// Reads the model in a text, which may be that of a former program.
///
/// # Errors
/// If the text is not a model, or its figures cannot be those of a machine.
pub fn from_toml(text: &str) -> Result<CostModel, CostFileError> {
    let syntax = |error: toml::de::Error| CostFileError::Syntax(error.message().to_owned());
    let mut table: toml::Table = toml::from_str(text).map_err(syntax)?;
    replace_former_fields(&mut table);
    let model: CostModel = table.try_into().map_err(syntax)?;
    match model.is_sound() {
        true => Ok(model),
        false => Err(CostFileError::Unsound),
    }
}

/// Replaces the prices of the key switch of former programs, which read or made a large key, by that of transforms, and removes what they
/// knew of kernels that other machines did not have.
fn replace_former_fields(model: &mut toml::Table) {
    if let Some(machine) = model.get_mut("machine").and_then(|it| it.as_table_mut()) {
        machine.remove("makes_masks");
        machine.remove("turns_digits");
    }
    let Some(seconds) = model.get_mut("seconds").and_then(|it| it.as_table_mut()) else {
        return;
    };
    let former = [
        "switch_multiply",
        "switch_byte",
        "switch_again",
        "switch_digit",
    ];
    if former.iter().all(|name| seconds.contains_key(*name)) {
        seconds.retain(|name, _| !former.contains(&name));
        if let Some(transform) = seconds.get("transform").cloned() {
            seconds.insert("switch_transform".to_owned(), transform);
        }
    }
}

/// The default path of a machine's model; `None` if the system names no home directory.
pub fn default_path() -> Option<PathBuf> {
    let named = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let config = named("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
    let config = config.or_else(|| Some(named("HOME")?.join(".config")));
    Some(config?.join("tfhe-sbc").join("cost.toml"))
}

/// Reads the model in a file; `None` if there is no file.
///
/// # Errors
/// If the file cannot be read or is not a model.
pub fn load(path: &Path) -> Result<Option<CostModel>, CostFileError> {
    match std::fs::read_to_string(path) {
        Ok(text) => from_toml(&text).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CostFileError::Read {
            path: path.to_owned(),
            error,
        }),
    }
}

/// Writes the file of a model, and makes its directory if there is none.
///
/// # Errors
/// If the file cannot be written.
pub fn save(path: &Path, model: &CostModel) -> Result<(), CostFileError> {
    let text = to_toml(model)?;
    let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    made.and_then(|()| std::fs::write(path, text))
        .map_err(|error| CostFileError::Write {
            path: path.to_owned(),
            error,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_survives_its_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new/cost.toml");
        assert!(load(&path).unwrap().is_none());
        save(&path, &CostModel::built_in()).unwrap();
        assert_eq!(load(&path).unwrap(), Some(CostModel::built_in()));
        assert!(load(directory.path()).is_err());
    }

    #[test]
    fn files_of_former_programs_are_read() {
        let now = to_toml(&CostModel::built_in()).unwrap();
        let known = |line: &&str| {
            ["last_level_bytes", "switch_transform"]
                .iter()
                .all(|field| !line.starts_with(field))
        };
        let before: Vec<&str> = now.lines().filter(known).collect();
        assert_eq!(before.len() + 2, now.lines().count());
        let before = before.join("\n").replace(
            "[seconds]",
            "[seconds]\nswitch_multiply = 6.16e-11\nswitch_byte = [4e-11, 6e-11, 1e-10, 1e-10]\n\
             switch_again = 1.35e-11\nswitch_digit = 2e-9",
        );
        let later = before.replace(
            "[machine]",
            "[machine]\nmakes_masks = true\nturns_digits = false",
        );
        for text in [&before, &later] {
            let model = from_toml(text).unwrap();
            assert_eq!(model.machine.last_level_bytes, 0);
            assert_eq!(model.seconds.switch_transform, model.seconds.transform);
        }
        assert_ne!(before, later);
        assert!(from_toml(&before.replace("switch_digit", "switch_digits")).is_err());
    }

    #[test]
    fn spoilt_files_are_refused() {
        let good = to_toml(&CostModel::built_in()).unwrap();
        let spoilt = [
            good.replace("crowding = 1.0", "crowding = 0.1"),
            good.replace("switch_transform = ", "switch_transform = -"),
            good.replace("switch_transform = ", "switch_transforms = "),
            good.replace("crowding = 1.0", "crowding = nan"),
            good[..good.len() / 2].to_owned(),
            String::new(),
        ];
        for text in spoilt {
            assert_ne!(text, good);
            assert!(from_toml(&text).is_err(), "{text}");
        }
    }
}
