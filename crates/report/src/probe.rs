//! What a probe imposes, what it may cost and what it cannot say; and the line of a finding that
//! was probed.

use crate::Look;
use crate::units::{counted, duration, duration_range, share};
use model::compare::why::Came;
use model::finding::CauseName;
use model::{Probe, Probed, Seen};

/// What is imposed, after `with`.
pub fn imposes(probe: Probe) -> &'static str {
    match probe {
        Probe::SkipFlushes => "flushes skipped: fsync, fdatasync, sync_file_range, sync, syncfs, msync",
        Probe::NoDelay => "TCP_NODELAY set on its sockets",
        Probe::WarmFiles => "the files that it reads from the disk already in memory",
        Probe::LiftQuota => "no CPU quota, in a control group of its own",
        Probe::RaisePriority => "the highest priority of ordinary programs (nice -20)",
        Probe::KeepMemory => "an allocator that gives no memory back to the kernel",
    }
}

/// The same in a few words, for the line of a finding.
fn briefly(probe: Probe) -> &'static str {
    match probe {
        Probe::SkipFlushes => "flushes skipped",
        Probe::LiftQuota => "no CPU quota",
        Probe::RaisePriority => "the highest priority",
        _ => imposes(probe),
    }
}

/// What it may cost, of one that is imposed by its name only.
pub fn risk(probe: Probe) -> Option<&'static str> {
    match probe {
        Probe::SkipFlushes => Some(
            "these runs do not wait until their data is on the disk: if the machine crashes or loses power before \
             the kernel has written it, files may be lost or damaged",
        ),
        Probe::LiftQuota => Some(
            "these runs take CPU time that the quota keeps for others, and limits of control groups within the \
             outermost one with a quota do not apply to them",
        ),
        _ => None,
    }
}

/// What the runs without the probe get, where that is not nothing.
pub fn beside(probe: Probe) -> Option<&'static str> {
    match probe {
        Probe::WarmFiles => {
            Some("before the runs without the probe, dwell drops these files from memory, for all programs")
        }
        _ => None,
    }
}

/// What its result does not show.
pub fn cannot_say(probe: Probe) -> &'static str {
    match probe {
        Probe::SkipFlushes => {
            "the probe skips all flushes, also those that are necessary; it does not skip flushes of 32-bit \
             programs, of io_uring and of files opened with O_SYNC or O_DSYNC; unless dwell has CAP_SYS_ADMIN, \
             set-user-ID programs run without their privileges in both runs of a pair"
        }
        Probe::NoDelay => {
            "the probe does not change sockets of the other end, and finds new sockets some milliseconds late"
        }
        Probe::WarmFiles => {
            "directories and inodes are in memory in both runs of a pair, and so are pages that another program \
             has mapped"
        }
        Probe::LiftQuota => {
            "the probe does not lift quotas of control groups that the program enters by itself"
        }
        Probe::RaisePriority => {
            "the priority counts only among programs of the same control group and session; stopping other \
             programs may save more"
        }
        Probe::KeepMemory => {
            "the probe works with glibc's malloc only: not with other C libraries, allocators or garbage \
             collectors, nor with programs that call mmap themselves"
        }
    }
}

/// Why writes that are durable by themselves have no probe.
pub const OF_DURABLE_WRITES: &str = "files opened with O_SYNC or O_DSYNC have no probe: the flag belongs to the open file, \
     and a filter of system calls cannot remove it; to change it when the program opens the file, dwell would have to \
     trace all threads, or open the file in the program's place, with its privileges and in its directory";

/// What is about to be done: sentences, one a line.
pub fn announcement(cause: &CauseName, probe: Probe) -> Vec<String> {
    let mut lines = vec![format!(
        "probe {} of {}: dwell runs the command again in pairs, once as it is and once with {}",
        probe.id(),
        cause.id,
        imposes(probe)
    )];
    lines.extend(beside(probe).map(str::to_owned));
    lines.extend(risk(probe).map(|risk| format!("risk: {risk}")));
    lines.push(
        "output of these runs goes to /dev/null; everything else that the command does is done again; Ctrl-C stops them"
            .to_owned(),
    );
    lines
}

/// That none is imposed: the one that was asked for, with the causes that it is for, or any;
/// `found` are the findings, each with its probe.
pub fn none(asked: Option<(Probe, &[&str])>, found: &[(CauseName, Option<Probe>)]) -> String {
    if found.is_empty() {
        return "no probe: there is no finding".to_owned();
    }
    let row = |(cause, probe): &(CauseName, Option<Probe>)| match probe {
        Some(probe) => format!("{} (--probe={})", cause.id, probe.id()),
        None => cause.id.clone().into_owned(),
    };
    let rows: Vec<String> = found.iter().map(row).collect();
    let what = match asked {
        Some((probe, causes)) => {
            format!("no finding has the probe {}, which is for {}", probe.id(), causes.join(" and "))
        }
        None => "no finding has a probe that runs unless it is named".to_owned(),
    };
    format!("{what}; found: {}", rows.join(", "))
}

