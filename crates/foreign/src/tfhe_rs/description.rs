//! Descriptions of files of TFHE-rs.

use super::client_key::{CLIENT_KEY, ClientKey, read_client_key};
use super::{TfheRsError, header};
use crate::Description;

/// Describes a file by the type of its first object. A client key is described by its parameters, an
/// object that cannot be read by the reason. Returns `None` if the file is neither in the form of
/// `safe_serialize` nor a client key that can be imported without that form.
pub fn describe(bytes: &[u8]) -> Option<Description> {
    let (kind, details) = match header::read(bytes) {
        Ok((CLIENT_KEY, _)) => (CLIENT_KEY, of_client_key(read_client_key(bytes))),
        Ok((name, _)) => (name, Vec::new()),
        // Without a header nothing names the type, but few other files can be read as a key.
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
            format!("{} + {}", set.message_bits(), set.carry_bits()),
        ),
        (
            "GLWE",
            format!(
                "dimension {}, polynomial size {}, 64-bit torus",
                set.glwe_dimension(),
                set.polynomial_size()
            ),
        ),
        ("LWE dimension", set.lwe_dimension().to_string()),
        (
            "failure of a bootstrap",
            format!("2^{:.1}, as TFHE-rs states it", set.log2_p_fail()),
        ),
    ]
}
