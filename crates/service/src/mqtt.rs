//! Uploads over a broker that speaks MQTT 3.1.1, for boards that reach no server by HTTPS.
//!
//! A device publishes an upload in [`part`]s to `PREFIX/DEVICE/up`; [`ingest`], a part of the
//! server, puts parts together again, checks and stores the upload like any other, and
//! publishes its [`answer`] to `PREFIX/DEVICE/answer`. Only that answer says that an upload is on the
//! server's disk; an acknowledgement of the broker says nothing, and whatever the broker loses
//! is sent again. [`packet`] is the protocol's own format, [`connection`] one connection to a
//! broker, used by both ends.
//!
//! The broker knows devices by their certificates, and its access rules must let each publish
//! below its own name only: the server believes the topic.

pub mod answer;
pub mod connection;
pub mod ingest;
pub mod packet;
pub mod part;

/// Where a device publishes its parts.
pub fn up_topic(prefix: &str, device: &str) -> String {
    format!("{prefix}/{device}/up")
}

/// Where the server answers it.
pub fn answer_topic(prefix: &str, device: &str) -> String {
    format!("{prefix}/{device}/answer")
}

/// The device that publishes under this topic.
fn device_of<'t>(prefix: &str, topic: &'t str) -> Option<&'t str> {
    let rest = topic.strip_prefix(prefix)?.strip_prefix('/')?;
    let device = rest.strip_suffix("/up")?;
    let is_name = (1..=64).contains(&device.len()) && !device.contains(['/', '+', '#']);
    is_name.then_some(device)
}
