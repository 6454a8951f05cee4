//! Random texts (clause 4.3.2.2), made in place.

use dsbench_core::random::Stream;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The word that marks a tenth of items and stocks.
pub const ORIGINAL: &[u8] = b"ORIGINAL";

/// Fills with characters that carry 6 random bits each, so that no layer below stores less than it was
/// given.
pub fn letters(stream: &mut Stream, into: &mut [u8]) {
    for chunk in into.chunks_mut(10) {
        let mut bits = stream.next_u64();
        for byte in chunk {
            *byte = ALPHABET[(bits & 63) as usize];
            bits >>= 6;
        }
    }
}

/// Fills with digits.
pub fn digits(stream: &mut Stream, into: &mut [u8]) {
    for chunk in into.chunks_mut(8) {
        let mut bits = stream.next_u64();
        for byte in chunk {
            *byte = b'0' + (((bits & 255) * 10) >> 8) as u8;
            bits >>= 8;
        }
    }
}

/// A zip code: four random digits and 11111 (clause 4.3.2.7).
pub fn zip(stream: &mut Stream) -> [u8; 9] {
    let mut zip = *b"000011111";
    digits(stream, &mut zip[..4]);
    zip
}

/// A length from `low` to `high`.
pub fn length(stream: &mut Stream, low: usize, high: usize) -> usize {
    low + stream.below((high - low + 1) as u64) as usize
}

/// In one of ten cases writes [`ORIGINAL`] somewhere into `data`.
pub fn mark(stream: &mut Stream, data: &mut [u8]) {
    if stream.below(10) == 0 {
        let at = stream.below((data.len() - ORIGINAL.len() + 1) as u64) as usize;
        data[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL);
    }
}

/// ASCII as text.
pub fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// Cuts texts off the front of ASCII.
pub struct Cutter<'a>(pub &'a str);

impl<'a> Cutter<'a> {
    /// The next `length` characters.
    pub fn cut(&mut self, length: usize) -> &'a str {
        let (piece, rest) = self.0.split_at(length);
        self.0 = rest;
        piece
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_their_characters() {
        let mut stream = Stream::new(1, 1, 1);
        let mut buffer = [0; 1000];
        letters(&mut stream, &mut buffer);
        let seen: std::collections::BTreeSet<u8> = buffer.iter().copied().collect();
        assert_eq!(seen.len(), 64);
        digits(&mut stream, &mut buffer);
        assert!(buffer.iter().all(u8::is_ascii_digit) && (b'0'..=b'9').all(|digit| buffer.contains(&digit)));
        assert_eq!(&zip(&mut stream)[4..], b"11111");
    }

    #[test]
    fn a_tenth_is_marked_anywhere() {
        let mut places = [0; 3];
        for number in 0..30_000 {
            let mut data = *b"..........";
            mark(&mut Stream::new(1, 2, number), &mut data);
            if let Some(at) = data.windows(8).position(|window| window == ORIGINAL) {
                places[at] += 1;
            }
        }
        // 30,000 draws of p = 1/30 for each place: standard deviation 31.
        assert!(places.iter().all(|count| (870..1130).contains(count)), "{places:?}");
    }
}
