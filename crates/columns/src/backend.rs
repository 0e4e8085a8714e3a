//! The side that computes: a server with its keys, or a rehearsal without keys.

use std::sync::{Arc, OnceLock};

use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters};
use tfhe_sbc_engine::server_key::ServerKey;

use crate::cost::Speed;
use crate::device_keys::DeviceKeys;
use crate::error::Error;

/// The keys or the parameters that a [`Server`](crate::Server) computes with.
pub(crate) enum Backend {
    /// A server: on ciphertexts.
    Server(Box<Keys>),
    /// A rehearsal: in the clear.
    Rehearsal(Parameters),
}

/// A server key that is ready to compute.
pub(crate) struct Keys {
    pub(crate) key: ServerKey<u64>,
    pub(crate) devices: DeviceKeys,
    pub(crate) speed: OnceLock<Speed>,
}

impl Keys {
    /// The speed of this machine, which is measured once.
    pub(crate) fn speed(&self) -> Result<Speed, Error> {
        if let Some(speed) = self.speed.get() {
            return Ok(*speed);
        }
        let speed = Speed::measure(&self.key)?;
        Ok(*self.speed.get_or_init(|| speed))
    }
}

impl Backend {
    pub(crate) fn parameters(&self) -> &Parameters {
        match self {
            Self::Server(keys) => keys.key.parameters(),
            Self::Rehearsal(parameters) => parameters,
        }
    }

    pub(crate) fn fingerprint(&self) -> Option<KeyFingerprint> {
        match self {
            Self::Server(keys) => Some(keys.key.fingerprint()),
            Self::Rehearsal(_) => None,
        }
    }

    /// Checks that operands of two servers may meet.
    pub(crate) fn check_same(self: &Arc<Self>, other: &Arc<Self>) -> Result<(), Error> {
        if Arc::ptr_eq(self, other) {
            return Ok(());
        }
        match (self.fingerprint(), other.fingerprint()) {
            (Some(a), Some(b)) if a == b => Ok(()),
            (Some(a), Some(b)) => Err(Error::KeySets(a, b)),
            _ => Err(Error::OtherRehearsal),
        }
    }
}
