//! What a file of TFHE-rs is.

use super::client_key::{CLIENT_KEY, ClientKey, read_client_key};
use super::{TfheRsError, header};
use crate::Description;

/// Says what a file is: the first object's type, of a client key its parameters, and of what
/// cannot be read why. `None` if it is neither in the form of `safe_serialize` nor a client key
/// that can be imported without.
pub fn describe(bytes: &[u8]) -> Option<Description> {
    let (kind, details) = match header::read(bytes) {
        Ok((CLIENT_KEY, _)) => (CLIENT_KEY, of_client_key(read_client_key(bytes))),
        Ok((name, _)) => (name, Vec::new()),
        // Nothing in it tells what it is, but little else can be read as a key.
        Err(TfheRsError::Header) => (CLIENT_KEY, of_client_key(Ok(read_client_key(bytes).ok()?))),
        Err(error) => (
            "unknown object",
            vec![("cannot be read", error.to_string())],
        ),
    };
    Some(Description {
        library: "TFHE-rs",
        kind: kind.rsplit("::").next().unwrap_or(kind).to_owned(),
        details,
    })
}

fn of_client_key(key: Result<ClientKey, TfheRsError>) -> Vec<(&'static str, String)> {
    let set = match key {
        Ok(key) => key.parameters,
        Err(error) => return vec![("cannot be imported", error.to_string())],
    };
    vec![
        (
            "message and carry bits",
            format!("{} + {}", set.message_bits, set.carry_bits),
        ),
        (
            "GLWE",
            format!(
                "dimension {}, polynomial size {}, 64-bit torus",
                set.glwe_dimension,
                set.polynomial_size()
            ),
        ),
        ("LWE dimension", set.lwe_dimension.to_string()),
        (
            "failure of a bootstrap",
            format!("2^{:.1}, as TFHE-rs states it", set.log2_p_fail),
        ),
    ]
}
