//! Frames over UDP, each sent again until the server acknowledges it.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::time::{Duration, Instant};

use tfhe_sbc_frames::{Acknowledgement, Format, MacKey};

use super::SendFailure;
use crate::config::ServerSettings;

/// The first wait for an acknowledgement. The next ones are twice as long each.
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// A server's address, and what an acknowledgement of it is made with.
pub(crate) struct Udp {
    address: String,
    timeout: Duration,
    format: Format,
    mac_key: MacKey,
}

impl Udp {
    pub(super) fn new(settings: &ServerSettings, format: Format, mac_key: MacKey) -> Self {
        Self {
            address: settings.address().to_owned(),
            timeout: settings.timeout,
            format,
            mac_key,
        }
    }

    /// Sends a frame until it is acknowledged, or `server.timeout` is over.
    pub(super) fn send(&self, frame: &[u8]) -> Result<(), SendFailure> {
        let expected = Acknowledgement::of(&self.format, &self.mac_key, frame);
        let expected =
            expected.ok_or_else(|| SendFailure::refused(422, "it is no frame of this board"))?;
        let failed = |error: io::Error| {
            SendFailure::later(format_args!("no frames to {}: {error}", self.address))
        };
        let socket = self.connect().map_err(failed)?;
        let deadline = Instant::now() + self.timeout;
        let mut wait = FIRST_WAIT;
        loop {
            socket.send(frame).map_err(failed)?;
            let until = deadline.min(Instant::now() + wait);
            if is_acknowledged(&socket, expected, until).map_err(failed)? {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(SendFailure::later(format_args!(
                    "{} did not acknowledge the frame within {:?}. Does the server run with --udp-frames, has it the \
                     pads of this board (`tfhe-sbc pads list`), and can its answers come back?",
                    self.address, self.timeout
                )));
            }
            wait *= 2;
        }
    }

    /// Looks the server's name up each time, for addresses change.
    fn connect(&self) -> io::Result<UdpSocket> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for address in self.address.to_socket_addrs()? {
            let any: SocketAddr = match address {
                SocketAddr::V4(_) => ([0; 4], 0).into(),
                SocketAddr::V6(_) => ([0; 16], 0).into(),
            };
            match UdpSocket::bind(any).and_then(|socket| socket.connect(address).map(|()| socket)) {
                Ok(socket) => return Ok(socket),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

/// Waits for an acknowledgement. Other datagrams are passed over.
fn is_acknowledged(
    socket: &UdpSocket,
    expected: Acknowledgement,
    until: Instant,
) -> io::Result<bool> {
    let mut answer = [0; Acknowledgement::BYTES + 1];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        socket.set_read_timeout(Some(left))?;
        match socket.recv(&mut answer) {
            Ok(len) if answer.get(..len).is_some_and(|answer| expected.is(answer)) => {
                return Ok(true);
            }
            Ok(_) => {}
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock
                | io::ErrorKind::TimedOut
                | io::ErrorKind::Interrupted => {}
                // Nobody listens there at the moment, says the network.
                _ => return Err(error),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use tfhe_sbc_frames::{BoardKey, Column, DeviceId, Form};

    use super::*;
    use crate::config::Transport;

    #[test]
    fn only_the_servers_acknowledgement_ends_the_sending() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let column = Column::new(8, 1).unwrap();
        let format = Format::new(DeviceId([1; 8]), Form::Named, &[column], 2, 9).unwrap();
        let key = || BoardKey::from_bytes([2; 32]);
        let settings = ServerSettings {
            url: format!("udp://{}", server.local_addr().unwrap()),
            timeout: Duration::from_secs(30),
            transport: Transport::Frames,
        };
        let udp = Udp::new(&settings, format, key().mac_key());
        let frame = [&[1; 8][..], &[7; 15]].concat();
        let expected = Acknowledgement::of(&format, &key().mac_key(), &frame).unwrap();
        std::thread::scope(|scope| {
            let sent = scope.spawn(|| udp.send(&frame));
            let mut received = [0; 64];
            let (len, from) = server.recv_from(&mut received).unwrap();
            assert_eq!(received[..len], frame);
            // Forgeries and noise are no answers, and the frame comes again.
            let mut forged = *expected.as_bytes();
            forged[19] ^= 1;
            server.send_to(&forged, from).unwrap();
            server.send_to(b"", from).unwrap();
            server
                .send_to(&[&expected.as_bytes()[..], &[0]].concat(), from)
                .unwrap();
            let (len, from) = server.recv_from(&mut received).unwrap();
            assert_eq!(received[..len], frame);
            server.send_to(expected.as_bytes(), from).unwrap();
            sent.join().unwrap().unwrap();
        });
    }
}
