//! Packets of MQTT 3.1.1 (OASIS standard, 2014), as far as a client needs them.

/// The largest length that the protocol can write.
const MAX_REMAINING: usize = 268_435_455;

/// A packet that a client sends.
#[derive(Debug, Clone, Copy)]
pub enum Outgoing<'a> {
    /// Begins a session.
    Connect {
        /// Whether the broker goes on with the session that this client had, whose messages it has kept.
        resume: bool,
        /// The client's name, which no other client may have.
        client: &'a str,
        /// The client's user and password, if it has them.
        login: Option<(&'a str, &'a str)>,
        /// The seconds of silence after which the broker may close the session; 0 for never.
        keep_alive: u16,
    },
    /// A message, to be acknowledged under the number `id` (QoS 1).
    Publish {
        /// Its topic.
        topic: &'a str,
        /// Its content.
        payload: &'a [u8],
        /// Its number, not 0.
        id: u16,
        /// True for a retained message (MQTT 3.1.1, section 3.3.1.3): the broker stores it in place of the topic's
        /// former one, and sends it to clients that subscribe later.
        retain: bool,
    },
    /// Acknowledges a message.
    PubAck {
        /// Its number.
        id: u16,
    },
    /// Asks for the messages of topics, at QoS 1.
    Subscribe {
        /// The topics, which may have wildcards.
        topics: &'a [&'a str],
        /// The number of the request, not 0.
        id: u16,
    },
    /// Tells the broker that the client is alive.
    Ping,
    /// Ends the session.
    Disconnect,
}

/// A packet that a broker sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Incoming<'a> {
    /// The answer to [`Outgoing::Connect`]: the session began if the code is 0.
    ConnAck {
        /// 0, or the reason why the session did not begin.
        code: u8,
    },
    /// A message.
    Publish {
        /// Its topic.
        topic: &'a str,
        /// Its content.
        payload: &'a [u8],
        /// Its number, if it is to be acknowledged.
        id: Option<u16>,
    },
    /// The acknowledgement of a message.
    PubAck {
        /// Its number.
        id: u16,
    },
    /// The answer to [`Outgoing::Subscribe`].
    SubAck {
        /// Whether all topics were granted.
        granted: bool,
    },
    /// The answer to [`Outgoing::Ping`].
    Pong,
}

/// Bytes that are no packet of a broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    /// The packet is larger than is taken; its bytes.
    #[error("a packet of {0} bytes is larger than is taken")]
    TooLarge(usize),
    /// The bytes are not what the standard says.
    #[error("it does not speak MQTT 3.1.1")]
    Malformed,
}

impl Outgoing<'_> {
    /// Returns the packet's bytes. Texts are cut to the length that the protocol can write.
    pub fn to_bytes(self) -> Vec<u8> {
        let mut body = Vec::new();
        let head = match self {
            Self::Connect {
                resume,
                client,
                login,
                keep_alive,
            } => {
                text(&mut body, "MQTT");
                let clean = if resume { 0 } else { 0b10 };
                let flags = clean | if login.is_some() { 0b1100_0000 } else { 0 };
                body.extend_from_slice(&[4, flags]);
                body.extend_from_slice(&keep_alive.to_be_bytes());
                text(&mut body, client);
                if let Some((user, password)) = login {
                    text(&mut body, user);
                    text(&mut body, password);
                }
                0x10
            }
            Self::Publish {
                topic,
                payload,
                id,
                retain,
            } => {
                text(&mut body, topic);
                body.extend_from_slice(&id.to_be_bytes());
                body.extend_from_slice(payload);
                0x32 | u8::from(retain)
            }
            Self::PubAck { id } => {
                body.extend_from_slice(&id.to_be_bytes());
                0x40
            }
            Self::Subscribe { topics, id } => {
                body.extend_from_slice(&id.to_be_bytes());
                for topic in topics {
                    text(&mut body, topic);
                    body.push(1);
                }
                0x82
            }
            Self::Ping => 0xc0,
            Self::Disconnect => 0xe0,
        };
        let mut packet = vec![head];
        let mut len = body.len().min(MAX_REMAINING);
        loop {
            let byte = (len % 128) as u8;
            len /= 128;
            packet.push(if len > 0 { byte | 128 } else { byte });
            if len == 0 {
                break;
            }
        }
        packet.append(&mut body);
        packet
    }
}

fn text(body: &mut Vec<u8>, text: &str) {
    let bytes = &text.as_bytes()[..text.len().min(u16::MAX.into())];
    body.extend_from_slice(&(bytes.len() as u16).to_be_bytes());
    body.extend_from_slice(bytes);
}

