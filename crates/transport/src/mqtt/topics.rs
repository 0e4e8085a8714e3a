//! The topics under which devices and the server publish.

/// The longest name of a device in a topic, in bytes.
const MAX_DEVICE_BYTES: usize = 64;

/// Returns the topic under which `device` publishes the parts of its uploads.
pub fn up_topic(prefix: &str, device: &str) -> String {
    format!("{prefix}/{device}/up")
}

/// Returns the topic under which the server answers `device`.
pub fn answer_topic(prefix: &str, device: &str) -> String {
    format!("{prefix}/{device}/answer")
}

/// Returns the topic under which `device` publishes frames, each in a message of its own.
pub fn frame_topic(prefix: &str, device: &str) -> String {
    format!("{prefix}/{device}/frame")
}

/// Returns the name of the device that publishes parts under `topic`; `None` if no device does.
pub fn device_of<'t>(prefix: &str, topic: &'t str) -> Option<&'t str> {
    publisher(prefix, topic, "/up")
}

/// Returns the name of the device that publishes frames under `topic`; `None` if no device does.
pub fn frames_device_of<'t>(prefix: &str, topic: &'t str) -> Option<&'t str> {
    publisher(prefix, topic, "/frame")
}

fn publisher<'t>(prefix: &str, topic: &'t str, end: &str) -> Option<&'t str> {
    let rest = topic.strip_prefix(prefix)?.strip_prefix('/')?;
    let device = rest.strip_suffix(end)?;
    let is_name =
        (1..=MAX_DEVICE_BYTES).contains(&device.len()) && !device.contains(['/', '+', '#']);
    is_name.then_some(device)
}
