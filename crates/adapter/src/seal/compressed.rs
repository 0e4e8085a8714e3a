//! Objects that SEAL compressed by Zstandard, which is what it does unless it is told otherwise.
//! The header stays in the clear, all behind it is one frame.

use std::io::Read;

use ruzstd::decoding::StreamingDecoder;
use tfhe_sbc_ckks::seal::Header;
use thiserror::Error;
use zeroize::Zeroizing;

/// SEAL's number for Zstandard.
pub(super) const ZSTD: u8 = 2;

/// The most bytes of an object: a ciphertext of 16 polynomials of the largest parameters has
/// fewer.
const MAX_OBJECT_BYTES: u64 = 32 << 20;

/// The most bytes of an object for each of its compressed ones, and some: residues of primes of 12 bits
/// take 64, and are uniform, so that nothing else shrinks.
const MAX_RATIO: u64 = 16;
const MAX_RATIO_FROM: u64 = 4096;

/// The largest window of a frame; SEAL's have 2 MiB.
const MAX_WINDOW_BYTES: u64 = 8 << 20;

/// Why compressed objects cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CompressedError {
    /// An object ends before it should.
    #[error(
        "a compressed object is cut short: its header announces {announced} bytes, {found} are there"
    )]
    Truncated {
        /// Bytes announced.
        announced: u64,
        /// Bytes there.
        found: usize,
    },
    /// What is compressed is no Zstandard frame.
    #[error(
        "a compressed object is damaged: transfer it again, or save it with compr_mode_type::none"
    )]
    Damaged,
    /// What is compressed is larger than any object.
    #[error(
        "a compressed object has more than {MAX_OBJECT_BYTES} bytes, more than any that is read here"
    )]
    TooLarge,
}

/// The same objects, one after the other, none of them compressed by Zstandard. Bytes that are no
/// objects stay as they are. What is made is wiped on drop, for it may be a key; what the
/// decompression needed is not.
///
/// # Errors
/// Those of the first compressed object that cannot be read.
pub fn uncompressed(bytes: &[u8]) -> Result<Zeroizing<Vec<u8>>, CompressedError> {
    let mut out = Zeroizing::new(Vec::new());
    let mut rest = bytes;
    while let Ok(header) = Header::read(rest) {
        let (announced, found) = (header.bytes, rest.len());
        let len = usize::try_from(announced)
            .ok()
            .filter(|len| (Header::BYTES..=found).contains(len));
        if header.compression != ZSTD {
            // Whoever reads it says what is wrong with its size.
            let Some(len) = len else { break };
            let (object, after) = rest.split_at(len);
            out.extend_from_slice(object);
            rest = after;
            continue;
        }
        let (object, after) =
            rest.split_at(len.ok_or(CompressedError::Truncated { announced, found })?);
        decompress(header, &object[Header::BYTES..], &mut out)?;
        rest = after;
    }
    out.extend_from_slice(rest);
    Ok(out)
}

fn decompress(header: Header, frame: &[u8], out: &mut Vec<u8>) -> Result<(), CompressedError> {
    let damaged = |_| CompressedError::Damaged;
    let mut decoder = StreamingDecoder::new_with_max_window_size(frame, MAX_WINDOW_BYTES)
        .map_err(|_| CompressedError::Damaged)?;
    let start = out.len();
    out.extend_from_slice(&[0; Header::BYTES]);
    let most = (MAX_RATIO * frame.len() as u64 + MAX_RATIO_FROM).min(MAX_OBJECT_BYTES);
    let mut limited = decoder.by_ref().take(most + 1);
    let len = limited.read_to_end(out).map_err(damaged)? as u64;
    if len > most {
        return Err(CompressedError::TooLarge);
    }
    if !decoder.get_ref().is_empty() {
        return Err(CompressedError::Damaged);
    }
    let header = Header {
        compression: 0,
        bytes: Header::BYTES as u64 + len,
        ..header
    };
    out[start..][..Header::BYTES].copy_from_slice(&header.to_bytes());
    Ok(())
}
