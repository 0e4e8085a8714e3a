//! Examples: what readings of a weather station may be asked without being seen.
//!
//! Each module is one example: a key owner makes keys, a device encrypts real readings
//! ([`weather`]), a server that has no secret evaluates, and the key owner decrypts; in one
//! process, without a network. [`scene`] has what they share. A program of the same name in
//! `examples/` runs it:
//!
//! ```text
//! cargo run --release -p tfhe-sbc-examples --example histogram -- 168 histogram.svg
//! ```
#![forbid(unsafe_code)]

pub mod daily_maxima;
pub mod decision_tree;
pub mod histogram;
pub mod logistic;
pub mod scene;
pub mod threshold_alarm;
pub mod weather;

use scene::Scene;

/// Whatever goes wrong ends an example.
pub type Outcome<V> = Result<V, Box<dyn std::error::Error>>;

/// What an example has to say.
#[derive(Debug, Default)]
pub struct Report {
    /// What it prints.
    pub lines: Vec<String>,
    /// Whether the decrypted answers are those of the plain readings.
    pub agrees: bool,
    /// An SVG document.
    pub picture: Option<String>,
}

impl Report {
    fn say(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }
}

/// Runs an example as a program: its arguments are the number of rows, and a file for the
/// picture.
pub fn run(rows: usize, example: fn(&Scene, usize) -> Outcome<Report>) -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let rows = match arguments.next() {
        Some(rows) => rows.parse()?,
        None => rows,
    };
    let scene = Scene::new()?;
    println!("{}", scene.about);
    let report = example(&scene, rows)?;
    for line in &report.lines {
        println!("{line}");
    }
    if let (Some(picture), Some(path)) = (&report.picture, arguments.next()) {
        std::fs::write(&path, picture)?;
        println!("picture: {path}");
    }
    if !report.agrees {
        return Err("an answer is not that of the plain readings".into());
    }
    println!("the answers are those of the plain readings");
    Ok(())
}
