//! Seeds and the sequence of them.

use std::cell::Cell;
use std::collections::HashSet;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use ::chacha20::cipher::{KeyIvInit, StreamCipher};

use super::*;

/// The pairs are those that a reader in Python gave from the documentation of [`SeedSequence`].
#[test]
fn golden_pairs_of_an_independent_reader() {
    let mut seeds = SeedSequence::new(Seed::from_bytes(core::array::from_fn(|i| i as u8)));
    for expected in [
        "534303631bcf852e7a850e1e38c473bc347ac9c4414b73bc8767d32dcf0178ac\
         6d6324a99b769643196e80b46a3bb63377c2a9b5df21bb6cb0b7014ee64aeb50",
        "e4d033bfd533ba01467508c67474f29f5933af0a21e0c4f1d241fe121b55fa5c\
         231d708373d14e021aa01d5294a3994a12b365e47ae95db3099391e1fc59633c",
        "132074a567234e84c25f71ff750f934e67125ba09c8380a3d080907dd442a589\
         2f53b31317a9730377db91cecd920068caedad0f3de259c4262423beb8a16561",
    ] {
        let (mask, noise) = seeds.next_pair().unwrap();
        assert_eq!(hex(&mask.0) + &hex(noise.as_bytes()), expected);
    }
}

#[test]
fn a_session_never_repeats_a_seed() {
    let mut all = HashSet::new();
    for root in [[0; 32], [1; 32]] {
        let mut seeds = SeedSequence::new(Seed::from_bytes(root));
        for _ in 0..20_000 {
            let (mask, noise) = seeds.next_pair().unwrap();
            assert!(all.insert(mask.0) && all.insert(*noise.as_bytes()));
        }
    }
}

/// Output number `n` of a source that works.
fn entropy(n: u8) -> [u8; 32] {
    *::blake3::hash(&[n]).as_bytes()
}

/// A source that works, counting its calls.
fn good_source(calls: &Cell<u8>) -> impl FnMut(&mut [u8]) -> Result<(), EntropyError> {
    |out| {
        assert_eq!(out, [0; 32]);
        out.copy_from_slice(&entropy(calls.get()));
        calls.set(calls.get() + 1);
        Ok(())
    }
}

fn policy(max_ciphertexts: u64) -> ReseedPolicy {
    ReseedPolicy {
        max_ciphertexts: NonZeroU64::new(max_ciphertexts).expect("more than none"),
    }
}

/// The pairs are those that a reader in Python gave from the documentation of [`SeedSequence`]: two
/// pairs of each root.
#[test]
fn golden_pairs_of_a_session_that_reseeds() {
    let calls = Cell::new(0);
    let mut seeds = SeedSequence::with_reseeding(good_source(&calls), policy(2)).unwrap();
    for (expected, calls_before) in [
        (
            "fc1e2994d05fa079312b4170746e259bfe887dfbbd89d5580a75065e8dea70a8\
             181c4235008690314bc79c058e577f886327c3b27f2b44bfd5c9c30080ed9370",
            2,
        ),
        (
            "53859fd047729b8dd37c0e00df9956143b2b048ea97dec90a52356e4e9fa695c\
             739498bc74a0723a9f82231eb6beaef4922f1caadfb67d2fbdbc54e990479e0e",
            2,
        ),
        (
            "67aa7d238a651032e630666becdc21e4350c81b1f705314f00ac6673865b1c3f\
             22a531a0de45a99a02a727b1cd0cf79bb144b565908090d6e36304f86b92eeef",
            3,
        ),
        (
            "f2d767cce144475f17cee26716dd441b0495ef61fedfbb723036328c3fcfaf70\
             c30bcdc64ec1ec90f242b882553f5c7fa54a76affa69f83087aa60b7be1613f4",
            3,
        ),
        (
            "bd9e48a9f0ead361c7bb54dfa14ca16bbbb84cd1917e0a136e2ea11c86dab3bf\
             94277967229d5752ed056cdd06725fb0430b3fc919dfbc8ff2eac9b9437b1d18",
            4,
        ),
    ] {
        let (mask, noise) = seeds.next_pair().unwrap();
        assert_eq!(hex(&mask.0) + &hex(noise.as_bytes()), expected);
        assert_eq!(calls.get(), calls_before);
    }
    // A root that is not asked for more is that of `from_entropy`.
    calls.set(0);
    let mut long = SeedSequence::from_entropy(good_source(&calls)).unwrap();
    assert_eq!(
        hex(&long.next_pair().unwrap().0.0)[..8],
        *"fc1e2994",
        "the root of both"
    );
    for _ in 0..1000 {
        long.next_pair().unwrap();
    }
    assert_eq!(calls.get(), 2);
    assert_eq!(long.reseed(), Err(EntropyError::Exhausted));
}

