//! The packages of the workspace, as `cargo metadata` prints them.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::failure::{Failure, output};
use crate::workspace::{cargo, root};

/// A package of the workspace.
#[derive(Deserialize, PartialEq)]
pub(crate) struct Package {
    pub(crate) name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
    targets: Vec<Target>,
}

#[derive(Deserialize, PartialEq)]
struct Dependency {
    name: String,
    /// `None` for a normal dependency, otherwise `dev` or `build`.
    kind: Option<String>,
    /// The folder, if it is a package of this repository.
    path: Option<PathBuf>,
}

#[derive(Deserialize, PartialEq)]
struct Target {
    /// `lib`, `bin`, `test`, …; of a library, its crate types.
    kind: Vec<String>,
    /// Whether `cargo test` makes a test program of it.
    test: bool,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

impl Package {
    /// The names of the packages of this repository that it needs when it is built, not only
    /// when it is tested. Optional dependencies are among them.
    pub(crate) fn dependencies(&self) -> Vec<&str> {
        let normal = self.dependencies.iter().filter(|dependency| {
            dependency.path.is_some() && dependency.kind.as_deref() != Some("dev")
        });
        let mut names: Vec<&str> = normal.map(|dependency| dependency.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The folder, relative to the root of the repository.
    pub(crate) fn folder(&self) -> &Path {
        let folder = self.manifest_path.parent().unwrap_or(Path::new("."));
        folder.strip_prefix(root()).unwrap_or(folder)
    }

    /// The options of `cargo test` that select all test programs and no tests of documentation; `None`
    /// if there are no test programs.
    pub(crate) fn test_options(&self) -> Option<&'static [&'static str]> {
        let tested = || self.targets.iter().filter(|target| target.test);
        let is_lib = |target: &Target| target.kind.iter().any(|kind| kind.ends_with("lib"));
        match (tested().any(is_lib), tested().next()) {
            (true, _) => Some(&["--lib", "--bins", "--tests"]),
            (false, Some(_)) => Some(&["--bins", "--tests"]),
            (false, None) => None,
        }
    }
}

/// The packages of the workspace, by name.
pub(crate) fn packages() -> Result<Vec<Package>, Failure> {
    let mut metadata = cargo(&["metadata", "--no-deps", "--format-version", "1"]);
    let printed = output("cargo metadata", &mut metadata)?;
    let metadata: Metadata = serde_json::from_str(&printed)
        .map_err(|error| Failure(format!("cargo metadata: {error}")))?;
    let mut packages = metadata.packages;
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(packages)
}
