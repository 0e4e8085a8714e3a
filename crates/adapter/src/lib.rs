//! tfhe-sbc-adapter
