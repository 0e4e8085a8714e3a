//! Uploads over a broker that speaks MQTT 3.1.1, for boards that cannot reach a server by HTTPS.
//!
//! A device publishes an upload in [`part`]s to `PREFIX/DEVICE/up` ([`topics`]). The server puts
//! the parts together again, checks and stores the upload like any other, and publishes its
//! [`answer`] to `PREFIX/DEVICE/answer`. Only that answer says that an upload is on the server's
//! disk. An acknowledgement of the broker does not say so, and whatever the broker loses is sent
//! again. [`packet`] is the format of MQTT's packets; [`connection`] is a connection to a broker
//! and is used by both ends.
//!
//! The broker knows devices by their certificates. Its access rules must let each device publish
//! below its own name only, for the server believes the topic.

pub mod answer;
pub mod connection;
pub mod packet;
pub mod part;
pub mod topics;