#[test]
fn a_source_that_fails_later_stops_the_session_until_it_works() {
    for (broken, error) in [
        (None, EntropyError::Source("TRNG health test")),
        (Some([0; 32]), EntropyError::Constant),
        (Some(entropy(4)), EntropyError::Repeated),
    ] {
        let works = Cell::new(true);
        let calls = Cell::new(3);
        let mut good = good_source(&calls);
        let source = |out: &mut [u8]| {
            if works.get() {
                return good(out);
            }
            // Even where it wrote before it failed.
            out.copy_from_slice(&broken.unwrap_or(entropy(200)));
            broken.map(|_| ()).ok_or(error)
        };
        let mut seeds = SeedSequence::with_reseeding(source, policy(5)).unwrap();
        let mut all = HashSet::new();
        let mut draw = |seeds: &mut SeedSequence<_>| {
            for _ in 0..5 {
                let (mask, noise) = seeds.next_pair().unwrap();
                assert!(all.insert(mask.0) && all.insert(*noise.as_bytes()));
            }
        };
        draw(&mut seeds);
        works.set(false);
        for _ in 0..3 {
            assert_eq!(seeds.next_pair().err(), Some(error));
        }
        works.set(true);
        draw(&mut seeds);
        draw(&mut seeds);
    }
}

/// The state of a sequence yields none of the pairs that it has given.
#[test]
fn what_is_past_is_forgotten() {
    let mut forgetful = SeedSequence::new(Seed::from_bytes([7; 32]));
    let mut plain = SeedSequence::new(Seed::from_bytes([7; 32]));
    assert_eq!(
        forgetful.next_pair().unwrap().0,
        plain.next_pair().unwrap().0
    );
    forgetful.forget_past();
    // By the crate, from the documentation: block 0 of nonce 1 and `past`.
    let mut root = [0; 32];
    let key = [7; 32];
    ::chacha20::ChaCha20::new(&key.into(), b"\x01\0\0\0\0\0\0\0past".into())
        .apply_keystream(&mut root);
    let mut next = [0; 64];
    ::chacha20::ChaCha20::new(&root.into(), b"\x01\0\0\0\0\0\0\0pair".into())
        .apply_keystream(&mut next);
    let (mask, noise) = forgetful.next_pair().unwrap();
    assert_eq!(
        (mask.0, *noise.as_bytes()),
        (
            next[..32].try_into().unwrap(),
            next[32..].try_into().unwrap(),
        )
    );
    assert_ne!(mask, plain.next_pair().unwrap().0);

    // No pair comes twice, and the source is asked as often as it would have been.
    let calls = Cell::new(0);
    let mut seeds = SeedSequence::with_reseeding(good_source(&calls), policy(4)).unwrap();
    let mut all = HashSet::new();
    for message in 0..20u8 {
        let (mask, noise) = seeds.next_pair().unwrap();
        seeds.forget_past();
        seeds.forget_past();
        assert!(all.insert(mask.0) && all.insert(*noise.as_bytes()));
        assert_eq!(calls.get(), 2 + message / 4);
    }
}

/// Known new entropy doesn't make a known root of an unknown one, nor does an old root
/// that is known make the new one known.
#[test]
fn the_next_root_depends_on_the_old_one_and_on_the_source() {
    let third_pair = |outputs: [u8; 3]| {
        let mut outputs = outputs.into_iter();
        let source = |out: &mut [u8]| {
            out.copy_from_slice(&entropy(outputs.next().unwrap()));
            Ok(())
        };
        let mut seeds = SeedSequence::with_reseeding(source, policy(2)).unwrap();
        seeds.next_pair().unwrap();
        seeds.next_pair().unwrap();
        seeds.next_pair().unwrap().0
    };
    let all: HashSet<_> = [[1, 2, 3], [4, 2, 3], [1, 4, 3], [1, 2, 4]]
        .map(third_pair)
        .into();
    assert_eq!(all.len(), 4);
}

