//! The targets, a file for each format.

mod agent;
mod ckks;
mod frames;
mod messages;
mod segments;
mod texts;
mod tfhe_rs;
mod tfhepp;

/// A reader under test.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    /// Panics if something is wrong.
    pub(crate) run: fn(&[u8]),
    /// Inputs to begin with.
    pub(crate) seeds: fn() -> Vec<Vec<u8>>,
}

/// All targets.
pub(crate) const TARGETS: &[Target] = &[
    messages::FILE,
    messages::UPLOAD,
    messages::SHORT_UPLOAD,
    messages::REQUEST,
    messages::RESULT,
    texts::QUESTION,
    texts::PARAMETER_FILE,
    texts::CALIBRATION_FILE,
    texts::CHECK_UPLOADS,
    agent::SPOOL_FILE,
    agent::CURSOR,
    segments::SEGMENT,
    segments::RECORD,
    agent::SIGNED_UPLOAD,
    agent::PARTS,
    agent::PACKETS,
    frames::PADS,
    frames::FRAMES,
    frames::BOARD_FILE,
    frames::EVENT,
    ckks::PARAMETERS,
    ckks::SECRET_KEY,
    ckks::PUBLIC_KEY,
    ckks::CIPHERTEXT,
    ckks::SEAL_EMBEDDED,
    ckks::FILES,
    tfhepp::SECRET_KEY,
    tfhepp::CIPHERTEXTS,
    tfhe_rs::CLIENT_KEY,
    tfhe_rs::COMPRESSED,
];
