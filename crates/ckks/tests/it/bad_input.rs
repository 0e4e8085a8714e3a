//! Foreign files that are not what they should be: an error each, and never a panic.

use proptest::prelude::*;
use tfhe_sbc_ckks::seal::{self, SealError};
use tfhe_sbc_ckks::{
    CkksError, Encryptor, Format, KeyError, KeyMode, MemoryPlan, Parameters, PublicEncryptor,
    PublicKey, SealGenerator, SecretKey, Slots, WorkspaceError, packed_bytes, workspace_bytes,
};
use tfhe_sbc_core::workspace::HeapWorkspace;

use crate::common::{self, vector};

fn read_secret(parameters: &Parameters, bytes: &[u8]) -> Result<(), SealError> {
    let n = parameters.polynomial_size();
    let mut packed = vec![0; packed_bytes(n)];
    let result = seal::secret_key(parameters, bytes, &mut packed, &mut vec![0; n]).map(drop);
    assert!(
        result.is_ok() || packed.iter().all(|&byte| byte == 0),
        "half a key stays behind"
    );
    result
}

fn read_public(parameters: &Parameters, bytes: &[u8]) -> Result<(), SealError> {
    seal::public_key(parameters, bytes).map(drop)
}

type Read = fn(&[u8]) -> Result<(), SealError>;

/// Every object with a reader for it.
fn objects() -> [(Vec<u8>, Read); 3] {
    [
        (vector("parms.seal"), |bytes| {
            seal::encryption_parameters(bytes).map(drop)
        }),
        (vector("sk.seal"), |bytes| {
            read_secret(&Parameters::N4096, bytes)
        }),
        (vector("pk.seal"), |bytes| {
            read_public(&Parameters::N4096, bytes)
        }),
    ]
}

#[test]
fn cut_or_longer_objects_are_refused() {
    for (bytes, read) in objects() {
        assert_eq!(read(&bytes), Ok(()));
        let cuts = (0..160.min(bytes.len())).chain([bytes.len() / 2, bytes.len() - 1]);
        for cut in cuts {
            assert!(read(&bytes[..cut]).is_err(), "{cut} bytes");
            // With a header that says so.
            let mut shorter = bytes[..cut].to_vec();
            if cut >= 16 {
                shorter[8..16].copy_from_slice(&(cut as u64).to_le_bytes());
                assert!(read(&shorter).is_err(), "{cut} bytes");
            }
        }
        let mut longer = bytes.clone();
        longer.push(0);
        let found = longer.len();
        let needed = bytes.len() as u64;
        assert_eq!(read(&longer), Err(SealError::Length { needed, found }));
        longer[8..16].copy_from_slice(&(found as u64).to_le_bytes());
        assert!(read(&longer).is_err());
    }
}

#[test]
fn every_byte_before_the_words_matters() {
    for (bytes, read) in objects() {
        // Scale and correction factor of a key mean nothing, nor do versions among those read.
        let free: &[usize] = match bytes.len() {
            153 => &[],
            131160 => &[56, 57, 58, 59, 60, 61, 62, 63],
            _ => &[
                73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 88,
            ],
        };
        for at in 0..0x71.min(bytes.len()) {
            let is_version = |back| at >= back && bytes[at - back..].starts_with(&[0x5e, 0xa1, 16]);
            if is_version(3) || is_version(4) || free.contains(&at) {
                continue;
            }
            let mut changed = bytes.clone();
            changed[at] ^= 0x41;
            assert!(read(&changed).is_err(), "byte {at} of {}", bytes.len());
        }
    }
}

#[test]
fn errors_say_what_to_do() {
    let parameters = Parameters::N4096;
    let pk = vector("pk.seal");
    let with = |at: usize, byte: u8| {
        let mut changed = pk.clone();
        changed[at] = byte;
        read_public(&parameters, &changed)
    };
    assert_eq!(with(0, 0), Err(SealError::NotSeal));
    assert_eq!(with(3, 5), Err(SealError::Version(5, 4)));
    assert_eq!(with(5, 2), Err(SealError::Compressed));
    assert_eq!(with(20, 0), Err(SealError::OtherParameters));
    assert_eq!(with(48, 0), Err(SealError::Member("transform")));
    assert_eq!(with(49, 3), Err(SealError::Member("size")));
    // The first word of the last prime's polynomial, 417793.
    let last = pk.len() - 8;
    let mut changed = pk.clone();
    changed[last..].copy_from_slice(&417793u64.to_le_bytes());
    let not_reduced = Err(SealError::Key(KeyError::NotReduced));
    assert_eq!(read_public(&parameters, &changed), not_reduced);
    assert_eq!(
        read_public(&Parameters::N8192, &pk),
        Err(SealError::OtherParameters)
    );

    // A seeded public key has half the words.
    let half = 8 * 4 * 4096;
    let mut seeded = pk[..pk.len() - half].to_vec();
    let total = seeded.len() as u64;
    seeded[8..16].copy_from_slice(&total.to_le_bytes());
    seeded[0x59 + 8..0x59 + 16].copy_from_slice(&(24 + half as u64).to_le_bytes());
    seeded[0x69..0x71].copy_from_slice(&(half as u64 / 8).to_le_bytes());
    assert_eq!(read_public(&parameters, &seeded), Err(SealError::Seeded));

    // One residue off, of the first prime or of another.
    let sk = vector("sk.seal");
    for at in [0x58, 0x58 + 8 * 5000] {
        let mut changed = sk.clone();
        changed[at] ^= 1;
        let not_ternary = Err(SealError::Key(KeyError::NotTernary));
        assert_eq!(read_secret(&parameters, &changed), not_ternary);
    }
    let buffer = seal::secret_key(&parameters, &sk, &mut [0; 1023], &mut vec![0; 4096]).map(drop);
    assert_eq!(
        buffer,
        Err(SealError::Buffer {
            needed: 1024,
            found: 1023
        })
    );

    // Another scheme.
    let mut bfv = vector("parms.seal");
    bfv[16] = 1;
    assert_eq!(seal::encryption_parameters(&bfv), Err(SealError::Scheme));
}

