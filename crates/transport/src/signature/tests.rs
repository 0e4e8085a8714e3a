use super::*;

/// The key of RFC 8032, section 7.1, test 1.
const KEY: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
-----END PRIVATE KEY-----
";

const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=
-----END PUBLIC KEY-----
";

/// The signature of OpenSSL for the board `hill` and the upload 0, 1, 2.
const GOLDEN: &str = "ac9ddb044295339a9ac45750238f8eeda3676108baca63fd6fab38a34d78806b\
                      bdca612250eba0fc0c54013ce06f58fe29bd3a6853f15134741cfe152183c40a";

fn keys() -> [(SigningKey, VerifyingKey); 2] {
    Algorithm::ALL.map(|algorithm| {
        let key = SigningKey::generate(algorithm).unwrap();
        let public = VerifyingKey::from_pem(key.public_pem().unwrap().as_bytes()).unwrap();
        (key, public)
    })
}

#[test]
fn what_a_board_signed_is_read_and_nothing_else() {
    let all = keys();
    for (key, public) in &all {
        let upload = b"an upload";
        let signed = key.sign("hill", upload).unwrap();
        assert_eq!(
            signed.len(),
            FIXED_BYTES + key.algorithm().signature_bytes() + upload.len()
        );
        assert!(is_signed(&signed) && !is_signed(upload));
        let parsed = SignedUpload::parse(&signed).unwrap();
        assert_eq!(parsed.verify("hill", public), Ok(&upload[..]));
        for name in ["valley", "hil", "", "hill2"] {
            assert_eq!(parsed.verify(name, public), Err(SignatureError::Wrong));
        }
        // Every bit of signature and upload counts.
        for place in [8, 40, 71, signed.len() - 9, signed.len() - 1] {
            let mut changed = signed.clone();
            changed[place] ^= 1;
            let parsed = SignedUpload::parse(&changed).unwrap();
            assert_eq!(parsed.verify("hill", public), Err(SignatureError::Wrong));
        }
        let longer = [&signed[..], b"!"].concat();
        let parsed = SignedUpload::parse(&longer).unwrap();
        assert_eq!(parsed.verify("hill", public), Err(SignatureError::Wrong));
        for place in 0..8 {
            let mut changed = signed.clone();
            changed[place] ^= 0x80;
            assert_eq!(SignedUpload::parse(&changed), Err(SignatureError::Unknown));
        }
        for len in [0, 7, 8, 8 + key.algorithm().signature_bytes() - 1] {
            let cut = SignedUpload::parse(&signed[..len]);
            assert_eq!(cut, Err(SignatureError::Truncated), "{len}");
        }
        let other = SigningKey::generate(key.algorithm()).unwrap();
        let other = other.sign("hill", upload).unwrap();
        let other = SignedUpload::parse(&other).unwrap();
        assert_eq!(other.verify("hill", public), Err(SignatureError::Wrong));
    }
    let signed = all[0].0.sign("hill", b"an upload").unwrap();
    let refused = SignedUpload::parse(&signed).unwrap();
    assert_eq!(
        refused.verify("hill", &all[1].1),
        Err(SignatureError::OtherAlgorithm {
            found: Algorithm::Ed25519,
            expected: Algorithm::MlDsa65,
        })
    );
}

#[test]
fn keys_go_through_pem() {
    for (key, public) in keys() {
        let text = key.to_pem().unwrap();
        assert!(text.lines().all(|line| line.len() <= PEM_LINE));
        let again = SigningKey::from_pem(text.as_bytes()).unwrap();
        assert_eq!(again.algorithm(), key.algorithm());
        let signed = again.sign("hill", b"an upload").unwrap();
        let signed = SignedUpload::parse(&signed).unwrap();
        assert!(signed.verify("hill", &public).is_ok());
        assert!(!format!("{key:?}").contains("BEGIN"));
        // The wrong half of the pair.
        let public = key.public_pem().unwrap();
        let error = SigningKey::from_pem(public.as_bytes()).unwrap_err();
        assert_eq!(error, SignatureError::PrivateKey);
        let error = VerifyingKey::from_pem(text.as_bytes()).err();
        assert_eq!(error, Some(SignatureError::PublicKey));
    }
    for text in [
        "",
        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
    ] {
        assert!(SigningKey::from_pem(text.as_bytes()).is_err());
    }
}

/// Signature and public key were made with OpenSSL 3: `openssl pkeyutl -sign -rawin`, `openssl pkey -pubout`. The
/// hash is the BLAKE3 test vector for the three bytes 0, 1, 2.
#[test]
fn the_bytes_are_those_that_another_program_makes() {
    let key = SigningKey::from_pem(KEY.as_bytes()).unwrap();
    let signed = key.sign("hill", &[0, 1, 2]).unwrap();
    let hex: String = signed.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, format!("5453425301010000{GOLDEN}000102"));
    assert_eq!(key.public_pem().unwrap(), PUBLIC);
}
