//! Tests with made-up devices, which have the files that the kernel's drivers make.

use super::*;

/// A tree below a fresh directory.
fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

fn iio_source(device: &str, channel: &str) -> Place {
    Place::Iio {
        device: device.to_owned(),
        channel: channel.to_owned(),
    }
}

fn value(root: &Path, place: Place) -> f64 {
    let mut channel = match Channel::open(root, place) {
        Ok(channel) => channel,
        Err(problem) => panic!("{problem:?}"),
    };
    channel.read(1).unwrap()
}

fn problem(root: &Path, place: Place) -> Problem {
    Channel::open(root, place).err().unwrap()
}

fn assert_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
}

/// The files are those that the drivers bmp280, ads1015 and inv-mpu6050 make.
const IIO: &[(&str, &str)] = &[
    ("bus/iio/devices/iio:device0/name", "bme280\n"),
    ("bus/iio/devices/iio:device0/in_temp_input", "21370\n"),
    (
        "bus/iio/devices/iio:device0/in_humidityrelative_input",
        "48123\n",
    ),
    (
        "bus/iio/devices/iio:device0/in_pressure_input",
        "101.325000000\n",
    ),
    ("bus/iio/devices/iio:device1/name", "ads1015\n"),
    ("bus/iio/devices/iio:device1/in_voltage0_raw", "812\n"),
    ("bus/iio/devices/iio:device1/in_voltage0_scale", "2\n"),
    (
        "bus/iio/devices/iio:device1/in_voltage0-voltage1_raw",
        "-100\n",
    ),
    (
        "bus/iio/devices/iio:device1/in_voltage-voltage_scale",
        "3.000000\n",
    ),
    ("bus/iio/devices/iio:device2/name", "mpu6050\n"),
    ("bus/iio/devices/iio:device2/label", "gyro\n"),
    ("bus/iio/devices/iio:device2/in_accel_x_raw", "16384\n"),
    ("bus/iio/devices/iio:device2/in_accel_scale", "0.000598\n"),
    ("bus/iio/devices/iio:device2/in_temp_raw", "-1200\n"),
    ("bus/iio/devices/iio:device2/in_temp_offset", "12420\n"),
    ("bus/iio/devices/iio:device2/in_temp_scale", "2.941176\n"),
    ("bus/iio/devices/trigger0/name", "bme280\n"),
];

#[test]
fn iio_channels_are_scaled_to_units_of_people() {
    let root = tree(IIO);
    for (device, channel, expected) in [
        ("bme280", "temp", 21.37),
        ("iio:device0", "humidityrelative", 48.123),
        ("bme280", "pressure", 101.325),
        ("ads1015", "voltage0", 1.624),
        ("ads1015", "voltage0-voltage1", -0.3),
        ("gyro", "accel_x", 16384.0 * 0.000598),
        ("mpu6050", "temp", (12420.0 - 1200.0) * 2.941176 / 1000.0),
    ] {
        assert_near(value(root.path(), iio_source(device, channel)), expected);
    }
}

#[test]
fn what_is_not_there_is_answered_with_what_there_is() {
    let root = tree(IIO);
    let (what, advice) = problem(root.path(), iio_source("bmp180", "temp"));
    assert!(what.contains("no IIO device 'bmp180'"), "{what}");
    assert!(
        advice.contains("'ads1015' (iio:device1), 'bme280' (iio:device0)"),
        "{advice}"
    );
    let (what, advice) = problem(root.path(), iio_source("bme280", "temperature"));
    assert!(what.contains("no channel 'temperature'"), "{what}");
    assert_eq!(advice, "its channels are humidityrelative, pressure, temp");
    let empty = tempfile::tempdir().unwrap();
    let (_, advice) = problem(empty.path(), iio_source("bme280", "temp"));
    assert!(
        advice.contains("none at all") && advice.contains("dtoverlay"),
        "{advice}"
    );
    let thermal = Place::Thermal {
        zone: "cpu".to_owned(),
    };
    let (what, _) = problem(empty.path(), thermal);
    assert!(what.contains("no thermal zone 'cpu'"), "{what}");

    let twins = [IIO, &[("bus/iio/devices/iio:device3/name", "bme280\n")]].concat();
    let (what, advice) = problem(tree(&twins).path(), iio_source("bme280", "temp"));
    assert!(what.contains("several"), "{what}");
    assert!(advice.contains("iio:device0, iio:device3"), "{advice}");

    let broken = [
        IIO,
        &[("bus/iio/devices/iio:device0/in_temp_input", "n/a\n")],
    ]
    .concat();
    let (what, _) = problem(tree(&broken).path(), iio_source("bme280", "temp"));
    assert!(what.contains("holds no number"), "{what}");
}

