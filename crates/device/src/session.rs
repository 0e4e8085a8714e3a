//! Sessions in a borrowed workspace: the part of encryption that both modes share, from checked
//! plaintexts to the end of the message.

use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters};
use tfhe_sbc_core::random::{
    AnyExpander, EntropySource, ExpanderKind, MaskSeed, NoSource, NoiseSeed, SeedSequence,
    add_noise_with,
};
use tfhe_sbc_core::wire::columns::{
    ListMasks, header as column_header, mask_bits, payload_len as column_payload_len, table_head,
};
use tfhe_sbc_core::wire::{ENVELOPE_BYTES, Header, WireError};
use tfhe_sbc_core::workspace::{Carver, wipe};

use crate::columns::{ColumnFeedback, ColumnSource, ColumnValues, Columns, segments_of};
use crate::description::{Column, Description};
use crate::error::{DeviceError, SinkError};
use crate::output::{BufferOutput, MaskOutput, Output, SinkOutput};
use crate::plaintext::{Plaintexts, PolynomialPlaintexts};
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

    /// Whether the masks are sent.
    const MASKED: bool;

    /// Returns the number of bytes between header and checksum.
    fn payload_len(parameters: &Parameters, element_count: usize) -> usize;

    /// Returns the header of a message, without the number of elements.
    fn header(template: &Header, seeds: &MessageSeeds) -> Header;

    /// Returns the form of the masks of a column list whose masks, if they are sent, have `mask_bits`
    /// bits; `None` if the template of the header lacks an expander.
    fn column_masks(template: &Header, seeds: &MessageSeeds, mask_bits: u32) -> Option<ListMasks>;

    /// Makes GLWE ciphertext number `index` of a message. Its masks are written to `masks`, if they are
    /// sent; its body is left in the state.
    fn encrypt_polynomial(
        &self,
        state: &mut State<'_, T>,
        seeds: &MessageSeeds,
        index: u32,
        plaintexts: &PolynomialPlaintexts<'_, T>,
        masks: MaskOutput<'_, T>,
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

    /// Adds noise from a stream to the first `used` coefficients of the body, to which the product is added next.
    pub(crate) fn add_noise(&mut self, stream: &mut AnyExpander, used: usize) {
        let noise = self.parameters.glwe_noise();
        // The words of the noise are overwritten by the first mask, or wiped with the product.
        let words = self.product.spare();
        add_noise_with(noise, stream, &mut self.body[..used], words);
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
        self.encrypt(
            &MessagePlaintexts::Blocks(plaintexts),
            &mut SinkOutput::new(sink),
        )
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
        self.encrypt(
            &MessagePlaintexts::Blocks(plaintexts),
            &mut SinkOutput::new(sink),
        )
    }

    /// Returns the number of bytes of the message that encrypts these columns.
    pub fn columns_message_len(&self, columns: &[ColumnValues<'_>]) -> usize {
        self.column_source_message_len(&columns)
    }

    /// Returns the number of bytes of the message that encrypts the columns of a source.
    pub fn column_source_message_len(&self, columns: &dyn ColumnSource) -> usize {
        column_payload_len(&self.state.parameters, segments_of(columns), M::MASKED)
            .saturating_add(ENVELOPE_BYTES)
    }

    /// Encrypts columns, each with its own encoding, into the first
    /// [`columns_message_len`](Self::columns_message_len) bytes of `out`, and returns their number.
    ///
    /// # Errors
    /// If the set does not carry integers over the 64-bit torus, a value is out of range, there are no
    /// columns, no values or too many, `out` is too short, or the source of entropy fails. Nothing has
    /// been written then.
    pub fn encrypt_columns(
        &mut self,
        columns: &[ColumnValues<'_>],
        out: &mut [u8],
    ) -> Result<usize, DeviceError> {
        self.encrypt_column_source(&columns, out)
    }

    /// Encrypts the columns of a source as [`encrypt_columns`](Self::encrypt_columns) does.
    ///
    /// # Errors
    /// Those of [`encrypt_columns`](Self::encrypt_columns).
    pub fn encrypt_column_source(
        &mut self,
        columns: &dyn ColumnSource,
        out: &mut [u8],
    ) -> Result<usize, DeviceError> {
        let checked = Columns::check(&self.state.parameters, columns)?;
        let mut out = BufferOutput::new(out, self.column_source_message_len(columns))?;
        self.encrypt(&MessagePlaintexts::Columns(&checked), &mut out)
    }

    /// Encrypts columns as [`encrypt_columns`](Self::encrypt_columns), piece by piece as
    /// [`encrypt_blocks_to`](Self::encrypt_blocks_to).
    ///
    /// # Errors
    /// Those of [`encrypt_columns`](Self::encrypt_columns), before the first piece, and
    /// [`DeviceError::Sink`].
    pub fn encrypt_columns_to(
        &mut self,
        columns: &[ColumnValues<'_>],
        sink: &mut dyn FnMut(&[u8]) -> Result<(), SinkError>,
    ) -> Result<usize, DeviceError> {
        self.encrypt_column_source_to(&columns, sink)
    }

    /// Encrypts the columns of a source as [`encrypt_columns_to`](Self::encrypt_columns_to) does.
    ///
    /// # Errors
    /// Those of [`encrypt_columns_to`](Self::encrypt_columns_to).
    pub fn encrypt_column_source_to(
        &mut self,
        columns: &dyn ColumnSource,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), SinkError>,
    ) -> Result<usize, DeviceError> {
        let checked = Columns::check(&self.state.parameters, columns)?;
        self.encrypt(
            &MessagePlaintexts::Columns(&checked),
            &mut SinkOutput::new(sink),
        )
    }

    fn encrypt_into(
        &mut self,
        plaintexts: Plaintexts<'_, T>,
        out: &mut [u8],
    ) -> Result<usize, DeviceError> {
        let mut out = BufferOutput::new(out, self.message_len(plaintexts.len()))?;
        self.encrypt(&MessagePlaintexts::Blocks(plaintexts), &mut out)
    }

    fn encrypt(
        &mut self,
        plaintexts: &MessagePlaintexts<'_, T>,
        out: &mut dyn Output<T>,
    ) -> Result<usize, DeviceError> {
        let (mask, noise) = self.seeds.next_pair()?;
        let seeds = MessageSeeds { mask, noise };
        if M::FORGETS {
            self.seeds.forget_past();
        }
        let result = match plaintexts {
            MessagePlaintexts::Blocks(plaintexts) => {
                self.encrypt_blocks_with(&seeds, plaintexts, out)
            }
            MessagePlaintexts::Columns(columns) => self.encrypt_columns_with(&seeds, columns, out),
        };
        if M::FORGETS {
            self.state.forget();
        }
        result
    }

    fn encrypt_blocks_with(
        &mut self,
        seeds: &MessageSeeds,
        plaintexts: &Plaintexts<'_, T>,
        out: &mut dyn Output<T>,
    ) -> Result<usize, DeviceError> {
        let header = Header {
            element_count: plaintexts.len() as u32,
            ..M::header(&self.state.header, seeds)
        };
        let parameters = self.state.parameters;
        let payload_len = M::payload_len(&parameters, plaintexts.len());
        out.bytes(&header.to_bytes(payload_len as u64))?;
        let size = parameters.polynomial_size().get();
        for (index, plaintexts) in (0..).zip(plaintexts.polynomials(size)) {
            let used = plaintexts.len();
            let plaintexts = PolynomialPlaintexts::Blocks(plaintexts);
            let masks = MaskOutput {
                out: &mut *out,
                bits: parameters.public_key_mask_bits(),
            };
            // The sink may have forked.
            self.seeds.check_process()?;
            self.mode
                .encrypt_polynomial(&mut self.state, seeds, index, &plaintexts, masks)?;
            out.packed(&self.state.body[..used], parameters.body_bits())?;
        }
        out.finish()?;
        Ok(payload_len + ENVELOPE_BYTES)
    }

    fn encrypt_columns_with(
        &mut self,
        seeds: &MessageSeeds,
        columns: &Columns<'_>,
        out: &mut dyn Output<T>,
    ) -> Result<usize, DeviceError> {
        let parameters = self.state.parameters;
        let bits = mask_bits(&parameters, columns.segments());
        let masks =
            M::column_masks(&self.state.header, seeds, bits).ok_or(WireError::Field("expander"))?;
        let element_count = columns.element_count() as u32;
        let header = column_header(&parameters, self.state.header.key, masks, element_count);
        let payload_len = column_payload_len(&parameters, columns.segments(), M::MASKED);
        out.bytes(&header.to_bytes(payload_len as u64))?;
        out.bytes(&table_head(columns.segments().count() as u16))?;
        for segment in columns.segments() {
            out.bytes(&segment.to_bytes(&parameters))?;
        }
        let mut feedback = ColumnFeedback::new();
        for (index, polynomial) in (0..).zip(columns.polynomials()) {
            let plaintexts = PolynomialPlaintexts::Columns(&polynomial);
            let masks = MaskOutput {
                out: &mut *out,
                bits,
            };
            self.seeds.check_process()?;
            self.mode
                .encrypt_polynomial(&mut self.state, seeds, index, &plaintexts, masks)?;
            polynomial.write(&mut feedback, self.state.body, out)?;
        }
        out.finish()?;
        Ok(payload_len + ENVELOPE_BYTES)
    }
}

/// The checked plaintexts of a message.
enum MessagePlaintexts<'v, T> {
    Blocks(Plaintexts<'v, T>),
    Columns(&'v Columns<'v>),
}
