//! Ports that stay free until a test uses them. The tests of other crates include this file.

use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU16, Ordering};

/// Returns an address of this machine on which nothing listens, over TCP and UDP.
///
/// Its port is below those that systems give to whoever binds port 0 (from 32768 on), so no other test's server gets it
/// meanwhile, and none is returned twice.
pub(crate) fn free_address() -> SocketAddr {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Processes that run beside each other begin at different places.
    let begin = std::process::id() % 100 * 100;
    for _ in 0..10_000 {
        let next = u32::from(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = 20_000 + (begin + next) % 10_000;
        let address = SocketAddr::from(([127, 0, 0, 1], u16::try_from(port).unwrap()));
        if TcpListener::bind(address).is_ok() && UdpSocket::bind(address).is_ok() {
            return address;
        }
    }
    panic!("no port is free")
}
