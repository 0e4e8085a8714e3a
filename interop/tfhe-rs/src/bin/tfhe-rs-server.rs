//! The server of `docs/adapters/tfhe-rs.md`: reads server_key and the values in readings, and
//! writes the largest and the sum to answer.

use std::fs::File;
use std::io::{BufRead, BufReader};

use tfhe::prelude::*;
use tfhe::safe_serialization::{safe_deserialize, safe_deserialize_conformant, safe_serialize};
use tfhe::{FheUint16, FheUint16ConformanceParams, ServerKey, set_server_key};

const LIMIT: u64 = 1 << 30;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = BufReader::new(File::open("server_key")?);
    let server_key: ServerKey = safe_deserialize(file, LIMIT)?;
    let expected = FheUint16ConformanceParams::from(&server_key);
    set_server_key(server_key);
    let mut file = BufReader::new(File::open("readings")?);
    let mut readings: Vec<FheUint16> = Vec::new();
    while !file.fill_buf()?.is_empty() {
        readings.push(safe_deserialize_conformant(&mut file, LIMIT, &expected)?);
    }
    let largest = readings
        .iter()
        .cloned()
        .reduce(|a, b| a.max(&b))
        .ok_or("no readings")?;
    let sum: FheUint16 = readings.iter().sum();
    let mut answer = File::create("answer")?;
    safe_serialize(&largest, &mut answer, LIMIT)?;
    safe_serialize(&sum, &mut answer, LIMIT)?;
    println!("computed on {} readings", readings.len());
    Ok(())
}
