//! The code that the key owner's page (`web/`) runs in a browser. It decrypts a result on the
//! machine that has the secret key.
//!
//! The page's script puts both files into this module's memory ([`abi`]). [`decrypt`] reads them as
//! the program `tfhe-sbc decrypt` does and returns the answers, which go back as JSON. There is no
//! other way in or out: the module imports nothing.
#![deny(unsafe_code)]

pub mod abi;

use serde::Serialize;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_query::results::{self, Results};

/// The content of the page.
#[derive(Debug, Serialize)]
pub struct Decryption {
    /// The answers and the number of bootstraps that they took.
    #[serde(flatten)]
    pub result: results::Decryption,
    /// The key that decrypted them.
    pub key: KeyFacts,
}

/// The public facts about a secret key.
#[derive(Debug, Serialize)]
pub struct KeyFacts {
    /// The fingerprint of its key set.
    pub fingerprint: String,
    /// The name of its parameter set.
    pub parameter_set: String,
    /// The set's security level in bits.
    pub security_bits: f64,
    /// log2 of the probability that a bootstrap fails.
    pub log2_p_fail: f64,
}

/// The reason why there are no answers.
#[derive(Debug, PartialEq, Serialize)]
pub struct Failure {
    /// The file that is at fault.
    pub file: File,
    /// A description of the error.
    pub message: String,
    /// Advice, if the message contains none.
    pub advice: Option<&'static str>,
}

/// A file that the page is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum File {
    /// The secret key.
    Key,
    /// The result.
    Result,
}

/// Decrypts the result of a query with the key set's secret key, both as the bytes of their files.
/// Constant-time in the key's coefficients.
///
/// # Errors
/// If one of the files is not what it should be, or the result is of another key set.
pub fn decrypt(key: &[u8], result: &[u8]) -> Result<Decryption, Failure> {
    let secret = SecretKey::from_bytes(key).map_err(|error| Failure {
        file: File::Key,
        message: error.to_string(),
        advice: None,
    })?;
    let result = Results::decrypt(result, &secret).map_err(|error| Failure {
        file: File::Result,
        message: error.to_string(),
        advice: Some(
            "give a result that `query` or `eval` made, and the secret key of its key set",
        ),
    })?;
    let parameters = secret.parameters();
    Ok(Decryption {
        result,
        key: KeyFacts {
            fingerprint: secret.fingerprint().to_string(),
            parameter_set: parameters.name().to_string(),
            security_bits: parameters.security_bits(),
            log2_p_fail: parameters.log2_p_fail(),
        },
    })
}
