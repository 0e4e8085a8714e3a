//! Sensors that the kernel shows below `/sys`: industrial I/O, hardware monitors and thermal
//! zones. Formats: the kernel's `Documentation/ABI/testing/sysfs-bus-iio`, `sysfs-class-hwmon`
//! and `sysfs-class-thermal`.

use std::fs;
use std::path::{Path, PathBuf};

use super::sensor::Sensor;
use super::value::plain;

/// The problem, and what to do about it.
type Problem = (String, String);

/// The names under which a channel is found.
#[derive(Clone)]
pub(super) enum Place {
    /// A channel of a device of industrial I/O.
    Iio { device: String, channel: String },
    /// A channel of a hardware monitor.
    Hwmon { device: String, channel: String },
    /// A thermal zone.
    Thermal { zone: String },
}

/// The files of a channel, found by the names of device and channel.
pub(super) struct Channel {
    root: PathBuf,
    place: Place,
    files: Files,
}

/// A channel that may not be there yet.
pub(super) struct Awaited {
    root: PathBuf,
    place: Place,
    channel: Option<Channel>,
}

impl Awaited {
    /// Looks for a channel below `root`, and again at every reading until there is one.
    pub(super) fn new(root: &Path, place: Place) -> Self {
        let channel = match Channel::open(root, place.clone()) {
            Ok(channel) => Some(channel),
            Err((problem, advice)) => {
                tracing::warn!(%problem, %advice, "a sensor of an optional column is not there: it is looked for at every row");
                None
            }
        };
        Self {
            root: root.to_owned(),
            place,
            channel,
        }
    }
}

impl Sensor for Awaited {
    fn read(&mut self, row: u64) -> Result<f64, String> {
        if self.channel.is_none() {
            let found = Channel::open(&self.root, self.place.clone());
            self.channel = Some(found.map_err(|(problem, _)| problem)?);
        }
        match &mut self.channel {
            Some(channel) => channel.read(row),
            None => Err("the sensor is not there".to_owned()),
        }
    }
}

struct Files {
    value: PathBuf,
    offset: Option<PathBuf>,
    scale: Option<PathBuf>,
    /// The factor to °C, V, A and so on.
    unit: f64,
}

impl Channel {
    /// Finds the files of a channel below `root`, which is usually `/sys`, and reads them once.
    pub(super) fn open(root: &Path, place: Place) -> Result<Self, Problem> {
        let files = find(root, &place)?;
        let advice = "check the wiring and the kernel's log (dmesg), and whether the agent's user may read it";
        files
            .read()
            .map_err(|problem| (problem, advice.to_owned()))?;
        Ok(Self {
            root: root.to_owned(),
            place,
            files,
        })
    }
}

impl Sensor for Channel {
    /// Reads the value now. A device that was plugged in again has another number: it is found again.
    fn read(&mut self, _row: u64) -> Result<f64, String> {
        self.files.read().or_else(|problem| {
            self.files = find(&self.root, &self.place).map_err(|_| problem)?;
            self.files.read()
        })
    }
}

impl Files {
    fn read(&self) -> Result<f64, String> {
        let part = |path: &Option<PathBuf>, none| path.as_deref().map_or(Ok(none), read_number);
        let value = read_number(&self.value)?;
        let (offset, scale) = (part(&self.offset, 0.0)?, part(&self.scale, 1.0)?);
        Ok((value + offset) * scale * self.unit)
    }
}

fn read_number(path: &Path) -> Result<f64, String> {
    let text = fs::read_to_string(path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    plain(&text).ok_or_else(|| format!("{} holds no number", path.display()))
}

fn find(root: &Path, place: &Place) -> Result<Files, Problem> {
    match place {
        Place::Iio { device, channel } => {
            let class = Class {
                directory: root.join("bus/iio/devices"),
                names: &["name", "label"],
                what: "IIO device",
                prefix: "iio:device",
                missing: "load the sensor's driver (on a Raspberry Pi a dtoverlay= line in config.txt); `head /sys/bus/iio/devices/*/name` shows what there is",
            };
            iio(&class.find(device)?, channel)
        }
        Place::Hwmon { device, channel } => {
            let class = Class {
                directory: root.join("class/hwmon"),
                names: &["name"],
                what: "hardware monitor",
                prefix: "hwmon",
                missing: "load the monitor's driver; `head /sys/class/hwmon/*/name` shows what there is",
            };
            hwmon(&class.find(device)?, channel)
        }
        Place::Thermal { zone } => {
            let class = Class {
                directory: root.join("class/thermal"),
                names: &["type"],
                what: "thermal zone",
                prefix: "thermal_zone",
                missing: "`head /sys/class/thermal/*/type` shows what there is",
            };
            Ok(Files {
                value: class.find(zone)?.join("temp"),
                offset: None,
                scale: None,
                unit: 1e-3,
            })
        }
    }
}

/// A directory of devices.
struct Class<'a> {
    directory: PathBuf,
    names: &'a [&'a str],
    what: &'a str,
    prefix: &'a str,
    missing: &'a str,
}

