//! The parts that the example programs share: the readings ([`weather`]), the parties ([`scene`]),
//! and the report that each makes. The programs are in `examples/`:
//!
//! ```text
//! cargo run --release -p tfhe-sbc-examples --example histogram -- 168 histogram.svg
//! ```
#![forbid(unsafe_code)]

pub mod scene;
pub mod weather;

use scene::Scene;

/// Any error ends an example.
pub type Outcome<V> = Result<V, Box<dyn std::error::Error>>;

/// The report of an example.
#[derive(Debug, Default)]
pub struct Report {
    /// The lines that it prints.
    pub lines: Vec<String>,
    /// Whether the decrypted answers are those of the plain readings.
    pub agrees: bool,
    /// An SVG document.
    pub picture: Option<String>,
}

impl Report {
    /// Adds a line.
    pub fn say(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }
}

/// Runs an example as a program, whose arguments are the number of rows and a file for the picture.
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
