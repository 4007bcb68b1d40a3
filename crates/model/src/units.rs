//! Quantities as people type them: `200us`, `64KiB`, `10M`, `5kHz`, `20%`. One grammar for all: a
//! decimal number and a suffix, without a space. `report` prints quantities.
//!
//! Suffixes depend on the quantity: `M` is 10^6 of a size, rate or count, `m` a minute.

use crate::Ns;
use std::fmt;
use thiserror::Error;

/// What a text was expected to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// [`duration_ns`].
    Duration,
    /// [`bytes`].
    Size,
    /// [`bits_per_s`].
    BitRate,
    /// [`count`].
    Count,
    /// [`hertz`].
    Frequency,
    /// [`share`].
    Share,
}

impl Quantity {
    /// Texts that are accepted.
    pub fn examples(self) -> &'static str {
        match self {
            Self::Duration => "200us, 1.5s or 1h",
            Self::Size => "64KiB, 200M or 1.5GB",
            Self::BitRate => "10M or 2.5G",
            Self::Count => "1000, 10M or 1e6",
            Self::Frequency => "1000, 250Hz or 5kHz",
            Self::Share => "20% or 0.2",
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Duration => "duration",
            Self::Size => "size",
            Self::BitRate => "bit rate",
            Self::Count => "count",
            Self::Frequency => "frequency",
            Self::Share => "percentage",
        })
    }
}

/// A text that is not the expected quantity.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnitError {
    /// No number, or a suffix that the quantity does not have.
    #[error("not a {quantity}: {given:?}; try: {}", .quantity.examples())]
    Malformed {
        /// What it should be.
        quantity: Quantity,
        /// The text.
        given: String,
    },
    /// A number that is too small or too large.
    #[error("out of range for a {quantity}: {given:?}; it takes {range}")]
    OutOfRange {
        /// What it should be.
        quantity: Quantity,
        /// The text.
        given: String,
        /// What is accepted.
        range: &'static str,
    },
}

/// `200us`, `1.5s`, `10m`, `1h`: at least a nanosecond, at most 292 years.
///
/// # Errors
/// It is no duration.
pub fn duration_ns(text: &str) -> Result<Ns, UnitError> {
    const UNITS: &[(&str, f64)] =
        &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9), ("min", 60e9), ("h", 3600e9)];
    let given = Given { quantity: Quantity::Duration, text };
    let ns = given.scaled(|suffix| factor(UNITS, suffix))?;
    given.within(ns, ns >= 1.0 && ns <= i64::MAX as f64, "1ns to 292 years")?;
    Ok(ns as Ns)
}

/// A duration, where a bare number is in seconds, as sleep(1), cyclictest and rtla read it.
///
/// # Errors
/// It is no duration.
pub fn seconds_ns(text: &str) -> Result<Ns, UnitError> {
    duration_ns(&if is_bare(text) { format!("{text}s") } else { text.to_owned() })
}

/// A duration, where a bare number is in microseconds, as cyclictest and rtla read it.
///
/// # Errors
/// It is no duration.
pub fn microseconds_ns(text: &str) -> Result<Ns, UnitError> {
    duration_ns(&if is_bare(text) { format!("{text}us") } else { text.to_owned() })
}

/// Whether it is a number without a unit.
pub fn is_bare(text: &str) -> bool {
    text.starts_with(|char: char| char.is_ascii_digit()) && text.parse::<f64>().is_ok()
}

/// `1000`, `200M`, `1.5GB`, `64KiB`: bytes. `K` is 1000, `Ki` is 1024.
///
/// # Errors
/// It is no size.
pub fn bytes(text: &str) -> Result<u64, UnitError> {
    const UNITS: &[(&str, f64)] = &[
        ("", 1.0),
        ("k", 1e3),
        ("m", 1e6),
        ("g", 1e9),
        ("ki", (1_u64 << 10) as f64),
        ("mi", (1_u64 << 20) as f64),
        ("gi", (1_u64 << 30) as f64),
    ];
    let given = Given { quantity: Quantity::Size, text };
    let bytes = given.scaled(|suffix| {
        let suffix = suffix.to_ascii_lowercase();
        factor(UNITS, suffix.strip_suffix('b').unwrap_or(&suffix))
    })?;
    given.within(bytes, bytes >= 0.0 && bytes.is_finite(), "0 or more")?;
    Ok(bytes as u64)
}

