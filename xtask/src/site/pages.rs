//! The Markdown files of the repository, ready for MkDocs.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use super::of;
use crate::failure::{Failure, output, read, write};

/// The folders of which a path in code letters must exist.
const FOLDERS: [&str; 10] = [
    "crates/",
    "docs/",
    "examples/",
    "firmware/",
    "fuzz/src/",
    "interop/",
    "python/",
    "tests/vectors/",
    "web/",
    "xtask/",
];

/// Copies every tracked page from `root` to `pages`, with what it links to.
pub(super) fn assemble(root: &Path, pages: &Path) -> Result<(), Failure> {
    let mut git = Command::new("git");
    let tracked = output(
        "git ls-files",
        git.current_dir(root)
            .args(["ls-files", "--cached", "--others", "--exclude-standard"]),
    )?;
    let mut copied = BTreeSet::new();
    let mut problems = Vec::new();
    for page in tracked.lines().filter(|file| file.ends_with(".md")) {
        if page.starts_with("xtask/site/") || !root.join(page).exists() {
            continue;
        }
        let mut text = String::new();
        for_prose(&read(&root.join(page))?, |prose, is_code| {
            if is_code {
                text += prose;
                return;
            }
            for path in paths(prose) {
                if !root.join(path).exists() {
                    problems.push(format!("{page}: there is no {path}"));
                }
            }
            rewrite(prose, &mut text, |target| match local(root, page, target) {
                Ok(Some((file, link))) => {
                    copied.extend(file);
                    link
                }
                Ok(None) => target.to_owned(),
                Err(problem) => {
                    problems.push(format!("{page}: {problem}"));
                    target.to_owned()
                }
            });
        });
        put(&pages.join(page), &text)?;
    }
    for file in copied {
        let name = if is_picture(&file) {
            file.clone()
        } else {
            format!("{file}.txt")
        };
        copy(&root.join(&file), &pages.join(name))?;
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(Failure(problems.join("\n")))
}

/// Gives the lines of a page to `take`, with whether they are in a block of code.
fn for_prose(page: &str, mut take: impl FnMut(&str, bool)) {
    let mut fence = None;
    for line in page.split_inclusive('\n') {
        let start = line.trim_start();
        let marks = if start.starts_with("```") {
            Some("```")
        } else {
            None
        };
        match (fence, marks) {
            (None, Some(marks)) => fence = Some(marks),
            (Some(open), Some(_)) if start.trim_end() == open => {
                fence = None;
                take(line, true);
                continue;
            }
            _ => {}
        }
        take(line, fence.is_some());
    }
}

/// The paths of the repository that a line names in code letters, but for patterns with a `NAME`.
fn paths(line: &str) -> impl Iterator<Item = &str> {
    let code = line.split('`').skip(1).step_by(2);
    code.filter(|path| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
        FOLDERS.iter().any(|folder| path.starts_with(folder))
            && path.chars().all(is_plain)
            && !path.contains("NAME")
    })
}

/// Copies a line to `text`, with each link's target replaced by what `change` makes of it.
fn rewrite(line: &str, text: &mut String, mut change: impl FnMut(&str) -> String) {
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("](") {
        let Some((target, behind)) = after.split_once(')') else {
            break;
        };
        *text += before;
        *text += "](";
        *text += &change(target);
        text.push(')');
        rest = behind;
    }
    *text += rest;
}

/// The link of `page` to `target` in the site, and the file to copy for it if it is no page.
fn local(
    root: &Path,
    page: &str,
    target: &str,
) -> Result<Option<(Option<String>, String)>, String> {
    if target.contains("://") || target.starts_with('#') || target.starts_with("mailto:") {
        return Ok(None);
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let folder = Path::new(page).parent().unwrap_or(Path::new(""));
    let file =
        normal(&folder.join(path)).ok_or(format!("{target} is outside of the repository"))?;
    let found = root.join(&file);
    if found.is_dir() {
        if !found.join("README.md").exists() {
            return Err(format!("{target} is a folder without README.md"));
        }
        return Ok(Some((
            None,
            format!("{}/README.md", path.trim_end_matches('/')),
        )));
    }
    if !found.exists() {
        return Err(format!("there is no {target}"));
    }
    let name = file.to_string_lossy().into_owned();
    if name.ends_with(".md") {
        return Ok(None);
    }
    if is_picture(&name) {
        return Ok(Some((Some(name), target.to_owned())));
    }
    let mut link = format!("{path}.txt");
    if !anchor.is_empty() {
        link = format!("{link}#{anchor}");
    }
    Ok(Some((Some(name), link)))
}

/// The path without `.` and `..`; `None` if it leaves its root.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => normal.push(name),
            Component::CurDir => {}
            Component::ParentDir if normal.pop() => {}
            _ => return None,
        }
    }
    Some(normal)
}

/// Whether a file is a picture, which pages show instead of linking to its text.
fn is_picture(name: &str) -> bool {
    let extension = Path::new(name).extension();
    extension.is_some_and(|of| of == "svg" || of == "png")
}

fn put(file: &Path, text: &str) -> Result<(), Failure> {
    make_folder_of(file)?;
    write(file, text)
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    make_folder_of(to)?;
    let copied = std::fs::copy(from, to);
    copied.map(drop).map_err(|error| of(from, &error))
}

fn make_folder_of(file: &Path) -> Result<(), Failure> {
    match file.parent() {
        Some(folder) => std::fs::create_dir_all(folder).map_err(|error| of(folder, &error)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_rewritten_and_other_text_is_not() {
        let mut text = String::new();
        rewrite("a [b](c.rs) (d) ![e](f.svg).", &mut text, |target| {
            format!("{target}.txt")
        });
        assert_eq!(text, "a [b](c.rs.txt) (d) ![e](f.svg.txt).");
    }

    #[test]
    fn blocks_of_code_are_told_from_prose() {
        let mut code = Vec::new();
        for_prose("a\n```sh\nb\n```\nc\n", |line, is_code| {
            code.push((line.trim().to_owned(), is_code));
        });
        let expected = [
            ("a", false),
            ("```sh", true),
            ("b", true),
            ("```", true),
            ("c", false),
        ];
        assert_eq!(
            code,
            expected.map(|(line, is_code)| (line.to_owned(), is_code))
        );
    }

    #[test]
    fn paths_of_the_repository_are_found() {
        let line = "see `crates/core/src/wire.rs`, `keys/device.tsbc` and `crates/x/src/NAME.rs`";
        assert_eq!(paths(line).collect::<Vec<_>>(), ["crates/core/src/wire.rs"]);
        assert_eq!(
            normal(Path::new("docs/../a/./b")),
            Some(PathBuf::from("a/b"))
        );
        assert_eq!(normal(Path::new("docs/../../a")), None);
    }
}
