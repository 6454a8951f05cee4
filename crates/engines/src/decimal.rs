//! Exact decimal numbers as text, which is how the protocol carries them in both its forms.

/// Appends `unscaled` · 10^−`scale` in digits.
pub(crate) fn encode(out: &mut Vec<u8>, unscaled: i64, scale: u8) {
    // 20 digits of the number, and up to 255 zeros before it, which few need.
    match scale {
        0..=11 => write::<32>(out, unscaled, scale.into()),
        _ => write::<280>(out, unscaled, scale.into()),
    }
}

/// The same with room for `ROOM` digits.
fn write<const ROOM: usize>(out: &mut Vec<u8>, unscaled: i64, scale: usize) {
    let mut digits = [b'0'; ROOM];
    let (mut rest, mut at) = (unscaled.unsigned_abs(), digits.len());
    let whole = digits.len() - scale;
    while rest > 0 {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let at = at.min(whole - 1);
    if unscaled < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..whole]);
    if scale > 0 {
        out.push(b'.');
        out.extend_from_slice(&digits[whole..]);
    }
}

/// The number in `text` as an unscaled integer of `scale` digits; `None` when it is no number, or
/// does not fit exactly.
pub(crate) fn decode(text: &[u8], scale: u8) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let (mut sum, mut after, mut seen, mut point) = (0_i64, 0_u32, false, false);
    let mut push = |digit: u8| {
        // Downwards, as there is one more number below zero than above.
        sum = sum.checked_mul(10)?.checked_sub(digit.into())?;
        Some(())
    };
    for byte in digits {
        match byte {
            b'.' if !point => point = true,
            b'0'..=b'9' if point && after == u32::from(scale) => {
                if *byte != b'0' {
                    return None;
                }
            }
            b'0'..=b'9' => {
                seen = true;
                after += u32::from(point);
                push(byte - b'0')?;
            }
            _ => return None,
        }
    }
    for _ in after..u32::from(scale) {
        push(0)?;
    }
    match (seen, negative) {
        (false, _) => None,
        (true, true) => Some(sum),
        (true, false) => sum.checked_neg(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(unscaled: i64, scale: u8) -> String {
        let mut out = Vec::new();
        encode(&mut out, unscaled, scale);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_are_written_in_digits() {
        for (unscaled, scale, expected) in [
            (0, 0, "0"),
            (0, 2, "0.00"),
            (5, 2, "0.05"),
            (-1250, 2, "-12.50"),
            (100, 0, "100"),
            (-1, 19, "-0.0000000000000000001"),
            (i64::MIN, 0, "-9223372036854775808"),
            (i64::MAX, 4, "922337203685477.5807"),
        ] {
            assert_eq!(text(unscaled, scale), expected);
        }
        assert_eq!(text(7, 255).len(), 257);
    }

    #[test]
    fn numbers_come_back_as_they_went() {
        for unscaled in [0, 1, -1, 9, 10, -99, 123_456_789, i64::MAX, i64::MIN, i64::MIN + 1] {
            for scale in [0, 1, 2, 18, 19, 40, 255] {
                assert_eq!(decode(text(unscaled, scale).as_bytes(), scale), Some(unscaled), "{unscaled} {scale}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(decode(b"1.50", 1), Some(15));
        assert_eq!(decode(b".5", 1), Some(5));
        assert_eq!(decode(b"3", 2), Some(300));
        for (wrong, scale) in [
            ("1.55", 1),
            ("9223372036854775808", 0),
            ("-9223372036854775809", 0),
            ("10", 18),
            ("", 0),
            ("-", 0),
            (".", 0),
            ("1.2.3", 2),
            ("1e5", 2),
            ("+1", 2),
            (" 1", 2),
        ] {
            assert_eq!(decode(wrong.as_bytes(), scale), None, "{wrong}");
        }
    }
}
