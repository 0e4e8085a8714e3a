//! TFHE-rs's own client, each form in which it sends readings, serialized as it serializes.

use tfhe::prelude::*;
use tfhe::safe_serialization::{safe_deserialize, safe_serialize};
use tfhe::{ClientKey, CompactCiphertextList, CompactPublicKey};
use tfhe::{CompressedFheUint8, CompressedFheUint32, FheUint8, FheUint32};

use super::client::{CLIENT_KEY, Client, READINGS, Sent, TheirForm, reading};
use crate::error::BenchError;
use crate::timing::{Subject, Work};

/// The client with the key that the device's was made of.
pub(super) fn client() -> Result<Option<Box<dyn Client>>, BenchError> {
    let key = safe_deserialize(CLIENT_KEY, CLIENT_KEY.len() as u64).map_err(BenchError::Peer)?;
    Ok(Some(Box::new(TfheRs {
        public: CompactPublicKey::new(&key),
        key,
    })))
}

struct TfheRs {
    key: ClientKey,
    public: CompactPublicKey,
}

/// The message of a form for all readings.
struct Form<'c> {
    name: &'static str,
    bytes: usize,
    subject: Box<dyn Subject + 'c>,
}

impl Sent for Form<'_> {
    fn name(&self) -> &str {
        self.name
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn subject(&mut self) -> &mut dyn Subject {
        &mut *self.subject
    }
}

fn form<'c>(
    name: &'static str,
    send: impl Fn() -> Result<Vec<u8>, BenchError> + 'c,
) -> Result<Option<Box<dyn Sent + 'c>>, BenchError> {
    let bytes = send()?.len();
    let subject = Box::new(Work {
        name: name.to_owned(),
        run: send,
        check: move |sent: Vec<u8>| Ok(sent.len() == bytes),
    });
    Ok(Some(Box::new(Form {
        name,
        bytes,
        subject,
    })))
}

macro_rules! each {
    ($key:expr, $type:ty, $clear:ty, $bits:expr) => {
        form(stringify!($type), || {
            let mut sent = Vec::new();
            for index in 0..READINGS {
                let value = <$type>::encrypt(reading(index, $bits) as $clear, $key);
                safe_serialize(&value, &mut sent, 1 << 30)
                    .map_err(|error| BenchError::Peer(error.to_string()))?;
            }
            Ok(sent)
        })
    };
}

impl Client for TfheRs {
    fn subject(
        &self,
        wanted: TheirForm,
        bits: u32,
    ) -> Result<Option<Box<dyn Sent + '_>>, BenchError> {
        let key = &self.key;
        match (wanted, bits) {
            (TheirForm::Expanded, 8) => each!(key, FheUint8, u8, 8),
            (TheirForm::Expanded, 32) => each!(key, FheUint32, u32, 32),
            (TheirForm::Compressed, 8) => each!(key, CompressedFheUint8, u8, 8),
            (TheirForm::Compressed, 32) => each!(key, CompressedFheUint32, u32, 32),
            (TheirForm::Compact, _) => form("CompactCiphertextList", move || {
                let mut list = CompactCiphertextList::builder(&self.public);
                for index in 0..READINGS {
                    match bits {
                        8 => list.push(reading(index, 8) as u8),
                        _ => list.push(reading(index, 32) as u32),
                    };
                }
                let mut sent = Vec::new();
                safe_serialize(&list.build_packed(), &mut sent, 1 << 30)
                    .map_err(|error| BenchError::Peer(error.to_string()))?;
                Ok(sent)
            }),
            _ => Ok(None),
        }
    }
}
