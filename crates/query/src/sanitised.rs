//! Answers that are sanitised: their noise tells next to nothing but their values.

use tfhe_sbc_columns::{self as columns, Computed, Progress, SanitisedBlocks, Sanitiser, Server};

use crate::error::EvaluateError;
use crate::graph::Asked;
use crate::groups::AskedOf;
use crate::results::{Ciphertexts, EncryptedAnswer, Meaning, Results};

/// The values that a server computes for sanitised answers: those of ordinary answers, in blocks.
pub(crate) fn in_blocks(asked: Vec<Asked>) -> Vec<Asked> {
    let in_blocks = asked.into_iter().map(|asked| Asked {
        parts: asked.parts.iter().map(Computed::in_blocks).collect(),
        ..asked
    });
    in_blocks.collect()
}

/// The number of bootstraps that sanitising values takes at most.
pub(crate) fn washing(parts: &[Computed]) -> u64 {
    parts.iter().map(Computed::block_count).sum()
}

/// Computes answers, sanitises and packs them.
///
/// # Errors
/// Answers that take more than `max_bootstraps` bootstraps, sanitising included, and evaluations that are called off.
pub(crate) fn answers(
    server: &Server,
    mut sanitiser: Sanitiser<'_>,
    asked: Vec<(String, AskedOf)>,
    max_bootstraps: u64,
    progress: &Progress,
) -> Result<(Results, Ciphertexts), EvaluateError> {
    let (asked, names): (Vec<Asked>, Vec<_>) = asked
        .into_iter()
        .map(|(name, AskedOf { group, asked })| (asked, (name, group)))
        .unzip();
    let asked = in_blocks(asked);
    let parts: Vec<Computed> = asked.iter().flat_map(|asked| asked.parts.clone()).collect();
    let washing = washing(&parts);
    // Uploaded values are computed with no bootstrap, but washed with some.
    let Some(most) = max_bootstraps.checked_sub(washing) else {
        return Err(EvaluateError::TooCostly {
            bootstraps: washing,
            most: max_bootstraps,
        });
    };
    let computed = server.compute_within(&parts, most, progress);
    let computed = computed.map_err(|error| match error {
        columns::Error::TooCostly { bootstraps, .. } => EvaluateError::TooCostly {
            bootstraps: bootstraps.saturating_add(washing),
            most: max_bootstraps,
        },
        error => error.into(),
    })?;
    progress.expect_bootstraps(computed + washing);
    let mut blocks = SanitisedBlocks::default();
    let mut answers = Vec::with_capacity(asked.len());
    for ((name, group), Asked { parts, meaning }) in names.into_iter().zip(asked) {
        let before = blocks.len();
        let joined = match (&meaning, &parts[..]) {
            (Meaning::Rows(_), [flags]) => sanitiser.sanitise_joined(flags, progress)?,
            _ => None,
        };
        let is_joined = joined.is_some();
        match joined {
            Some(flags) => blocks.extend(flags),
            None => {
                for part in &parts {
                    blocks.extend(sanitiser.sanitise(part, progress)?);
                }
            }
        }
        answers.push(EncryptedAnswer {
            name,
            group,
            blocks: (blocks.len() - before) as u32,
            compact: Vec::new(),
            joined: is_joined,
            meaning,
        });
    }
    let list = sanitiser.pack(&blocks);
    let ciphertexts = Ciphertexts::from(list.ok_or(columns::Error::NoCiphertexts)?);
    let told = sanitiser.way().log2_bits_told_by(blocks.len() as u64);
    let results = Results::new(answers, computed + sanitiser.bootstrap_count());
    Ok((results.sanitised(told), ciphertexts))
}
