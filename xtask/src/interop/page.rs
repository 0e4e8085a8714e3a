//! The commands of a page of documentation.

use std::fs::{copy, create_dir_all, remove_dir_all};
use std::path::Path;
use std::process::Command;

use super::{Programs, work_folder};
use crate::failure::{Failure, read, succeed, write};
use crate::workspace::root;

/// Runs the ```` ```sh ```` blocks of `docs/adapters/NAME.md`, one after the other in an empty folder,
/// up to the first command that fails. `tfhe-sbc` is on the path.
pub(super) fn run(name: &str, programs: &Programs) -> Result<(), Failure> {
    run_with(name, programs, &[])
}

/// Does the same as [`run`] for readers who have these files already.
pub(super) fn run_with(name: &str, programs: &Programs, files: &[&Path]) -> Result<(), Failure> {
    let page = root().join("docs/adapters").join(format!("{name}.md"));
    let commands = commands(&read(&page)?);
    if commands.is_empty() {
        return Err(Failure(format!("{} has no commands", page.display())));
    }
    let folder = work_folder(name)?.join("page");
    let _ = remove_dir_all(&folder);
    create_dir_all(&folder).map_err(|error| Failure(format!("{}: {error}", folder.display())))?;
    for file in files {
        let to = folder.join(file.file_name().unwrap_or_default());
        copy(file, to).map_err(|error| Failure(format!("{}: {error}", file.display())))?;
    }
    let script = work_folder(name)?.join("page.sh");
    write(&script, &format!("set -euo pipefail\n{commands}"))?;
    let path = std::env::var("PATH").unwrap_or_default();
    let mut bash = Command::new("bash");
    bash.arg(script)
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", programs.folder.display()));
    succeed(&format!("the commands of {}", page.display()), &mut bash)
}

/// The lines of all blocks that are to be run.
fn commands(page: &str) -> String {
    let mut commands = String::new();
    let mut inside = false;
    for line in page.lines() {
        match line.trim_end() {
            "```sh" if !inside => inside = true,
            "```" if inside => inside = false,
            line if inside => {
                commands.push_str(line);
                commands.push('\n');
            }
            _ => {}
        }
    }
    commands
}
