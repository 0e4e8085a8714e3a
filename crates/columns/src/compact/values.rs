//! The values of linear functions of compact columns, on ciphertexts and in the clear.

use std::ops::Range;

use tfhe_sbc_core::encoding::CompactEncoding;
use tfhe_sbc_core::glwe::GlweCiphertext;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::wire::bodies::{Bodies, MaskWindow, SeededMasks};
use tfhe_sbc_oracle::compact::{CompactNoise, Roundings, answer_coefficient_bits};
use tfhe_sbc_oracle::noise::Variance;

use super::linear::{Linear, Origin, Rows, element, window_of};
use super::rolling::piece_ends;
use super::sums::{Finished, Sums, add_words};
use super::windows::Masks;
use crate::error::Error;
use crate::loaded::{Loaded, LoadedUploads};
use crate::node::{Content, Source};

/// Codes in GLWE ciphertexts under the evaluation key, as `code / 2^plaintext_bits`.
#[derive(Clone, Debug)]
pub struct CompactValues {
    /// The number of bits of a code and of the headroom above it.
    pub plaintext_bits: u32,
    /// The number of bits of a code.
    pub bits: u32,
    /// The ciphertexts, with the number of codes that each has in its first coefficients.
    pub pieces: Vec<Piece>,
    /// The noise of a code.
    pub(crate) noise: CompactNoise,
}

/// A GLWE ciphertext with codes in its first coefficients.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The number of codes. The coefficients behind them have no meaning.
    pub count: usize,
    /// The ciphertext.
    pub ciphertext: GlweCiphertext<u64>,
    /// The elements of seeded uploads whose masks, added up, are those of the ciphertext. `None` if it has others,
    /// or more of them than are shorter than the masks.
    pub windows: Option<Vec<MaskWindow>>,
    /// The bodies of the codes before the parts under keys of devices were switched to the evaluation key, if there were
    /// such parts. The windows are those of this sum then, and have the keys.
    pub unswitched: Option<Vec<u64>>,
}

impl CompactValues {
    /// Returns codes that another evaluation has sent, whose noise has the variance `2^noise_log2`,
    /// torus-normalised. Returns `None` for widths that no codes have.
    pub fn received(
        plaintext_bits: u32,
        bits: u32,
        pieces: Vec<Piece>,
        noise_log2: f64,
    ) -> Option<Self> {
        let widths = 1..=CompactEncoding::MAX_PLAINTEXT_BITS;
        let is_noise = noise_log2.is_finite() && noise_log2 < 0.0;
        let fits = widths.contains(&bits) && (bits..=*widths.end()).contains(&plaintext_bits);
        (fits && is_noise).then_some(Self {
            plaintext_bits,
            bits,
            pieces,
            noise: CompactNoise {
                gaussian: Variance(noise_log2.exp2()),
                rounding: Roundings::NONE,
            },
        })
    }

    /// The number of bits to which the coefficients of the ciphertexts can be cut for whoever decrypts them.
    pub fn answer_bits(&self, parameters: &Parameters) -> u32 {
        answer_coefficient_bits(parameters, self.plaintext_bits, self.noise)
    }

    /// log2 of the variance of the noise of codes whose coefficients, masks and bodies, are cut to `bits` bits,
    /// torus-normalised.
    pub fn noise_log2(&self, parameters: &Parameters, bits: u32) -> f64 {
        self.noise.cut(parameters, bits).variance().0.log2()
    }

    /// log2 of the variance of the noise of codes whose bodies alone are cut to `bits` bits, torus-normalised.
    pub fn noise_log2_without_masks(&self, bits: u32) -> f64 {
        self.noise.cut_bodies(bits).variance().0.log2()
    }

    /// The sums without their masks; `None` unless those can be made from the seeds of uploads. Some of these may be under keys
    /// of devices.
    pub fn bodies(&self) -> Option<Vec<Bodies>> {
        let pieces = self.pieces.iter().map(|piece| {
            let codes = match &piece.unswitched {
                Some(codes) => codes.clone(),
                None => body_of(&piece.ciphertext).get(..piece.count)?.to_vec(),
            };
            Some(Bodies {
                codes,
                windows: piece.windows.clone()?,
            })
        });
        pieces.collect()
    }

