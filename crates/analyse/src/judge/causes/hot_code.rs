//! One function, or one line of it, that has a good part of the time on CPUs.

use super::{Cause, Manual, Outcome};
use crate::judge::Evidence;
use crate::judge::predict::{Goes, faster};
use model::coverage::Interval;
use model::finding::{CauseName, Finding, Known, Place};
use model::recording::Tier;
use model::run::{FunctionRow, LineRow};
use model::sentence::Piece::{Count, Name, Number, Share};
use model::{Ns, Sentence, State, say};

pub(super) static CAUSE: Cause = Cause {
    name: CauseName { id: "hot-code", title: "hot code" },
    tiers: &[Tier::Bpf, Tier::Perf],
    manual: Manual {
        what: "One function of the program has a tenth of its CPU time or more, without the functions that it calls.",
        why: "Most programs spend most of their CPU time in little code. It need not be slow: it is where a better \
              algorithm, less work or another data structure pays.",
        rule: "Of functions in user mode the one with the most samples has at least a tenth of all, and its interval does \
               not begin below a twentieth. With less no single function is worth a change. The line is named if it has \
               at least half of the function's samples.",
        else_it_could_be: "Memory that is slow to come is charged to the instruction that waits for it, a spinning wait \
                           to the loop. Other causes name these where their signs show.",
        change: "Look at its lines with `--lines FUNCTION` and its instructions with `--annotate FUNCTION`. Leave out work that \
                 is not needed or that is done again and again, or take a data structure that makes it less.",
        part: "Made s times faster, a share p of the time gives p(1 - 1/s). The factor is assumed: from 1.5 to all of it \
               gone. The interval of p is that of its samples.",
        assumes: "The function can be made at least one and a half times faster. Its share on the path is that of all \
                  threads.",
    },
    explains: &[],
    check,
};

/// Of the samples, for a function to lead: its share, and the low end of its interval.
const SHARE_MIN: f64 = 0.10;
const SHARE_LO_MIN: f64 = 0.05;
/// Of the function's samples, for its line to be named.
const LINE_PART: u64 = 2;
/// How many times faster it gets at least.
const FASTER_MIN: f64 = 1.5;

fn check(evidence: &Evidence<'_>) -> Outcome {
    Outcome::of_table(evidence.functions, |functions| {
        let of_user = functions.iter().enumerate().filter(|(_, row)| row.mode == "user");
        let Some((row, function)) = of_user.max_by(|(_, a), (_, b)| a.share.value.total_cmp(&b.share.value))
        else {
            return Outcome::RuledOut(say!("no sample fell into the program's own code"));
        };
        if function.share.value < SHARE_MIN || function.share.lo < SHARE_LO_MIN {
            return Outcome::RuledOut(say!(
                "the function with most CPU time has ",
                Share(function.share.value),
                " of it"
            ));
        }
        Outcome::Found(vec![finding(evidence, row, function)])
    })
}

fn finding(evidence: &Evidence<'_>, row: usize, function: &FunctionRow) -> Finding {
    let on_cpu_ns = evidence.account_ns(State::on_cpu) as f64;
    let share_ns =
        Interval { lo: (on_cpu_ns * function.share.lo) as Ns, hi: (on_cpu_ns * function.share.hi) as Ns };
    let line = line_of(evidence, function);
    Finding {
        cause: CAUSE.name,
        place: Place::Function(row),
        what: say!(Name(function.name.clone())).and(line.map(at).unwrap_or_default()).and(say!(
            " has ",
            Share(function.share.value),
            " of the CPU time"
        )),
        change: say!("do less there: --lines and --annotate show where"),
        share_ns,
        saving: evidence.saving(&Goes::Samples(function.share), (faster(FASTER_MIN), 1.0), Known::Assumed),
        evidence: vec![say!(Count(function.samples, "sample"))],
        assumes: vec![say!("it can be made 1.5 times faster at least")],
        verify: vec![say!("dwell run --annotate '", Name(function.name.clone()), "' …")],
        explains: Vec::new(),
    }
}

/// The line that has most of a function's samples.
fn line_of<'a>(evidence: &Evidence<'a>, function: &FunctionRow) -> Option<&'a LineRow> {
    let lines = evidence.lines.value()?;
    let of_function = lines.iter().filter(|line| line.function == function.name);
    of_function.max_by_key(|line| line.samples).filter(|line| line.samples * LINE_PART >= function.samples)
}

fn at(line: &LineRow) -> Sentence {
    say!(" (", Name(line.file.clone()), ":", Number(line.line.into()), ")")
}
