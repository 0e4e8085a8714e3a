//! Uploads as vectors of TFHEpp's ciphertexts, in constant memory.
//!
//! An LWE ciphertext of TFHEpp takes 4100 bytes for one bit, so a million bits are 4.1 GB. The 1024
//! ciphertexts of a polynomial are windows of one sequence. Coefficient `i` extracts to
//! `a'_j = a_(i-j)`, negated where the index wraps (TFHE: Fast Fully Homomorphic Encryption over the
//! Torus, section 4.2). That is the mask backwards followed by its negation backwards, read from place
//! `N - 1 - i` on. The sequence is made once for each polynomial, in the bytes that go out; each
//! ciphertext is then one copy of 4096 bytes and its body.

use std::io::{self, Write};

use tfhe_sbc_core::glwe::GlweCiphertext;
use tfhe_sbc_core::parameters::{Parameters, PlaintextKind};
use tfhe_sbc_core::wire::glwe::UploadedGlweList;

use super::archive::Archive;
use super::error::TfheppError;
use super::{LVL1_N, TLWE_BYTES, TRLWE_BYTES};

/// The number of ciphertexts that are made before they are written: 256 KiB, which fit the caches of
/// a core.
const TLWES_A_TIME: usize = 64;

/// An upload of bits as a `std::vector<TLWE<lvl1param>>`: one LWE ciphertext for each bit.
#[derive(Clone, Copy, Debug)]
pub struct TlweVector<'l, 'a>(Upload<'l, 'a>);

/// An upload of bits as a `std::vector<TRLWE<lvl1param>>`: one GLWE ciphertext for each 1024 bits. The
/// phases of coefficients without a bit have no meaning.
#[derive(Clone, Copy, Debug)]
pub struct TrlweVector<'l, 'a>(Upload<'l, 'a>);

#[derive(Clone, Copy, Debug)]
struct Upload<'l, 'a> {
    list: &'l UploadedGlweList<'a>,
}

impl<'l, 'a> Upload<'l, 'a> {
    fn new(list: &'l UploadedGlweList<'a>, parameters: &Parameters) -> Result<Self, TfheppError> {
        let is_lvl1 = parameters.plaintext() == PlaintextKind::Boolean
            && parameters.torus_bits() == 32
            && parameters.polynomial_size().get() == LVL1_N
            && parameters.glwe_dimension().0 == 1;
        if is_lvl1 {
            Ok(Self { list })
        } else {
            Err(TfheppError::Parameters(parameters.name().to_string()))
        }
    }

    fn polynomials(&self) -> impl Iterator<Item = GlweCiphertext<u32>> {
        (0..).map_while(|index| self.list.ciphertext(index))
    }
}

impl<'l, 'a> TlweVector<'l, 'a> {
    /// Takes a list that was checked against `parameters`.
    ///
    /// # Errors
    /// Returns an error if they are not the parameters of lvl1.
    pub fn new(
        list: &'l UploadedGlweList<'a>,
        parameters: &Parameters,
    ) -> Result<Self, TfheppError> {
        Upload::new(list, parameters).map(Self)
    }

    /// The number of ciphertexts.
    pub fn count(&self) -> usize {
        self.0.list.element_count()
    }

    /// The number of bytes of the file.
    pub fn file_len(&self, archive: Archive) -> u64 {
        let prefix = archive.vector_prefix(0).len();
        prefix as u64 + self.count() as u64 * TLWE_BYTES as u64
    }

    /// Writes the file, 256 KiB at a time, and calls `progress` with the number of ciphertexts after each
    /// write. With a second thread in the current rayon pool, the next ciphertexts are made during a
    /// write. Memory does not grow with the upload.
    ///
    /// # Errors
    /// Returns the errors of `out`.
    pub fn write_to(
        &self,
        archive: Archive,
        out: &mut (impl Write + Send + ?Sized),
        progress: &(dyn Fn(u64) + Sync),
    ) -> io::Result<()> {
        let mut left = self.count();
        out.write_all(&archive.vector_prefix(left as u64))?;
        let (mut ready, mut next) = (Buffer::default(), Buffer::default());
        let mut window = Window::default();
        for polynomial in self.0.polynomials() {
            window.load(&polynomial);
            for start in (0..left.min(LVL1_N)).step_by(TLWES_A_TIME) {
                let end = (start + TLWES_A_TIME).min(left);
                let ((), written) = match rayon::current_num_threads() {
                    1 => (next.fill(&window, start..end), ready.write(out, progress)),
                    _ => rayon::join(
                        || next.fill(&window, start..end),
                        || ready.write(out, progress),
                    ),
                };
                written?;
                std::mem::swap(&mut ready, &mut next);
            }
            left = left.saturating_sub(LVL1_N);
        }
        ready.write(out, progress)?;
        out.flush()
    }
}

