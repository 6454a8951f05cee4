//! Answers to questions about databases and statements: clusters of an item, the length of its value
//! in two bytes, and the value.

use super::api::info;

/// The clusters of an answer, up to its end.
pub(super) fn clusters(mut answer: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let (&[item, low, high], rest) = answer.split_first_chunk::<3>()?;
        if item == info::END {
            return None;
        }
        let (value, after) = rest.split_at_checked(usize::from(u16::from_le_bytes([low, high])))?;
        answer = after;
        Some((item, value))
    })
}

/// A number in an answer: as many bytes as it has, the lowest first.
pub(super) fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_cluster_by_cluster() {
        let answer = [14, 4, 0, 0, 0x20, 0, 0, 21, 2, 0, 1, 1, 1, 9, 9];
        let found: Vec<(u8, u64)> = clusters(&answer).map(|(item, value)| (item, number(value))).collect();
        assert_eq!(found, [(14, 8192), (21, 257)]);
        assert_eq!(clusters(&[14, 200, 0, 1]).count(), 0, "cut short");
    }
}
