//! The page of a stress load.

use crate::Look;
use crate::paint::{Ink, Line};
use crate::units;
use crate::wake::words;
use model::wake::load::LoadRun;

/// Mismatches shown in detail; the JSON has more.
const MISMATCHES: usize = 5;

/// The page, with a newline after each line.
pub fn terminal(run: &LoadRun, look: Look) -> String {
    lines(run, look).into_iter().map(|line| line.render() + "\n").collect()
}

/// The lines of the page.
pub(crate) fn lines(run: &LoadRun, look: Look) -> Vec<Line> {
    let done = &run.result;
    let (kind, sizes) = words::load(&done.load);
    let amount = match done.unit.as_str() {
        "bytes" => units::bytes(done.done),
        unit => format!("{} {unit}", units::count(done.done)),
    };
    let in_all =
        format!(": {amount} in {}; {} CPU time", units::duration(done.ran_ns), units::duration(done.cpu_ns));
    let mut lines = vec![
        Line::new(look).add(Ink::Bold, kind).add(Ink::Plain, &format!(": {sizes}")),
        Line::new(look).add(Ink::Plain, "  ").add(Ink::Bold, &words::rate(done)).add(Ink::Plain, &in_all),
    ];
    if run.interrupted {
        lines.push(Line::new(look).add(Ink::Warn, "  ended early"));
    }
    if done.mismatches_total > 0 {
        let text = format!("  {}", words::mismatches(done.mismatches_total));
        lines.push(Line::new(look).add(Ink::Warn, &text));
        for mismatch in done.mismatches.iter().take(MISMATCHES) {
            lines.push(Line::new(look).add(
                Ink::Warn,
                &format!(
                    "    at {:#x}: {:#018x} instead of {:#018x}, {} wrong, on CPU {}",
                    mismatch.at,
                    mismatch.actual,
                    mismatch.expected,
                    units::counted(u64::from((mismatch.expected ^ mismatch.actual).count_ones()), "bit"),
                    mismatch.cpu
                ),
            ));
        }
    }
    lines.extend(done.failures.iter().map(|failure| Line::new(look).add(Ink::Warn, &format!("  {failure}"))));
    lines.extend(done.limits.iter().map(|limit| Line::new(look).add(Ink::Dim, &format!("  {limit}"))));
    lines.into_iter().flat_map(|line| line.wrap(4)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Seen;
    use model::recording::Host;
    use model::wake::load::{Load, LoadDone, Mismatch};

    fn run(mismatches: u64) -> LoadRun {
        let mismatch = Mismatch { at: 0x1000, expected: 0xff, actual: 0xfe, cpu: 3 };
        LoadRun {
            schema: "dwell.load/1".into(),
            host: Host {
                name: "board".into(),
                kernel: "6.1".into(),
                arch: "aarch64".into(),
                cpus: 4,
                memory_bytes: Seen::Value(1 << 30),
                virtualisation: Seen::Absent,
            },
            started_at: "2026-03-01T12:00:00Z".into(),
            result: LoadDone {
                load: Load::Disk { threads: 2, bytes: 1 << 24, dir: Some("/x\u{1b}[31m".into()) },
                ran_ns: 2_000_000_000,
                done: 1 << 30,
                unit: "bytes".into(),
                cpu_ns: 500_000_000,
                mismatches: vec![mismatch; mismatches.min(16) as usize],
                mismatches_total: mismatches,
                failures: vec!["a worker ended early: /x\u{1b}: cannot read".into()],
                limits: vec!["it is slow".into()],
            },
            interrupted: false,
        }
    }

    #[test]
    fn the_page_has_rate_amount_and_limits_and_nothing_a_terminal_would_obey() {
        let page =
            terminal(&run(0), Look { width: 100, colour: false, unicode: false, height: Look::HEIGHT });
        for part in [
            "disk: ",
            "\\x1b",
            "512 MiB/s",
            "1.00 GiB in 2.00 s",
            "500 ms CPU time",
            "it is slow",
            "a worker ended early: /x\\x1b: cannot read",
        ] {
            assert!(page.contains(part), "{part:?} is not in\n{page}");
        }
        assert!(!page.contains('\x1b') && !page.contains("mismatch"), "{page}");
    }

    #[test]
    fn mismatches_are_counted_and_the_first_shown() {
        let page = terminal(&run(7), Look::PLAIN);
        assert!(page.contains("7 mismatches"), "{page}");
        assert_eq!(
            page.matches("at 0x1000: 0x00000000000000fe instead of 0x00000000000000ff, 1 bit wrong").count(),
            5
        );
        assert!(terminal(&run(1), Look::PLAIN).contains("1 mismatch:"));
    }

    #[test]
    fn the_json_can_be_read_back_and_looked_at() {
        let json = crate::json(&run(2));
        assert_eq!(serde_json::from_str::<LoadRun>(&json).unwrap(), run(2));
        assert!(!json.contains('\x1b'));
    }
}
