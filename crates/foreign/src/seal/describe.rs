//! Descriptions of files of SEAL and SEAL-Embedded.

use tfhe_sbc_ckks::seal::{self, Header, Level, parms_id};
use tfhe_sbc_ckks::{Format, Parameters, packed_bytes};

use super::compressed::{ZSTD, uncompressed};
use super::standard_parameters;
use crate::Description;

const SEAL: &str = "Microsoft SEAL";
const SEAL_EMBEDDED: &str = "SEAL-Embedded";

/// Describes a file, if SEAL or SEAL-Embedded makes such files. It reads headers; it reads numbers only
/// in files that have no header.
pub fn describe(bytes: &[u8]) -> Option<Description> {
    match Header::read(bytes) {
        Ok(header) if header.compression == ZSTD => compressed_object(bytes),
        Ok(_) => object(bytes),
        Err(_) => secret_key(bytes).or_else(|| residues(bytes)),
    }
}

/// The members of an object, read at their places.
struct Members<'o>(&'o [u8]);

impl Members<'_> {
    fn word(&self, at: usize) -> Option<u64> {
        let bytes = self.0.get(at..)?.first_chunk()?;
        Some(u64::from_le_bytes(*bytes))
    }

    fn number(&self, at: usize) -> f64 {
        self.word(at).map_or(f64::NAN, f64::from_bits)
    }

    fn is_header(&self, at: usize) -> bool {
        let rest = self.0.get(at..).unwrap_or_default();
        Header::read(rest).is_ok()
    }
}

/// Describes a compressed object by its decompressed form.
fn compressed_object(bytes: &[u8]) -> Option<Description> {
    let mut description = match uncompressed(bytes) {
        Ok(bytes) => object(&bytes)?,
        Err(error) => Description {
            library: SEAL,
            kind: "compressed object".to_owned(),
            details: vec![("not read", error.to_string())],
        },
    };
    description
        .details
        .push(("compressed by", "Zstandard".to_owned()));
    Some(description)
}

fn object(bytes: &[u8]) -> Option<Description> {
    let header = Header::read(bytes).ok()?;
    let ((major, minor), size) = (header.version, header.bytes);
    let mut details = vec![("version", format!("{major}.{minor}"))];
    let mut say = |name, value| details.push((name, value));
    let kind = match header.compression {
        0 => {
            if size > bytes.len() as u64 {
                say("cut short", format!("{size} bytes were announced"));
            }
            let object = bytes.get(..usize::try_from(size).ok()?).unwrap_or(bytes);
            let kind = kind_of(object, &mut say);
            let count = objects(bytes);
            if count > 1 {
                say("objects like this", count.to_string());
            }
            kind
        }
        1 => {
            say("compressed by", "zlib".to_owned());
            say(
                "to read it",
                "save it with compr_mode_type::none".to_owned(),
            );
            "compressed object"
        }
        _ => return None,
    };
    Some(Description {
        library: SEAL,
        kind: kind.to_owned(),
        details,
    })
}

/// Returns the number of objects that follow one another.
fn objects(mut bytes: &[u8]) -> usize {
    let mut count = 0;
    while let Ok(len) = seal::object_bytes(bytes) {
        bytes = &bytes[len..];
        count += 1;
    }
    count
}

