//! Computations under real keys.

use tfhe_sbc_columns::{Computed, Error, Exported, Progress};
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::random::{Seed, SeedSequence};

use crate::common::{Keys, metadata, rehearsal, upload};

/// Loads, arithmetic, comparisons, sums and extremes, then operators on what was computed.
#[test]
fn a_server_computes_what_a_rehearsal_does() {
    let Keys {
        secret,
        server,
        device,
        ..
    } = Keys::generate(7);
    let columns = [("t", -4.0, 0.5, 5)];
    let encrypt = |values: &[f64]| {
        let rows = values.len();
        let values = [values.to_vec()];
        upload(&device, &metadata(&columns, rows), &values, 0..rows)
    };
    let (first, second) = (encrypt(&[-4.0, 2.5, 11.5]), encrypt(&[0.0, 7.0]));
    let table = server.load(&[&first, &second]).unwrap();
    let t = table.column("t").unwrap();
    let twice = t.affine(-2.0, 1.0).unwrap();
    let (hot, warmest, mean) = (t.gt(2.0).unwrap(), t.max(), t.mean());
    let count = hot.count();
    let asked: [&dyn tfhe_sbc_columns::Computable; 5] = [&twice, &hot, &count, &warmest, &mean];
    let parts: Vec<Computed> = asked.iter().flat_map(|value| value.parts()).collect();
    let cost = server.cost(&parts, &Progress::default()).unwrap();
    let progress = Progress::default();
    let answers = server.compute_list(&asked, &progress).unwrap();
    assert_eq!(progress.bootstraps(), cost.bootstraps);
    assert_eq!(progress.expected_bootstraps(), cost.bootstraps);
    let read = |place: usize| answers[place].decrypt(&secret).unwrap();
    assert_eq!(read(0).numbers().unwrap(), [9.0, -4.0, -22.0, 1.0, -13.0]);
    assert_eq!(read(1).truths().unwrap(), [false, true, true, false, true]);
    assert_eq!(read(2).number(), Some(3.0));
    assert_eq!(read(3).number(), Some(11.5));
    assert_eq!(read(4).number(), Some(3.4));
    assert!(matches!(answers[0].rehearsed(), Err(Error::Encrypted)));
    // Computed values are operands without the cost of what they were made of.
    assert!(warmest.is_computed());
    // Whoever has the secret key reads it as it is: code 31 in blocks of two bits.
    let own = Computed::Number(warmest.clone()).decrypt_blocks(&secret);
    assert_eq!(own, Some(vec![3, 3, 1]));
    let rest = warmest.minus(t).unwrap();
    let [rest] = server.compute([&rest]).unwrap();
    let expected = [15.5, 9.0, 0.0, 11.5, 4.5];
    assert_eq!(rest.decrypt(&secret).unwrap().numbers().unwrap(), expected);
    // An earlier result takes bootstraps itself before it is an operand. A bound refuses it before
    // the first of them.
    let earlier = Computed::Number(warmest).export(&Progress::default());
    let earlier = earlier.unwrap();
    assert!(matches!(earlier, Exported::Sealed(_)));
    let earlier = server.number_of(None, &metadata(&columns, 1).columns[0], earlier);
    let rest = earlier.minus(t).unwrap();
    let parts = [Computed::Number(rest.clone())];
    let cost = server.cost(&parts, &Progress::default()).unwrap();
    let progress = Progress::default();
    let refused = server.compute_within(&parts, cost.bootstraps - 1, &progress);
    assert!(
        matches!(refused, Err(Error::TooCostly { bootstraps, .. }) if bootstraps == cost.bootstraps)
    );
    assert_eq!(progress.bootstraps(), 0);
    let done = server.compute_within(&parts, cost.bootstraps, &progress);
    assert_eq!(done.unwrap(), cost.bootstraps);
    // The key switches of an export can be called off until they are done, and are kept from then on.
    let called_off = Progress::default();
    called_off.cancel();
    let refused = parts[0].export(&called_off);
    assert!(refused.unwrap_err().is_cancelled());
    assert!(parts[0].export(&Progress::default()).is_ok());
    assert!(parts[0].export(&called_off).is_ok());
    let [rest] = server.compute([&rest]).unwrap();
    assert_eq!(rest.decrypt(&secret).unwrap().numbers().unwrap(), expected);
    // Bounds, and keys of somebody else.
    let sorted = [Computed::Number(t.smallest(5).unwrap())];
    let refused = server.compute_within(&sorted, 3, &Progress::default());
    assert!(matches!(refused, Err(Error::TooCostly { most: 3, .. })));
    let mut seeds = SeedSequence::new(Seed::from_bytes([8; 32]));
    let other = SecretKey::generate(*secret.parameters(), &mut seeds).unwrap();
    assert!(matches!(answers[0].decrypt(&other), Err(Error::Wire(_))));
    let theirs = rehearsal();
    assert!(matches!(
        theirs.cost(&sorted, &Progress::default()),
        Err(Error::OtherRehearsal)
    ));
}