#[test]
fn monitors_and_zones_are_read_by_name_label_and_directory() {
    let root = tree(&[
        ("class/hwmon/hwmon0/name", "cpu_thermal\n"),
        ("class/hwmon/hwmon0/temp1_input", "48312\n"),
        ("class/hwmon/hwmon3/name", "ina219\n"),
        ("class/hwmon/hwmon3/in1_input", "5012\n"),
        ("class/hwmon/hwmon3/in1_label", "supply\n"),
        ("class/hwmon/hwmon3/power1_input", "1250000\n"),
        ("class/hwmon/hwmon3/fan1_input", "1800\n"),
        ("class/thermal/thermal_zone0/type", "cpu-thermal\n"),
        ("class/thermal/thermal_zone0/temp", "48850\n"),
        ("class/thermal/cooling_device0/type", "cpu-thermal\n"),
    ]);
    let monitor = |device: &str, channel: &str| Place::Hwmon {
        device: device.to_owned(),
        channel: channel.to_owned(),
    };
    let thermal = |zone: &str| Place::Thermal {
        zone: zone.to_owned(),
    };
    for (config, expected) in [
        (monitor("cpu_thermal", "temp1"), 48.312),
        (monitor("hwmon3", "in1"), 5.012),
        (monitor("ina219", "supply"), 5.012),
        (monitor("ina219", "power1"), 1.25),
        (monitor("ina219", "fan1"), 1800.0),
        (thermal("cpu-thermal"), 48.85),
        (thermal("thermal_zone0"), 48.85),
    ] {
        assert_near(value(root.path(), config), expected);
    }
}

#[test]
fn a_device_that_comes_back_under_another_number_is_found() {
    let root = tree(IIO);
    let devices = root.path().join("bus/iio/devices");
    let mut channel = Channel::open(root.path(), iio_source("bme280", "temp"))
        .ok()
        .unwrap();
    fs::rename(devices.join("iio:device0"), devices.join("elsewhere")).unwrap();
    assert!(channel.read(1).unwrap_err().contains("iio:device0"));
    fs::rename(devices.join("elsewhere"), devices.join("iio:device7")).unwrap();
    assert_near(channel.read(1).unwrap(), 21.37);
}

#[test]
fn a_sensor_that_may_be_absent_is_found_when_it_comes() {
    let root = tree(IIO);
    let devices = root.path().join("bus/iio/devices");
    fs::rename(devices.join("iio:device0"), devices.join("elsewhere")).unwrap();
    let mut awaited = Awaited::new(root.path(), iio_source("bme280", "temp"));
    assert!(awaited.read(1).is_err());
    fs::rename(devices.join("elsewhere"), devices.join("iio:device3")).unwrap();
    assert_near(awaited.read(2).unwrap(), 21.37);
    // It may go and come back.
    fs::rename(devices.join("iio:device3"), devices.join("elsewhere")).unwrap();
    assert!(awaited.read(3).is_err());
    fs::rename(devices.join("elsewhere"), devices.join("iio:device0")).unwrap();
    assert_near(awaited.read(4).unwrap(), 21.37);
}