/// Returns the kind of an object, which follows from its members, and reports its properties.
fn kind_of(object: &[u8], say: &mut impl FnMut(&'static str, String)) -> &'static str {
    if let Ok(parameters) = seal::encryption_parameters(object) {
        say_parameters(&parameters, say);
        return "CKKS encryption parameters";
    }
    let members = Members(object);
    // Parameters of any scheme: scheme, size, number of primes, and the header of the first prime.
    if members.is_header(Header::BYTES + 17) {
        let scheme = ["none", "BFV", "CKKS", "BGV"];
        let name = scheme
            .get(usize::from(object[Header::BYTES]))
            .unwrap_or(&"unknown");
        say("scheme", (*name).to_owned());
        for (name, at) in [("polynomial size", 17), ("primes", 25)] {
            say(name, members.word(at).unwrap_or(0).to_string());
        }
        return "encryption parameters";
    }
    if object.len() == Header::BYTES + 8 {
        return "modulus";
    }
    let parameters = standard_parameters(object);
    let is_key = match &parameters {
        Some(parameters) => {
            say(
                "parameters",
                format!("SEAL-Embedded's of n = {}", parameters.polynomial_size()),
            );
            // Without a special prime, key level and data level are the same.
            let data = parms_id(parameters, Level::Data);
            parameters.special_prime().is_some() && object.get(16..48) != Some(&data)
        }
        None => false,
    };
    // The array of a plaintext follows 16 bytes of members, that of a ciphertext 33 or 41 bytes.
    if members.is_header(64) {
        say("coefficients", members.word(48).unwrap_or(0).to_string());
        return match is_key || members.number(56) == 1.0 {
            true => "secret key",
            false => "plaintext",
        };
    }
    let Some(array) = [81, 89].into_iter().find(|&at| members.is_header(at)) else {
        return "object of another kind, such as relinearization or Galois keys";
    };
    let [size, n, primes] = [49, 57, 65].map(|at| members.word(at).unwrap_or(0));
    let scale = members.number(73);
    say("polynomials", size.to_string());
    say("polynomial size", n.to_string());
    say("primes", primes.to_string());
    if is_key || (parameters.is_none_or(|p| p.special_prime().is_none()) && scale == 1.0) {
        return "public key";
    }
    if scale > 0.0 {
        say("scale", scale_text(scale));
    }
    let words = members.word(array + Header::BYTES).unwrap_or(0);
    let stored = n.checked_mul(primes).filter(|&each| each == words);
    let seed = usize::try_from(words)
        .ok()
        .and_then(|words| words.checked_mul(8)?.checked_add(array + Header::BYTES + 8))
        .filter(|&at| members.is_header(at));
    match (stored, seed) {
        (Some(_), Some(at)) => {
            let generator = match object.get(at + Header::BYTES) {
                Some(1) => "BLAKE2Xb",
                Some(2) => "SHAKE256",
                _ => "unknown",
            };
            say("seed for", generator.to_owned());
            "seeded ciphertext"
        }
        _ => "ciphertext",
    }
}

fn say_parameters(parameters: &Parameters, say: &mut impl FnMut(&'static str, String)) {
    say("polynomial size", parameters.polynomial_size().to_string());
    say("slots", parameters.slot_count().to_string());
    let primes: Vec<String> = parameters
        .data_primes()
        .iter()
        .map(u32::to_string)
        .collect();
    say("data primes", primes.join(", "));
    let special = parameters.special_prime();
    say(
        "special prime",
        special.map_or("none".to_owned(), |prime| prime.to_string()),
    );
}

fn scale_text(scale: f64) -> String {
    match scale.log2() {
        log2 if log2.fract() == 0.0 => format!("2^{log2}"),
        _ => scale.to_string(),
    }
}

/// Describes a packed secret key: ternary coefficients of two bits each. Other files of that length
/// also have the fourth value of two bits.
fn secret_key(bytes: &[u8]) -> Option<Description> {
    let of_size = |p: &Parameters| packed_bytes(p.polynomial_size()) == bytes.len();
    let parameters = Parameters::SEAL_EMBEDDED.into_iter().find(of_size)?;
    tfhe_sbc_ckks::SecretKey::from_packed(&parameters, bytes).ok()?;
    Some(Description {
        library: SEAL_EMBEDDED,
        kind: "secret key".to_owned(),
        details: vec![("polynomial size", parameters.polynomial_size().to_string())],
    })
}

/// Describes raw residues: all words are below a prime, which is not so in other files of that
/// length.
fn residues(bytes: &[u8]) -> Option<Description> {
    for parameters in Parameters::SEAL_EMBEDDED {
        let n = parameters.polynomial_size();
        let details = vec![("polynomial size", n.to_string())];
        let is_below = |bytes: &[u8], prime: u32| {
            let mut words = bytes.as_chunks().0.iter();
            words.all(|word| u32::from_le_bytes(*word) < prime)
        };
        let each = Format::Raw.ciphertext_bytes(&parameters);
        if bytes.len() >= each && bytes.len().is_multiple_of(each) {
            let primes = parameters.data_primes().iter().cycle();
            if bytes
                .chunks(8 * n)
                .zip(primes)
                .all(|(bytes, &prime)| is_below(bytes, prime))
            {
                let count = ("ciphertexts", (bytes.len() / each).to_string());
                return Some(Description {
                    library: SEAL_EMBEDDED,
                    kind: "raw ciphertexts".to_owned(),
                    details: [details, vec![count]].concat(),
                });
            }
        }
        let largest = parameters.data_primes().iter().max().copied().unwrap_or(0);
        if bytes.len() == 4 * n && is_below(bytes, largest) {
            return Some(Description {
                library: SEAL_EMBEDDED,
                kind: "part of a public key".to_owned(),
                details,
            });
        }
    }
    None
}
