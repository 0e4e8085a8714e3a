//! `cargo xtask unsafe`: the list of all unsafe code that ships, with the argument for each.
//!
//! [`write()`] makes `docs/unsafe.md` from the sources: every block, function, implementation and attribute
//! that says `unsafe`, what it does, and the `SAFETY` comment or the `# Safety` section that belongs to it.
//! [`check()`] fails if one has no argument, or if the list is not what the sources say.

use std::fmt::Write as _;
use std::fs::read_dir;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use crate::failure::{self, Failure, read};
use crate::workspace::root;

/// The list, relative to the root of the repository.
const LIST: &str = "docs/unsafe.md";

/// The folders of sources that ship; tests are left out. The other crates are tools.
const FOLDERS: [&str; 2] = ["crates", "python"];
const TOOLS: [&str; 4] = ["bench", "constant-time", "fire", "research"];

/// The largest number of characters of code that a row shows.
const SHOWN: usize = 90;

/// The largest number of lines between a comment and the line of `unsafe` in the statement below it.
const LINES_OF_STATEMENT: usize = 8;

const INTRODUCTION: &str = "# Unsafe code

Every place in the crates that ship where the compiler takes our word, with the argument as it stands in the source. `cargo xtask
unsafe` writes this page, and the checks fail if a place is missing here, is gone, or has no argument. Files that are not
named have no unsafe code, and most crates forbid it. Tests and tools are left out.

Three kinds of reasons occur:

- **Vector instructions** (`core/src/simd`): an instruction may be used only where the processor has it. A value of a type like
  `Avx2` exists only after detection, so a function that has one may use the instructions.
- **Memory as numbers** (`core/src/workspace.rs`, `torus_slice.rs`): bytes of a caller are seen as integers or doubles, after their
  alignment and length were checked.
- **Interfaces** (`device-c`, `web`): a caller in another language passes addresses. What can be checked is checked (null, alignment,
  length, overlap); the rest is what the header asks of every caller.
";

/// A place that says `unsafe`.
struct Place {
    line: usize,
    /// The function or macro around it.
    around: String,
    /// The unsafe code, or the name of an unsafe function.
    what: String,
    argument: String,
}

/// Writes the list.
pub(crate) fn write() -> Result<(), Failure> {
    failure::write(&root().join(LIST), &list()?)
}

/// Compares the list with the sources.
pub(crate) fn check() -> Result<(), Failure> {
    let (stated, found) = (read(&root().join(LIST))?, list()?);
    if stated == found {
        return Ok(());
    }
    let missing = found.lines().filter(|line| !stated.contains(line));
    let gone = stated.lines().filter(|line| !found.contains(line));
    let mut message = format!("{LIST} is not what the sources say; cargo xtask unsafe writes it");
    for (what, line) in missing
        .map(|line| ("not listed", line))
        .chain(gone.map(|line| ("listed, but gone", line)))
    {
        let _ = write!(message, "\n    {what}: {line}");
    }
    Err(Failure(message))
}

/// Makes the list from the sources.
fn list() -> Result<String, Failure> {
    let mut files = Vec::new();
    for folder in FOLDERS {
        rust_files(&root().join(folder), &mut files)?;
    }
    files.sort();
    let (mut tables, mut count, mut in_files) = (String::new(), 0, 0);
    for path in &files {
        let name = path.strip_prefix(root()).unwrap_or(path).display();
        let text = read(path)?;
        let places = places(&text).map_err(|Failure(error)| Failure(format!("{name}:{error}")))?;
        if places.is_empty() {
            continue;
        }
        in_files += 1;
        count += places.len();
        let _ = write!(
            tables,
            "\n## `{name}`\n\n| in | unsafe | argument |\n|---|---|---|\n"
        );
        for place in places {
            let cells = [place.around, place.what, without_links(&place.argument)];
            let [around, what, argument] = cells.map(|cell| cell.replace('|', "\\|"));
            let _ = writeln!(tables, "| {around} | `{what}` | {argument} |");
        }
    }
    Ok(format!(
        "{INTRODUCTION}\n{count} places in {in_files} files.\n{tables}"
    ))
}

/// Collects the sources below a folder, without tests, tools and what was built.
fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let failed = |error| Failure(format!("{}: {error}", folder.display()));
    for entry in read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            let is_left_out = ["tests", "target", "examples", "benches"].contains(&&*name)
                || name.starts_with('.')
                || TOOLS
                    .iter()
                    .any(|tool| path == root().join("crates").join(tool));
            if !is_left_out {
                rust_files(&path, files)?;
            }
        } else if name.ends_with(".rs") && name != "tests.rs" && name != "build.rs" {
            files.push(path);
        }
    }
    Ok(())
}

