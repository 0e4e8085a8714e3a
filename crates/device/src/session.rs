//! Sessions in a borrowed workspace: the part of encryption that both modes share, from checked
//! plaintexts to the end of the message.

use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters};
use tfhe_sbc_core::random::{
    AnyExpander, EntropySource, ExpanderKind, MaskSeed, NoSource, NoiseSeed, SeedSequence,
    add_noise,
};
use tfhe_sbc_core::wire::{ENVELOPE_BYTES, Header};
use tfhe_sbc_core::workspace::{Carver, wipe};

use crate::description::{Column, Description};
use crate::error::{DeviceError, SinkError};
use crate::output::{BufferOutput, Output, SinkOutput};
use crate::plaintext::Plaintexts;
use crate::plan::{KeyMode, MemoryPlan, workspace_bytes};
use crate::product::Product;

/// An encryption session in a borrowed workspace: an [`Encryptor`](crate::Encryptor) or a
/// [`PublicEncryptor`](crate::PublicEncryptor), depending on the mode `M`. `T` is the torus of the
/// key's parameter set, `u32` or `u64`, and `S` the source of entropy that renews the seeds, if any.
/// Drop zeroizes everything secret in the workspace.
pub struct Session<'w, T: ProductTorus, M, S = NoSource> {
    pub(crate) state: State<'w, T>,
    pub(crate) seeds: SeedSequence<S>,
    pub(crate) mode: M,
}

/// The state of a session apart from its mode and its seeds.
pub struct State<'w, T: ProductTorus> {
    pub(crate) parameters: Parameters,
    pub(crate) header: Header,
    pub(crate) expander: ExpanderKind,
    pub(crate) product: Product<'w, T>,
    pub(crate) body: &'w mut [T],
}

/// The seeds of one message.
pub struct MessageSeeds {
    pub(crate) mask: MaskSeed,
    pub(crate) noise: NoiseSeed,
}

/// A mode of encryption: the form of its messages, and how their ciphertexts are made.
pub trait Mode<T: ProductTorus> {
    /// Whether the randomness of a message is overwritten once it is made, so that a captured session
    /// does not decrypt it. That is pointless if the session holds a key that decrypts.
    const FORGETS: bool;

    /// Returns the number of bytes between header and checksum.
    fn payload_len(parameters: &Parameters, element_count: usize) -> usize;

    /// Returns the header of a message, without the number of elements.
    fn header(template: &Header, seeds: &MessageSeeds) -> Header;

    /// Makes GLWE ciphertext number `index` of a message and writes it to `out`.
    fn encrypt_polynomial(
        &self,
        state: &mut State<'_, T>,
        seeds: &MessageSeeds,
        index: u32,
        plaintexts: Plaintexts<'_, T>,
        out: &mut dyn Output<T>,
    ) -> Result<(), DeviceError>;
}

/// The modes of a [`Session`], [`Symmetric`](crate::Symmetric) and [`Public`](crate::Public): a
/// bound for functions that take a session of either.
pub trait SessionMode<T: ProductTorus>: Mode<T> {}
impl<T: ProductTorus, M: Mode<T>> SessionMode<T> for M {}

impl<T: ProductTorus> Drop for State<'_, T> {
    fn drop(&mut self) {
        wipe(self.body);
    }
}

impl<'w, T: ProductTorus> State<'w, T> {
    /// Takes a session's memory from `workspace`, and returns the rest of it too. The small
    /// polynomials of the product are not set yet.
    pub(crate) fn carve(
        parameters: &Parameters,
        plan: MemoryPlan,
        mode: KeyMode,
        header: Header,
        expander: ExpanderKind,
        workspace: &'w mut [u8],
    ) -> Result<(Self, Carver<'w>), DeviceError> {
        if parameters.torus_bits() != T::BITS {
            return Err(DeviceError::TorusBits(parameters.torus_bits()));
        }
        if !plan.is_built() {
            return Err(DeviceError::PlanNotBuilt(plan));
        }
        let needed = workspace_bytes(parameters.as_set(), plan, mode);
        let mut carver = Carver::new(workspace, needed)?;
        let size = parameters.polynomial_size().get();
        let uniform_len = match mode {
            KeyMode::Symmetric => size,
            KeyMode::Public => 0,
        };
        let body = carver.take(size)?;
        let product = Product::carve(plan, parameters, uniform_len, &mut carver)?;
        let state = Self {
            parameters: *parameters,
            header,
            expander,
            product,
            body,
        };
        Ok((state, carver))
    }

    /// Overwrites what is left of a message, the small polynomials included.
    fn forget(&mut self) {
        wipe(self.body);
        self.product.wipe();
    }

    /// Adds noise from a stream to the first `used` coefficients.
    pub(crate) fn add_noise(&mut self, stream: &mut AnyExpander, used: usize) {
        add_noise(self.parameters.glwe_noise(), stream, &mut self.body[..used]);
    }
}

