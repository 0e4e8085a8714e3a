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

/// The most bytes of all objects for each of their compressed ones, and some: residues of primes of
/// 12 bits take 64, and are uniform, so that nothing else shrinks.
const MAX_RATIO: u64 = 16;
const MAX_RATIO_FROM: u64 = 4096;

/// Bytes that are decompressed in one go.
const PIECE_BYTES: usize = 4096;

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
    /// What is compressed is larger than any object, or than so few bytes hold.
    #[error(
        "a compressed object has more than {MAX_OBJECT_BYTES} bytes, or all of them more than \
         {MAX_RATIO} for each compressed one: no keys and ciphertexts do, save them again"
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
    let most = MAX_RATIO
        .saturating_mul(bytes.len() as u64)
        .saturating_add(MAX_RATIO_FROM);
    let mut out = Wiped(Zeroizing::new(Vec::with_capacity(bytes.len())));
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
            out.extend(object);
            rest = after;
            continue;
        }
        let (object, after) =
            rest.split_at(len.ok_or(CompressedError::Truncated { announced, found })?);
        decompress(header, &object[Header::BYTES..], most, &mut out)?;
        rest = after;
    }
    out.extend(rest);
    Ok(out.0)
}

/// Bytes that leave no copy behind when they grow.
struct Wiped(Zeroizing<Vec<u8>>);

impl Wiped {
    fn extend(&mut self, bytes: &[u8]) {
        let len = self.0.len() + bytes.len();
        if len > self.0.capacity() {
            let room = len.max(2 * self.0.capacity());
            let mut larger = Zeroizing::new(Vec::with_capacity(room));
            larger.extend_from_slice(&self.0);
            // Drops the smaller one, which wipes it.
            self.0 = larger;
        }
        self.0.extend_from_slice(bytes);
    }
}

/// Decompresses the object of `header`, until `out` has `most` bytes.
fn decompress(
    header: Header,
    frame: &[u8],
    most: u64,
    out: &mut Wiped,
) -> Result<(), CompressedError> {
    let mut decoder = StreamingDecoder::new_with_max_window_size(frame, MAX_WINDOW_BYTES)
        .map_err(|_| CompressedError::Damaged)?;
    let start = out.0.len();
    out.extend(&[0; Header::BYTES]);
    let most = most.min(start as u64 + MAX_OBJECT_BYTES);
    let mut piece = Zeroizing::new([0; PIECE_BYTES]);
    loop {
        let len = decoder
            .read(&mut piece[..])
            .map_err(|_| CompressedError::Damaged)?;
        if len == 0 {
            break;
        }
        if (out.0.len() + len) as u64 > most {
            return Err(CompressedError::TooLarge);
        }
        out.extend(&piece[..len]);
    }
    if !decoder.get_ref().is_empty() {
        return Err(CompressedError::Damaged);
    }
    let object = &mut out.0[start..];
    let header = Header {
        compression: 0,
        bytes: object.len() as u64,
        ..header
    };
    object[..Header::BYTES].copy_from_slice(&header.to_bytes());
    Ok(())
}
