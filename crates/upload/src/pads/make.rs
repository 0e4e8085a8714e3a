//! Making pads, which the key owner does.

use tfhe_sbc_core::glwe::{GlweCiphertext, PreparedGlweSecretKey};
use tfhe_sbc_core::keys::DeviceKey;
use tfhe_sbc_core::random::{MaskSeed, NoiseSeed, SeedSequence};
use tfhe_sbc_core::wire::bits::pack_top_bits;
use tfhe_sbc_frames::{BoardKey, Pads};
use zeroize::Zeroizing;

use super::{Content, EXPANDER, FramePlan, ListForm, PadFile, PadsError, codes_of, mask_seed};

/// Encrypts the pads of all frames of a plan under a device key. `board` is the key of the board, which is
/// fresh, of this board alone, and is not needed afterwards. `seeds` are fresh.
///
/// # Errors
/// If frames of the plan are not possible, the key's parameters have no compact columns, or there is no
/// randomness.
pub fn make_pads(
    key: &DeviceKey,
    board: &BoardKey,
    plan: FramePlan,
    seeds: &mut SeedSequence,
) -> Result<PadFile, PadsError> {
    let format = plan.format()?;
    let list = ListForm::of(&plan, key.parameters())?;
    let (public, _) = seeds.next_pair()?;
    let secret = key.glwe().prepare();
    let mut bodies = Vec::with_capacity(list.packed_len.saturating_mul(plan.frames as usize));
    for counter in 0..plan.frames {
        let pads = Zeroizing::new(Pads::new(board, &format, counter).collect::<Vec<_>>());
        let (_, noise) = seeds.next_pair()?;
        let mask = mask_seed(&public.0, counter);
        encrypt(&secret, &list, &pads, &mask, &noise, &mut bodies);
    }
    let content = Content {
        parameters: key.parameters().to_bytes().to_vec(),
        plan,
        mac_key: *board.mac_key().as_bytes(),
        mask_seed: public.0,
        bodies,
    };
    PadFile::new(content, key.parameters(), key.fingerprint())
}

/// Appends the packed bodies of the list that encrypts the negatives of the pads of a frame.
fn encrypt(
    secret: &PreparedGlweSecretKey,
    list: &ListForm,
    pads: &[u64],
    mask: &MaskSeed,
    noise: &NoiseSeed,
    bodies: &mut Vec<u8>,
) {
    let (k, size) = (secret.glwe_dimension(), secret.polynomial_size());
    let mut scratch = Zeroizing::new(vec![0.0; secret.scratch_len::<u64>()]);
    let mut body = Zeroizing::new(vec![0_u64; size.get()]);
    let zeros = vec![0; size.get()];
    for (stream, runs) in (0..).zip(list.runs.chunk_by(|a, b| a.polynomial == b.polynomial)) {
        body.fill(0);
        for run in runs {
            let places = body.iter_mut().skip(run.start).take(run.count);
            for (place, pad) in places.zip(codes_of(run, list.encodings.len(), pads)) {
                let encoded: u64 = list.encodings[run.segment].encode(pad);
                *place = encoded.wrapping_neg();
            }
        }
        // Only for its masks.
        let masks = GlweCiphertext::expand(k, size, EXPANDER, mask, stream, &zeros);
        let masks = &masks.as_slice()[..k.0 * size.get()];
        let mut noise = EXPANDER.noise_stream(noise, stream);
        let distribution = list.parameters.glwe_noise();
        secret.encrypt_body_into(&mut body, masks, distribution, &mut noise, &mut scratch);
        for run in runs {
            let end = bodies.len();
            bodies.resize(end + run.packed_len(), 0);
            let used = &body[run.start..run.start + run.count];
            pack_top_bits(used, run.body_bits, &mut bodies[end..]);
        }
    }
}
