//! Objects that SEAL compressed with Zstandard, which is its default. The header is not compressed;
//! everything behind it is one frame.

use std::io::Read;

use ruzstd::decoding::StreamingDecoder;
use tfhe_sbc_ckks::seal::Header;
use thiserror::Error;
use zeroize::Zeroizing;

/// SEAL's number for Zstandard.
pub(super) const ZSTD: u8 = 2;

/// The most bytes of an object. A ciphertext of 16 polynomials of the largest parameters has fewer.
const MAX_OBJECT_BYTES: u64 = 32 << 20;

/// The most decompressed bytes for each compressed byte, with some reserve. Residues of 12-bit primes
/// take 64 bits each and are uniform otherwise, so they shrink by less than that.
const MAX_RATIO: u64 = 16;
const MAX_RATIO_FROM: u64 = 4096;

/// The number of bytes that are decompressed at a time.
const PIECE_BYTES: usize = 4096;

/// The largest window of a frame, in bytes; SEAL's frames have 2 MiB.
const MAX_WINDOW_BYTES: u64 = 8 << 20;

/// The reason why compressed objects cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CompressedError {
    /// An object that is cut short.
    #[error(
        "a compressed object is cut short: its header announces {announced} bytes, {found} are there"
    )]
    Truncated {
        /// The number of bytes that the header announces.
        announced: u64,
        /// The number of bytes that are there.
        found: usize,
    },
    /// A compressed part that is no Zstandard frame.
    #[error(
        "a compressed object is damaged: transfer it again, or save it with compr_mode_type::none"
    )]
    Damaged,
    /// A compressed part that would become larger than any object, or larger than its bytes can hold.
    #[error(
        "a compressed object has more than {MAX_OBJECT_BYTES} bytes, or all of them more than \
         {MAX_RATIO} for each compressed one: no keys and ciphertexts do, save them again"
    )]
    TooLarge,
}

/// Returns the same objects one after the other, none of them compressed with Zstandard. Bytes that
/// are no objects stay as they are. The result is wiped on drop, because it may be a key; the
/// buffers of the decompressor are not wiped.
///
/// # Errors
/// Returns the error of the first compressed object that cannot be read.
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
            // The reader of the object reports a wrong size.
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

/// A byte buffer that leaves no copy behind when it grows.
struct Wiped(Zeroizing<Vec<u8>>);

impl Wiped {
    fn extend(&mut self, bytes: &[u8]) {
        let len = self.0.len() + bytes.len();
        if len > self.0.capacity() {
            let room = len.max(2 * self.0.capacity());
            let mut larger = Zeroizing::new(Vec::with_capacity(room));
            larger.extend_from_slice(&self.0);
            // This drops the smaller buffer, which wipes it.
            self.0 = larger;
        }
        self.0.extend_from_slice(bytes);
    }
}

/// Decompresses the object behind `header` into `out`, up to a length of `most` bytes.
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
