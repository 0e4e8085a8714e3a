//! Ciphertexts that TFHEpp wrote, and their decryption.

use tfhe_sbc_core::dimensions::PolynomialSize;
use tfhe_sbc_core::encoding::boolean;
use tfhe_sbc_core::glwe::{GlweCiphertext, GlweSecretKey};
use tfhe_sbc_core::lwe::LweCiphertext;

use super::archive::{Archive, Content, content_of, elements, no_ciphertexts};
use super::error::TfheppError;
use super::{LVL1_N, TLWE_BYTES, TRLWE_BYTES};

/// A file of lvl1 ciphertexts, whose length was checked against its content.
#[derive(Clone, Copy, Debug)]
pub struct Ciphertexts<'a> {
    archive: Archive,
    content: Content,
    elements: &'a [u8],
}

impl<'a> Ciphertexts<'a> {
    /// Parses a file that holds a `TLWE<lvl1param>`, a `TRLWE<lvl1param>` or a vector of either. Allocates
    /// nothing.
    ///
    /// # Errors
    /// Returns an error if the file holds anything else.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, TfheppError> {
        match content_of(bytes) {
            None | Some((_, Content::SecretKey(_))) => Err(no_ciphertexts(bytes)),
            Some((archive, content)) => Ok(Self {
                archive,
                content,
                elements: elements(bytes, archive, content),
            }),
        }
    }

    /// The kind of archive.
    pub fn archive(&self) -> Archive {
        self.archive
    }

    /// The content.
    pub fn content(&self) -> Content {
        self.content
    }

    /// The LWE ciphertexts, if the file holds those.
    pub fn tlwes(&self) -> impl Iterator<Item = LweCiphertext<u32>> + use<'a> {
        let elements = match self.content {
            Content::Tlwe | Content::TlweVector(_) => self.elements,
            _ => &[],
        };
        elements
            .chunks_exact(TLWE_BYTES)
            .filter_map(|element| LweCiphertext::from_vec(words(element)))
    }

    /// The GLWE ciphertexts, if the file holds those.
    pub fn trlwes(&self) -> impl Iterator<Item = GlweCiphertext<u32>> + use<'a> {
        let elements = match self.content {
            Content::Trlwe | Content::TrlweVector(_) => self.elements,
            _ => &[],
        };
        let size = PolynomialSize::new(LVL1_N).ok();
        elements
            .chunks_exact(TRLWE_BYTES)
            .filter_map(move |element| GlweCiphertext::from_vec(words(element), size?))
    }

    /// Decrypts the bits. A polynomial gives the bits of all its 1024 coefficients, used or not. The time
    /// does not depend on the key.
    ///
    /// # Errors
    /// Returns an error if the key does not have the dimensions of lvl1.
    pub fn decrypt(&self, key: &GlweSecretKey) -> Result<Vec<bool>, TfheppError> {
        if key.coefficients().len() != LVL1_N || key.polynomial_size().get() != LVL1_N {
            return Err(TfheppError::Key);
        }
        let flat = key.to_lwe_secret_key();
        let mut bits: Vec<bool> = self
            .tlwes()
            .map(|tlwe| boolean::decode(flat.phase(&tlwe)))
            .collect();
        let prepared = key.prepare();
        for trlwe in self.trlwes() {
            bits.extend(
                prepared
                    .phase(&trlwe)
                    .into_iter()
                    .map(boolean::decode::<u32>),
            );
        }
        Ok(bits)
    }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let (words, _) = bytes.as_chunks::<4>();
    words.iter().map(|&word| u32::from_le_bytes(word)).collect()
}