impl<'l, 'a> TrlweVector<'l, 'a> {
    /// Takes a list that was checked against `parameters`.
    ///
    /// # Errors
    /// Returns an error if they are not the parameters of lvl1.
    pub fn new(
        list: &'l UploadedGlweList<'a>,
        parameters: &Parameters,
    ) -> Result<Self, TfheppError> {
        Upload::new(list, parameters).map(Self)
    }

    /// The number of ciphertexts.
    pub fn count(&self) -> usize {
        self.0.list.element_count().div_ceil(LVL1_N)
    }

    /// The number of bytes of the file: of a vector, or of its only ciphertext by itself.
    pub fn file_len(&self, archive: Archive, single: bool) -> u64 {
        let prefix = match single {
            true => archive.prefix().len(),
            false => archive.vector_prefix(0).len(),
        };
        prefix as u64 + self.count() as u64 * TRLWE_BYTES as u64
    }

    /// Writes the vector.
    ///
    /// # Errors
    /// Returns the errors of `out`.
    pub fn write_to(&self, archive: Archive, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        out.write_all(&archive.vector_prefix(self.count() as u64))?;
        self.write_elements(out)
    }

    /// Writes the only ciphertext of an upload of at most 1024 bits by itself, as a `TRLWE<lvl1param>`.
    /// Returns `None` if there are more bits.
    ///
    /// # Errors
    /// Returns the errors of `out`.
    pub fn write_single_to(
        &self,
        archive: Archive,
        out: &mut (impl Write + ?Sized),
    ) -> Option<io::Result<()>> {
        (self.count() == 1).then(|| {
            out.write_all(archive.prefix())?;
            self.write_elements(out)
        })
    }

    fn write_elements(&self, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        let mut bytes = [0; TRLWE_BYTES];
        for polynomial in self.0.polynomials() {
            put(&mut bytes, polynomial.as_slice().iter().copied());
            out.write_all(&bytes)?;
        }
        out.flush()
    }
}

/// The little-endian bytes of words.
fn put(bytes: &mut [u8], words: impl Iterator<Item = u32>) {
    for (bytes, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
}

/// The bytes of a mask backwards, its negation backwards, and the body.
struct Window {
    masks: Box<[u8; 8 * LVL1_N]>,
    body: Box<[u8; 4 * LVL1_N]>,
}

impl Default for Window {
    fn default() -> Self {
        Self {
            masks: Box::new([0; 8 * LVL1_N]),
            body: Box::new([0; 4 * LVL1_N]),
        }
    }
}

impl Window {
    fn load(&mut self, polynomial: &GlweCiphertext<u32>) {
        let (mask, body) = polynomial.as_slice().split_at(LVL1_N);
        let (plain, negated) = self.masks.split_at_mut(4 * LVL1_N);
        put(plain, mask.iter().rev().copied());
        put(negated, mask.iter().rev().map(|a| a.wrapping_neg()));
        put(&mut self.body[..], body.iter().copied());
    }
}

/// The ciphertexts that are about to be written.
#[derive(Default)]
struct Buffer(Vec<u8>);

impl Buffer {
    /// Appends the LWE ciphertexts of the coefficients `degrees`.
    fn fill(&mut self, window: &Window, degrees: std::ops::Range<usize>) {
        self.0.resize(degrees.len() * TLWE_BYTES, 0);
        for (degree, tlwe) in degrees.zip(self.0.chunks_exact_mut(TLWE_BYTES)) {
            let (mask, body) = tlwe.split_at_mut(4 * LVL1_N);
            mask.copy_from_slice(&window.masks[4 * (LVL1_N - 1 - degree)..][..4 * LVL1_N]);
            body.copy_from_slice(&window.body[4 * degree..][..4]);
        }
    }

    fn write(
        &self,
        out: &mut (impl Write + ?Sized),
        progress: &(dyn Fn(u64) + Sync),
    ) -> io::Result<()> {
        out.write_all(&self.0)?;
        progress((self.0.len() / TLWE_BYTES) as u64);
        Ok(())
    }
}