/// Finds the places of a source. An error begins with its line.
fn places(text: &str) -> Result<Vec<Place>, Failure> {
    let tokens: TokenStream = text.parse().map_err(|error| Failure(format!(" {error}")))?;
    let lines: Vec<&str> = text.lines().collect();
    let mut places = Vec::new();
    walk(tokens, "", &lines, &mut places)?;
    Ok(places)
}

/// Adds the places of tokens inside of `around`.
fn walk(
    tokens: TokenStream,
    around: &str,
    lines: &[&str],
    places: &mut Vec<Place>,
) -> Result<(), Failure> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    // The name of the function, macro or module whose braces come next.
    let mut next = around.to_owned();
    for (index, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Ident(word) if word == "fn" || word == "mod" => {
                if let Some(TokenTree::Ident(name)) = tokens.get(index + 1) {
                    next = name.to_string();
                }
            }
            TokenTree::Ident(word) if word == "macro_rules" => {
                if let Some(TokenTree::Ident(name)) = tokens.get(index + 2) {
                    next = format!("{name}!");
                }
            }
            TokenTree::Ident(word) if word == "unsafe" => {
                let line = word.span().start().line;
                let rest = tokens.get(index + 1..).unwrap_or_default();
                let what = what(rest);
                let argument = match &what {
                    What::Block(_) | What::Attribute(_) | What::Implementation(_) => {
                        comment_above(lines, line)
                    }
                    What::Contract(_) => contract_above(lines, line),
                    What::Callback => promise_above(lines, line),
                };
                let argument = argument.ok_or_else(|| {
                    Failure(format!(
                        "{line}: unsafe code without a comment that says SAFETY"
                    ))
                })?;
                let around = match around {
                    "" => "the module".to_owned(),
                    name => format!("`{name}`"),
                };
                places.push(Place {
                    line,
                    around,
                    what: what.text(),
                    argument,
                });
            }
            TokenTree::Group(group) => {
                let inside = match group.delimiter() {
                    Delimiter::Brace => std::mem::replace(&mut next, around.to_owned()),
                    _ => around.to_owned(),
                };
                if inside != "tests" {
                    walk(group.stream(), &inside, lines, places)?;
                }
            }
            _ => {}
        }
    }
    places.sort_by_key(|place| place.line);
    Ok(())
}

/// The item that a word `unsafe` belongs to, with its text.
enum What {
    Block(String),
    Attribute(String),
    Implementation(String),
    /// A function or a trait, whose users or implementers have something to keep.
    Contract(String),
    /// The type of a function that callers provide.
    Callback,
}

impl What {
    fn text(self) -> String {
        match self {
            Self::Block(text)
            | Self::Attribute(text)
            | Self::Implementation(text)
            | Self::Contract(text) => text,
            Self::Callback => "type of a callback".to_owned(),
        }
    }
}

/// Looks at the tokens behind the word.
fn what(rest: &[TokenTree]) -> What {
    if let [TokenTree::Group(group), ..] = rest {
        return match group.delimiter() {
            Delimiter::Brace => What::Block(shortened(&source(group))),
            _ => What::Attribute(format!("unsafe{}", source(group))),
        };
    }
    let words = rest.iter().map_while(|token| match token {
        TokenTree::Group(group) if group.delimiter() != Delimiter::None => None,
        token => Some(token.to_string()),
    });
    let words: Vec<String> = words.collect();
    let name_after = |keyword| {
        let at = words.iter().position(|word| word == keyword)?;
        words.get(at + 1)
    };
    match words.first().map(String::as_str) {
        Some("impl") => What::Implementation(words.join(" ")),
        Some("trait") => What::Contract(format!(
            "trait {}",
            name_after("trait").map_or("", |name| name)
        )),
        _ => match name_after("fn") {
            Some(name) => What::Contract(format!("fn {name}")),
            None => What::Callback,
        },
    }
}

/// The source of a group, as it is written.
fn source(group: &Group) -> String {
    let text = group.span().source_text().unwrap_or_default();
    let text = text.trim_start_matches('{').trim_end_matches('}');
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{} …", text.get(..end).unwrap_or(text).trim_end()),
        None => text.to_owned(),
    }
}

