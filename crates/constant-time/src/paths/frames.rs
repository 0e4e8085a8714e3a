//! Frames of boards that are too small for ciphertexts.

use tfhe_sbc_core::memcheck::{disclose, mark_secret_bits};
use tfhe_sbc_frames::{
    BoardKey, Column, Counter, CounterStore, DeviceId, Encoder, Form, Format, MacKey, Pads,
};

use super::secret_bytes;
use crate::check::{Check, Outcome};

pub(super) fn run(check: &mut Check) {
    // Lanes of 2, 4 and 8 bytes.
    for (bits, headroom) in [(12, 1), (20, 9), (37, 11)] {
        for (name, form) in [("bare", Form::Bare), ("named", Form::Named)] {
            check.path(&format!("{name} frame of {bits} bits"), || {
                frame(bits, headroom, form)
            });
        }
    }
}

fn frame(bits: u8, headroom: u8, form: Form) -> Outcome {
    let column = Column::new(bits, headroom)?;
    let format = Format::new(DeviceId([1; 8]), form, &[column, column], 13, 365)?;
    let mut store = Ram::default();
    Counter::provision(&mut store)?;
    let counter = Counter::open(store, 16, &format)?;
    let key = || BoardKey::from_bytes(secret_bytes(1));
    let mut board = Encoder::new(format, key(), counter);
    let mut codes: Vec<u64> = (0..format.codes() as u64).map(|i| i * 97 % 4096).collect();
    // Codes that are too wide are refused, so the bits above are public.
    mark_secret_bits(&mut codes, bits.into());
    let mut buffer = vec![0; format.frame_bytes()];
    for _ in 0..2 {
        board.encode(&codes, &mut buffer)?;
    }
    let answer = board.acknowledgement(&buffer);
    let mut answer = *answer.ok_or("no acknowledgement")?.as_bytes();
    disclose(&mut answer);
    disclose(&mut buffer);
    let mac_key: MacKey = key().mac_key();
    disclose(&mut mac_key.as_bytes().to_owned());
    let owner = key();
    let mut pads: Vec<u64> = Pads::new(&owner, &format, 7).collect();
    disclose(&mut pads);
    Ok(())
}

#[derive(Debug, Default)]
struct Ram(Option<u32>);

impl CounterStore for Ram {
    type Error = std::convert::Infallible;

    fn read(&mut self) -> Result<Option<u32>, Self::Error> {
        Ok(self.0)
    }

    fn write(&mut self, limit: u32) -> Result<(), Self::Error> {
        self.0 = Some(limit);
        Ok(())
    }
}
