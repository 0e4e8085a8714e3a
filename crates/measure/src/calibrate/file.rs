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

/// Reads the model in a text.
///
/// # Errors
/// If the text is not a model, or its figures cannot be those of a machine.
pub fn from_toml(text: &str) -> Result<CostModel, CostFileError> {
    let model: CostModel =
        toml::from_str(text).map_err(|error| CostFileError::Syntax(error.message().to_owned()))?;
    match model.is_sound() {
        true => Ok(model),
        false => Err(CostFileError::Unsound),
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
            ["turns_digits", "makes_masks", "last_level_bytes"]
                .iter()
                .all(|field| !line.starts_with(field))
        };
        let before: Vec<&str> = now.lines().filter(known).collect();
        assert_eq!(before.len() + 3, now.lines().count());
        let machine = from_toml(&before.join("\n")).unwrap().machine;
        assert!(!machine.turns_digits && !machine.makes_masks);
        assert_eq!(machine.last_level_bytes, 0);
    }

    #[test]
    fn spoilt_files_are_refused() {
        let good = to_toml(&CostModel::built_in()).unwrap();
        let spoilt = [
            good.replace("crowding = 1.0", "crowding = 0.1"),
            good.replace("switch_digit = ", "switch_digit = -"),
            good.replace("switch_digit = ", "switch_digits = "),
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