/// The comment above a line that says SAFETY, whose statement may have begun some lines before.
fn comment_above(lines: &[&str], line: usize) -> Option<String> {
    let before = lines.get(..line - 1)?;
    let is_comment = |line: &&&str| line.trim_start().starts_with("//");
    let gap = before.iter().rev().take(LINES_OF_STATEMENT);
    let gap = gap.take_while(|line| !is_comment(line)).count();
    let comment: Vec<&str> = before
        .iter()
        .rev()
        .skip(gap)
        .take_while(is_comment)
        .copied()
        .collect();
    let words = comment
        .iter()
        .rev()
        .map(|line| line.trim().trim_start_matches('/').trim());
    let text = words.collect::<Vec<_>>().join(" ");
    let (_, argument) = text.split_once("SAFETY")?;
    Some(argument.trim_start_matches([':', ' ']).to_owned())
}

/// The documentation and attributes above a line, in their order.
fn head_above<'a>(lines: &[&'a str], line: usize) -> Vec<&'a str> {
    let is_head = |line: &&&str| {
        let line = line.trim();
        line.starts_with("//") || line.starts_with("#[") || line.ends_with('=')
    };
    let before = lines.get(..line - 1).unwrap_or_default();
    let mut head: Vec<&str> = before
        .iter()
        .rev()
        .take_while(is_head)
        .map(|line| line.trim())
        .collect();
    head.reverse();
    head
}

/// The section `# Safety` of the documentation above a line; functions of the C interface have theirs at the
/// head of the header.
fn contract_above(lines: &[&str], line: usize) -> Option<String> {
    let head = head_above(lines, line);
    let section = head
        .iter()
        .skip_while(|line| **line != "/// # Safety")
        .skip(1);
    let section = section.map_while(|line| line.strip_prefix("///").map(str::trim));
    let section: Vec<&str> = section.take_while(|line| !line.starts_with('#')).collect();
    if !section.is_empty() {
        return Some(section.join(" ").trim().to_owned());
    }
    let is_exported = head.iter().any(|line| line.contains("no_mangle"));
    is_exported.then(|| "what the header asks of every caller.".to_owned())
}

/// The first paragraph of the documentation of a callback's type: what the callback does.
fn promise_above(lines: &[&str], line: usize) -> Option<String> {
    let head = head_above(lines, line);
    let docs = head
        .iter()
        .map_while(|line| line.strip_prefix("///").map(str::trim));
    let docs: Vec<&str> = docs.take_while(|line| !line.is_empty()).collect();
    (!docs.is_empty()).then(|| docs.join(" "))
}

/// Returns a text without the links of documentation comments, whose targets are not pages: of a name in square
/// brackets, and a path in parentheses behind them, it keeps the name.
fn without_links(text: &str) -> String {
    let mut parts = text.split("[`");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once("`]").unwrap_or((part, ""));
        let target = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        let rest = target.map_or(rest, |(_, rest)| rest);
        let _ = write!(out, "`{name}`{rest}");
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a test stops at what it does not expect"
    )]

    use super::*;

    const SOURCE: &str = r#"
/// Reads.
///
/// # Safety
/// The pointer is good.
unsafe fn read(at: *const u8) -> u8 {
    // SAFETY: the caller's promise,
    // in two lines.
    let (a, b) = (
        1,
        unsafe { *at },
    );
    a + b // unsafe { in a comment }
}
// SAFETY: it has no state.
unsafe impl Send for Words {}
macro_rules! proved {
    ($call:expr) => {{
        // SAFETY: proved.
        unsafe { $call }
    }};
}
const TEXT: &str = "unsafe { in a text }";
mod tests {
    fn left_out() {
        unsafe { undocumented() }
    }
}
"#;

    #[test]
    fn every_place_is_found_with_its_argument() {
        let found = places(SOURCE).unwrap();
        let found: Vec<[&str; 3]> = found
            .iter()
            .map(|place| [&*place.around, &*place.what, &*place.argument])
            .collect();
        assert_eq!(
            found,
            [
                ["the module", "fn read", "The pointer is good."],
                ["`read`", "*at", "the caller's promise, in two lines."],
                ["the module", "impl Send for Words", "it has no state."],
                ["`proved!`", "$call", "proved."],
            ]
        );
    }

    #[test]
    fn links_of_documentation_become_names() {
        let text = "As [`empty`](Self::empty), and [`of`]; a [number].";
        assert_eq!(without_links(text), "As `empty`, and `of`; a [number].");
    }

    #[test]
    fn a_place_without_an_argument_is_an_error() {
        for (line, source) in [
            (1, "fn f() { unsafe { g() } }"),
            (3, "// A comment.\nfn f() {\n    unsafe { g() }\n}"),
            (2, "/// Reads.\nunsafe impl Send for Words {}"),
            (1, "unsafe fn f() {}"),
        ] {
            let refused = places(source).err();
            let Some(Failure(message)) = refused else {
                panic!("{source} is accepted");
            };
            assert!(message.starts_with(&format!("{line}: ")), "{message}");
        }
    }
}
