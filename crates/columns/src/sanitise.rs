//! Computed values that are sanitised on their way to the key owner: their noise is covered, so that it tells next to
//! nothing about what they were computed from.

use std::sync::Arc;

use tfhe_sbc_core::device_public_key::DevicePublicKey;
use tfhe_sbc_core::encoding::BlockEncoding;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::public_zeros::PublicZeros;
use tfhe_sbc_core::random::SeedSequence;
use tfhe_sbc_core::wire::packed::PackedList;
use tfhe_sbc_engine::bootstrap::{Evaluator, round_len};
use tfhe_sbc_engine::packing_key::PackingKey;
use tfhe_sbc_engine::sanitise::{self, SanitiseError};
use tfhe_sbc_oracle::sanitising::Sanitising;

use crate::backend::Backend;
use crate::compute::{can_join, check_wanted, ciphertexts_of};
use crate::computed::Computed;
use crate::error::Error;
use crate::mask::Mask;
use crate::node::{KnownBlock, Op};
use crate::number::Number;
use crate::progress::Progress;
use crate::server::Server;

impl Computed {
    /// Returns the same value in blocks that a circuit computes. What is added up on polynomials otherwise, such as a
    /// mean of a compact column, becomes digits first, which takes bootstraps.
    #[must_use]
    pub fn in_blocks(&self) -> Self {
        match self {
            Self::Number(number) => {
                let op = Op::Blocks(Arc::clone(&number.node));
                Self::Number(number.made(number.rows(), number.bits(), op))
            }
            Self::Mask(mask) => {
                let op = Op::Blocks(Arc::clone(&mask.node));
                Self::Mask(Mask::new(&mask.backend, mask.rows(), op))
            }
        }
    }

    /// The number of blocks that hold it, of which a sanitised answer takes one bootstrap each.
    pub fn block_count(&self) -> u64 {
        let each = match self {
            Self::Number(number) => block_count(self.block_encoding(), number),
            Self::Mask(_) => 1,
        };
        self.node().len() as u64 * each
    }
}

fn block_count(encoding: BlockEncoding, number: &Number) -> u64 {
    encoding.block_count(number.bits()) as u64
}

/// A server's means for sanitising values, with randomness of its own.
pub struct Sanitiser<'s> {
    packing: &'s PackingKey,
    blocks: sanitise::Sanitiser<'s>,
    way: Sanitising,
    seeds: SeedSequence,
}

/// Sanitised blocks under the small key, on their way into packed answers.
#[derive(Default)]
pub struct SanitisedBlocks(Vec<LweCiphertext<u32>>);

impl SanitisedBlocks {
    /// The number of blocks.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no blocks.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Appends blocks.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }
}

impl Server {
    /// Returns what sanitises values of this server with encryptions of zero under `public_key`. `seeds` must be fresh.
    ///
    /// # Errors
    /// [`Error::RehearsalLoads`] for a rehearsal, [`Error::NoSanitising`] if the server has no packing key or its
    /// parameters leave no room, and an error for a public key of another key set.
    pub fn sanitiser(
        &self,
        public_key: &DevicePublicKey,
        seeds: SeedSequence,
    ) -> Result<Sanitiser<'_>, Error> {
        let key = self.key().ok_or(Error::RehearsalLoads)?;
        let packing = key.packing_key().ok_or(Error::NoSanitising)?;
        let way = Sanitising::new(self.parameters(), packing.packing());
        let way = way.ok_or(Error::NoSanitising)?;
        let zeros = PublicZeros::new(public_key).ok_or(SanitiseError::OtherKeySet)?;
        Ok(Sanitiser {
            packing,
            blocks: sanitise::Sanitiser::new(Evaluator::new(key), zeros, way.flooding)?,
            way,
            seeds,
        })
    }
}

impl Sanitiser<'_> {
    /// The number of bootstraps done so far.
    pub fn bootstrap_count(&self) -> u64 {
        self.blocks.bootstrap_count()
    }

    /// The width of the flooding, and the bound on what the noise tells.
    pub fn way(&self) -> &Sanitising {
        &self.way
    }

    /// Sanitises a computed value of this server: one bootstrap a block.
    ///
    /// # Errors
    /// [`Error::NotComputed`] for a value that is not in [blocks](Computed::in_blocks), and a computation that is called
    /// off.
    pub fn sanitise(
        &mut self,
        value: &Computed,
        progress: &Progress,
    ) -> Result<SanitisedBlocks, Error> {
        let (op, node) = (value.node().op(), value.node());
        match (&*op, &**value.backend()) {
            (Op::Known(known), Backend::Server(_)) => self.wash_known(&known.blocks, 1, progress),
            (Op::Constant(truth), Backend::Server(keys)) => {
                let parameters = keys.key.parameters();
                let bit = parameters.block_encoding().encode(i64::from(*truth));
                let bit = LweCiphertext::trivial(parameters.big_lwe_dimension(), bit);
                let mut washed = SanitisedBlocks::default();
                let most = round_len();
                for first in (0..node.len()).step_by(most) {
                    let count = most.min(node.len() - first);
                    washed.extend(self.wash(&vec![bit.clone(); count], progress)?);
                }
                Ok(washed)
            }
            _ => Err(Error::NotComputed),
        }
    }

    /// Does the same for truth values of rows, as many of which share a block as a message has bits: value `i` of a
    /// block is its bit `i`. Returns `None` if they are none, or if their noise is too much for being joined.
    ///
    /// # Errors
    /// A computation that is called off.
    pub fn sanitise_joined(
        &mut self,
        value: &Computed,
        progress: &Progress,
    ) -> Result<Option<SanitisedBlocks>, Error> {
        let op = value.node().op();
        let (Computed::Mask(_), Op::Known(known), Backend::Server(keys)) =
            (value, &*op, &**value.backend())
        else {
            return Ok(None);
        };
        let parameters = keys.key.parameters();
        if !can_join(parameters, &known.blocks) {
            return Ok(None);
        }
        let together = parameters.message_bits().0 as usize;
        self.wash_known(&known.blocks, together, progress).map(Some)
    }

    /// Washes computed blocks, after `together` of them at a time were joined in one.
    fn wash_known(
        &mut self,
        blocks: &[KnownBlock],
        together: usize,
        progress: &Progress,
    ) -> Result<SanitisedBlocks, Error> {
        let mut washed = SanitisedBlocks::default();
        for blocks in blocks.chunks(round_len() * together) {
            washed.extend(self.wash(
                &ciphertexts_of(blocks, together, self.parameters()),
                progress,
            )?);
        }
        Ok(washed)
    }

    /// Washes at most [`round_len`] blocks.
    fn wash(
        &mut self,
        blocks: &[LweCiphertext<u64>],
        progress: &Progress,
    ) -> Result<SanitisedBlocks, Error> {
        check_wanted(progress)?;
        let washed = self.blocks.sanitise(blocks, &mut self.seeds)?;
        progress.add_bootstraps(washed.len() as u64);
        Ok(SanitisedBlocks(washed))
    }

    fn parameters(&self) -> &Parameters {
        self.packing.parameters()
    }

    /// Packs sanitised blocks. Returns `None` if there are none, or more than a list holds.
    pub fn pack(&self, blocks: &SanitisedBlocks) -> Option<PackedList> {
        match blocks.is_empty() {
            true => None,
            false => self.packing.pack_messages(&blocks.0, self.way.slot_bits),
        }
    }
}
