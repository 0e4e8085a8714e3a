//! Lists of answers as a server returns them, made by the key owner.

use tfhe_sbc_core::glwe::{GlweCiphertext, GlweSecretKey};
use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::packing::{PackingParameters, PackingSecret, SlotBits};
use tfhe_sbc_core::parameters::KeyFingerprint;
use tfhe_sbc_core::random::{Expander, ExpanderKind, MaskSeed, NoiseDistribution, NoiseSeed};
use tfhe_sbc_core::wire::bodies::{self, Bodies, MaskWindow, SeededMasks};
use tfhe_sbc_core::wire::cut::CutList;
use tfhe_sbc_core::wire::packed::PackedList;
use tfhe_sbc_core::wire::{Message, lwe, values};

use crate::common::lwe_list;

/// The number of bits of code and headroom in lists of compact codes, and of those that are kept of their
/// coefficients.
pub(crate) const PLAINTEXT_BITS: u32 = 22;
const KEPT_BITS: u32 = 35;

/// Encrypts the first coefficients of a plaintext polynomial, with the masks of a stream.
fn encrypt<T: ProductTorus>(
    secret: &GlweSecretKey,
    plaintexts: impl IntoIterator<Item = T>,
    (masks, stream): (SeededMasks, u32),
    noise: NoiseDistribution,
    noise_stream: &mut impl Expander,
) -> GlweCiphertext<T> {
    let (k, size) = (secret.glwe_dimension(), secret.polynomial_size());
    let mut body = vec![T::ZERO; size.get()];
    for (b, plaintext) in body.iter_mut().zip(plaintexts) {
        *b = plaintext;
    }
    let SeededMasks { expander, seed, .. } = masks;
    let mut ciphertext = GlweCiphertext::expand(k, size, expander, &seed, stream, &body);
    let (mask, body) = ciphertext.as_mut_slice().split_at_mut(k.0 * size.get());
    let secret = secret.prepare();
    let mut scratch = vec![0.0; secret.scratch_len::<T>()];
    secret.encrypt_body_into(body, mask, noise, noise_stream, &mut scratch);
    ciphertext
}

/// The masks of seed `[byte; 32]`.
pub(crate) fn seeded_masks(expander: ExpanderKind, byte: u8) -> SeededMasks {
    SeededMasks {
        expander,
        seed: MaskSeed([byte; 32]),
        key: None,
    }
}

/// A list of packed messages, encrypted by the key owner.
pub(crate) fn packed_list(
    key: &SecretKey,
    packing: &PackingParameters,
    messages: &[u32],
) -> Vec<u8> {
    let secret = PackingSecret::derive(key, packing);
    let masks = seeded_masks(ExpanderKind::ChaCha20, 9);
    let top = u32::BITS - key.parameters().message_bits().0;
    let slots = messages.chunks(packing.polynomial_size.get());
    let ciphertexts = (0..).step_by(2).zip(slots).map(|(stream, messages)| {
        let plaintexts = messages.iter().map(|message| message << top);
        let noise_stream = &mut masks.expander.mask_stream(&masks.seed, stream + 1);
        let masks = (masks, stream);
        encrypt(
            secret.glwe(),
            plaintexts,
            masks,
            packing.noise(),
            noise_stream,
        )
    });
    let list = PackedList::new(packing, messages.len(), ciphertexts.collect()).unwrap();
    list.write(key.parameters(), key.fingerprint())
}

/// A ciphertext of compact codes of an upload, or of its own.
fn encrypt_codes(
    key: &SecretKey,
    codes: impl IntoIterator<Item = u64>,
    masks: (SeededMasks, u32),
) -> GlweCiphertext<u64> {
    let plaintexts = codes
        .into_iter()
        .map(|code| code << (u64::BITS - PLAINTEXT_BITS));
    let noise_seed = NoiseSeed::from_bytes(masks.0.seed.0.map(|byte| !byte));
    let noise_stream = &mut ExpanderKind::ChaCha20.noise_stream(&noise_seed, masks.1);
    let noise = key.parameters().glwe_noise();
    encrypt(key.glwe(), plaintexts, masks, noise, noise_stream)
}

