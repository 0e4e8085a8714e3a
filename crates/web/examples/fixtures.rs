//! Writes the files that `cargo xtask web` gives to the page: `fixtures FOLDER`.

#[allow(clippy::unwrap_used, reason = "of the tests")]
#[path = "../tests/it/common/mod.rs"]
mod common;

use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).ok_or("which folder?")?;
    let folder = PathBuf::from(folder);
    std::fs::create_dir_all(&folder)?;
    let (owner, other) = (common::secret_key(1), common::secret_key(2));
    std::fs::write(folder.join("secret.tsbc"), owner.to_bytes()?)?;
    std::fs::write(folder.join("other.tsbc"), other.to_bytes()?)?;
    std::fs::write(folder.join("device.tsbc"), owner.device_key().to_bytes()?)?;
    std::fs::write(folder.join("result.tsbc"), common::result(&owner))?;
    Ok(())
}
