//! Formats, keys and stores that the tests share.

use tfhe_sbc_frames::{BoardKey, Column, Counter, CounterStore, DeviceId, Encoder, Form, Format};

/// The id of the boards of the tests.
pub(crate) const ID: DeviceId = DeviceId([0x70, 0xb3, 0xd5, 0x7e, 0xd0, 0x00, 0x12, 0x34]);

/// A key that depends on a number.
pub(crate) fn key(number: u8) -> BoardKey {
    BoardKey::from_bytes(core::array::from_fn(|i| (i as u8).wrapping_mul(7) ^ number))
}

/// A format of columns given as bits and headroom, with pads for 1000 frames.
pub(crate) fn format(form: Form, columns: &[(u8, u8)], rows: u8) -> Format {
    let columns: Vec<_> = columns
        .iter()
        .map(|&(bits, headroom)| Column::new(bits, headroom).unwrap())
        .collect();
    Format::new(ID, form, &columns, rows, 1000).unwrap()
}

/// 24 readings of 12 bits, one bit of headroom.
pub(crate) fn day(form: Form) -> Format {
    format(form, &[(12, 1)], 24)
}

/// A store that is never cut off.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ram(pub(crate) Option<u32>);

impl CounterStore for Ram {
    type Error = core::convert::Infallible;

    fn read(&mut self) -> Result<Option<u32>, Self::Error> {
        Ok(self.0)
    }

    fn write(&mut self, limit: u32) -> Result<(), Self::Error> {
        self.0 = Some(limit);
        Ok(())
    }
}

/// An encoder that goes on with the frame `counter`.
pub(crate) fn encoder(format: Format, key: BoardKey, counter: u32) -> Encoder<Ram> {
    let counter = Counter::open(Ram(Some(counter)), 1, &format).unwrap();
    Encoder::new(format, key, counter)
}

/// The frame `counter` of these codes.
pub(crate) fn frame(format: Format, key: BoardKey, counter: u32, codes: &[u64]) -> Vec<u8> {
    let mut buffer = [0; 8192];
    let mut encoder = encoder(format, key, counter);
    encoder.encode(codes, &mut buffer).unwrap().to_vec()
}

/// The codes of the example in the documentation: 100, 201, 302, ….
pub(crate) fn example_codes() -> Vec<u64> {
    (0..24).map(|i| 100 + 101 * i).collect()
}