#[test]
fn the_default_policy_is_the_documented_one() {
    let calls = Cell::new(0);
    let mut seeds =
        SeedSequence::with_reseeding(good_source(&calls), ReseedPolicy::default()).unwrap();
    for _ in 0..1 << 16 {
        seeds.next_pair().unwrap();
    }
    assert_eq!(calls.get(), 2);
    seeds.next_pair().unwrap();
    assert_eq!(calls.get(), 3);
}

/// The sources are of types that a board can store in a `static` or a struct.
#[test]
fn sources_that_have_a_name() {
    fn function(out: &mut [u8]) -> Result<(), EntropyError> {
        static CALLS: AtomicU8 = AtomicU8::new(0);
        out.copy_from_slice(&entropy(CALLS.fetch_add(1, Relaxed)));
        Ok(())
    }
    type Function = fn(&mut [u8]) -> Result<(), EntropyError>;
    type Object<'a> = &'a mut dyn FnMut(&mut [u8]) -> Result<(), EntropyError>;
    struct Board<'a> {
        function: SeedSequence<Function>,
        object: SeedSequence<Object<'a>>,
    }
    let calls = Cell::new(0);
    let mut closure = good_source(&calls);
    let object: Object<'_> = &mut closure;
    let mut board = Board {
        function: SeedSequence::with_reseeding(function as Function, policy(1)).unwrap(),
        object: SeedSequence::with_reseeding(object, policy(1)).unwrap(),
    };
    for _ in 0..3 {
        assert_eq!(
            board.function.next_pair().unwrap().0,
            board.object.next_pair().unwrap().0
        );
    }
}

#[test]
fn entropy_that_repeats_is_refused() {
    let from_pattern = |pattern: &[u8]| {
        SeedSequence::from_entropy(|out| {
            out.iter_mut()
                .zip(pattern.iter().cycle())
                .for_each(|(o, p)| *o = *p);
            Ok(())
        })
        .map(|_| ())
    };
    for byte in 0..=255 {
        assert_eq!(from_pattern(&[byte]), Err(EntropyError::Constant));
    }
    let register: Vec<u8> = (1..=16).collect();
    for period in 2..=16 {
        assert_eq!(
            from_pattern(&register[..period]),
            Err(EntropyError::Constant)
        );
    }
    // A seed in the program's text.
    assert_eq!(from_pattern(&entropy(0)), Err(EntropyError::Repeated));
    let untouched = SeedSequence::from_entropy(|_| Ok(()));
    assert_eq!(untouched.err(), Some(EntropyError::Constant));
    assert_eq!(
        EntropyError::Constant.to_string(),
        "the source of entropy gave constant output; is the generator switched on?"
    );
}

#[test]
fn a_failing_source_is_reported_even_if_it_wrote() {
    let failed = SeedSequence::from_entropy(|out| {
        stream(ExpanderKind::ChaCha20, 0).fill(out);
        Err(EntropyError::Source("TRNG health test"))
    });
    let error = failed.err().unwrap();
    assert_eq!(error, EntropyError::Source("TRNG health test"));
    assert_eq!(
        error.to_string(),
        "the source of entropy failed: TRNG health test"
    );
}

#[test]
fn debug_shows_no_secret() {
    let secret = [0xab; 32];
    let mut seeds = SeedSequence::new(Seed::from_bytes(secret));
    let (_, noise) = seeds.next_pair().unwrap();
    let shown = format!(
        "{:?} {:?} {:?} {:?}",
        Seed::from_bytes(secret),
        noise,
        seeds,
        ExpanderKind::ChaCha20.noise_stream(&noise, 0)
    );
    assert_eq!(
        shown,
        "Seed(..) NoiseSeed(..) SeedSequence { next: 1, .. } AnyExpander(ChaCha20)"
    );
}
