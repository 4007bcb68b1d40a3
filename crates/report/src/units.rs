//! Figures with their units: durations, counts, shares, bytes. Each has three significant digits; a
//! value above zero is never shown as zero.

use model::{Ns, Seen};

/// Units of time: length in nanoseconds, name, and the figure at which the next unit is used.
const TIME: [(u128, &str, u128); 7] = [
    (1, "ns", 1_000),
    (1_000, "us", 1_000),
    (1_000_000, "ms", 1_000),
    (1_000_000_000, "s", 1_000),
    (60_000_000_000, "min", 100),
    (3_600_000_000_000, "h", 100),
    (86_400_000_000_000, "days", u128::MAX),
];

/// A duration with three significant digits: `1.23 s`, `56.7 ms`, `890 us`, `12 ns`.
pub fn duration(ns: Ns) -> String {
    rounded(ns, 3)
}

/// A duration with four significant digits, for headlines: `1.234 s`.
pub fn duration_precise(ns: Ns) -> String {
    rounded(ns, 4)
}

/// A duration that a user chose, as they would write it: `200 us`, `1.5 s`, `1 h`. One without a
/// short form is rounded.
pub fn exact(ns: Ns) -> String {
    for (length, unit, _) in TIME.into_iter().rev().filter(|(length, ..)| u128::from(ns) >= *length) {
        let hundredths = u128::from(ns) * 100;
        if !hundredths.is_multiple_of(length) {
            continue;
        }
        let (whole, rest) = (hundredths / length / 100, hundredths / length % 100);
        // A figure of five digits or more takes the next smaller form.
        if whole < 10_000 {
            let text = format!("{}.{rest:02}", count_wide(whole));
            return format!("{} {unit}", text.trim_end_matches('0').trim_end_matches('.'));
        }
    }
    duration(ns)
}

/// `ns` with `digits` significant digits, in the largest unit that has a digit before the point.
/// Rounding may carry into the next unit: 999 999 ns is `1.00 ms`, never `1000 us`.
fn rounded(ns: Ns, digits: usize) -> String {
    let ns = u128::from(ns);
    for (length, unit, limit) in TIME {
        let whole_digits = |value: u128| value.checked_ilog10().map_or(1, |log| log as usize + 1);
        let mut decimals = if length == 1 { 0 } else { digits.saturating_sub(whole_digits(ns / length)) };
        let scaled_to = |decimals: usize| {
            let scale = 10u128.pow(decimals as u32);
            (scale, (ns * scale + length / 2) / length)
        };
        let (mut scale, mut scaled) = scaled_to(decimals);
        if decimals > 0 && whole_digits(scaled / scale) + decimals > digits {
            decimals -= 1;
            (scale, scaled) = scaled_to(decimals);
        }
        if scaled / scale >= limit {
            continue;
        }
        let whole = count_wide(scaled / scale);
        return match decimals {
            0 => format!("{whole} {unit}"),
            _ => format!("{whole}.{:0decimals$} {unit}", scaled % scale),
        };
    }
    unreachable!("the last unit of time has no limit")
}

/// An interval of durations: `3.10-9.20 ms`, `890 us - 1.20 ms`; one figure where both ends show
/// the same.
pub fn duration_range(lo: Ns, hi: Ns, dash: &str) -> String {
    let (lo, hi) = (duration(lo), duration(hi));
    match (lo.split_once(' '), hi.split_once(' ')) {
        _ if lo == hi => hi,
        (Some((figure, lo_unit)), Some((_, hi_unit))) if lo_unit == hi_unit => format!("{figure}{dash}{hi}"),
        _ => format!("{lo} {dash} {hi}"),
    }
}

/// A count with separated thousands: `1,234,567`.
pub fn count(value: u64) -> String {
    count_wide(u128::from(value))
}

/// A count of things: `1 event`, `2,345 events`.
pub fn counted(value: u64, thing: &str) -> String {
    let plural = match value {
        1 => "",
        _ if thing.ends_with('s') => "es",
        _ => "s",
    };
    format!("{} {thing}{plural}", count(value))
}

fn count_wide(value: u128) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A part's share of a whole: `12 %`. Only nothing is `0 %`, and only everything `100 %`.
pub fn share(part: u64, whole: u64) -> String {
    format!("{} %", percent(part, whole))
}

/// The same for a fraction between 0 and 1.
pub fn share_of_one(fraction: f64) -> String {
    const BILLION: u64 = 1_000_000_000;
    // A share above zero has at least one of a billion parts.
    let parts = (fraction * BILLION as f64).round() as u64;
    share(if fraction > 0.0 { parts.max(1) } else { 0 }, BILLION)
}

/// An interval of shares: `6-11 %`; one figure where both ends show the same.
pub fn share_range(lo: u64, hi: u64, whole: u64, dash: &str) -> String {
    let (lo, hi) = (percent(lo, whole), percent(hi, whole));
    if lo == hi { format!("{hi} %") } else { format!("{lo}{dash}{hi} %") }
}

