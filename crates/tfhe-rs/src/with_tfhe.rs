//! The functions of the crate, which need the crate `tfhe`.

use tfhe::core_crypto::prelude::{
    CiphertextModulus, GlweDimension, SeededGlweCiphertext, SeededGlweCiphertextOwned,
};
use tfhe::safe_serialization::{safe_deserialize, safe_serialize};
use tfhe::{ClientKey, Seed};
use tfhe_sbc_core::keys::DeviceKey;
use tfhe_sbc_core::random::{ExpanderKind, tfhe_rs_seed};
use tfhe_sbc_core::wire::glwe::SeededGlweList;
use tfhe_sbc_foreign::tfhe_rs::TfheRsError;
use tfhe_sbc_foreign::tfhe_rs::client_key::read_client_key;
use tfhe_sbc_foreign::tfhe_rs::integers::FheType;
use tfhe_sbc_foreign::tfhe_rs::upload::Values;
use tfhe_sbc_oracle::adopted::{NotAdopted, adopt};
use thiserror::Error;
use zeroize::Zeroizing;

/// The most bytes that a client key may have; real ones have far fewer.
const MAX_KEY_BYTES: u64 = 1 << 26;

/// The reason why a key or value could not be made.
#[derive(Debug, Error)]
pub enum Error {
    /// A client key that devices cannot use.
    #[error(transparent)]
    ClientKey(#[from] TfheRsError),
    /// Parameters of a client key that are not supported.
    #[error(transparent)]
    Parameters(#[from] NotAdopted),
    /// A client key whose shape differs from its parameters.
    #[error("the client key is not of the shape that its parameters state")]
    Shape,
    /// A type that the values do not have.
    #[error("the values are {found}, not {wanted}")]
    Type {
        /// The type of the values.
        found: FheType,
        /// The type that was asked for.
        wanted: FheType,
    },
    /// Bytes that TFHE-rs refused.
    #[error("TFHE-rs says: {0}")]
    TfheRs(String),
}

/// A type of TFHE-rs that values can become.
pub trait FheValue: serde_bounds::Readable {
    /// The type's name and width.
    const TYPE: FheType;
}

/// The bounds that `safe_deserialize` puts on a type, without a dependency on the crate that defines them.
mod serde_bounds {
    pub trait Readable: Sized {
        fn read(bytes: &[u8]) -> Result<Self, String>;
    }
}

macro_rules! fhe_values {
    ($($name:ident $fhe_type:expr;)*) => {$(
        impl serde_bounds::Readable for tfhe::$name {
            fn read(bytes: &[u8]) -> Result<Self, String> {
                safe_deserialize(bytes, bytes.len() as u64)
            }
        }

        impl FheValue for tfhe::$name {
            const TYPE: FheType = $fhe_type;
        }
    )*};
}

fhe_values! {
    FheBool FheType::Bool;
    FheUint2 FheType::Uint(2);
    FheUint4 FheType::Uint(4);
    FheUint6 FheType::Uint(6);
    FheUint8 FheType::Uint(8);
    FheUint10 FheType::Uint(10);
    FheUint12 FheType::Uint(12);
    FheUint14 FheType::Uint(14);
    FheUint16 FheType::Uint(16);
    FheUint32 FheType::Uint(32);
    FheUint64 FheType::Uint(64);
    FheInt2 FheType::Int(2);
    FheInt4 FheType::Int(4);
    FheInt6 FheType::Int(6);
    FheInt8 FheType::Int(8);
    FheInt10 FheType::Int(10);
    FheInt12 FheType::Int(12);
    FheInt14 FheType::Int(14);
    FheInt16 FheType::Int(16);
    FheInt32 FheType::Int(32);
    FheInt64 FheType::Int(64);
}

/// Returns the device key of a client key. Boards encrypt with it, and the client key decrypts.
pub fn device_key(client: &ClientKey) -> Result<DeviceKey, Error> {
    // The capacity is reserved at once: a vector that grows leaves copies of the key behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(1 << 20));
    safe_serialize(client, &mut *bytes, MAX_KEY_BYTES)
        .map_err(|error| Error::TfheRs(error.to_string()))?;
    let imported = read_client_key(&bytes)?;
    let parameters = adopt(&imported.parameters)?;
    DeviceKey::import(parameters, imported.glwe).ok_or(Error::Shape)
}

/// Returns the values of an upload one after the other, in the memory of one.
pub fn values<T: FheValue>(
    mut values: Values<'_>,
) -> Result<impl Iterator<Item = Result<T, Error>>, Error> {
    let (found, wanted) = (values.fhe_type(), T::TYPE);
    if found != wanted {
        return Err(Error::Type { found, wanted });
    }
    let mut bytes = Vec::new();
    Ok(std::iter::from_fn(move || {
        values
            .write_next(&mut bytes)
            .then(|| T::read(&bytes).map_err(Error::TfheRs))
    }))
}

/// Returns GLWE ciphertext `index` of an upload whose masks [`ExpanderKind::Aes128CtrLe`] expands;
/// its mask is still TFHE-rs's seed. Returns `None` for another expander, for a 32-bit torus, and if
/// there are fewer ciphertexts.
pub fn seeded_glwe(
    list: &SeededGlweList<'_>,
    index: usize,
) -> Option<SeededGlweCiphertextOwned<u64>> {
    if list.expander() != ExpanderKind::Aes128CtrLe || list.torus_bits() != 64 {
        return None;
    }
    let expanded = list.ciphertext::<u64>(index)?;
    let (dimension, size) = (
        expanded.glwe_dimension().0,
        expanded.polynomial_size().get(),
    );
    let body = expanded.as_slice()[dimension * size..].to_vec();
    let seed = Seed(tfhe_rs_seed(&list.mask_seed(), index as u32));
    Some(SeededGlweCiphertext::from_container(
        body,
        GlweDimension(dimension).to_glwe_size(),
        seed.into(),
        CiphertextModulus::new_native(),
    ))
}
