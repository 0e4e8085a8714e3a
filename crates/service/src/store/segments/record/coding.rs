//! Numbers and bytes in records, written and read.

/// The most bytes of a number.
pub(super) const LONGEST_NUMBER: usize = 10;

/// Writes bytes as they differ from those of a model: how many at their beginning and end are the same, and the bytes in between.
pub fn put_against(model: &[u8], bytes: &[u8], out: &mut Vec<u8>) {
    let same = |(a, b): &(&u8, &u8)| a == b;
    let front = model.iter().zip(bytes).take_while(same).count();
    let (model, rest) = (&model[front..], &bytes[front..]);
    let pairs = model.iter().rev().zip(rest.iter().rev());
    let back = pairs.take_while(same).count();
    put_number(out, front as u64);
    put_number(out, back as u64);
    put_bytes(out, &rest[..rest.len() - back]);
}

/// Reads what [`put_against`] wrote: returns the bytes, and those behind them.
pub fn take_against<'a>(model: &[u8], bytes: &'a [u8]) -> Option<(Vec<u8>, &'a [u8])> {
    let mut reader = Reader(bytes);
    let front = usize::try_from(reader.number()?).ok()?;
    let back = usize::try_from(reader.number()?).ok()?;
    let middle = reader.bytes()?;
    let front = model.get(..front)?;
    let back = model.get(model.len().checked_sub(back)?..)?;
    Some(([front, middle, back].concat(), reader.0))
}

pub(super) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub(super) fn put_signed(out: &mut Vec<u8>, number: i64) {
    put_number(out, (number << 1 ^ number >> 63).cast_unsigned());
}

pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Bytes that are read from their beginning.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }

    /// Reads a number, in the only form in which it is written.
    pub(super) fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for place in 0..LONGEST_NUMBER {
            let [byte] = self.array()?;
            let bits = u64::from(byte & 0x7f);
            if place == LONGEST_NUMBER - 1 && bits > 1 {
                return None;
            }
            number |= bits << (7 * place);
            if byte & 0x80 == 0 {
                return (byte != 0 || place == 0).then_some(number);
            }
        }
        None
    }

    pub(super) fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    pub(super) fn number_of_32_bits(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    pub(super) fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }
}
