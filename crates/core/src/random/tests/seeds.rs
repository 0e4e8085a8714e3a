//! Seeds and the sequence of them.

use std::collections::HashSet;

use super::*;

/// As a reader in Python gave them from the documentation of [`SeedSequence`].
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
    for period in [2, 4, 8, 16] {
        assert_eq!(
            from_pattern(&register[..period]),
            Err(EntropyError::Constant)
        );
    }
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
fn the_source_is_the_root_seed() {
    let mut calls = 0;
    let mut drawn = SeedSequence::from_entropy(|out| {
        calls += 1;
        assert_eq!(out.len(), 32);
        out.iter_mut()
            .enumerate()
            .for_each(|(i, byte)| *byte = i as u8);
        Ok(())
    })
    .unwrap();
    assert_eq!(calls, 1);
    let mut given = SeedSequence::new(Seed::from_bytes(core::array::from_fn(|i| i as u8)));
    assert_eq!(drawn.next_pair().unwrap().0, given.next_pair().unwrap().0);
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
