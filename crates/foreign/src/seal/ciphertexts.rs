//! Streams of CKKS ciphertexts.

use thiserror::Error;

use tfhe_sbc_ckks::seal::{self, Ciphertext, SealError};
use tfhe_sbc_ckks::{Format, Parameters};

/// The reason why a stream of ciphertexts was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum StreamError {
    /// A defect of one of the ciphertexts.
    #[error("ciphertext {number}: {error}")]
    Ciphertext {
        /// The number of the ciphertext, counted from 1.
        number: usize,
        /// The defect.
        error: SealError,
    },
    /// No ciphertext at all.
    #[error("there is no ciphertext")]
    Empty,
    /// A raw stream without a given scale: the bytes do not contain one.
    #[error(
        "these bytes are no object of SEAL's, and a raw stream does not say its scale: give it"
    )]
    NoScale,
}

/// Reads ciphertexts that follow one another: SEAL's objects, or SEAL-Embedded's raw form, whose scale
/// `raw_scale` gives. The iterator ends after the first error.
pub fn ciphertexts<'s>(
    parameters: &Parameters,
    raw_scale: Option<f64>,
    stream: &'s [u8],
) -> impl Iterator<Item = Result<Ciphertext<'s>, StreamError>> {
    let parameters = *parameters;
    let (mut rest, mut number) = (Some(stream), 0);
    std::iter::from_fn(move || {
        let bytes = rest.take()?;
        if bytes.is_empty() {
            return (number == 0).then_some(Err(StreamError::Empty));
        }
        number += 1;
        let refused = |error| StreamError::Ciphertext { number, error };
        let next = match (seal::object_bytes(bytes), raw_scale) {
            (Err(SealError::NotSeal), None) => return Some(Err(StreamError::NoScale)),
            // Raw words may begin like an object, so every part of the header that can be checked is checked.
            (Err(SealError::NotSeal | SealError::Version(..)), Some(scale)) => {
                let len = Format::Raw.ciphertext_bytes(&parameters).min(bytes.len());
                let (raw, after) = bytes.split_at(len);
                seal::raw_ciphertext(&parameters, scale, raw).map(|ciphertext| (ciphertext, after))
            }
            (len, _) => len.and_then(|len| {
                let (object, after) = bytes.split_at(len);
                Ok((seal::ciphertext(&parameters, object)?, after))
            }),
        };
        Some(match next {
            Ok((ciphertext, after)) => {
                rest = Some(after).filter(|after| !after.is_empty());
                Ok(ciphertext)
            }
            Err(error) => Err(refused(error)),
        })
    })
}

/// Ciphertexts in the form that SEAL loads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Converted {
    /// The objects, one after the other.
    pub bytes: Vec<u8>,
    /// The number of ciphertexts.
    pub count: usize,
}

/// Writes ciphertexts as objects of SEAL 3.7 with all their polynomials: raw streams are reordered
/// and seeds are expanded.
///
/// # Errors
/// Returns a [`StreamError`] for the first ciphertext that cannot be read. The output is at most
/// twice as long as `stream`, plus a header for each ciphertext.
pub fn convert(
    parameters: &Parameters,
    raw_scale: Option<f64>,
    stream: &[u8],
) -> Result<Converted, StreamError> {
    let mut converted = Converted {
        bytes: Vec::new(),
        count: 0,
    };
    for ciphertext in ciphertexts(parameters, raw_scale, stream) {
        let ciphertext = ciphertext?;
        converted.bytes.reserve(ciphertext.expanded_bytes());
        // Writing into a vector cannot fail.
        let _ = ciphertext.write_expanded(&mut |piece| {
            converted.bytes.extend_from_slice(piece);
            Ok(())
        });
        converted.count += 1;
    }
    Ok(converted)
}
