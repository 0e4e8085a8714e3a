//! The links of the site's HTML. The pages of `cargo doc` are only targets of links: it checks its own links.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::names;
use crate::failure::{Failure, read};

/// Fails if a link of a page below `site` leads nowhere, or if a page loads something from elsewhere.
pub(super) fn check(site: &Path) -> Result<(), Failure> {
    let mut files = Vec::new();
    collect(site, &mut files)?;
    let mut anchors = BTreeMap::new();
    let mut problems = Vec::new();
    let mut count = 0;
    for file in &files {
        let page = file.strip_prefix(site).unwrap_or(file).display();
        let html = read(file)?;
        for (attribute, target) in attributes(&html) {
            if attribute == "id" {
                continue;
            }
            count += 1;
            if let Err(problem) = follow(file, attribute, target, &mut anchors) {
                problems.push(format!("{page}: {problem}"));
            }
        }
    }
    eprintln!("{} pages, {count} links", files.len());
    problems.sort();
    problems.dedup();
    if problems.is_empty() {
        return Ok(());
    }
    Err(Failure(problems.join("\n")))
}

type Anchors = BTreeMap<PathBuf, BTreeSet<String>>;

fn follow(file: &Path, attribute: &str, target: &str, known: &mut Anchors) -> Result<(), String> {
    if target.starts_with("data:") || target.starts_with("mailto:") {
        return Ok(());
    }
    if target.contains("://") || target.starts_with("//") {
        return match attribute {
            "src" => Err(format!("loads {target} from elsewhere")),
            _ => Ok(()),
        };
    }
    let target = target.replace("&amp;", "&");
    let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    let folder = file.parent().unwrap_or(Path::new(""));
    let mut found = if path.is_empty() {
        file.to_owned()
    } else {
        folder.join(decoded(path))
    };
    if found.is_dir() {
        found.push("index.html");
    }
    if !found.is_file() {
        return Err(format!("there is no {target}"));
    }
    if anchor.is_empty() || found.extension().is_none_or(|of| of != "html") {
        return Ok(());
    }
    let found = found
        .canonicalize()
        .map_err(|error| format!("{target}: {error}"))?;
    if !known.contains_key(&found) {
        let html = std::fs::read_to_string(&found).map_err(|error| format!("{target}: {error}"))?;
        let ids = attributes(&html).filter(|(name, _)| *name == "id");
        known.insert(found.clone(), ids.map(|(_, id)| id.to_owned()).collect());
    }
    let anchor = decoded(anchor);
    if known.get(&found).is_some_and(|ids| ids.contains(&anchor)) {
        return Ok(());
    }
    Err(format!("there is no place {target}"))
}

/// The attributes `href`, `src` and `id` of all elements, with their values.
fn attributes(html: &str) -> impl Iterator<Item = (&'static str, &str)> {
    ["href", "src", "id"].into_iter().flat_map(move |name| {
        html.split('<').flat_map(move |element| {
            let tag = element.split_once('>').map_or("", |(tag, _)| tag);
            tag.match_indices(name).filter_map(move |(at, _)| {
                let is_whole = tag[..at].ends_with(char::is_whitespace);
                let value = tag[at + name.len()..].strip_prefix('=')?;
                let value = match value.strip_prefix('"') {
                    Some(quoted) => quoted.split_once('"')?.0,
                    None => value.split(char::is_whitespace).next()?,
                };
                is_whole.then_some((name, value))
            })
        })
    })
}

/// The text of a link with its `%`-escapes resolved.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let escaped = match (byte, after) {
            (b'%', [high, low, ..]) => std::str::from_utf8(&[*high, *low])
                .ok()
                .and_then(|hex| u8::from_str_radix(hex, 16).ok()),
            _ => None,
        };
        bytes.push(escaped.unwrap_or(byte));
        rest = if escaped.is_some() {
            &after[2..]
        } else {
            after
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The pages below a folder, but not those of `cargo doc`.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    for name in names(folder)? {
        let path = folder.join(&name);
        if path.is_dir() {
            if path.join("search.index").exists() || name == "rust" {
                continue;
            }
            collect(&path, files)?;
        } else if name.ends_with(".html") {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_found_with_and_without_quotes() {
        let html = "<a class=x href=\"a.html#b\">href=no</a><img src=c.svg><h2 id=d data-id=e>";
        let found: Vec<_> = attributes(html).collect();
        assert_eq!(found, [("href", "a.html#b"), ("src", "c.svg"), ("id", "d")]);
    }

    #[test]
    fn escapes_are_resolved() {
        assert_eq!(decoded("a%20b%C3%A4%"), "a bä%");
    }
}
