//! Points in time: microseconds since 1970 on our side, year to microsecond on the server's.

/// Days of 400 years of the Gregorian calendar, after which it repeats itself.
const DAYS_OF_ERA: i64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const DAYS_TO_EPOCH: i64 = 719_468;
const DAY_US: i64 = 86_400_000_000;

/// A point in time as the server takes it apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Moment {
    /// Year, 0 to 9999.
    pub(crate) year: u16,
    /// Month from 1.
    pub(crate) month: u8,
    /// Day from 1.
    pub(crate) day: u8,
    /// Hour.
    pub(crate) hour: u8,
    /// Minute.
    pub(crate) minute: u8,
    /// Second.
    pub(crate) second: u8,
    /// Microsecond.
    pub(crate) micro: u32,
}

impl Moment {
    /// The moment `since_1970` microseconds after 1970-01-01 00:00:00; `None` outside the years 1 to
    /// 9999, which are all that the server can keep.
    pub(crate) fn at(since_1970: i64) -> Option<Self> {
        let (days, within) = (since_1970.div_euclid(DAY_US), since_1970.rem_euclid(DAY_US));
        // The year is taken to begin in March, so that the odd day is its last.
        let from_march = days + DAYS_TO_EPOCH;
        let era = from_march.div_euclid(DAYS_OF_ERA);
        let day_of_era = from_march.rem_euclid(DAYS_OF_ERA);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / (DAYS_OF_ERA - 1)) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        let seconds = within / 1_000_000;
        (1..=9999).contains(&year).then_some(Self {
            year: year as u16,
            month: month as u8,
            day: (day_of_year - (153 * from_march + 2) / 5 + 1) as u8,
            hour: (seconds / 3600) as u8,
            minute: (seconds / 60 % 60) as u8,
            second: (seconds % 60) as u8,
            micro: (within % 1_000_000) as u32,
        })
    }

    /// Microseconds since 1970-01-01 00:00:00; `None` for a date that there is not, such as 0000-00-00.
    pub(crate) fn since_1970(self) -> Option<i64> {
        let lengths = [31, 28 + u8::from(is_leap(self.year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let length = lengths.get(usize::from(self.month).checked_sub(1)?)?;
        if self.day == 0 || self.day > *length || self.hour > 23 || self.minute > 59 || self.second > 59 {
            return None;
        }
        let (month, day) = (i64::from(self.month), i64::from(self.day));
        let year = i64::from(self.year) - i64::from(month <= 2);
        let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        let days = era * DAYS_OF_ERA + day_of_era - DAYS_TO_EPOCH;
        let seconds = i64::from(self.hour) * 3600 + i64::from(self.minute) * 60 + i64::from(self.second);
        Some(days * DAY_US + seconds * 1_000_000 + i64::from(self.micro))
    }

    /// Appends `2026-11-21 08:15:00.000001`.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        let mut digits = |mut value: u32, places: usize, then: &[u8]| {
            let start = out.len();
            out.resize(start + places, b'0');
            for at in (start..start + places).rev() {
                out[at] = b'0' + (value % 10) as u8;
                value /= 10;
            }
            out.extend_from_slice(then);
        };
        digits(self.year.into(), 4, b"-");
        digits(self.month.into(), 2, b"-");
        digits(self.day.into(), 2, b" ");
        digits(self.hour.into(), 2, b":");
        digits(self.minute.into(), 2, b":");
        digits(self.second.into(), 2, b".");
        digits(self.micro, 6, b"");
    }

    /// Reads what [`Moment::write`] writes; fewer digits of the second's part will do, also none.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        let (whole, part) = text.split_at_checked(19)?;
        let number = |from: usize, to: usize| whole[from..to].iter().try_fold(0, digit);
        let marks = [(4, b'-'), (7, b'-'), (10, b' '), (13, b':'), (16, b':')];
        if marks.iter().any(|(at, mark)| whole[*at] != *mark) {
            return None;
        }
        let micro = match part {
            [] => 0,
            [b'.', digits @ ..] if (1..=6).contains(&digits.len()) => {
                digits.iter().try_fold(0, digit)? * 10_u32.pow(6 - digits.len() as u32)
            }
            _ => return None,
        };
        Some(Self {
            year: number(0, 4)? as u16,
            month: number(5, 7)? as u8,
            day: number(8, 10)? as u8,
            hour: number(11, 13)? as u8,
            minute: number(14, 16)? as u8,
            second: number(17, 19)? as u8,
            micro,
        })
    }
}

fn is_leap(year: u16) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn digit(sum: u32, byte: &u8) -> Option<u32> {
    byte.is_ascii_digit().then(|| sum * 10 + u32::from(byte - b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(at: i64) -> String {
        let mut out = Vec::new();
        Moment::at(at).unwrap().write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn moments_are_those_of_the_calendar() {
        for (at, expected) in [
            (0, "1970-01-01 00:00:00.000000"),
            (-1, "1969-12-31 23:59:59.999999"),
            (951_782_400_000_000, "2000-02-29 00:00:00.000000"),
            (951_868_800_000_000, "2000-03-01 00:00:00.000000"),
            (4_107_542_399_000_001, "2100-02-28 23:59:59.000001"),
            (4_107_542_400_000_000, "2100-03-01 00:00:00.000000"),
            (253_402_300_799_999_999, "9999-12-31 23:59:59.999999"),
            (-62_135_596_800_000_000, "0001-01-01 00:00:00.000000"),
        ] {
            assert_eq!(text(at), expected);
            assert_eq!(Moment::read(expected.as_bytes()).and_then(Moment::since_1970), Some(at));
        }
    }

    #[test]
    fn every_day_comes_back_and_follows_the_last() {
        let mut before = Moment::default();
        for day in -719_162..2_932_897 {
            let at = day * DAY_US + 7;
            let moment = Moment::at(at).unwrap();
            assert_eq!(moment.since_1970(), Some(at));
            assert!((moment.year, moment.month, moment.day) > (before.year, before.month, before.day));
            before = moment;
        }
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for at in [i64::MIN, i64::MAX, 253_402_300_800_000_000, -62_135_596_800_000_001] {
            assert_eq!(Moment::at(at), None, "{at}");
        }
        for text in ["0000-00-00 00:00:00", "2023-02-29 00:00:00", "2023-13-01 00:00:00", "2023-01-01 24:00:00"] {
            assert_eq!(Moment::read(text.as_bytes()).and_then(Moment::since_1970), None, "{text}");
        }
        for text in ["2023-01-01", "2023-01-01T00:00:00", "2023-01-01 00:00:00.", "2023-01-01 00:00:00.1234567", "x"] {
            assert_eq!(Moment::read(text.as_bytes()), None, "{text}");
        }
        assert_eq!(Moment::read(b"2023-01-01 00:00:00.5").map(|moment| moment.micro), Some(500_000));
    }
}
