//! PostgreSQL's binary form of exact decimals: digits to the base 10,000 around the point.
//!
//! value = sign · Σ digit\[i\] · 10000^(weight − i); `scale` is the number of decimal digits after
//! the point that are shown. (PostgreSQL, src/backend/utils/adt/numeric.c, numeric_send.)

/// Sign of a number below zero.
const NEGATIVE: u16 = 0x4000;
/// Sign of a number that is not below zero.
const POSITIVE: u16 = 0;
/// Most digits to the base 10,000 that 64 bits and the padding of a group need.
const MOST: usize = 6;

/// Appends `unscaled` · 10^−`scale` to `out`.
#[inline]
pub fn encode(out: &mut Vec<u8>, unscaled: i64, scale: u8) {
    // Groups of four digits are counted from the point, so the last one is filled up with zeros.
    match scale % 4 {
        0 => groups::<10_000>(out, unscaled, scale),
        1 => groups::<10>(out, unscaled, scale),
        2 => groups::<100>(out, unscaled, scale),
        _ => groups::<1000>(out, unscaled, scale),
    }
}

/// The same, where the last group holds the digits below `LAST`: divisors that are known are cheap.
fn groups<const LAST: u64>(out: &mut Vec<u8>, unscaled: i64, scale: u8) {
    let rest = unscaled.unsigned_abs();
    let (mut group, mut rest) = (rest % LAST * (10_000 / LAST), rest / LAST);
    let mut digits = [0_u16; MOST];
    let mut count = 0;
    let mut trailing = 0;
    while group > 0 || rest > 0 {
        // Zero groups at the end are not sent.
        if group == 0 && count == 0 {
            trailing += 1;
        } else {
            digits[count] = group as u16;
            count += 1;
        }
        (group, rest) = (rest % 10_000, rest / 10_000);
    }
    let groups_after_point = i32::from(scale.div_ceil(4));
    let weight = if count == 0 { 0 } else { (trailing + count) as i32 - 1 - groups_after_point };
    let mut bytes = [0; 8 + 2 * MOST];
    let sign = if unscaled < 0 { NEGATIVE } else { POSITIVE };
    let head = [count as u16, weight as i16 as u16, sign, u16::from(scale)];
    for (place, word) in bytes.chunks_exact_mut(2).zip(head.iter().chain(digits[..count].iter().rev())) {
        place.copy_from_slice(&word.to_be_bytes());
    }
    out.extend_from_slice(&bytes[..8 + 2 * count]);
}

/// The unscaled integer of the number in `bytes` at `scale` digits after the point; `None` when it
/// is no number, has more digits after the point than that, or does not fit 64 bits.
pub fn decode(bytes: &[u8], scale: u8) -> Option<i64> {
    let word = |at: usize| Some(u16::from_be_bytes(*bytes.get(at * 2..)?.first_chunk()?));
    let (count, weight, sign) = (usize::from(word(0)?), i32::from(word(1)? as i16), word(2)?);
    if bytes.len() != 8 + count * 2 || !matches!(sign, POSITIVE | NEGATIVE) {
        return None;
    }
    let mut sum = 0_i128;
    for at in 0..count {
        let digit = i128::from(word(4 + at)?);
        let power = 4 * (weight - at as i32) + i32::from(scale);
        if digit == 0 {
            continue;
        }
        let part = match power {
            ..=-4 => return None,
            -3..=-1 => {
                let divisor = 10_i128.pow(power.unsigned_abs());
                (digit % divisor == 0).then_some(digit / divisor)?
            }
            0..=18 => digit * 10_i128.pow(power.unsigned_abs()),
            _ => return None,
        };
        sum += part;
    }
    i64::try_from(if sign == NEGATIVE { -sum } else { sum }).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(unscaled: i64, scale: u8) -> Vec<u8> {
        let mut out = Vec::new();
        encode(&mut out, unscaled, scale);
        out
    }

    fn words(words: &[i32]) -> Vec<u8> {
        words.iter().flat_map(|word| (*word as u16).to_be_bytes()).collect()
    }

    #[test]
    fn numbers_have_the_bytes_that_the_server_sends() {
        // The right sides are what numeric_send gave for 0, 0.00, 1.5, -12345.678, 10000, 0.0001, 0.00010.
        assert_eq!(encoded(0, 0), words(&[0, 0, 0, 0]));
        assert_eq!(encoded(0, 2), words(&[0, 0, 0, 2]));
        assert_eq!(encoded(15, 1), words(&[2, 0, 0, 1, 1, 5000]));
        assert_eq!(encoded(-12_345_678, 3), words(&[3, 1, 0x4000, 3, 1, 2345, 6780]));
        assert_eq!(encoded(10_000, 0), words(&[1, 1, 0, 0, 1]));
        assert_eq!(encoded(1, 4), words(&[1, -1, 0, 4, 1]));
        assert_eq!(encoded(10, 5), words(&[1, -1, 0, 5, 1]));
    }

    #[test]
    fn every_number_comes_back() {
        let mut unscaled = vec![0, 1, -1, 9_999, 10_000, 10_001, 123_450_000, i64::MAX, i64::MIN, i64::MIN + 1];
        unscaled.extend((0..19).flat_map(|power| [10_i64.pow(power), -(10_i64.pow(power)) + 1]));
        for value in unscaled {
            for scale in 0..40 {
                assert_eq!(decode(&encoded(value, scale), scale), Some(value), "{value} {scale}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(decode(&encoded(1250, 3), 2), Some(125));
        assert_eq!(decode(&encoded(1251, 3), 2), None);
        assert_eq!(decode(&encoded(125, 2), 0), None);
        assert_eq!(decode(&encoded(i64::MAX, 0), 1), None);
        let not_a_number = words(&[0, 0, 0xC000, 0]);
        assert_eq!(decode(&not_a_number, 0), None);
        assert_eq!(decode(&words(&[2, 0, 0, 0, 1]), 0), None, "a digit is missing");
        assert_eq!(decode(&words(&[1, 32_000, 0, 0, 1]), 2), None);
        assert_eq!(decode(&words(&[1, -32_000, 0, 0, 1]), 2), None);
        assert_eq!(decode(&[], 0), None);
    }
}