impl Class<'_> {
    fn find(&self, wanted: &str) -> Result<PathBuf, Problem> {
        let mut found = Vec::new();
        let mut known = Vec::new();
        let entries = fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten();
        for entry in entries {
            let directory = entry.file_name().to_string_lossy().into_owned();
            if !directory.starts_with(self.prefix) {
                continue;
            }
            let texts = self.names.iter().filter_map(|file| {
                let text = fs::read_to_string(entry.path().join(file)).ok()?;
                Some(text.trim().to_owned())
            });
            let texts: Vec<String> = texts.collect();
            if directory == wanted || texts.iter().any(|text| text == wanted) {
                found.push((directory.clone(), entry.path()));
            }
            let name = texts.first().map_or("", String::as_str);
            known.push(format!("'{name}' ({directory})"));
        }
        found.sort();
        known.sort();
        let place = self.directory.display();
        match found.len() {
            1 => Ok(found.remove(0).1),
            0 => Err((
                format!("there is no {} '{wanted}' in {place}", self.what),
                match known.is_empty() {
                    true => format!("there is none at all: {}", self.missing),
                    false => format!("there are {}", known.join(", ")),
                },
            )),
            _ => {
                let names: Vec<_> = found.into_iter().map(|(name, _)| name).collect();
                Err((
                    format!("several {}s are called '{wanted}'", self.what),
                    format!("name one by its directory: {}", names.join(", ")),
                ))
            }
        }
    }
}

/// Returns a channel's own attribute, or the one that channels of its type share: for `voltage0`
/// and `accel_x` those of `voltage` and `accel`.
fn iio_attribute(device: &Path, channel: &str, attribute: &str) -> Option<PathBuf> {
    let numberless: String = channel.chars().filter(|c| !c.is_ascii_digit()).collect();
    let kind = channel
        .find(|c: char| !c.is_ascii_lowercase())
        .map(|end| &channel[..end]);
    let names = [Some(channel), Some(numberless.as_str()), kind];
    let mut paths = names
        .into_iter()
        .flatten()
        .map(|name| device.join(format!("in_{name}_{attribute}")));
    paths.find(|path| path.exists())
}

fn iio(device: &Path, channel: &str) -> Result<Files, Problem> {
    // The kernel's units are thousandths of these.
    let kind = channel.split(|c: char| !c.is_ascii_lowercase()).next();
    let unit = match kind {
        Some("temp" | "voltage" | "current" | "humidityrelative") => 1e-3,
        _ => 1.0,
    };
    let own = |attribute: &str| device.join(format!("in_{channel}_{attribute}"));
    if own("input").exists() {
        return Ok(Files {
            value: own("input"),
            offset: None,
            scale: None,
            unit,
        });
    }
    if own("raw").exists() {
        return Ok(Files {
            value: own("raw"),
            offset: iio_attribute(device, channel, "offset"),
            scale: iio_attribute(device, channel, "scale"),
            unit,
        });
    }
    Err(no_channel(device, channel, "in_", &["_input", "_raw"]))
}

fn hwmon(device: &Path, channel: &str) -> Result<Files, Problem> {
    let name = match device.join(format!("{channel}_input")).exists() {
        true => channel.to_owned(),
        false => {
            labelled(device, channel).ok_or_else(|| no_channel(device, channel, "", &["_input"]))?
        }
    };
    let kind = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let unit = match kind {
        "temp" | "in" | "curr" | "humidity" => 1e-3,
        "power" | "energy" => 1e-6,
        _ => 1.0,
    };
    Ok(Files {
        value: device.join(format!("{name}_input")),
        offset: None,
        scale: None,
        unit,
    })
}

/// Returns the channel with this label.
fn labelled(device: &Path, label: &str) -> Option<String> {
    let mut entries = fs::read_dir(device).ok()?.flatten();
    entries.find_map(|entry| {
        let name = entry.file_name();
        let name = name.to_str()?.strip_suffix("_label")?.to_owned();
        let text = fs::read_to_string(entry.path()).ok()?;
        (text.trim() == label && device.join(format!("{name}_input")).exists()).then_some(name)
    })
}

fn no_channel(device: &Path, channel: &str, prefix: &str, suffixes: &[&str]) -> Problem {
    let entries = fs::read_dir(device).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| {
        let name = entry.file_name();
        let name = name.to_str()?.strip_prefix(prefix)?;
        let name = suffixes.iter().find_map(|suffix| name.strip_suffix(suffix));
        name.map(str::to_owned)
    });
    let mut known: Vec<String> = names.collect();
    known.sort();
    known.dedup();
    (
        format!("{} has no channel '{channel}'", device.display()),
        match known.is_empty() {
            true => "it has none that can be read: is it the right device?".to_owned(),
            false => format!("its channels are {}", known.join(", ")),
        },
    )
}

#[cfg(test)]
#[path = "sysfs_tests.rs"]
mod tests;
