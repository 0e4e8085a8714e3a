//! The noise of linear functions of compact columns.

use std::ops::Range;

use tfhe_sbc_core::encoding::CompactEncoding;
use tfhe_sbc_core::parameters::{Decomposition, KeyFingerprint, Parameters};
use tfhe_sbc_oracle::compact::{CompactNoise, SumRows, exact_sum_log2_p_fail};
use tfhe_sbc_oracle::upload::{TARGET_LOG2_P_FAIL, UploadKind};

use super::linear::{Linear, Origin, Rows, Term, window_of};
use super::rolling::run_numbers;
use crate::loaded::Loaded;
use crate::node::Source;

impl Linear {
    /// The noise of every row of the result, and of a single one, under the evaluation key.
    pub(crate) fn noise(&self, parameters: &Parameters) -> Option<CompactNoise> {
        // Terms of one column may have errors in common, so that they are added linearly: as one value
        // with the sum of the factors. Those of different columns are independent.
        let mut groups: Vec<(&Term, Vec<CompactNoise>)> = Vec::new();
        for term in self.terms() {
            if term.origin.is_public() {
                continue;
            }
            let noise = term_noise(parameters, term)?.times(self.phase_factor(term) as f64);
            let same = |(known, _): &&mut (&Term, _)| known.origin.is_same(&term.origin);
            match groups.iter_mut().find(same) {
                Some((_, noises)) => noises.push(noise),
                None => groups.push((term, vec![noise])),
            }
        }
        let groups = groups.into_iter().map(|(_, noises)| {
            let count = noises.len() as f64;
            // (Σ σ)² ≤ n·Σ σ², for n terms.
            let sum = noises.into_iter().reduce(CompactNoise::and)?;
            Some(match count {
                1.0 => sum,
                _ => sum.times(count.sqrt()),
            })
        });
        let groups: Vec<CompactNoise> = groups.collect::<Option<_>>()?;
        groups.into_iter().reduce(CompactNoise::and)
    }

    /// Returns whether codes of `bits` bits fit into code and headroom, and decode wrongly with a probability
    /// of at most 2^-128.
    pub(crate) fn is_exact(&self, parameters: &Parameters, bits: u32) -> bool {
        let plaintext_bits = self.plaintext_bits();
        bits <= plaintext_bits
            && self.noise(parameters).is_some_and(|noise| {
                exact_sum_log2_p_fail(plaintext_bits, noise) <= TARGET_LOG2_P_FAIL
            })
    }
}

/// The noise of one term of weight 1, of values that are encrypted.
fn term_noise(parameters: &Parameters, term: &Term) -> Option<CompactNoise> {
    let (source, encoding) = match &term.origin {
        Origin::Column {
            source, encoding, ..
        } => (source, encoding),
        Origin::Values(values) => {
            let rows = match &term.rows {
                Rows::Each { .. } | Rows::Picked(_) => 1,
                Rows::Sum(range) => range.len(),
                Rows::Windows { ends, window, .. } => {
                    let lengths = ends.iter().map(|&end| window_of(end, *window).len());
                    lengths.max().unwrap_or(0)
                }
            };
            // Computed values may have errors in common.
            return Some(values.noise.times(rows as f64));
        }
        Origin::Public(_) => return None,
    };
    let of_one = |range: &Range<usize>| {
        let uploads = Uploads::new(source.uploads_of(range));
        let noise = CompactNoise::upload(parameters, uploads.kind, encoding);
        // A value is of one upload, maybe of that with the noisiest switch.
        let switches = uploads.switches.iter();
        let all = switches.map(|(_, switch)| noise.switched(parameters, *switch));
        all.reduce(noisier).unwrap_or(noise)
    };
    match &term.rows {
        Rows::Each { first } => Some(of_one(&(*first..source.metadata.rows.len()))),
        Rows::Picked(picked) => Some(of_one(&covering(picked))),
        Rows::Sum(range) => {
            let uploads = source.uploads_of(range);
            Some(sum_noise(parameters, encoding, uploads, range.len(), true))
        }
        Rows::Windows { rows, ends, window } => {
            windows_noise(parameters, (&**source, encoding), rows, ends, *window)
        }
    }
}

/// The noise of the noisiest window.
fn windows_noise(
    parameters: &Parameters,
    (source, encoding): (&Source, &CompactEncoding),
    rows: &[usize],
    ends: &[usize],
    window: usize,
) -> Option<CompactNoise> {
    let runs = run_numbers(rows);
    let all = source.uploads_of(&covering(rows));
    let mut noisiest: Option<CompactNoise> = None;
    let mut last = None;
    for (place, &end) in ends.iter().enumerate() {
        let range = window_of(end, window);
        // A window that begins where the next one does is a part of it.
        let is_part = |next: &usize| *next > end && window_of(*next, window).start == range.start;
        if ends.get(place + 1).is_some_and(is_part) {
            continue;
        }
        let are_neighbours = runs[range.start] == runs[end];
        let uploads = match are_neighbours {
            true => source.uploads_of(&(rows[range.start]..rows[end] + 1)),
            false => all,
        };
        // Windows as long of the same uploads have the same noise.
        let key = (uploads.as_ptr(), uploads.len(), range.len(), are_neighbours);
        if last == Some(key) {
            continue;
        }
        last = Some(key);
        let noise = sum_noise(parameters, encoding, uploads, range.len(), are_neighbours);
        noisiest = Some(noisiest.map_or(noise, |most| noisier(most, noise)));
    }
    noisiest
}

/// The noise of a sum of `rows` rows, neighbours or not, that are in these uploads.
fn sum_noise(
    parameters: &Parameters,
    encoding: &CompactEncoding,
    uploads: &[Loaded],
    rows: usize,
    are_neighbours: bool,
) -> CompactNoise {
    let rows = rows as u64;
    let sum = match are_neighbours {
        true => SumRows::Neighbours {
            rows,
            uploads: uploads.len().max(1) as u64,
        },
        false => SumRows::Scattered { rows },
    };
    let uploads = Uploads::new(uploads);
    let noise = CompactNoise::sum(parameters, uploads.kind, encoding, sum);
    // A sum is switched once from every key.
    let switches = uploads.switches.iter();
    switches.fold(noise, |noise, (_, switch)| {
        noise.switched(parameters, *switch)
    })
}

/// The properties of uploads that decide the noise of their values.
struct Uploads {
    kind: UploadKind,
    /// The keys that uploads are switched from, each once, with what the switch decomposes to.
    switches: Vec<(KeyFingerprint, Decomposition)>,
}

impl Uploads {
    fn new(uploads: &[Loaded]) -> Self {
        let mut all = Self {
            kind: UploadKind::Symmetric,
            switches: Vec::new(),
        };
        for upload in uploads {
            if upload.is_masked {
                all.kind = UploadKind::PublicKey;
            }
            if let Some(switch) = &upload.switch
                && all.switches.iter().all(|(key, _)| *key != upload.key)
            {
                all.switches.push((upload.key, switch.decomposition()));
            }
        }
        all
    }
}

fn noisier(a: CompactNoise, b: CompactNoise) -> CompactNoise {
    match a.variance().0.total_cmp(&b.variance().0) {
        std::cmp::Ordering::Less => b,
        _ => a,
    }
}

/// The rows from the first to the last of a list.
fn covering(rows: &[usize]) -> Range<usize> {
    match (rows.iter().min(), rows.iter().max()) {
        (Some(first), Some(last)) => *first..last + 1,
        _ => 0..0,
    }
}
