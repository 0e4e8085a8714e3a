//! Compact forms for the uses that people name.

use std::fmt;
use std::str::FromStr;

use tfhe_sbc_core::encoding::{BodyRounding, CompactEncoding};
use tfhe_sbc_core::parameters::{Decomposition, Parameters};
use thiserror::Error;

use super::{CompactNoise, CompactUse, SumRows, least_body_bits, sign_chunks};
use crate::upload::UploadKind;

/// The use that a compact column is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Profile {
    /// Comparisons with thresholds. There is one bit of headroom, so that sums are made in pairs.
    Alarms,
    /// Sums and means of up to 2^14 rows of one board, that is of 22 months of hourly readings, which come
    /// in up to [`MEANS_UPLOADS`](Self::MEANS_UPLOADS) uploads; and comparisons.
    Means,
    /// Sums and means of the same row of up to 2^10 boards; and comparisons.
    Fleet,
}

/// A word that names no [`Profile`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("'{0}' is no use of a compact column: write alarms, means or fleet")]
pub struct UnknownProfile(String);

impl Profile {
    /// All profiles.
    pub const ALL: [Self; 3] = [Self::Alarms, Self::Means, Self::Fleet];
    /// The largest number of uploads that the rows of [`Means`](Self::Means) come in.
    pub const MEANS_UPLOADS: u64 = 16;

    /// The name: `alarms`, `means` or `fleet`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Alarms => "alarms",
            Self::Means => "means",
            Self::Fleet => "fleet",
        }
    }

    /// The number of bits above a code.
    pub const fn headroom(self) -> u32 {
        match self {
            Self::Alarms => 1,
            Self::Means => 14,
            Self::Fleet => 10,
        }
    }

    pub(super) const fn rounding(self) -> BodyRounding {
        match self {
            Self::Alarms | Self::Fleet => BodyRounding::Nearest,
            Self::Means => BodyRounding::ErrorFeedback,
        }
    }

    const fn rows(self) -> SumRows {
        let rows = 1 << self.headroom();
        match self {
            Self::Alarms | Self::Fleet => SumRows::Scattered { rows },
            Self::Means => SumRows::Neighbours {
                rows,
                uploads: Self::MEANS_UPLOADS,
            },
        }
    }

    /// Returns the encoding of codes of `bits` bits for this use, with the shortest bodies with which all
    /// sums of the use are exact and comparisons take the fewest bootstraps; each fails with a
    /// probability of at most 2^-128. It holds for uploads of `kind` under the evaluation key and, up to
    /// some 30 bits of code and headroom, under a device's own key; above that, a sum of uploads under such
    /// a key has to be made in groups. Returns `None` if the parameters do not carry such codes.
    pub fn encoding(
        self,
        parameters: &Parameters,
        bits: u32,
        kind: UploadKind,
    ) -> Option<CompactEncoding> {
        let switches = [Some(parameters.device_switch()), None];
        let body_bits = switches
            .into_iter()
            .find_map(|switch| self.body_bits(parameters, bits, kind, switch))?;
        CompactEncoding::new(bits, self.headroom(), body_bits, self.rounding()).ok()
    }

    fn body_bits(
        self,
        parameters: &Parameters,
        bits: u32,
        kind: UploadKind,
        device_switch: Option<Decomposition>,
    ) -> Option<u32> {
        let (headroom, rounding) = (self.headroom(), self.rounding());
        let longest =
            CompactEncoding::new(bits, headroom, CompactEncoding::MAX_BODY_BITS, rounding).ok()?;
        let noise = CompactNoise::upload(parameters, kind, &longest);
        let noise = match device_switch {
            Some(switch) => noise.switched(parameters, switch),
            None => noise,
        };
        let at_the_top = noise.times(f64::exp2(f64::from(headroom) - 1.0));
        let fewest = sign_chunks(parameters, bits + 1, at_the_top)?.len() as u32;
        let usage = CompactUse {
            bits,
            headroom,
            rounding,
            kind,
            rows: self.rows(),
            comparison_bootstraps: Some(fewest),
            // A threshold travels once, in a body that is long enough to add nothing.
            encrypted_thresholds: false,
            digit_bootstraps: None,
            device_switch,
        };
        least_body_bits(parameters, &usage)
    }
}

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(name: &str) -> Result<Self, UnknownProfile> {
        let known = Self::ALL.into_iter().find(|profile| profile.name() == name);
        known.ok_or_else(|| UnknownProfile(name.to_owned()))
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;

    use super::*;

    /// One bit less, and a sum or a comparison of the use would not meet the target.
    #[test]
    fn bodies_are_as_short_as_their_use_permits() {
        let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
        let body_bits = |profile: Profile, bits| {
            let encoding = profile.encoding(&parameters, bits, UploadKind::Symmetric);
            encoding.unwrap().body_bits()
        };
        assert_eq!(
            Profile::ALL.map(|profile| body_bits(profile, 12)),
            [17, 32, 30]
        );
        // The columns of the bundled weather data.
        assert_eq!(
            [10, 7, 8, 17].map(|bits| body_bits(Profile::Means, bits)),
            [30, 27, 28, 37]
        );
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
        assert_eq!(
            Profile::Means.encoding(&parameters, 41, UploadKind::Symmetric),
            None
        );
        assert_eq!("means".parse(), Ok(Profile::Means));
        let unknown = "mean".parse::<Profile>().unwrap_err().to_string();
        assert!(unknown.contains("alarms, means or fleet"));
    }
}