/// `probed with flushes skipped: saves 2.9 s (2.8-3.0 s) of 3.9 s in 6 pairs of runs, as
/// predicted`.
pub(crate) fn line(probed: &Seen<Probed>, look: Look) -> String {
    let probed = match probed {
        Seen::Value(probed) => probed,
        Seen::Absent => return "probed: nothing".to_owned(),
        Seen::Unseen(why) => return format!("the probe has no result: {why}"),
    };
    let saving = probed.saving_ns;
    let ends = saving.lo.zip(saving.hi);
    let interval = ends.map_or(String::new(), |ends| format!(" ({})", between(ends, look)));
    let certain = ends.is_none_or(|(lo, hi)| lo > 0 || hi < 0);
    let size = duration(saving.estimate.unsigned_abs());
    let of = duration(probed.plain_ns);
    // Perhaps it did not reach the program.
    let why = match certain && saving.estimate >= 0 {
        true => String::new(),
        false => format!("; {}", cannot_say(probed.probe)),
    };
    let what = match saving.estimate {
        _ if !certain => format!("no certain difference{interval} from {of}"),
        ..0 => format!("takes {size} longer than {of}{interval}"),
        _ => {
            let part = share(saving.estimate.unsigned_abs(), probed.plain_ns.max(1));
            format!("saves {size}{interval} of {of} ({part})")
        }
    };
    let pairs = match probed.pairs {
        1 => "one pair of runs, too few for an interval".to_owned(),
        pairs => format!("{} of runs", counted(u64::from(pairs), "pair")),
    };
    let held = match probed.held {
        Came::Held => ", as predicted",
        Came::Less => ", less than predicted",
        Came::More => ", more than predicted",
        Came::Undecided => "",
    };
    let again = match probed.slow_again {
        true => "",
        false => "; most of what made the observed run slow did not happen again, even without the probe",
    };
    format!("probed with {}: {what}, in {pairs}{held}{again}{why}", briefly(probed.probe))
}

/// A dash between ends of different signs would read as one more sign.
fn between((lo, hi): (i64, i64), look: Look) -> String {
    let sign = |ns: i64| if ns < 0 { "-" } else { "" };
    match (lo, hi) {
        (0.., 0..) => duration_range(lo.unsigned_abs(), hi.unsigned_abs(), look.dash()),
        _ => {
            let end = |ns: i64| format!("{}{}", sign(ns), duration(ns.unsigned_abs()));
            format!("{} to {}", end(lo), end(hi))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::probe::MeasuredSaving;

    const LOOK: Look = Look { width: 100, colour: false, unicode: false, height: Look::HEIGHT };
    const MS: i64 = 1_000_000;

    fn probed(estimate: i64, ends: Option<(i64, i64)>, pairs: u32) -> Probed {
        Probed {
            probe: Probe::SkipFlushes,
            pairs,
            plain_ns: 1_000_000_000,
            probed_ns: 300_000_000,
            saving_ns: MeasuredSaving {
                estimate: estimate * MS,
                lo: ends.map(|(lo, _)| lo * MS),
                hi: ends.map(|(_, hi)| hi * MS),
            },
            held: Came::Undecided,
            slow_again: true,
        }
    }

    #[test]
    fn the_line_says_what_is_certain_and_no_more() {
        let text = |probed: Probed| line(&Seen::Value(probed), LOOK);
        let held = Probed { held: Came::Held, ..probed(700, Some((690, 710)), 6) };
        assert_eq!(
            text(held),
            "probed with flushes skipped: saves 700 ms (690-710 ms) of 1.00 s (70 %), in 6 pairs of \
             runs, as predicted"
        );
        let one = text(probed(700, None, 1));
        assert!(
            one.ends_with("saves 700 ms of 1.00 s (70 %), in one pair of runs, too few for an interval"),
            "{one}"
        );
        let none = text(probed(1, Some((-5, 7)), 6));
        assert!(none.contains("no certain difference (-5.00 ms to 7.00 ms) from 1.00 s"), "{none}");
        let slower = text(probed(-20, Some((-25, -15)), 6));
        assert!(slower.contains("takes 20.0 ms longer than 1.00 s (-25.0 ms to -15.0 ms)"), "{slower}");
        assert!(slower.contains("; the probe skips all flushes"), "{slower}");
        let gone = text(Probed { slow_again: false, ..probed(1, None, 2) });
        assert!(gone.ends_with("did not happen again, even without the probe"), "{gone}");
        assert_eq!(line(&Seen::unseen("a signal"), LOOK), "the probe has no result: a signal");
    }

    #[test]
    fn what_is_imposed_by_name_only_says_what_it_risks() {
        for probe in Probe::ALL {
            assert_eq!(risk(probe).is_some(), probe.by_name_only(), "{probe:?}");
        }
    }
}