/// `10M`, `2.5G`, `1000`: bits a second, of a link.
///
/// # Errors
/// It is no bit rate.
pub fn bits_per_s(text: &str) -> Result<u64, UnitError> {
    const UNITS: &[(&str, f64)] = &[("", 1.0), ("k", 1e3), ("m", 1e6), ("g", 1e9)];
    let given = Given { quantity: Quantity::BitRate, text };
    let bits = given.scaled(|suffix| factor(UNITS, &suffix.to_ascii_lowercase()))?;
    given.within(bits, (1.0..1e15).contains(&bits), "1 bit/s to 1000 Tbit/s")?;
    Ok(bits.round() as u64)
}

/// `1000`, `10M`, `1e6`: a whole number of things.
///
/// # Errors
/// It is no count.
pub fn count(text: &str) -> Result<u64, UnitError> {
    const UNITS: &[(&str, f64)] = &[("", 1.0), ("k", 1e3), ("K", 1e3), ("M", 1e6), ("G", 1e9)];
    let given = Given { quantity: Quantity::Count, text };
    let count = given.scaled(|suffix| factor(UNITS, suffix))?;
    given.within(
        count,
        (1.0..=1e18).contains(&count) && count.fract() == 0.0,
        "whole numbers from 1 to 1e18",
    )?;
    Ok(count as u64)
}

/// `5kHz`, `250Hz`, `1000`: times a second, from once in a day to once in a nanosecond.
///
/// # Errors
/// It is no frequency.
pub fn hertz(text: &str) -> Result<f64, UnitError> {
    const UNITS: &[(&str, f64)] =
        &[("", 1.0), ("hz", 1.0), ("k", 1e3), ("khz", 1e3), ("m", 1e6), ("mhz", 1e6)];
    let given = Given { quantity: Quantity::Frequency, text };
    let hertz = given.scaled(|suffix| factor(UNITS, &suffix.to_ascii_lowercase()))?;
    given.within(hertz, (1e-5..=1e9).contains(&hertz), "0.00001Hz to 1000MHz")?;
    Ok(hertz)
}

/// `20%`, `0.2`, or `20` as people type it for 20 %: a part of one, which may be 0 but not all.
/// From 1 on a bare number is one of per cent.
///
/// # Errors
/// It is no share.
pub fn share(text: &str) -> Result<f64, UnitError> {
    let given = Given { quantity: Quantity::Share, text };
    let bare = || text.parse().ok().map(|number: f64| if number >= 1.0 { number / 100.0 } else { number });
    let share = percent(text).map(|percent| percent / 100.0).or_else(bare);
    let share = share.ok_or_else(|| given.malformed())?;
    given.within(share, (0.0..1.0).contains(&share), "0% to less than 100%")?;
    Ok(share)
}

/// The number before a `%`.
pub fn percent(text: &str) -> Option<f64> {
    text.strip_suffix('%')?.trim().parse().ok()
}

/// A text and what it should be.
#[derive(Clone, Copy)]
struct Given<'a> {
    quantity: Quantity,
    text: &'a str,
}

impl Given<'_> {
    /// The number times its suffix.
    fn scaled(self, factor: impl Fn(&str) -> Option<f64>) -> Result<f64, UnitError> {
        let digits = self.text.trim_end_matches(|char: char| char.is_ascii_alphabetic());
        let number = digits.parse::<f64>().ok();
        let scaled = number.and_then(|number| Some(number * factor(&self.text[digits.len()..])?));
        scaled.ok_or_else(|| self.malformed())
    }

    fn malformed(self) -> UnitError {
        UnitError::Malformed { quantity: self.quantity, given: self.text.to_owned() }
    }

    fn within(self, value: f64, fits: bool, range: &'static str) -> Result<(), UnitError> {
        match fits {
            true => Ok(()),
            false if value.is_nan() => Err(self.malformed()),
            false => {
                Err(UnitError::OutOfRange { quantity: self.quantity, given: self.text.to_owned(), range })
            }
        }
    }
}