/// Returns the most bytes that a message under `topic` has beside its payload.
pub fn publish_overhead(topic: &str) -> usize {
    1 + 4 + 2 + topic.len() + 2
}

impl<'a> Incoming<'a> {
    /// Returns the packet at the beginning of `bytes` and its length; `None` while the packet is
    /// not whole.
    ///
    /// # Errors
    /// If the bytes are no packet, or its body has more than `most` bytes.
    pub fn parse(bytes: &'a [u8], most: usize) -> Result<Option<(Self, usize)>, PacketError> {
        let Some((&head, rest)) = bytes.split_first() else {
            return Ok(None);
        };
        // This comes before the length, which such bytes do not have.
        if !matches!(head, 0x20 | 0x30..=0x40 | 0x90 | 0xd0) {
            return Err(PacketError::Malformed);
        }
        let mut len = 0;
        let mut digits = 0;
        loop {
            let Some(&byte) = rest.get(digits) else {
                return match digits < 4 {
                    true => Ok(None),
                    false => Err(PacketError::Malformed),
                };
            };
            len |= usize::from(byte & 127) << (7 * digits);
            digits += 1;
            if byte < 128 {
                break;
            }
            if digits == 4 {
                return Err(PacketError::Malformed);
            }
        }
        if len > most {
            return Err(PacketError::TooLarge(len));
        }
        let Some(body) = rest[digits..].get(..len) else {
            return Ok(None);
        };
        let packet = Self::parse_body(head, body).ok_or(PacketError::Malformed)?;
        Ok(Some((packet, 1 + digits + len)))
    }

    /// Returns topic and number of a message that is too large to be read whole, without its
    /// payload, and the length of the whole packet; `None` while topic and number are not there.
    ///
    /// # Errors
    /// If the bytes are another packet.
    pub fn parse_oversized(bytes: &'a [u8]) -> Result<Option<(Self, usize)>, PacketError> {
        let malformed = PacketError::Malformed;
        let (&head, rest) = bytes.split_first().ok_or(malformed)?;
        let digits = rest.iter().take(4).position(|byte| *byte < 128);
        let (0x30..0x40, Some(last)) = (head, digits) else {
            return Err(malformed);
        };
        let (digits, body) = rest.split_at(last + 1);
        let len = digits
            .iter()
            .rev()
            .fold(0, |len, digit| len << 7 | usize::from(digit & 127));
        let Some((topic, _)) = body.split_first_chunk() else {
            return Ok(None);
        };
        let number = if (head >> 1) & 3 == 0 { 0 } else { 2 };
        let before = 2 + usize::from(u16::from_be_bytes(*topic)) + number;
        if before > len {
            return Err(malformed);
        }
        let Some(body) = body.get(..before) else {
            return Ok(None);
        };
        let packet = Self::parse_body(head, body).ok_or(malformed)?;
        Ok(Some((packet, 1 + digits.len() + len)))
    }

