//! What all parts of the page need of the runs: letters of commands, figures, and these as text.

use crate::Look;
use crate::units;
use model::Ns;
use model::compare::commands::{Comparison, EstimateInterval};
use model::timing::{Figure, TimedRun};

/// The letter of a command by its number: A to Z, then AA.
pub fn letters(at: usize) -> String {
    let last = char::from(b'A' + (at % 26) as u8);
    match at / 26 {
        0 => last.to_string(),
        before => format!("{}{last}", letters(before - 1)),
    }
}

/// The runs of a command that count.
pub(super) fn counted(comparison: &Comparison, command: usize) -> impl Iterator<Item = &TimedRun> {
    let of = comparison.runs.iter().filter(move |run| run.command as usize == command);
    of.filter(|run| comparison.settings.counts(run))
}

/// The figures of a command's runs that count.
pub(super) fn values(comparison: &Comparison, command: usize) -> Vec<f64> {
    counted(comparison, command).filter_map(|run| comparison.settings.on.of(run)).collect()
}

/// A figure with its unit.
pub(super) fn amount(on: Figure, value: f64) -> String {
    let value = value.max(0.0);
    match on {
        _ if on.is_time() => units::duration(value.round() as Ns),
        Figure::Memory => units::bytes(value.round() as u64),
        Figure::Faults => units::count(value.round() as u64),
        _ => number(value),
    }
}

/// The same of a difference: with a minus where it is negative.
fn signed(on: Figure, value: f64) -> String {
    if value < 0.0 { format!("-{}", amount(on, -value)) } else { amount(on, value) }
}

/// From one figure to another.
pub(super) fn range(on: Figure, lo: f64, hi: f64, look: Look) -> String {
    if on.is_time() {
        return units::duration_range(lo.max(0.0).round() as Ns, hi.max(0.0).round() as Ns, look.dash());
    }
    let (lo, hi) = (amount(on, lo), amount(on, hi));
    if lo == hi { hi } else { format!("{lo} {} {hi}", look.dash()) }
}

/// `42.1 ms less (39.8–44.0 ms)`: a difference without its sign where the interval has one sign.
pub(super) fn difference(on: Figure, of: EstimateInterval, look: Look) -> String {
    let EstimateInterval { estimate, lo, hi } = of;
    if lo == 0.0 && hi == 0.0 {
        return "no less and no more".to_owned();
    }
    // Below zero it is less, and so are both ends.
    let (word, sign) = if estimate < 0.0 { ("less", -1.0) } else { ("more", 1.0) };
    let ends = match (lo < 0.0, hi < 0.0) {
        (true, true) => range(on, -hi, -lo, look),
        (false, false) => range(on, lo, hi, look),
        _ => {
            let (near, far) = if sign < 0.0 { (-hi, -lo) } else { (lo, hi) };
            format!("{} to {}", signed(on, near), signed(on, far))
        }
    };
    format!("{} {word} ({ends})", amount(on, estimate.abs()))
}

/// A ratio with as many digits as say something.
pub(super) fn ratio(ratio: f64) -> String {
    match ratio {
        2.0.. => units::three_digits(ratio),
        0.1.. => format!("{ratio:.3}"),
        0.01.. => format!("{ratio:.4}"),
        _ => format!("{ratio:.5}"),
    }
}

/// How many times as fast something is: `1.31`.
pub(super) fn times(ratio: f64) -> String {
    if ratio < 1.1 { format!("{ratio:.3}") } else { units::three_digits(ratio) }
}

/// `0.763 (0.752–0.775)`.
pub(super) fn ratio_interval(of: EstimateInterval, look: Look) -> String {
    format!("{} ({}{}{})", ratio(of.estimate), ratio(of.lo), look.dash(), ratio(of.hi))
}

/// A number of any size, as a program printed it.
pub(super) fn number(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if !value.is_finite() => value.to_string(),
        0.0 => "0".to_owned(),
        _ if !(0.001..1e15).contains(&size) => format!("{value:.3e}"),
        _ if size >= 999.5 => format!("{}{}", if value < 0.0 { "-" } else { "" }, units::three_digits(size)),
        _ => {
            let decimals = (2 - size.log10().floor() as i32).clamp(0, 6) as usize;
            format!("{value:.decimals$}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Look = Look { width: 80, colour: false, unicode: false, height: Look::HEIGHT };

    #[test]
    fn commands_have_letters() {
        assert_eq!([0, 1, 25, 26, 27, 51, 52].map(letters), ["A", "B", "Z", "AA", "AB", "AZ", "BA"]);
    }

    #[test]
    fn figures_have_their_units() {
        assert_eq!(amount(Figure::Wall, 20_300_000.0), "20.3 ms");
        assert_eq!(amount(Figure::Memory, 2_097_152.0), "2.00 MiB");
        assert_eq!(amount(Figure::Faults, 1_234.4), "1,234");
        assert_eq!(amount(Figure::Printed, 0.012_34), "0.0123");
    }

    #[test]
    fn differences_say_less_or_more() {
        let of = |estimate, lo, hi| EstimateInterval { estimate, lo, hi };
        let ms = |estimate, lo, hi| difference(Figure::Wall, of(estimate * 1e6, lo * 1e6, hi * 1e6), LOOK);
        assert_eq!(ms(-42.1, -44.0, -39.8), "42.1 ms less (39.8-44.0 ms)");
        assert_eq!(ms(42.1, 39.8, 44.0), "42.1 ms more (39.8-44.0 ms)");
        assert_eq!(ms(0.1, -1.0, 1.2), "100 us more (-1.00 ms to 1.20 ms)");
    }

    #[test]
    fn ratios_have_digits_where_they_matter() {
        assert_eq!(
            [1.002, 0.763, 2.5, 12.34, 0.0123, 0.001_23].map(ratio),
            ["1.002", "0.763", "2.50", "12.3", "0.0123", "0.00123"]
        );
    }

    #[test]
    fn numbers_of_any_size_have_three_digits() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1.00"),
            (59.94, "59.9"),
            (-123.4, "-123"),
            (1_234.5, "1,235"),
            (1e-5, "1.000e-5"),
            (2e16, "2.000e16"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(number(value), text);
        }
    }
}