impl<T: ProductTorus, M: SessionMode<T>, S: EntropySource> Session<'_, T, M, S> {
    /// The parameter set of the key.
    pub fn parameters(&self) -> &Parameters {
        &self.state.parameters
    }

    /// The fingerprint of the key set that messages are made under.
    pub fn key_fingerprint(&self) -> KeyFingerprint {
        self.state.header.key
    }

    /// Describes an upload of readings for a server that answers questions. The description is sent
    /// before the message that [`encrypt_blocks`](Self::encrypt_blocks) makes.
    ///
    /// # Errors
    /// Those of [`Description::new`].
    pub fn describe<'a, C, R>(&self, columns: C, rows: R) -> Result<Description<C, R>, DeviceError>
    where
        C: Iterator<Item = Column<'a>> + Clone,
        R: Iterator<Item = &'a str> + Clone,
    {
        Description::new(self.parameters(), self.key_fingerprint(), columns, rows)
    }

    /// Returns the number of bytes of the message that encrypts `element_count` blocks or bits.
    pub fn message_len(&self, element_count: usize) -> usize {
        M::payload_len(&self.state.parameters, element_count).saturating_add(ENVELOPE_BYTES)
    }

    /// Encrypts radix blocks, each below the message modulus, into the first
    /// [`message_len`](Self::message_len) bytes of `out`, and returns their number.
    ///
    /// # Errors
    /// If the set encodes bits, a block is out of range, there are none or too many, `out` is too short,
    /// or the source of entropy fails. Nothing has been written then.
    pub fn encrypt_blocks(&mut self, blocks: &[u8], out: &mut [u8]) -> Result<usize, DeviceError> {
        let plaintexts = Plaintexts::blocks(&self.state.parameters, blocks)?;
        self.encrypt_into(plaintexts, out)
    }

    /// Encrypts bits, each 0 or 1, into the first [`message_len`](Self::message_len)
    /// bytes of `out`, and returns their number.
    ///
    /// # Errors
    /// As those of [`encrypt_blocks`](Self::encrypt_blocks), for a set that encodes bits.
    pub fn encrypt_bits(&mut self, bits: &[u8], out: &mut [u8]) -> Result<usize, DeviceError> {
        let plaintexts = Plaintexts::bits(&self.state.parameters, bits)?;
        self.encrypt_into(plaintexts, out)
    }

    /// Encrypts radix blocks as [`encrypt_blocks`](Self::encrypt_blocks), piece by piece: `sink` gets
    /// the message in order, at most [`MAX_PIECE_BYTES`](crate::MAX_PIECE_BYTES) at a time, while it is
    /// made. Returns the number of bytes.
    ///
    /// # Errors
    /// Those of [`encrypt_blocks`](Self::encrypt_blocks), before the first piece, and
    /// [`DeviceError::Sink`].
    pub fn encrypt_blocks_to(
        &mut self,
        blocks: &[u8],
        sink: &mut dyn FnMut(&[u8]) -> Result<(), SinkError>,
    ) -> Result<usize, DeviceError> {
        let plaintexts = Plaintexts::blocks(&self.state.parameters, blocks)?;
        self.encrypt(plaintexts, &mut SinkOutput::new(sink))
    }

    /// Encrypts bits as [`encrypt_bits`](Self::encrypt_bits), piece by piece as
    /// [`encrypt_blocks_to`](Self::encrypt_blocks_to).
    ///
    /// # Errors
    /// Those of [`encrypt_bits`](Self::encrypt_bits), before the first piece, and
    /// [`DeviceError::Sink`].
    pub fn encrypt_bits_to(
        &mut self,
        bits: &[u8],
        sink: &mut dyn FnMut(&[u8]) -> Result<(), SinkError>,
    ) -> Result<usize, DeviceError> {
        let plaintexts = Plaintexts::bits(&self.state.parameters, bits)?;
        self.encrypt(plaintexts, &mut SinkOutput::new(sink))
    }

    fn encrypt_into(
        &mut self,
        plaintexts: Plaintexts<'_, T>,
        out: &mut [u8],
    ) -> Result<usize, DeviceError> {
        let mut out = BufferOutput::new(out, self.message_len(plaintexts.len()))?;
        self.encrypt(plaintexts, &mut out)
    }

    fn encrypt(
        &mut self,
        plaintexts: Plaintexts<'_, T>,
        out: &mut dyn Output<T>,
    ) -> Result<usize, DeviceError> {
        let (mask, noise) = self.seeds.next_pair()?;
        let seeds = MessageSeeds { mask, noise };
        if M::FORGETS {
            self.seeds.forget_past();
        }
        let result = self.encrypt_with(&seeds, plaintexts, out);
        if M::FORGETS {
            self.state.forget();
        }
        result
    }

    fn encrypt_with(
        &mut self,
        seeds: &MessageSeeds,
        plaintexts: Plaintexts<'_, T>,
        out: &mut dyn Output<T>,
    ) -> Result<usize, DeviceError> {
        let header = Header {
            element_count: plaintexts.len() as u32,
            ..M::header(&self.state.header, seeds)
        };
        let payload_len = M::payload_len(&self.state.parameters, plaintexts.len());
        out.bytes(&header.to_bytes(payload_len as u64))?;
        let size = self.state.parameters.polynomial_size().get();
        for (index, plaintexts) in (0..).zip(plaintexts.polynomials(size)) {
            self.mode
                .encrypt_polynomial(&mut self.state, seeds, index, plaintexts, out)?;
        }
        out.finish()?;
        Ok(self.message_len(plaintexts.len()))
    }
}
