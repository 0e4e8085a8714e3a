//! `cargo xtask map`: prints the graph of the crates and checks its arrows.
//!
//! Every crate has a layer. A crate may depend on crates of lower layers only, so there are no
//! cycles. Dependencies of tests alone do not count.

use std::collections::BTreeMap;

use crate::crates::{Package, packages};
use crate::failure::{Failure, output};
use crate::workspace::cargo;

/// The layers from the lowest to the highest: a title, and the crates without `tfhe-sbc-`.
const LAYERS: [(&str, &[&str]); 7] = [
    ("numbers, parameters, keys", &["core"]),
    (
        "encryption and frames on boards, computation, estimates",
        &["ckks", "device", "engine", "frames", "oracle"],
    ),
    (
        "uploads, measured noise",
        &["device-c", "measure", "research", "upload"],
    ),
    (
        "columns, other libraries, the wire",
        &["columns", "foreign", "python-shared", "transport"],
    ),
    ("questions", &["query"]),
    ("the ends of the wire", &["agent", "owner", "service"]),
    (
        "programs, packages, tools",
        &[
            "tfhe-sbc",
            "bench",
            "cli",
            "constant-time",
            "device-python",
            "examples",
            "fire",
            "python",
            "tfhe-rs",
            "web",
            "xtask",
        ],
    ),
];

/// Crates, and the packages that they must never link.
const APART: [(&str, &[&str]); 1] = [(
    "tfhe-sbc-agent",
    &["tfhe-sbc-service", "tfhe-sbc-engine", "rusqlite", "axum"],
)];

/// Prints the crates by layer, the highest first, with their dependencies in the workspace.
pub(crate) fn run() -> Result<(), Failure> {
    let packages = packages()?;
    let layers: BTreeMap<&str, usize> = packages
        .iter()
        .map(|package| Ok((package.name.as_str(), layer_of(&package.name)?)))
        .collect::<Result<_, Failure>>()?;
    for (layer, (title, _)) in LAYERS.iter().enumerate().rev() {
        println!("{layer}  {title}");
        for package in packages
            .iter()
            .filter(|one| layers[one.name.as_str()] == layer)
        {
            let names: Vec<&str> = package.dependencies().into_iter().map(short).collect();
            println!("   {:<14} {}", short(&package.name), names.join(" "));
        }
    }
    let mut wrong = upward(&packages, &layers);
    for (name, others) in APART {
        wrong.extend(linked(name, others)?);
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(Failure(wrong.join("\n    ")))
    }
}

/// The name within the project.
fn short(name: &str) -> &str {
    name.strip_prefix("tfhe-sbc-").unwrap_or(name)
}

fn layer_of(name: &str) -> Result<usize, Failure> {
    let layer = LAYERS
        .iter()
        .position(|(_, crates)| crates.contains(&short(name)));
    layer.ok_or_else(|| {
        Failure(format!(
            "{name} has no layer: give it one in xtask/src/map.rs"
        ))
    })
}

/// The dependencies that are not in a lower layer than the crate that has them.
fn upward(packages: &[Package], layers: &BTreeMap<&str, usize>) -> Vec<String> {
    let arrows = packages.iter().flat_map(|package| {
        let to = package.dependencies();
        to.into_iter().map(move |to| (package.name.as_str(), to))
    });
    arrows
        .filter(|(from, to)| layers.get(to).is_none_or(|below| *below >= layers[from]))
        .map(|(from, to)| format!("{from} depends on {to}, which is not in a lower layer"))
        .collect()
}

/// Returns those of `others` that the crate `name` links.
fn linked(name: &str, others: &[&str]) -> Result<Vec<String>, Failure> {
    let mut tree = cargo(&["tree", "--package", name, "--edges", "normal"]);
    tree.args(["--prefix", "none", "--format", "{p}"]);
    let tree = output("cargo tree", &mut tree)?;
    let in_tree = |other: &&&str| {
        let mut names = tree.lines().filter_map(|line| line.split(' ').next());
        names.any(|name| name == **other)
    };
    Ok(others
        .iter()
        .filter(in_tree)
        .map(|other| format!("{name} links {other}"))
        .collect())
}
