//! Programs that ask again and again for files that are not there.

use super::{Cause, Manual, Outcome};
use crate::judge::Evidence;
use crate::judge::file_calls::{ASKS, Gone, OPENS, part_of_all};
use crate::judge::predict::{Goes, Kind};
use crate::judge::results::not_there;
use model::finding::{CauseName, Finding, Known, Place};
use model::recording::Tier;
use model::run::CallRow;
use model::sentence::Piece::{Count, Name, Ns as Time, Number};
use model::{Ns, Seen, say};

pub(super) static CAUSE: Cause = Cause {
    name: CauseName { id: "metadata-calls", title: "look-ups of files that are not there" },
    tiers: &[Tier::Bpf],
    manual: Manual {
        what: "The program opens files or asks for them (`stat`, `access`) by names that mostly are not there.",
        why: "Each look-up enters the kernel and goes through the directories of the path, for nothing. A search along \
              many directories does so for each file that it looks for.",
        rule: "At least half of the calls of a kind fail, and 100 or more. A search that finds what it looks for in the \
               second place fails every other time. Fewer are the start of an ordinary program, whose interpreter and \
               linker look for their files in the same way.",
        else_it_could_be: "A program that waits for a file to appear. Programs that must know that a name is free before \
                           they use it.",
        change: "List the directory once and look there. Put the directory that has most of the files first in the search \
                 path (`PATH`, `LD_LIBRARY_PATH`, `PYTHONPATH`, include directories), and leave out those that have none. \
                 Remember what was not there.",
        part: "The calls that fail go, with entering and leaving the kernel for them. Counted; of their time at least as \
               much as the median call takes.",
        assumes: "The program does not need to know that these files are missing each time that it asks.",
    },
    explains: &[],
    check,
};

/// Fewer failures are an ordinary start.
const FAILED_MIN: u64 = 100;

fn check(evidence: &Evidence<'_>) -> Outcome {
    if let Seen::Unseen(why) = evidence.syscalls {
        return Outcome::Unavailable(why.clone());
    }
    let rows: Vec<_> = [ASKS, OPENS].iter().flat_map(|names| evidence.calls_named(names)).collect();
    let all: u64 = rows.iter().map(|(_, row)| row.calls).sum();
    let missed: u64 = rows.iter().map(|(_, row)| not_there(row)).sum();
    let failing: Vec<_> =
        rows.into_iter().filter(|(_, row)| not_there(row) * 2 >= row.calls.max(1)).collect();
    let failed: u64 = failing.iter().map(|(_, row)| not_there(row)).sum();
    match failing.iter().max_by_key(|(_, row)| row.total_ns) {
        Some((place, most)) if failed >= FAILED_MIN => {
            let rows: Vec<&CallRow> = failing.iter().map(|(_, row)| *row).collect();
            Outcome::Found(vec![finding(evidence, *place, most, &rows)])
        }
        _ => Outcome::RuledOut(say!(Count(missed, "look-up"), " of ", Number(all), " found nothing")),
    }
}

fn finding(evidence: &Evidence<'_>, place: usize, most: &CallRow, rows: &[&CallRow]) -> Finding {
    let gone: Vec<Gone<'_>> = rows.iter().map(|row| Gone::of(row, not_there(row))).collect();
    let part = part_of_all(&gone);
    let goes = evidence.without(&gone, Kind::Cpu);
    let total_ns: Ns = rows.iter().map(|row| row.total_ns).sum();
    let names: Vec<_> = rows.iter().map(|row| &row.name).collect();
    let of_all = |row: &&CallRow| {
        say!(
            Name(row.name.to_string()),
            ": ",
            Number(not_there(row)),
            " of ",
            Count(row.calls, "call"),
            " found nothing"
        )
    };
    Finding {
        cause: CAUSE.name,
        place: Place::Call(place),
        what: say!(Name(most.name.to_string())).and(evidence.caller(&names)).and(say!(
            " asks ",
            Count(most.calls, "time"),
            " for files, ",
            Number(not_there(most)),
            " of them are not there; this takes ",
            Time(total_ns)
        )),
        change: say!("list the directory once, or ask first where the files are"),
        share_ns: evidence.has(&names, &goes),
        saving: evidence.saving(&Goes::Parts(goes), part, Known::Counted),
        evidence: rows.iter().map(of_all).collect(),
        assumes: vec![say!("the program need not know each time that they are missing")],
        verify: vec![say!(
            "strace -f -Z -e trace=",
            Name(most.name.name.to_string()),
            " … shows the names that are not there"
        )],
        explains: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::file_samples::call;
    use crate::judge::samples::{found, judged, run, saves, sites};
    use model::prediction::Site;
    use model::{Diagnosis, Reason, State};

    const MS: Ns = 1_000_000;

    /// 200 ms, of which 100 are in `newfstatat`.
    fn diagnosis(calls: u64, errors: u64) -> Diagnosis {
        let mut run = run(&[(State::User, 60 * MS), (State::Kernel, 140 * MS)]);
        run.syscalls =
            Seen::Value(vec![call("newfstatat", calls, errors, 100 * MS), call("getpid", calls, 0, MS)]);
        run.path = vec![crate::judge::file_samples::step(State::Kernel, Reason::SyscallEntry, 40 * MS)];
        judged(&run, &sites(&run, &[(Site::Call("newfstatat".into()), [100 * MS; 3])]))
    }

    #[test]
    fn those_that_fail_go_with_their_way_into_the_kernel() {
        let diagnosis = diagnosis(1000, 900);
        let finding = found(&diagnosis, "metadata-calls").expect("it is there");
        assert_eq!(saves(finding), (90 * MS, 90 * MS + 18 * MS), "with 900 of 2,000 ways in");
    }

    #[test]
    fn where_less_than_half_fail_or_few_do_there_is_none() {
        assert!(found(&diagnosis(1000, 500), "metadata-calls").is_some());
        for (calls, errors) in [(1000, 499), (99, 99), (1000, 0)] {
            let diagnosis = diagnosis(calls, errors);
            assert!(found(&diagnosis, "metadata-calls").is_none(), "{errors} of {calls}");
            assert!(diagnosis.ruled_out.iter().any(|(cause, _)| cause.id == "metadata-calls"));
        }
        assert!(found(&diagnosis(100, 100), "metadata-calls").is_some());
    }
}