    fn parse_body(head: u8, body: &'a [u8]) -> Option<Self> {
        let number = |bytes: &[u8]| match *bytes {
            [high, low] => Some(u16::from_be_bytes([high, low])),
            _ => None,
        };
        match head {
            0x20 => match *body {
                [_, code] => Some(Self::ConnAck { code }),
                _ => None,
            },
            0x30..0x40 => {
                let (len, rest) = body.split_first_chunk()?;
                let (topic, rest) = rest.split_at_checked(u16::from_be_bytes(*len).into())?;
                let topic = str::from_utf8(topic).ok()?;
                let (id, payload) = match (head >> 1) & 3 {
                    0 => (None, rest),
                    1 => {
                        let (id, payload) = rest.split_first_chunk()?;
                        (Some(u16::from_be_bytes(*id)), payload)
                    }
                    _ => return None,
                };
                Some(Self::Publish { topic, payload, id })
            }
            0x40 => number(body).map(|id| Self::PubAck { id }),
            0x90 => {
                let (_id, codes) = body.split_first_chunk::<2>()?;
                let granted = codes.iter().all(|code| *code < 128) && !codes.is_empty();
                Some(Self::SubAck { granted })
            }
            0xd0 if body.is_empty() => Some(Self::Pong),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_as_in_the_standard() {
        let connect = Outgoing::Connect {
            resume: false,
            client: "pi",
            login: Some(("u", "p")),
            keep_alive: 60,
        };
        let bytes = b"\x10\x14\0\x04MQTT\x04\xc2\0\x3c\0\x02pi\0\x01u\0\x01p";
        assert_eq!(connect.to_bytes(), bytes);
        let connect = Outgoing::Connect {
            resume: true,
            client: "pi",
            login: None,
            keep_alive: 60,
        };
        let bytes = b"\x10\x0e\0\x04MQTT\x04\0\0\x3c\0\x02pi";
        assert_eq!(connect.to_bytes(), bytes);
        let subscribe = Outgoing::Subscribe {
            topics: &["a/b", "c"],
            id: 10,
        };
        assert_eq!(
            subscribe.to_bytes(),
            b"\x82\x0c\0\x0a\0\x03a/b\x01\0\x01c\x01"
        );
        assert_eq!(Outgoing::PubAck { id: 258 }.to_bytes(), b"\x40\x02\x01\x02");
        assert_eq!(Outgoing::Ping.to_bytes(), b"\xc0\0");
        assert_eq!(Outgoing::Disconnect.to_bytes(), b"\xe0\0");
        for (bytes, packet) in [
            (&b"\x20\x02\0\x05"[..], Incoming::ConnAck { code: 5 }),
            (b"\x40\x02\x01\x02", Incoming::PubAck { id: 258 }),
            (b"\x90\x04\0\x0a\x01\0", Incoming::SubAck { granted: true }),
            (b"\x90\x03\0\x0a\x80", Incoming::SubAck { granted: false }),
            (b"\xd0\0", Incoming::Pong),
            (
                b"\x30\x05\0\x01txy",
                Incoming::Publish {
                    topic: "t",
                    payload: b"xy",
                    id: None,
                },
            ),
        ] {
            assert_eq!(Incoming::parse(bytes, 100), Ok(Some((packet, bytes.len()))));
        }
    }

    #[test]
    fn a_message_of_any_length_comes_back_and_waits_until_it_is_whole() {
        for len in [0, 1, 120, 127, 128, 16_383, 16_384, 70_000] {
            let payload = vec![7; len];
            let message = Outgoing::Publish {
                topic: "a/b",
                payload: &payload,
                id: 9,
                retain: false,
            };
            let mut bytes = message.to_bytes();
            assert!(bytes.len() <= len + publish_overhead("a/b"));
            let whole = bytes.len();
            bytes.push(0xd0);
            let expected = Incoming::Publish {
                topic: "a/b",
                payload: &payload,
                id: Some(9),
            };
            assert_eq!(Incoming::parse(&bytes, 80_000), Ok(Some((expected, whole))));
            for cut in [0, 1, 2, whole / 2, whole - 1] {
                assert_eq!(
                    Incoming::parse(&bytes[..cut.min(whole - 1)], 80_000),
                    Ok(None)
                );
            }
        }
    }

    #[test]
    fn a_message_that_is_kept_differs_in_its_lowest_bit() {
        let message = |retain| {
            let message = Outgoing::Publish {
                topic: "t",
                payload: b"x",
                id: 1,
                retain,
            };
            message.to_bytes()
        };
        assert_eq!(message(false), b"\x32\x06\0\x01t\0\x01x");
        assert_eq!(message(true), b"\x33\x06\0\x01t\0\x01x");
    }

    #[test]
    fn what_is_no_packet_is_refused() {
        for bytes in [
            &b"HTTP/1.1"[..],
            b"\x20\x01\0",
            b"\x30\x03\0\x05a",
            b"\x30\x03\0\x01\xff",
            b"\x34\x05\0\x01t\0\x01",
            b"\x32\x03\0\x01t",
            b"\x30\xff\xff\xff\xff\x01",
            b"\xd0\x01\0",
        ] {
            assert_eq!(
                Incoming::parse(bytes, 100),
                Err(PacketError::Malformed),
                "{bytes:?}"
            );
        }
        assert_eq!(
            Incoming::parse(b"\x30\x80\x01", 100),
            Err(PacketError::TooLarge(128))
        );
    }

    #[test]
    fn a_message_too_large_keeps_its_topic_and_number() {
        let (topic, payload) = ("a/up", vec![7; 5000]);
        let packet = Outgoing::Publish {
            topic,
            payload: &payload,
            id: 300,
            retain: false,
        };
        let bytes = packet.to_bytes();
        assert_eq!(
            Incoming::parse(&bytes, 4999),
            Err(PacketError::TooLarge(5008))
        );
        let expected = Incoming::Publish {
            topic,
            payload: b"",
            id: Some(300),
        };
        for len in 3..bytes.len() {
            let parsed = Incoming::parse_oversized(&bytes[..len]).unwrap();
            assert_eq!(parsed, (len >= 11).then_some((expected, bytes.len())));
        }
        // Another packet, and a topic that goes beyond its packet.
        assert!(Incoming::parse_oversized(b"\x90\xff\x7f\0\0").is_err());
        assert!(Incoming::parse_oversized(b"\x32\x08\xff\xff").is_err());
    }
}