/// An interval of fractions in per cent, without the unit: `40-60`; one figure where both ends show
/// the same. Fractions may be of any size and sign.
pub fn percents(lo: f64, hi: f64, dash: &str) -> String {
    // Zero has no sign.
    let text = |part: f64| format!("{:.0}", (part * 100.0).round() + 0.0);
    let (lo, hi) = (text(lo), text(hi));
    if lo == hi { hi } else { format!("{lo}{dash}{hi}") }
}

fn percent(part: u64, whole: u64) -> String {
    let (part, whole) = (u128::from(part), u128::from(whole));
    match part * 100 {
        0 => "0".into(),
        hundredfold if hundredfold < whole => "<1".into(),
        _ if part >= whole => "100".into(),
        hundredfold => match (hundredfold + whole / 2) / whole {
            100.. => ">99".into(),
            rounded => rounded.to_string(),
        },
    }
}

/// Bytes in binary units: `512 B`, `7.75 GiB`.
pub fn bytes(value: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if value < 1024 {
        return format!("{value} B");
    }
    let mut scaled = value as f64 / 1024.0;
    let mut units = UNITS.iter();
    let mut unit = units.next().unwrap_or(&"");
    // 1023.5 is where three digits would round to 1024.
    while scaled >= 1023.5 {
        scaled /= 1024.0;
        unit = units.next().unwrap_or(unit);
    }
    let decimals = match scaled {
        scaled if scaled < 9.995 => 2,
        scaled if scaled < 99.95 => 1,
        _ => 0,
    };
    format!("{scaled:.decimals$} {unit}")
}

