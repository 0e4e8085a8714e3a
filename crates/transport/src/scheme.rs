//! The schemes of the addresses that agents and clients connect to.

/// A scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// HTTP over TLS: a server.
    Https,
    /// MQTT over TLS: a broker.
    Mqtts,
    /// MQTT without TLS: a broker.
    Mqtt,
    /// Datagrams: a server that takes frames.
    Udp,
}

impl Scheme {
    const ALL: [Self; 4] = [Self::Https, Self::Mqtts, Self::Mqtt, Self::Udp];

    /// Returns the scheme's name, as it stands before `://`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::Mqtts => "mqtts",
            Self::Mqtt => "mqtt",
            Self::Udp => "udp",
        }
    }

    /// Returns the port of an address that names none. Over UDP there is none that people agree on, and 0 stands
    /// for that.
    pub fn default_port(self) -> u16 {
        match self {
            Self::Https => 443,
            Self::Mqtts => 8883,
            Self::Mqtt => 1883,
            Self::Udp => 0,
        }
    }

    /// Splits an address at `://` into its scheme and the rest. `None` if the address has none of
    /// these schemes.
    pub fn split(url: &str) -> Option<(Self, &str)> {
        let (name, rest) = url.split_once("://")?;
        let scheme = Self::ALL.into_iter().find(|scheme| scheme.name() == name)?;
        Some((scheme, rest))
    }
}
