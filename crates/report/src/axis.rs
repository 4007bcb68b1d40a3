//! A time axis below a strip or a chart: ticks at round times.

use crate::Look;
use crate::clean::width;
use crate::paint::{Ink, Line};
use model::Ns;

/// Ticks at round times, and the end of the wall at the right edge.
pub(crate) fn axis(wall_ns: Ns, look: Look) -> Line {
    let room = look.columns();
    let tick = if look.unicode { "╵" } else { "'" };
    let mut line = Line::new(look).add(Ink::Dim, &format!("{tick}0"));
    // About six ticks, twelve columns apart at least.
    let step = round_step(wall_ns, (room / 12).min(6) as u64);
    let end = format!("{} after start", crate::units::duration(wall_ns));
    let end = if room < 60 { crate::units::duration(wall_ns) } else { end };
    let mut at = step;
    while at < wall_ns {
        let column = (u128::from(at) * room as u128 / u128::from(wall_ns)) as usize;
        let label = format!("{tick}{}", tick_label(at, step));
        if column + width(&label) + 2 > room - width(&end) {
            break;
        }
        if column > line.width() {
            line = line.pad_to(column).add(Ink::Dim, &label);
        }
        let Some(next) = at.checked_add(step) else { break };
        at = next;
    }
    line.pad_to(room - width(&end)).add(Ink::Dim, &end)
}

/// The smallest of 1, 2, 5 times a power of ten that divides `wall_ns` into at most `most` pieces;
/// from a minute on, of the usual minutes and hours.
pub(crate) fn round_step(wall_ns: Ns, most: u64) -> Ns {
    const SECOND: Ns = 1_000_000_000;
    let least = wall_ns.div_ceil(most.max(1)).max(1);
    if least > 50 * SECOND {
        let clock =
            [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1440, 2880, 14400].map(|minutes| minutes * 60 * SECOND);
        return clock.into_iter().find(|step| *step >= least).unwrap_or(least);
    }
    let power = 10u64.pow(least.ilog10());
    [1, 2, 5, 10].map(|times| times * power).into_iter().find(|step| *step >= least).unwrap_or(least)
}

/// A tick's time in the unit of the step, without trailing zeros.
pub(crate) fn tick_label(at: Ns, step: Ns) -> String {
    const UNITS: [(Ns, &str); 6] = [
        (3_600_000_000_000, "h"),
        (60_000_000_000, "min"),
        (1_000_000_000, "s"),
        (1_000_000, "ms"),
        (1_000, "us"),
        (1, "ns"),
    ];
    let fits = |(length, _): &&(Ns, &str)| {
        step.is_multiple_of(*length) || (at >= *length && *length == 1_000_000_000)
    };
    let Some((length, unit)) = UNITS.iter().find(fits) else { return String::new() };
    let hundredths = (u128::from(at) * 100 / u128::from(*length)) as u64;
    let (whole, fraction) = (hundredths / 100, hundredths % 100);
    let text = format!("{whole}.{fraction:02}");
    format!("{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_and_few() {
        for (wall_ns, step) in
            [(2_345_000_000, 500_000_000), (1_000, 200), (7, 2), (1, 1), (600_000_000_000, 120_000_000_000)]
        {
            assert_eq!(round_step(wall_ns, 6), step, "{wall_ns}");
        }
        for power in 0..19 {
            let wall_ns = 3 * 10u64.pow(power);
            let step = round_step(wall_ns, 6);
            assert!(wall_ns.div_ceil(step) <= 6, "{wall_ns} by {step}");
        }
    }

    #[test]
    fn ticks_have_the_unit_of_their_step() {
        let label = |at, step| tick_label(at, step);
        assert_eq!(label(500_000_000, 500_000_000), "500 ms");
        assert_eq!(label(1_500_000_000, 500_000_000), "1.5 s");
        assert_eq!(label(40, 20), "40 ns");
        assert_eq!(label(180_000_000_000, 60_000_000_000), "3 min");
        assert_eq!(label(7_200_000_000_000, 3_600_000_000_000), "2 h");
    }
}
