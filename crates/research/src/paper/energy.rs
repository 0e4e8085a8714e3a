//! The energy of a computation, read from the machine's meter if it has one, otherwise modelled.
//!
//! A meter is Linux's powercap (RAPL: microjoules that count up and wrap) or a power sensor under
//! hwmon (microwatts). The model is the time multiplied by the power that the paper measured on its
//! board during the same work.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The source of a figure in joules.
pub enum Meter {
    /// A counter of microjoules.
    Counter {
        /// The file with the count.
        energy: PathBuf,
        /// The value at which the count wraps, in microjoules.
        range: u64,
    },
    /// A sensor of the present power.
    Sensor {
        /// The file with the power in microwatts.
        power: PathBuf,
    },
    /// The power that the paper measured on its board.
    Model,
}

/// The duration of a metered run. A counter moves about once a millisecond.
const METERED: Duration = Duration::from_millis(400);

impl Meter {
    /// Returns the first meter that can be read, or the model.
    pub fn detect() -> Self {
        Self::detect_under(Path::new("/sys/class"))
    }

    fn detect_under(class: &Path) -> Self {
        for zone in entries(&class.join("powercap")) {
            let energy = zone.join("energy_uj");
            if let (Some(_), Some(range)) =
                (number(&energy), number(&zone.join("max_energy_range_uj")))
            {
                return Self::Counter { energy, range };
            }
        }
        for chip in entries(&class.join("hwmon")) {
            for name in ["power1_input", "power1_average"] {
                let power = chip.join(name);
                if number(&power).is_some() {
                    return Self::Sensor { power };
                }
            }
        }
        Self::Model
    }

    /// The description of the source, as the tables print it.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Counter { .. } => "measured by the processor's energy counter (powercap)",
            Self::Sensor { .. } => "measured by a power sensor (hwmon)",
            Self::Model => {
                "modelled: time here times the power that the paper measured on its board"
            }
        }
    }

    /// Returns the joules of one run of `work`, which takes `seconds`. The model takes the power
    /// `modelled_watts`.
    ///
    /// # Errors
    ///
    /// Those of `work`, which a meter runs repeatedly and the model not at all.
    pub fn joules<E>(
        &self,
        seconds: f64,
        modelled_watts: f64,
        mut work: impl FnMut() -> Result<(), E>,
    ) -> Result<f64, E> {
        let (before, start) = (self.read(), Instant::now());
        let Some(before) = before else {
            return Ok(seconds * modelled_watts);
        };
        let mut runs = 0u32;
        let mut watts = Vec::new();
        while start.elapsed() < METERED {
            work()?;
            runs += 1;
            if let Self::Sensor { .. } = self {
                watts.extend(self.read().map(|microwatts| microwatts as f64 * 1e-6));
            }
        }
        Ok(match self {
            Self::Counter { range, .. } => {
                let after = self.read().unwrap_or(before);
                let spent = match after.checked_sub(before) {
                    Some(spent) => spent,
                    None => after + (range - before),
                };
                spent as f64 * 1e-6 / f64::from(runs)
            }
            _ => {
                let mean = watts.iter().sum::<f64>() / watts.len().max(1) as f64;
                mean * start.elapsed().as_secs_f64() / f64::from(runs)
            }
        })
    }

    fn read(&self) -> Option<u64> {
        match self {
            Self::Counter { energy, .. } => number(energy),
            Self::Sensor { power } => number(power),
            Self::Model => None,
        }
    }
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    found.sort();
    found
}

fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_preferred_and_wraps() {
        let class = tempfile::tempdir().unwrap();
        assert!(matches!(Meter::detect_under(class.path()), Meter::Model));
        let chip = class.path().join("hwmon/hwmon0");
        fs::create_dir_all(&chip).unwrap();
        fs::write(chip.join("power1_input"), "2500000\n").unwrap();
        let sensor = Meter::detect_under(class.path());
        assert!(matches!(sensor, Meter::Sensor { .. }));
        let start = Instant::now();
        let mut runs = 0;
        let joules = sensor.joules(0.0, 0.0, || {
            runs += 1;
            Ok::<_, ()>(())
        });
        let expected = 2.5 * start.elapsed().as_secs_f64() / f64::from(runs);
        assert!((joules.unwrap() / expected - 1.0).abs() < 0.05);

        let zone = class.path().join("powercap/intel-rapl:0");
        fs::create_dir_all(&zone).unwrap();
        fs::write(zone.join("max_energy_range_uj"), "1000\n").unwrap();
        let energy = zone.join("energy_uj");
        fs::write(&energy, "900\n").unwrap();
        let counter = Meter::detect_under(class.path());
        let mut runs = 0;
        let joules = counter.joules(0.0, 0.0, || {
            runs += 1;
            fs::write(&energy, "100\n")
        });
        // 900 to 1000 and on to 100.
        let expected = 200e-6 / f64::from(runs);
        assert!((joules.unwrap() / expected - 1.0).abs() < 1e-9);
    }

    #[test]
    fn without_a_meter_energy_is_time_times_the_papers_power() {
        let joules = Meter::Model.joules(2.0, 1.5, || Err("not run"));
        assert_eq!(joules, Ok(3.0));
    }
}
