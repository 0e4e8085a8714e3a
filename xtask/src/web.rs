//! `cargo xtask web`: builds the key owner's page and tests it in Chromium. The crate `web` becomes a
//! WebAssembly module, and the module and the files of `web/` become one HTML file that needs no server.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::arm::cross::cross_cargo;
use crate::failure::{Failure, output, read, succeed, write};
use crate::workspace::{absolute, build_program, built_folder, root, step, target_folder};

const TRIPLE: &str = "wasm32-unknown-unknown";
const PACKAGE: &str = "tfhe-sbc-web";
const MODULE_PROFILE: &str = "web";

/// The parts of the standard library that the module needs.
const STD: &str = "std,panic_abort";

/// The page, and its test against the program.
pub(crate) fn run() -> Result<(), Failure> {
    check_browser()?;
    let folder = absolute(&target_folder().join("web"))?;
    let file = folder.join("decrypt.html");
    page(&file)?;
    build_program(&["--example", "fixtures"])?;
    let built = built_folder()?;
    step("the page's files", || {
        let mut fixtures = Command::new(built.join("examples/fixtures"));
        succeed("fixtures", fixtures.arg(folder.join("fixtures")))
    })?;
    step("the page in Chromium", || {
        let mut test = Command::new("python3");
        test.arg("-B")
            .arg(root().join("web/test.py"))
            .arg(&file)
            .arg(built.join("tfhe-sbc"))
            .arg(folder.join("fixtures"))
            .arg(folder.join("test"));
        succeed("web/test.py", &mut test)
    })
}

fn check_browser() -> Result<(), Failure> {
    for program in ["chromium", "chromedriver"] {
        let version = output(program, Command::new(program).arg("--version"));
        version.map_err(|Failure(message)| {
            Failure(format!(
                "{message}. On Debian 12:\n    \
                 apt-get install --no-install-recommends chromium chromium-driver"
            ))
        })?;
    }
    Ok(())
}

/// Makes the page.
pub(crate) fn page(file: &Path) -> Result<(), Failure> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure(format!("{}: {error}", folder.display())))?;
    }
    step("the page", || {
        let module = module()?;
        let web = root().join("web");
        let page = read(&web.join("page.html"))?
            .replace("{{style}}", read(&web.join("page.css"))?.trim_end())
            .replace("{{script}}", read(&web.join("page.js"))?.trim_end())
            .replace("{{module}}", &base64(&module));
        write(file, &page)?;
        eprintln!(
            "module: {} bytes\npage:   {} bytes, {}",
            module.len(),
            page.len(),
            file.display()
        );
        Ok(())
    })
}

/// Builds the WebAssembly module.
fn module() -> Result<Vec<u8>, Failure> {
    let (mut cargo, folder) = cross_cargo(TRIPLE, "build", STD)?;
    cargo
        .current_dir(root())
        .args(["--package", PACKAGE, "--lib", "--profile", MODULE_PROFILE])
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker()?);
    succeed("the module", &mut cargo)?;
    let file = folder.join(MODULE_PROFILE).join("tfhe_sbc_web.wasm");
    std::fs::read(&file).map_err(|error| Failure(format!("{}: {error}", file.display())))
}

/// The linker of the toolchain that cargo came with; a distribution's has none of its own.
fn linker() -> Result<PathBuf, Failure> {
    let rustc = Path::new(env!("CARGO")).with_file_name("rustc");
    let mut command = Command::new(rustc);
    let libraries = output("rustc", command.args(["--print", "target-libdir"]))?;
    let bundled = Path::new(libraries.trim()).with_file_name("bin/rust-lld");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join("wasm-ld"));
    std::iter::once(bundled)
        .chain(on_path)
        .find(|linker| linker.is_file())
        .ok_or_else(|| {
            Failure(
                "no linker for WebAssembly: use a toolchain of rustup's, or put the wasm-ld of an \
                 LLVM as new as rustc's on the path"
                    .to_owned(),
            )
        })
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = (0..3).fold(0, |group, i| {
            group << 8 | u32::from(chunk.get(i).copied().unwrap_or(0))
        });
        for i in 0..4 {
            let digit = DIGITS[(group >> (18 - 6 * i) & 63) as usize];
            text.push(if i <= chunk.len() {
                char::from(digit)
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_is_that_of_the_rfc() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }
}
