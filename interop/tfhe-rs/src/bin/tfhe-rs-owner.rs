//! The key owner of `docs/adapters/tfhe-rs.md`, who has TFHE-rs and nothing else:
//! `tfhe-rs-owner keys` writes client_key and server_key, `tfhe-rs-owner read` decrypts answer.

use std::fs::File;
use std::io::BufReader;

use tfhe::prelude::*;
use tfhe::safe_serialization::{safe_deserialize, safe_serialize};
use tfhe::{ClientKey, ConfigBuilder, FheUint16, generate_keys};

const LIMIT: u64 = 1 << 30;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    match std::env::args().nth(1).as_deref() {
        Some("keys") => {
            let (client_key, server_key) = generate_keys(ConfigBuilder::default().build());
            safe_serialize(&client_key, File::create("client_key")?, LIMIT)?;
            safe_serialize(&server_key, File::create("server_key")?, LIMIT)?;
        }
        Some("read") => {
            let file = BufReader::new(File::open("client_key")?);
            let client_key: ClientKey = safe_deserialize(file, LIMIT)?;
            let mut answers = BufReader::new(File::open("answer")?);
            let mut next = || -> Result<u16, String> {
                let answer: FheUint16 = safe_deserialize(&mut answers, LIMIT)?;
                Ok(answer.decrypt(&client_key))
            };
            println!("largest {}, sum {}", next()?, next()?);
        }
        _ => return Err("usage: tfhe-rs-owner keys | read".into()),
    }
    Ok(())
}