    /// The number of codes.
    pub fn count(&self) -> usize {
        self.pieces.iter().map(|piece| piece.count).sum()
    }

    /// Decrypts the codes. Returns `None` for codes that are larger than they can be.
    pub fn decrypt(&self, secret: &SecretKey) -> Option<Vec<u64>> {
        let key = secret.glwe().prepare();
        let shift = u64::BITS - self.plaintext_bits;
        let half = 1u64.checked_shl(shift.checked_sub(1)?)?;
        let mut codes = Vec::with_capacity(self.count());
        for piece in &self.pieces {
            let phase = key.phase(&piece.ciphertext);
            let phases = phase.get(..piece.count)?;
            codes.extend(phases.iter().map(|phase| phase.wrapping_add(half) >> shift));
        }
        let fits = codes
            .iter()
            .all(|code| code.checked_shr(self.bits).unwrap_or(0) == 0);
        fits.then_some(codes)
    }

    /// The codes, if the ciphertexts are trivial encryptions, as those of a rehearsal are.
    pub(super) fn trivial_codes(&self) -> Vec<u64> {
        let shift = u64::BITS - self.plaintext_bits;
        let mut codes = Vec::with_capacity(self.count());
        for piece in &self.pieces {
            let Piece {
                count, ciphertext, ..
            } = piece;
            let words = ciphertext.as_slice();
            let body = words.len() - ciphertext.polynomial_size().get();
            codes.extend(words[body..].iter().take(*count).map(|word| word >> shift));
        }
        codes
    }

    /// The codes as LWE ciphertexts under the big key.
    pub(crate) fn extract(&self) -> Vec<LweCiphertext<u64>> {
        let pieces = self.pieces.iter();
        pieces
            .flat_map(|piece| (0..piece.count).map(|at| piece.ciphertext.sample_extract(at)))
            .collect()
    }

    /// The piece that has the code of `row`, and the place of the code in it.
    fn at(&self, row: usize) -> Option<(&Piece, usize)> {
        let mut row = row;
        for piece in &self.pieces {
            if row < piece.count {
                return Some((piece, row));
            }
            row -= piece.count;
        }
        None
    }
}

/// The body coefficients of a ciphertext.
pub(super) fn body_of(ciphertext: &GlweCiphertext<u64>) -> &[u64] {
    let words = ciphertext.as_slice();
    let size = ciphertext.polynomial_size().get();
    words.get(words.len() - size..).unwrap_or_default()
}

/// A part of a column that lies in one polynomial of one upload.
pub(super) struct Stretch<'a> {
    pub(super) polynomial: Polynomial<'a>,
    /// The places in the polynomial.
    pub(super) places: Range<usize>,
    pub(super) masks: Masks<'a>,
}

/// The ciphertext in which a stretch lies.
pub(super) enum Polynomial<'a> {
    /// One that was computed.
    Computed(&'a GlweCiphertext<u64>),
    /// One of an upload, by its place in the list.
    Uploaded(&'a LoadedUploads, &'a Loaded, usize),
}

impl Stretch<'_> {
    /// Calls a function with the ciphertext.
    pub(super) fn with_ciphertext<T>(
        &self,
        work: impl FnOnce(&GlweCiphertext<u64>) -> T,
    ) -> Result<T, Error> {
        match self.polynomial {
            Polynomial::Computed(ciphertext) => Ok(work(ciphertext)),
            Polynomial::Uploaded(uploads, upload, place) => {
                let list = uploads.list(upload).ok_or(Error::NoCiphertexts)?;
                let ciphertext = list.ciphertexts().get(place).ok_or(Error::NoCiphertexts)?;
                Ok(work(ciphertext))
            }
        }
    }
}