#[test]
fn keys_of_other_parameters_are_refused() {
    let parameters = Parameters::N4096;
    let pk = vector("pk.seal");
    let key = seal::public_key(&parameters, &pk).unwrap();
    let mut workspace = HeapWorkspace::new(1 << 20);
    let other = PublicEncryptor::new(
        &Parameters::N2048,
        key,
        MemoryPlan::Small,
        common::seeds(1),
        workspace.as_mut_slice(),
    );
    assert!(matches!(
        other.err(),
        Some(CkksError::Key(KeyError::Length { .. }))
    ));

    let zeros = vec![0; 4 * 4096];
    let pair = [&zeros[..], &zeros[..]];
    let parts = |parts: &[[&[u8]; 2]]| PublicKey::from_parts(&parameters, parts).map(drop);
    assert_eq!(parts(&[pair; 3]), Ok(()));
    assert_eq!(parts(&[pair; 4]), Ok(()));
    let count = |found| Err(KeyError::PrimeCount { needed: 3, found });
    assert_eq!(parts(&[pair; 2]), count(2));
    assert_eq!(parts(&[pair; 5]), count(5));
    assert_eq!(parts(&[]), count(0));
    let short = [&zeros[..], &zeros[1..]];
    let length = Err(KeyError::Length {
        needed: 16384,
        found: 16383,
    });
    assert_eq!(parts(&[pair, pair, short]), length);
    let large = vec![0xff; 4 * 4096];
    assert_eq!(
        parts(&[pair, pair, [&zeros, &large]]),
        Err(KeyError::NotReduced)
    );
}

#[test]
fn workspaces_are_checked() {
    let parameters = Parameters::N1024;
    let packed = vec![0; packed_bytes(1024)];
    let key = SecretKey::from_packed(&parameters, &packed).unwrap();
    let needed = workspace_bytes(&parameters, MemoryPlan::Small, KeyMode::Symmetric);
    let mut workspace = HeapWorkspace::new(needed + 8);
    let mut open = |range: core::ops::Range<usize>| {
        let workspace = &mut workspace.as_mut_slice()[range];
        let (plan, generator) = (MemoryPlan::Small, SealGenerator::Blake2xb);
        Encryptor::new(
            &parameters,
            key,
            plan,
            generator,
            common::seeds(1),
            workspace,
        )
        .err()
    };
    assert_eq!(open(0..needed), None);
    assert_eq!(open(8..needed + 8), None);
    let found = needed - 1;
    let too_small = WorkspaceError::TooSmall { needed, found };
    assert_eq!(open(0..found), Some(too_small.into()));
    let misaligned = WorkspaceError::Misaligned;
    assert_eq!(open(4..needed + 4), Some(misaligned.into()));
}

#[test]
fn a_public_key_makes_no_seeded_ciphertexts() {
    let parameters = Parameters::N4096;
    let pk = vector("pk.seal");
    let key = seal::public_key(&parameters, &pk).unwrap();
    let (plan, format) = (MemoryPlan::Small, Format::SealSeeded);
    let slots = Slots::Real(&[1.0]);
    let result =
        common::encrypt_public(&parameters, key, plan, common::seeds(1), slots, 1e6, format);
    assert_eq!(result, Err(CkksError::NotSeedable));
}

proptest! {
    /// Any bytes, and any change to a real object.
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), at in 0usize..400) {
        for (object, read) in objects() {
            let _ = read(&bytes);
            let mut changed = object;
            for (old, new) in changed.iter_mut().skip(at).zip(bytes.iter().take(4)) {
                *old = *new;
            }
            let _ = read(&changed);
        }
    }
}
