//! Tells the linker where the board's memory is.

use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=memory.x");
    let out = std::env::var("OUT_DIR")?;
    std::fs::copy("memory.x", Path::new(&out).join("memory.x"))?;
    println!("cargo::rustc-link-search={out}");
    Ok(())
}
