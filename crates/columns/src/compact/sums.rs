//! Sums of rows of compact columns: under the keys of devices, and switched to the evaluation key.

use std::ops::Range;

use tfhe_sbc_core::glwe::GlweCiphertext;
use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters};
use tfhe_sbc_engine::glwe_key_switch::DeviceSwitchKey;
use tfhe_sbc_upload::window::add_window;

use super::linear::Origin;
use super::values::{Polynomial, Stretch, body_of, stretch, zero};
use super::windows::Windows;
use crate::error::Error;

/// Sums under the keys of devices, which are switched to the evaluation key once each.
pub(super) struct Sums<'a> {
    parameters: &'a Parameters,
    sums: Vec<(
        KeyFingerprint,
        &'a DeviceSwitchKey<u64>,
        GlweCiphertext<u64>,
    )>,
    /// The sum under the evaluation key.
    switched: GlweCiphertext<u64>,
    windows: Windows,
}

impl<'a> Sums<'a> {
    pub(super) fn new(parameters: &'a Parameters) -> Result<Self, Error> {
        Ok(Self {
            parameters,
            sums: Vec::new(),
            switched: zero(parameters).ok_or(Error::NoCiphertexts)?,
            windows: Windows::new(),
        })
    }

    pub(super) fn add(
        &mut self,
        stretch: &Stretch<'a>,
        window: Range<usize>,
        weight: i64,
    ) -> Result<(), Error> {
        self.windows.add(stretch.masks, &window, weight);
        let device = match stretch.polynomial {
            Polynomial::Uploaded(_, upload, _) => {
                let switch = upload.switch.as_deref();
                switch.map(|switch| (upload.key, switch))
            }
            Polynomial::Computed(_) => None,
        };
        let sum = match device {
            None => &mut self.switched,
            Some((key, switch)) => self.under(key, switch)?,
        };
        stretch.with_ciphertext(|ciphertext| add_window(sum, ciphertext, window, weight))
    }

    /// The sum under the key of a device.
    fn under(
        &mut self,
        key: KeyFingerprint,
        switch: &'a DeviceSwitchKey<u64>,
    ) -> Result<&mut GlweCiphertext<u64>, Error> {
        let known = self.sums.iter().position(|(known, ..)| *known == key);
        let at = match known {
            Some(at) => at,
            None => {
                let zero = zero(self.parameters).ok_or(Error::NoCiphertexts)?;
                self.sums.push((key, switch, zero));
                self.sums.len() - 1
            }
        };
        Ok(&mut self.sums[at].2)
    }

    /// Adds the rows of a list that are at some places.
    pub(super) fn add_rows(
        &mut self,
        origin: &'a Origin,
        rows: &[usize],
        weight: i64,
    ) -> Result<(), Error> {
        for run in rows.chunk_by(|a, b| *b == a + 1) {
            let mut left = run;
            while let Some(&row) = left.first() {
                let found = stretch(self.parameters, origin, row, left.len())?;
                self.add(&found, found.places.clone(), weight)?;
                left = &left[found.places.len()..];
            }
        }
        Ok(())
    }

    /// Adds another sum.
    pub(super) fn append(&mut self, other: &Self) -> Result<(), Error> {
        self.windows.append(&other.windows);
        add_words(self.switched.as_mut_slice(), other.switched.as_slice());
        for (key, switch, sum) in &other.sums {
            add_words(self.under(*key, switch)?.as_mut_slice(), sum.as_slice());
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Finished {
        let mut unswitched = None;
        for (_, switch, sum) in self.sums {
            let before = unswitched.get_or_insert_with(|| body_of(&self.switched).to_vec());
            add_words(before, body_of(&sum));
            let mut sum = [sum];
            switch.switch_batch(&mut sum);
            let [sum] = sum;
            add_words(self.switched.as_mut_slice(), sum.as_slice());
        }
        Finished {
            ciphertext: self.switched,
            windows: self.windows,
            unswitched,
        }
    }
}

/// A sum under the evaluation key.
pub(super) struct Finished {
    pub(super) ciphertext: GlweCiphertext<u64>,
    pub(super) windows: Windows,
    /// The body before sums under keys of devices were switched, if there were any.
    pub(super) unswitched: Option<Vec<u64>>,
}

impl Finished {
    pub(super) fn body_before(&self) -> &[u64] {
        match &self.unswitched {
            Some(body) => body,
            None => body_of(&self.ciphertext),
        }
    }
}

/// Adds words to others, mod 2^64.
pub(super) fn add_words(words: &mut [u64], more: &[u64]) {
    for (word, more) in words.iter_mut().zip(more) {
        *word = word.wrapping_add(*more);
    }
}
