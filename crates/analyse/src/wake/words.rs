//! Figures in sentences: durations, counts, lists of CPUs.

use model::{CpuList, Ns};

/// Three significant digits in a unit that keeps one before the point: `84.0 us`, `2.98 h`.
pub(crate) fn duration(ns: Ns) -> String {
    const UNITS: [(f64, &str, f64); 6] = [
        (1.0, "ns", 999.5),
        (1e3, "us", 999.5e3),
        (1e6, "ms", 999.5e6),
        (1e9, "s", 99.95e9),
        (60e9, "min", 5_997e9),
        (3_600e9, "h", f64::INFINITY),
    ];
    let value = ns as f64;
    let (unit, name, _) = UNITS.into_iter().find(|(_, _, below)| value < *below).unwrap_or(UNITS[5]);
    let figure = value / unit;
    match figure {
        _ if name == "ns" => format!("{ns} ns"),
        ..9.995 => format!("{figure:.2} {name}"),
        ..99.95 => format!("{figure:.1} {name}"),
        _ => format!("{figure:.0} {name}"),
    }
}

/// A count as people read it: `1,000,000`.
pub(crate) fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `CPU 3`, `CPUs 0-3,6`, from numbers in order.
pub(crate) fn cpus_named(cpus: &[u32]) -> String {
    let plural = if cpus.len() == 1 { "" } else { "s" };
    format!("CPU{plural} {}", list(cpus))
}

/// `0-3,6`, as the kernel writes it.
pub(crate) fn list(cpus: &[u32]) -> String {
    CpuList::from(cpus).to_string()
}

/// A fraction as a percentage, without trailing zeros: `95 %`, `99.9 %`.
pub(crate) fn percent(share: f64) -> String {
    format!("{} %", (share * 1e6).round() / 1e4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_keep_three_digits_and_carry_into_the_next_unit() {
        for (ns, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (84_000, "84.0 us"),
            (999_600, "1.00 ms"),
            (125_000, "125 us"),
            (99_960_000_000, "1.67 min"),
            (10_784_000_000_000, "3.00 h"),
        ] {
            assert_eq!(duration(ns), text);
        }
    }

    #[test]
    fn counts_and_lists_are_as_people_and_the_kernel_write_them() {
        assert_eq!([0, 999, 1_000, 12_345_678].map(count), ["0", "999", "1,000", "12,345,678"]);
        assert_eq!(cpus_named(&[3]), "CPU 3");
        assert_eq!(cpus_named(&[0, 1, 2, 3, 6]), "CPUs 0-3,6");
        assert_eq!([0.95, 0.999, 0.2].map(percent), ["95 %", "99.9 %", "20 %"]);
    }
}
