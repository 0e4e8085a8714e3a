//! Descriptions of files of TFHEpp.

use super::archive::{Archive, Content, content_of};
use super::secret_key::SecretKey;
use crate::Description;
use tfhe_sbc_core::parameters::GlweSecret;

/// Describes a file, if it is certainly one of TFHEpp: a matching length alone is not enough.
pub fn describe(bytes: &[u8]) -> Option<Description> {
    let (archive, content) = content_of(bytes)?;
    let mut details = vec![("archive", archive.name().to_owned())];
    let kind = match content {
        // Any bytes of that length could be such an object.
        Content::TlweVector(0) | Content::TrlweVector(0) => return None,
        Content::Tlwe | Content::Trlwe if archive == Archive::Binary => return None,
        Content::Tlwe => "TLWE<lvl1param>".to_owned(),
        Content::Trlwe => "TRLWE<lvl1param>".to_owned(),
        Content::TlweVector(count) => {
            details.push(("elements", count.to_string()));
            "std::vector<TLWE<lvl1param>>".to_owned()
        }
        Content::TrlweVector(count) => {
            details.push(("elements", count.to_string()));
            "std::vector<TRLWE<lvl1param>>".to_owned()
        }
        Content::SecretKey(layout) => {
            let key = SecretKey::parse(bytes).ok()?;
            let distribution = match key.secret() {
                GlweSecret::Binary => "binary",
                GlweSecret::Ternary => "ternary",
            };
            details.push(("layout", layout.name().to_owned()));
            details.push(("lvl1 key", distribution.to_owned()));
            if let Ok(parameters) = key.parameters() {
                let security = format!("{:.1} bits", parameters.security_bits());
                details.push(("security", security));
                details.push(("parameter set here", parameters.name().to_string()));
            }
            "SecretKey".to_owned()
        }
    };
    Some(Description {
        library: "TFHEpp",
        kind,
        details,
    })
}