/// Returns the stretch of rows of a column from `row` on, at most `most` long.
pub(super) fn stretch<'a>(
    parameters: &Parameters,
    origin: &'a Origin,
    row: usize,
    most: usize,
) -> Result<Stretch<'a>, Error> {
    let (source, column, derived): (&Source, usize, _) = match origin {
        Origin::Public(_) => return Err(Error::NoCiphertexts),
        Origin::Values(values) => {
            let (piece, place) = values.at(row).ok_or(Error::NoCiphertexts)?;
            return Ok(Stretch {
                polynomial: Polynomial::Computed(&piece.ciphertext),
                places: place..(place + most).min(piece.count),
                masks: match (&piece.windows, &piece.unswitched) {
                    (Some(windows), None) => Masks::Computed(windows),
                    // The ciphertext is another one than that of the windows.
                    (None, _) | (_, Some(_)) => Masks::Unknown,
                },
            });
        }
        Origin::Column {
            source,
            column,
            derived,
            ..
        } => (source, *column, *derived),
    };
    let Content::Ciphertexts(uploads) = &source.content else {
        return Err(Error::NoCiphertexts);
    };
    let (upload, row) = uploads.at(row).ok_or(Error::NoCiphertexts)?;
    let size = parameters.polynomial_size().get();
    let encoding = parameters.block_encoding();
    let metadata = &source.metadata;
    let blocks = match derived {
        None => metadata.blocks_of_column(encoding, column, upload.rows),
        Some(derivation) => {
            let found = metadata.elements_of_derived(encoding, column, derivation, upload.rows);
            found.ok_or(Error::NoCiphertexts)?.0
        }
    };
    let place = blocks.start + row;
    let end = (place + most).min(blocks.end);
    let start = place % size;
    Ok(Stretch {
        polynomial: Polynomial::Uploaded(uploads, upload, place / size),
        places: start..(start + (end - place)).min(size),
        masks: match upload.masks {
            Some(masks) => {
                let key = upload.switch.is_some().then_some(upload.key);
                Masks::Seeded(SeededMasks { key, ..masks }, place - start)
            }
            None => Masks::Unknown,
        },
    })
}

/// The sum of rows of a list that several windows begin with.
struct Begun<'a> {
    /// The place of the first row.
    begin: usize,
    /// The place behind the last row so far.
    end: usize,
    sums: Sums<'a>,
}

/// Returns the ciphertext of zeros, whose mask is 0 too.
pub(crate) fn zero(parameters: &Parameters) -> Option<GlweCiphertext<u64>> {
    let size = parameters.polynomial_size();
    let words = (parameters.glwe_dimension().0 + 1) * size.get();
    GlweCiphertext::from_vec(vec![0; words], size)
}

