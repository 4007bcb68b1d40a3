//! Loads that wait for memory: what would show them, and that it is not there.

use super::{Cause, Manual, Outcome};
use crate::judge::Evidence;
use model::finding::CauseName;
use model::recording::Tier;
use model::sentence::Piece::Share;
use model::{State, say};

pub(super) static CAUSE: Cause = Cause {
    name: CauseName { id: "memory-latency", title: "loads that wait for memory" },
    tiers: &[Tier::Bpf, Tier::Perf, Tier::Proc],
    manual: Manual {
        what: "The program follows pointers, or looks up places of a large table, and each load waits for memory before the next \
               one can begin.",
        why: "A load from the first cache takes a nanosecond, one from memory a hundred: as long as some hundred instructions.",
        rule: "It is ruled out where the program's own code has less than a twentieth of the account. Else it is not told: the \
               CPU's counters of cycles that wait for memory are not read, and samples do not show it. In a chase through \
               16 KiB, which the first cache holds, as in one through 64 MiB, 95 % of the samples stand behind the load: how \
               often that ran is what they do not say.",
        else_it_could_be: "Work in the caches looks the same in a profile.",
        change: "Make what is used together lie together: arrays in place of lists and trees, smaller records, indexes in place of \
                 pointers, hot fields apart from cold ones. Ask for several items at once, or prefetch; huge pages where the \
                 table is large.",
        part: "Not predicted.",
        assumes: "Nothing, since nothing is predicted.",
    },
    explains: &[],
    check,
};

/// Less than this part of the account is no cause.
const PART: f64 = 0.05;

fn check(evidence: &Evidence<'_>) -> Outcome {
    let own = evidence.account_ns(|state| state == State::User) as f64 / evidence.whole_ns.max(1) as f64;
    if own < PART {
        return Outcome::RuledOut(say!("the program's own code has ", Share(own), " of the time"));
    }
    Outcome::Unavailable(
        "whether loads wait for memory is in the CPU's counters, which are not read; samples that pile up behind one load \
         (--annotate) may be that, in a program whose data is larger than the caches"
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use crate::judge::samples::{judged, run};
    use model::{Ns, Seen, State};

    #[test]
    fn it_is_ruled_out_only_where_there_is_no_code_that_loads() {
        let is_open = |user_ns: Ns| {
            let run = run(&[(State::User, user_ns), (State::Sleep, 1000 - user_ns)]);
            let diagnosis = judged(&run, &Seen::Absent);
            diagnosis.unavailable.iter().any(|(cause, _)| cause.id == "memory-latency")
        };
        assert!(is_open(50) && !is_open(49));
    }
}