/// A size that somebody chose: `1 GB`, `500 MB`; another one as [`bytes`].
pub fn limit(value: u64) -> String {
    let units = [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB")];
    let whole = units.into_iter().find(|(unit, _)| value >= *unit && value.is_multiple_of(*unit));
    whole.map_or_else(|| bytes(value), |(unit, name)| format!("{} {name}", value / unit))
}

/// The memory of a host, as far as it is known.
pub fn memory(size: &Seen<u64>) -> String {
    size.value().map_or_else(|| "unknown memory".to_owned(), |size| bytes(*size))
}

/// A bit rate, in the decimal units of links: `9.41 Mb/s`, `120 kb/s`.
pub fn bits_per_s(rate: f64) -> String {
    let rate = rate.max(0.0);
    let units = [(1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s")];
    // A figure that rounds to a thousand of one unit is one of the next.
    let Some((scale, unit)) = units.into_iter().find(|(scale, _)| rate >= scale * 0.9995) else {
        return format!("{rate:.0} b/s");
    };
    format!("{} {unit}", three_digits(rate / scale))
}

/// Three significant digits, from 100 on without a decimal point: `0.12`, `9.41`, `94.1`, `1,234`.
pub fn three_digits(figure: f64) -> String {
    match figure {
        figure if figure < 9.995 => format!("{figure:.2}"),
        figure if figure < 99.95 => format!("{figure:.1}"),
        figure => count(figure.round() as u64),
    }
}

/// Seconds since 1970 of a time in RFC 3339; 0 where it is none.
pub(crate) fn unix_s(time: &str) -> u64 {
    unix_ns(time) / 1_000_000_000
}

/// Nanoseconds since 1970 of a time in a result; 0 where it is none.
pub(crate) fn unix_ns(time: &str) -> u64 {
    let time = time.parse::<jiff::Timestamp>();
    time.ok().and_then(|time| u64::try_from(time.as_nanosecond()).ok()).unwrap_or(0)
}

/// A time without the fraction of its second, as a page has it: `2026-03-01T12:00:00Z`.
pub fn to_second(rfc3339: &str) -> String {
    match rfc3339.split_once('.') {
        Some((second, fraction)) if fraction.ends_with('Z') => format!("{second}Z"),
        _ => rfc3339.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_times_to_the_second() {
        assert_eq!(to_second("2026-03-01T12:00:00.000000001Z"), "2026-03-01T12:00:00Z");
        assert_eq!(to_second("2026-03-01T12:00:00Z"), "2026-03-01T12:00:00Z");
        assert_eq!(to_second("dwell 0.1.0"), "dwell 0.1.0");
        assert_eq!(unix_ns("1970-01-01T00:00:01.5Z"), 1_500_000_000);
    }

    #[test]
    fn a_size_that_was_chosen_is_shown_as_it_was_chosen() {
        let shown = [1_000_000_000, 1_500_000_000, 5 << 30, 300_000, 0].map(limit);
        assert_eq!(shown, ["1 GB", "1500 MB", "5.00 GiB", "293 KiB", "0 B"]);
    }

    #[test]
    fn chosen_durations_are_shown_as_chosen() {
        let said = |ns: Ns| exact(ns);
        let all = [200_000, 1_000_000, 1_500_000_000, 2_000_000_000_000, 3_600_000_000_000, 125_000, 1, 0];
        let expected = ["200 us", "1 ms", "1.5 s", "2,000 s", "1 h", "125 us", "1 ns", "0 ns"];
        assert_eq!(all.map(said), expected);
        assert_eq!(exact(1_234_567_890_123), "20.6 min");
        assert_eq!(exact(90_000_000_000), "1.5 min");
    }

    #[test]
    fn durations_keep_three_digits_and_carry_into_the_next_unit() {
        for (ns, text) in [
            (0, "0 ns"),
            (1, "1 ns"),
            (12, "12 ns"),
            (999, "999 ns"),
            (1_000, "1.00 us"),
            (9_994, "9.99 us"),
            (9_995, "10.0 us"),
            (99_949, "99.9 us"),
            (99_950, "100 us"),
            (890_000, "890 us"),
            (999_499, "999 us"),
            (999_500, "1.00 ms"),
            (56_700_000, "56.7 ms"),
            (999_499_999, "999 ms"),
            (999_500_000, "1.00 s"),
            (1_234_000_000, "1.23 s"),
            (59_960_000_000, "60.0 s"),
            (999_499_999_999, "999 s"),
            (999_500_000_000, "16.7 min"),
            (5_996_000_000_000, "99.9 min"),
            (5_998_000_000_000, "1.67 h"),
            (3_600_000_000_000_000, "41.7 days"),
            (u64::MAX, "213,504 days"),
        ] {
            assert_eq!(duration(ns), text, "{ns} ns");
        }
        assert_eq!(duration_precise(1_234_499_999), "1.234 s");
        assert_eq!(duration_precise(999_960), "1.000 ms");
        assert_eq!(duration_precise(999_940), "999.9 us");
    }

    #[test]
    fn no_duration_shows_a_thousand_of_its_unit() {
        for power in 0..19 {
            for around in -3i64..=3 {
                let ns = 10i64.pow(power).saturating_add(around * 10i64.pow(power.saturating_sub(4))).max(0);
                let text = duration(ns as u64);
                let unit_is_small = ["ns", "us", "ms", " s"].iter().any(|unit| text.ends_with(unit));
                assert!(!unit_is_small || !text.contains(','), "{ns}: {text}");
            }
        }
    }

    #[test]
    fn shares_are_never_rounded_to_nothing_or_everything() {
        for (part, whole, text) in [
            (0, 100, "0 %"),
            (0, 0, "0 %"),
            (5, 0, "100 %"),
            (1, u64::MAX, "<1 %"),
            (99, 10_000, "<1 %"),
            (100, 10_000, "1 %"),
            (149, 10_000, "1 %"),
            (150, 10_000, "2 %"),
            (9_949, 10_000, "99 %"),
            (9_950, 10_000, ">99 %"),
            (9_999, 10_000, ">99 %"),
            (10_000, 10_000, "100 %"),
            (u64::MAX, u64::MAX, "100 %"),
        ] {
            assert_eq!(share(part, whole), text, "{part} of {whole}");
        }
        assert_eq!(share_of_one(0.0), "0 %");
        assert_eq!(share_of_one(1e-15), "<1 %");
        assert_eq!(share_of_one(0.715), "72 %");
        assert_eq!(share_of_one(1.0), "100 %");
        assert_eq!(share_of_one(f64::NAN), "0 %");
    }

    #[test]
    fn intervals_have_a_common_unit_once() {
        assert_eq!(duration_range(3_100_000, 9_200_000, "-"), "3.10-9.20 ms");
        assert_eq!(duration_range(890_000, 1_200_000, "-"), "890 us - 1.20 ms");
        assert_eq!(duration_range(5, 5, "-"), "5 ns");
        assert_eq!(share_range(6, 11, 100, "-"), "6-11 %");
        assert_eq!(share_range(0, 1, 1_000, "-"), "0-<1 %");
        assert_eq!(share_range(60, 61, 1_000, "-"), "6 %");
        assert_eq!(percents(0.401, 0.6, "-"), "40-60");
        assert_eq!(percents(0.468, 0.472, "-"), "47");
        assert_eq!(percents(-0.001, 0.001, "-"), "0");
    }

    #[test]
    fn counts_and_bytes() {
        for (value, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(count(value), text);
        }
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(
            [0, 1, 2_000].map(|value| counted(value, "event")),
            ["0 events", "1 event", "2,000 events"]
        );
        for (value, text) in [(0, "0 B"), (1_023, "1023 B"), (1_024, "1.00 KiB")] {
            assert_eq!(bytes(value), text);
        }
        assert_eq!(bytes(10_240), "10.0 KiB");
        assert_eq!(bytes(1_048_575), "1.00 MiB");
        assert_eq!(bytes(8_321_499_136), "7.75 GiB");
        assert_eq!(bytes(u64::MAX), "16.0 EiB");
    }

    #[test]
    fn rates_of_links_are_decimal() {
        for (rate, text) in [
            (0.0, "0 b/s"),
            (999.0, "999 b/s"),
            (999.6, "1.00 kb/s"),
            (9_414_824.0, "9.41 Mb/s"),
            (99_960_000.0, "100 Mb/s"),
            (999_600_000.0, "1.00 Gb/s"),
            (1.6e12, "1,600 Gb/s"),
        ] {
            assert_eq!(bits_per_s(rate), text, "{rate}");
        }
    }
}
