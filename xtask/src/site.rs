//! `cargo xtask site`: the guides as a site with search, the Rust and Python references beside them.
//!
//! The Markdown files of the repository are copied to `target/site/pages`, in the folders that they
//! have. Links to other files of the repository become links to copies of those. MkDocs makes HTML of
//! the pages in `target/site/out`, where `cargo doc`'s output joins it. Then every link and
//! every path of the repository that a page names must lead somewhere.

mod links;
mod pages;
mod python;

use std::path::Path;
use std::process::Command;

use crate::failure::{Failure, output, read, succeed, write};
use crate::venv;
use crate::workspace::{PROFILE, copy_folder, root, step, target_folder};

/// Builds the site and checks its links.
pub(crate) fn run() -> Result<(), Failure> {
    let sources = root().join("xtask/site");
    let folder = target_folder().join("site");
    let pages = folder.join("pages");
    let out = folder.join("out");
    step("the guides' links and paths", || {
        remove(&pages)?;
        pages::assemble(&root(), &pages)
    })?;
    let rust = target_folder().join("doc");
    step("the Rust reference", || {
        if has_other_crates(&rust)? {
            remove(&rust)?;
        }
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .current_dir(root())
            .args(["doc", "--profile", PROFILE, "--workspace", "--no-deps"])
            .env("RUSTDOCFLAGS", "--deny warnings");
        succeed("cargo doc", &mut cargo)?;
        write(&pages.join("rust.md"), &rust_page(&rust)?)
    })?;
    step("the site", || {
        let python = venv::environment(&folder, &sources.join("requirements.txt"))?;
        for file in ["python-api.md", "iframe-worker.js"] {
            write(&pages.join(file), &read(&sources.join(file))?)?;
        }
        let packages = root().join("python");
        let settings =
            read(&sources.join("mkdocs.yml"))?.replace("PYTHON", &packages.display().to_string());
        write(&folder.join("mkdocs.yml"), &settings)?;
        let mut mkdocs = Command::new(python);
        mkdocs
            .current_dir(&folder)
            .args(["-m", "mkdocs", "build", "--strict", "--quiet"])
            // Material's notice about its maintenance is no problem of the pages.
            .env("NO_MKDOCS_2_WARNING", "1");
        succeed("mkdocs", &mut mkdocs)?;
        // For servers only: its links begin at their root.
        let _ = std::fs::remove_file(out.join("404.html"));
        copy_folder(&rust, &out.join("rust"))
    })?;
    step("the public names of Python", || {
        let package = root().join("python/tfhe_sbc");
        python::check(&package, &out.join("python-api.html"))
    })?;
    step("the site's links", || links::check(&out))?;
    eprintln!("{}", out.join("index.html").display());
    Ok(())
}

/// Returns whether the documentation of crates that are no longer in the workspace lies in `rust`.
fn has_other_crates(rust: &Path) -> Result<bool, Failure> {
    if !rust.exists() {
        return Ok(false);
    }
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .current_dir(root())
        .args(["metadata", "--no-deps", "--format-version", "1"]);
    let metadata: serde_json::Value = serde_json::from_str(&output("cargo metadata", &mut cargo)?)
        .map_err(|error| Failure(format!("cargo metadata: {error}")))?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let targets = packages.flat_map(|package| package["targets"].as_array().into_iter().flatten());
    let known: Vec<String> = targets
        .filter_map(|target| Some(target["name"].as_str()?.replace('-', "_")))
        .collect();
    let is_crate = |name: &String| rust.join(name).join("all.html").exists();
    Ok(names(rust)?
        .iter()
        .any(|name| is_crate(name) && !known.contains(name)))
}

/// The page that leads to the reference of each crate, with the first line of its documentation.
fn rust_page(rust: &Path) -> Result<String, Failure> {
    let mut page = String::from(
        "# Rust reference\n\nThe documentation of every crate of the workspace.\n\n\
         | crate | |\n|---|---|\n",
    );
    for name in names(rust)? {
        let Ok(html) = std::fs::read_to_string(rust.join(&name).join("index.html")) else {
            continue; // the styles, the search index, the sources
        };
        let Some(first) = first_paragraph(&html) else {
            continue;
        };
        page += &format!("| <a href=\"rust/{name}/index.html\">{name}</a> | {first} |\n");
    }
    Ok(page)
}

/// The text of the first paragraph of a crate's documentation; `None` for other pages.
fn first_paragraph(html: &str) -> Option<String> {
    let (_, rest) = html.split_once("<div class=\"docblock\"")?;
    let (_, rest) = rest.split_once("<p>")?;
    let (paragraph, _) = rest.split_once("</p>")?;
    let mut text = String::new();
    let mut in_tag = false;
    for character in paragraph.chars() {
        match character {
            '<' => in_tag = true,
            '>' => in_tag = false,
            '\n' => text.push(' '),
            '|' => text.push_str("&#124;"),
            other if !in_tag => text.push(other),
            _ => {}
        }
    }
    Some(text)
}

fn remove(folder: &Path) -> Result<(), Failure> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(of(folder, &error)),
        _ => Ok(()),
    }
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> Result<Vec<String>, Failure> {
    let entries = std::fs::read_dir(folder).map_err(|error| of(folder, &error))?;
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| of(folder, &error))?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

fn of(path: &Path, error: &std::io::Error) -> Failure {
    Failure(format!("{}: {error}", path.display()))
}