fn factor(units: &[(&str, f64)], suffix: &str) -> Option<f64> {
    units.iter().find(|(name, _)| *name == suffix).map(|(_, factor)| *factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_a_unit() {
        for (text, ns) in [
            ("1ns", 1),
            ("200us", 200_000),
            ("1.5s", 1_500_000_000),
            ("10m", 600_000_000_000),
            ("10min", 600_000_000_000),
            ("1h", 3_600_000_000_000),
        ] {
            assert_eq!(duration_ns(text), Ok(ns), "{text}");
        }
        for wrong in ["", "10", "s", "-1s", "0s", "1e400s", "1 day", "1D", "0.1ns", "1M", "infs"] {
            assert!(duration_ns(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn bare_numbers_have_the_unit_of_other_tools_where_they_are_allowed() {
        assert_eq!(
            [seconds_ns("5"), seconds_ns("0.5"), seconds_ns("2m")],
            [Ok(5_000_000_000), Ok(500_000_000), Ok(120_000_000_000)]
        );
        assert_eq!([microseconds_ns("100"), microseconds_ns("1ms")], [Ok(100_000), Ok(1_000_000)]);
        for wrong in ["", "-5", "0", "inf", "nan", "x"] {
            assert!(seconds_ns(wrong).is_err() && microseconds_ns(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn sizes_are_decimal_or_binary() {
        for (text, of) in [
            ("0", 0),
            ("1000", 1_000),
            ("12B", 12),
            ("200M", 200_000_000),
            ("1.5GB", 1_500_000_000),
            ("64KiB", 65_536),
            ("1gi", 1 << 30),
        ] {
            assert_eq!(bytes(text), Ok(of), "{text}");
        }
        for wrong in ["", "M", "-1", "10X", "1e400", "1 M", "10bb"] {
            assert!(bytes(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn rates_counts_and_shares_have_their_own_ranges() {
        assert_eq!([bits_per_s("10M"), bits_per_s("2.5g")], [Ok(10_000_000), Ok(2_500_000_000)]);
        for wrong in ["", "10X", "0", "-1", "inf", "1e15"] {
            assert!(bits_per_s(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!([count("1000"), count("10M"), count("1e6")], [Ok(1_000), Ok(10_000_000), Ok(1_000_000)]);
        for wrong in ["", "0", "1.5", "10m", "-1", "2e18", "1.0001k"] {
            assert!(count(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!([hertz("8kHz"), hertz("1000"), hertz("0.5Hz")], [Ok(8e3), Ok(1e3), Ok(0.5)]);
        for wrong in ["", "0", "-1", "kHz", "5MW", "inf", "1e30"] {
            assert!(hertz(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!([share("20%"), share("0.99"), share("0%")], [Ok(0.2), Ok(0.99), Ok(0.0)]);
        assert_eq!([share("20"), share("1"), share("0")], [Ok(0.2), Ok(0.01), Ok(0.0)]);
        for wrong in ["100%", "100", "-1%", "x", "NaN", "NaN%", "%"] {
            assert!(share(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn errors_name_what_was_given_and_what_is_accepted() {
        let error = |result: Result<u64, UnitError>| result.unwrap_err().to_string();
        assert_eq!(error(duration_ns("10")), "not a duration: \"10\"; try: 200us, 1.5s or 1h");
        assert_eq!(error(bytes("lots")), "not a size: \"lots\"; try: 64KiB, 200M or 1.5GB");
        assert_eq!(
            error(duration_ns("0s")),
            "out of range for a duration: \"0s\"; it takes 1ns to 292 years"
        );
    }
}
