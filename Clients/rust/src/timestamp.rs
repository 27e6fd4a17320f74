use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// An instant of the wall clock, as RFC 3339 writes it: `2030-01-01T00:00:00.000Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(SystemTime);

/// The text is not an RFC 3339 instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidTimestamp;

const SECONDS_PER_DAY: i64 = 86_400;

impl Timestamp {
    /// The wall clock's time now.
    pub fn now() -> Self {
        Timestamp(SystemTime::now())
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        Timestamp(time)
    }
}

impl From<Timestamp> for SystemTime {
    fn from(timestamp: Timestamp) -> Self {
        timestamp.0
    }
}

impl fmt::Display for InvalidTimestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("not an RFC 3339 instant")
    }
}

impl std::error::Error for InvalidTimestamp {}

/// UTC with milliseconds, or with more digits if the instant has them.
impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, nanoseconds) = match self.0.duration_since(UNIX_EPOCH) {
            Ok(after) => (after.as_secs() as i64, after.subsec_nanos()),
            Err(error) => {
                let before = error.duration();
                let whole = before.as_secs() as i64;
                match before.subsec_nanos() {
                    0 => (-whole, 0),
                    rest => (-whole - 1, 1_000_000_000 - rest),
                }
            }
        };
        let (year, month, day) = civil(seconds.div_euclid(SECONDS_PER_DAY));
        let clock = seconds.rem_euclid(SECONDS_PER_DAY);
        let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
        write!(formatter, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        match nanoseconds {
            n if n % 1_000_000 == 0 => write!(formatter, ".{:03}Z", n / 1_000_000),
            n if n % 1_000 == 0 => write!(formatter, ".{:06}Z", n / 1_000),
            n => write!(formatter, ".{n:09}Z"),
        }
    }
}

/// Accepts any offset and fraction; a leap second is read as the second before it.
impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        parse(text.as_bytes()).map(Timestamp).ok_or(InvalidTimestamp)
    }
}

// RFC 3339, section 5.6.
fn parse(text: &[u8]) -> Option<SystemTime> {
    let separated = text.len() >= 20
        && text[4] == b'-'
        && text[7] == b'-'
        && matches!(text[10], b'T' | b't')
        && text[13] == b':'
        && text[16] == b':';
    if !separated {
        return None;
    }
    let (year, month, day) = (digits(&text[..4])?, digits(&text[5..7])?, digits(&text[8..10])?);
    let (hour, minute, second) = (digits(&text[11..13])?, digits(&text[14..16])?, digits(&text[17..19])?);
    if !(1..=12).contains(&month) || day < 1 || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let days = days_since_epoch(year, month, day);
    if civil(days) != (year, month, day) {
        return None;
    }
    let mut rest = &text[19..];
    let mut nanoseconds = 0;
    if rest.first() == Some(&b'.') {
        let length = rest[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if length == 0 {
            return None;
        }
        for place in 0..9 {
            let digit = if place < length { rest[1 + place] - b'0' } else { 0 };
            nanoseconds = nanoseconds * 10 + u32::from(digit);
        }
        rest = &rest[1 + length..];
    }
    let offset = match rest {
        b"Z" | b"z" => 0,
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let (hours, minutes) = (digits(&[*h1, *h2])?, digits(&[*m1, *m2])?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            let seconds = hours * 3600 + minutes * 60;
            if *sign == b'-' {
                -seconds
            } else {
                seconds
            }
        }
        _ => return None,
    };
    let seconds = days * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second.min(59) - offset;
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let instant = if seconds < 0 { UNIX_EPOCH.checked_sub(whole)? } else { UNIX_EPOCH.checked_add(whole)? };
    instant.checked_add(Duration::from_nanos(u64::from(nanoseconds)))
}

fn digits(text: &[u8]) -> Option<i64> {
    text.iter().try_fold(0, |number, byte| byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0')))
}

/// Days from 1970-01-01 in the Gregorian calendar. Years begin in March here, so that a leap day ends its year.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let shifted_year = if month <= 2 { year - 1 } else { year };
    let era = shifted_year.div_euclid(400);
    let year_of_era = shifted_year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_of_the_agent_are_written_as_they_came() {
        for text in ["2030-01-01T00:00:00.000Z", "2024-02-29T23:59:59.999Z", "1969-12-31T23:59:59.500Z"] {
            assert_eq!(text.parse::<Timestamp>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn offsets_fractions_and_leap_seconds_are_read() {
        let texts = [
            ("2030-01-01T01:30:00+01:30", "2030-01-01T00:00:00.000Z"),
            ("2029-12-31t19:00:00.25-05:00", "2030-01-01T00:00:00.250Z"),
            ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59.000Z"),
            ("2030-01-01T00:00:00.000001Z", "2030-01-01T00:00:00.000001Z"),
            ("2030-01-01T00:00:00.0000000019Z", "2030-01-01T00:00:00.000000001Z"),
        ];
        for (text, utc) in texts {
            assert_eq!(text.parse::<Timestamp>().unwrap().to_string(), utc);
        }
    }

    #[test]
    fn every_day_of_four_centuries_is_found_again() {
        for day in days_since_epoch(1800, 1, 1)..days_since_epoch(2201, 1, 1) {
            let (year, month, date) = civil(day);
            assert_eq!(days_since_epoch(year, month, date), day);
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "2030-01-01",
            "2030-02-30T00:00:00Z",
            "2030-01-01T24:00:00Z",
            "2030-01-01T00:00:00",
            "2030-01-01T00:00:00.Z",
            "2030-13-01T00:00:00Z",
            "2030-01-01T00:00:00+1:00",
            "+030-01-01T00:00:00Z",
        ] {
            assert_eq!(text.parse::<Timestamp>(), Err(InvalidTimestamp), "{text}");
        }
    }
}