/// A list of ciphertexts of these compact codes.
pub(crate) fn codes_list(key: &SecretKey, codes: &[&[u64]]) -> Vec<u8> {
    let masks = seeded_masks(ExpanderKind::ChaCha20, 11);
    let ciphertexts: Vec<_> = (0..)
        .zip(codes)
        .map(|(stream, codes)| encrypt_codes(key, codes.iter().copied(), (masks, stream)))
        .collect();
    let counts = codes.iter().map(|codes| codes.len());
    let ciphertexts: Vec<_> = counts.zip(&ciphertexts).collect();
    let (parameters, fingerprint) = (key.parameters(), key.fingerprint());
    values::write(parameters, fingerprint, KEPT_BITS, &ciphertexts)
}

/// The code of an element of the upload that has these masks, below 2^10.
pub(crate) fn uploaded_code(masks: SeededMasks, element: usize) -> u64 {
    let [first, ..] = masks.seed.0;
    (element as u64 * 37 + u64::from(first)) % 1021
}

/// A window whose sum is part of a linear answer.
pub(crate) fn window(masks: SeededMasks, first: usize, count: usize, weight: i64) -> MaskWindow {
    MaskWindow {
        masks,
        first,
        count,
        weight,
    }
}

/// The first `count` coefficients of the sum of windows of polynomials, which `polynomial` makes for the masks of
/// an upload and the number of a polynomial: the definition, coefficient by coefficient.
pub(crate) fn windows_sum(
    count: usize,
    windows: &[MaskWindow],
    size: usize,
    polynomial: impl Fn(SeededMasks, usize) -> Vec<u64>,
) -> Vec<u64> {
    let mut sum = vec![0u64; count];
    for window in windows {
        let mut last = (usize::MAX, Vec::new());
        for element in window.first..window.first + window.count {
            let (number, i) = (element / size, element % size);
            if number != last.0 {
                last = (number, polynomial(window.masks, number));
            }
            // Coefficient c of X^-i · P is coefficient c + i of P, and X^N is -1.
            for (c, sum) in sum.iter_mut().enumerate() {
                let term = last.1[(c + i) % size].wrapping_mul(window.weight as u64);
                *sum = match c + i < size {
                    true => sum.wrapping_add(term),
                    false => sum.wrapping_sub(term),
                };
            }
        }
    }
    sum
}

/// A list of linear answers without their masks: of each the number of its codes, and the windows.
pub(crate) fn bodies_list(key: &SecretKey, answers: &[(usize, Vec<MaskWindow>)]) -> Vec<u8> {
    let size = key.parameters().polynomial_size().get();
    let body = |masks, number: usize| {
        let elements = number * size..(number + 1) * size;
        let codes = elements.map(|e| uploaded_code(masks, e));
        let ciphertext = encrypt_codes(key, codes, (masks, number as u32));
        ciphertext.as_slice()[key.parameters().glwe_dimension().0 * size..].to_vec()
    };
    let sums: Vec<Bodies> = answers
        .iter()
        .map(|(count, windows)| Bodies {
            codes: windows_sum(*count, windows, size, body),
            windows: windows.clone(),
        })
        .collect();
    bodies::write(key.parameters(), key.fingerprint(), KEPT_BITS, &sums)
}

/// The linear answers of the samples: windows within a polynomial, and across the end of one.
pub(crate) fn linear_answers(size: usize) -> [(usize, Vec<MaskWindow>); 2] {
    let first = seeded_masks(ExpanderKind::ChaCha20, 7);
    let second = seeded_masks(ExpanderKind::Aes128Ctr, 8);
    let wide = vec![
        window(first, size - 3, 7, 3),
        window(second, 0, 1, -1),
        window(second, 5, 4, -2),
    ];
    [(1, vec![window(first, 2, 20, 1)]), (3, wide)]
}

/// The same answers, of which one has an upload under a device's own key.
pub(crate) fn device_linear_answers(size: usize) -> [(usize, Vec<MaskWindow>); 2] {
    let mut answers = linear_answers(size);
    for window in answers.iter_mut().flat_map(|(_, windows)| windows) {
        if window.masks.seed == MaskSeed([8; 32]) {
            window.masks.key = Some(KeyFingerprint([5; 16]));
        }
    }
    answers
}

/// A list of cut messages, encrypted by the key owner.
pub(crate) fn cut_list(key: &SecretKey, messages: &[i64]) -> Vec<u8> {
    let parameters = key.parameters();
    let whole = lwe_list(key, messages, 5);
    let (message, _) = Message::parse(&whole).unwrap();
    let blocks = lwe::read(message, parameters, key.fingerprint()).unwrap();
    let bits = SlotBits { mask: 10, body: 6 };
    let list = CutList::new(parameters, bits, blocks).unwrap();
    list.write(parameters, key.fingerprint())
}
