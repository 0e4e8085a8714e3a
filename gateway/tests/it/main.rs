//! The gateway as its users meet it: a server, boards that have sent readings, the gateway, and clients of PostgreSQL, all on free
//! ports. `TFHE_SBC` names the program that the server is; `cargo xtask gateway` sets it.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at what it does not expect"
)]

mod basics;
mod clients;
mod dashboard;
mod page;
#[path = "../../../crates/cli/tests/it/common/ports.rs"]
mod ports;
mod pushed;
mod refusals;
mod standing;
mod watch;
mod world;
