//! Keys and certificates inside the settings, so that a board has one file.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

const LINE: usize = 76;

/// Returns bytes as lines of base64.
pub fn base64_lines(bytes: &[u8]) -> Zeroizing<String> {
    let text = Zeroizing::new(STANDARD.encode(bytes));
    let mut lines = Zeroizing::new(String::with_capacity(text.len() + text.len() / LINE + 1));
    for (place, character) in text.chars().enumerate() {
        if place > 0 && place % LINE == 0 {
            lines.push('\n');
        }
        lines.push(character);
    }
    lines.push('\n');
    lines
}

/// Returns the bytes that lines of base64 stand for; `None` if the text is no base64.
pub(super) fn from_base64(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let packed = text.bytes().filter(|byte| !byte.is_ascii_whitespace());
    let packed: Zeroizing<Vec<u8>> = Zeroizing::new(packed.collect());
    STANDARD.decode(&packed[..]).ok().map(Zeroizing::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_goes_there_and_back() {
        for len in [0, 1, 56, 57, 58, 1000] {
            let bytes: Vec<u8> = (0..len).map(|i| (i * 37) as u8).collect();
            let text = base64_lines(&bytes);
            assert!(text.lines().all(|line| line.len() <= LINE));
            assert_eq!(*from_base64(&text).unwrap(), bytes);
        }
        assert!(from_base64("a!b").is_none());
    }
}
