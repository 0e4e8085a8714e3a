//! The interface of the methods of Table 1.

use tfhe_sbc_research::paper::figures::Encryption;

use crate::error::BenchError;

/// A method to encrypt bits.
pub(super) trait Method {
    /// The name in the table.
    fn name(&self) -> String;
    /// The name in JSON.
    fn key(&self) -> String;
    /// A description of the measured work.
    fn note(&self) -> String;
    /// The paper's figures for the method, if it has any, and the power in watts that models its energy.
    fn paper(&self) -> (Option<&'static Encryption>, f64);
    /// Encrypts into its own buffers and returns the number of bytes sent.
    fn encrypt(&mut self, bits: &[u8]) -> Result<usize, BenchError>;
    /// Decrypts the last encryption.
    fn decrypt(&self) -> Result<Vec<u8>, BenchError>;
    /// The number of bytes of all its buffers: keys, tables, scratch memory, ciphertexts.
    fn memory(&self) -> usize;
}
