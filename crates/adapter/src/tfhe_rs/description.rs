//! What a file of TFHE-rs is.

use super::client_key::{CLIENT_KEY, read_client_key};
use super::header;
use crate::foreign::Description;

/// Says what a file in the form of `safe_serialize` is: the first object's type, and of a client
/// key its parameters. `None` if it is not in that form.
pub fn describe(bytes: &[u8]) -> Option<Description> {
    let name = header::type_name(bytes)?;
    let mut details = Vec::new();
    if name == CLIENT_KEY {
        match read_client_key(bytes) {
            Ok(key) => {
                let set = key.parameters;
                details.push((
                    "message and carry bits",
                    format!("{} + {}", set.message_bits, set.carry_bits),
                ));
                details.push((
                    "GLWE",
                    format!(
                        "dimension {}, polynomial size {}, 64-bit torus",
                        set.glwe_dimension,
                        set.polynomial_size()
                    ),
                ));
                details.push(("LWE dimension", set.lwe_dimension.to_string()));
                details.push((
                    "failure of a bootstrap",
                    format!("2^{:.1}, as TFHE-rs states it", set.log2_p_fail),
                ));
            }
            Err(error) => details.push(("cannot be imported", error.to_string())),
        }
    }
    Some(Description {
        library: "TFHE-rs",
        kind: name.rsplit("::").next().unwrap_or(name).to_owned(),
        details,
    })
}
