//! How long a destination is left alone after it failed.

use model::origin::fnv_1a;
use std::time::Duration;

/// The longest pause, whatever the destination asks for.
pub const PAUSE_MAX: Duration = Duration::from_secs(3600);

const FIRST_MS: u64 = 1_000;
/// The longest without being asked for it.
const LONGEST_MS: u64 = 300_000;

/// The pause after this many failures in a row, twice as long each time, of which a part is left to
/// chance: hosts that failed together must not come again together. `by_chance`: a text that no
/// other host has. `asked`: what the destination asked for, which is the least.
pub fn pause(failures: u32, by_chance: &str, asked: Option<Duration>) -> Duration {
    let whole = FIRST_MS.saturating_mul(1 << failures.saturating_sub(1).min(20)).min(LONGEST_MS);
    let chance = fnv_1a(format!("{by_chance} {failures}").as_bytes()) % 1000;
    let pause = Duration::from_millis(whole / 2 + whole / 2 * chance / 1000);
    asked.map_or(pause, |asked| asked + pause / 4).min(PAUSE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_differ_and_end_somewhere() {
        for failures in 1..100 {
            let whole = (1_000_u64 << (failures - 1).min(20)).min(300_000);
            let ms = pause(failures, "a", None).as_millis() as u64;
            assert!((whole / 2..=whole).contains(&ms), "{failures}: {ms}");
        }
        let of_hosts: std::collections::BTreeSet<_> =
            (0..100).map(|host: u32| pause(4, &host.to_string(), None)).collect();
        assert!(of_hosts.len() > 80, "{of_hosts:?}");
    }

    #[test]
    fn what_is_asked_for_is_the_least_and_has_an_end() {
        let asked = Duration::from_secs(120);
        assert!(pause(1, "a", Some(asked)) >= asked);
        assert_eq!(pause(1, "a", Some(Duration::from_secs(1 << 40))), PAUSE_MAX);
    }
}