/// Computes a linear function of `rows` rows whose codes have `bits` bits. `go_on` is called before
/// every ciphertext.
///
/// # Errors
/// [`Error::NoCiphertexts`] if a column has none, and what `go_on` returns.
pub(crate) fn evaluate(
    parameters: &Parameters,
    linear: &Linear,
    rows: usize,
    bits: u32,
    go_on: &dyn Fn() -> Result<(), Error>,
) -> Result<CompactValues, Error> {
    let ends = piece_ends(parameters, linear, rows)?;
    let plaintext_bits = linear.plaintext_bits();
    let clear = |row| linear.clear_at(row) << (u64::BITS - plaintext_bits);
    // The terms that are the same in all rows are added up once.
    let mut shared: Option<Finished> = None;
    let mut pieces = Vec::new();
    // Windows that all begin in one row are added up once.
    let mut begun: Vec<Option<Begun>> = linear.terms().iter().map(|_| None).collect();
    let mut begin = 0;
    for end in ends {
        go_on()?;
        let mut sums = Sums::new(parameters)?;
        let mut of_all_rows = Sums::new(parameters)?;
        for (term, begun) in linear.terms().iter().zip(&mut begun) {
            if term.origin.is_public() {
                continue;
            }
            let weight = linear.phase_factor(term);
            let from = |row| [row];
            match &term.rows {
                Rows::Each { first } => {
                    sums.add_rows(&term.origin, &from(first + begin), weight)?;
                }
                Rows::Picked(picked) => {
                    sums.add_rows(&term.origin, &from(element(picked, begin)), weight)?;
                }
                Rows::Windows {
                    rows: list,
                    ends,
                    window,
                } => {
                    let range = window_of(element(ends, begin), *window);
                    let next = ends.get(end).map(|&next| window_of(next, *window));
                    let goes_on = next.is_some_and(|next| next.start == range.start);
                    match begun {
                        Some(begun) if begun.begin == range.start && begun.end <= range.end => {
                            let more = &list[begun.end..range.end];
                            begun.sums.add_rows(&term.origin, more, weight)?;
                            begun.end = range.end;
                            sums.append(&begun.sums)?;
                        }
                        begun if goes_on => {
                            let mut own = Sums::new(parameters)?;
                            own.add_rows(&term.origin, &list[range.clone()], weight)?;
                            sums.append(&own)?;
                            *begun = Some(Begun {
                                begin: range.start,
                                end: range.end,
                                sums: own,
                            });
                        }
                        _ => sums.add_rows(&term.origin, &list[range], weight)?,
                    }
                }
                Rows::Sum(range) if shared.is_none() => {
                    let rows: Vec<usize> = range.clone().collect();
                    of_all_rows.add_rows(&term.origin, &rows, weight)?;
                }
                Rows::Sum(_) => {}
            }
        }
        let own = sums.finish();
        let shared = &*shared.get_or_insert_with(|| of_all_rows.finish());
        let count = end - begin;
        let clear: Vec<u64> = (begin..end).map(clear).collect();
        let unswitched = match (&own.unswitched, &shared.unswitched) {
            (None, None) => None,
            _ => {
                let mut codes: Vec<u64> = own.body_before().iter().take(count).copied().collect();
                add_words(&mut codes, shared.body_before());
                add_words(&mut codes, &clear);
                Some(codes)
            }
        };
        let mut ciphertext = own.ciphertext;
        let words = ciphertext.as_mut_slice();
        add_words(words, shared.ciphertext.as_slice());
        let size = parameters.polynomial_size().get();
        let body = words.len() - size;
        add_words(&mut words[body..body + count], &clear);
        pieces.push(Piece {
            count,
            ciphertext,
            windows: own.windows.with(&shared.windows),
            unswitched,
        });
        begin = end;
    }
    Ok(CompactValues {
        plaintext_bits,
        bits,
        pieces,
        noise: linear.noise(parameters).ok_or(Error::NoCiphertexts)?,
    })
}

/// Computes linear functions that are the rows of a node, which has `rows` rows: one function of all, or one
/// for each.
///
/// # Errors
/// As [`evaluate`].
pub(crate) fn evaluate_parts(
    parameters: &Parameters,
    parts: &[Linear],
    rows: usize,
    bits: u32,
    go_on: &dyn Fn() -> Result<(), Error>,
) -> Result<CompactValues, Error> {
    let each = rows / parts.len().max(1);
    let mut parts = parts
        .iter()
        .map(|linear| evaluate(parameters, linear, each, bits, go_on));
    let mut values = parts.next().ok_or(Error::NoCiphertexts)??;
    for part in parts {
        let part = part?;
        values.pieces.extend(part.pieces);
        if part.noise.variance().0 > values.noise.variance().0 {
            values.noise = part.noise;
        }
    }
    Ok(values)
}

/// Computes what [`evaluate`] does, and returns the codes as LWE ciphertexts under the big key.
///
/// Terms that are the same in all rows, such as an encrypted threshold, are added to the extracted codes:
/// on polynomials each row would need a ciphertext of its own.
///
/// # Errors
/// As [`evaluate`].
pub(crate) fn evaluate_extracted(
    parameters: &Parameters,
    linear: &Linear,
    rows: usize,
    bits: u32,
    go_on: &dyn Fn() -> Result<(), Error>,
) -> Result<Vec<LweCiphertext<u64>>, Error> {
    let Some((by_row, common)) = linear.without_common() else {
        return Ok(evaluate(parameters, linear, rows, bits, go_on)?.extract());
    };
    let scaled = |part: &Linear, rows| {
        let mut codes = evaluate(parameters, part, rows, bits, go_on)?.extract();
        let more = part.plaintext_bits() - linear.plaintext_bits();
        if more > 0 {
            codes.iter_mut().for_each(|code| code.mul_assign(1 << more));
        }
        Ok::<_, Error>(codes)
    };
    let mut codes = scaled(&by_row, rows)?;
    for common in scaled(&common, 1)? {
        codes.iter_mut().for_each(|code| code.add_assign(&common));
    }
    Ok(codes)
}
