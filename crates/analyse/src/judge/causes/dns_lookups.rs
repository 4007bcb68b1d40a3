//! Names that are asked for again after they were answered.

use super::{Cause, Manual, Outcome};
use crate::judge::Evidence;
use crate::judge::predict::{Kind, Removal};
use crate::judge::signs::{By, Sign};
use model::coverage::Interval;
use model::finding::{CauseName, Finding, RowRef, SavingBasis};
use model::peers::LookupRow;
use model::prediction::Site;
use model::recording::Tier;
use model::run::WaitRow;
use model::sentence::Piece::{Count, Name, Ns as Time, Number};
use model::wait::WaitTarget;
use model::{Ns, RuledOut, Sentence, say};

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("dns-lookups", "repeated name lookups"),
    tiers: &[Tier::Bpf],
    manual: Manual {
        what: "The program asks a name server for a name that it already had an answer for.",
        why: "Neither programs nor the C library remember answers by themselves. Each question \
              waits for a round trip to the name server, and for any server that it asks in turn.",
        rule: "The program repeated a question that had been answered (same name, type and server) \
               three times or more. A question that is sent again because no answer came is no \
               repeat.",
        else_it_could_be: "The answer may be valid for seconds only (its TTL): a program that runs \
                           for longer has to ask again.",
        change: "Keep the address, or the connection, for as long as the answer is valid. Or ask \
                 through a cache on this host (systemd-resolved, nscd, dnsmasq): that helps \
                 programs that cannot be changed, and each new process.",
        part: "Counted: the time from each repeated question to its answer is saved, as a part of \
               the time of all answers. A cache on this host answers within 0.2 ms (two switches \
               to another process and back), so the low end leaves that much of each.",
        assumes: "An answer stays valid for as long as the program runs.",
    },
    explains: &["sleep-polling"],
    signs: &[Sign {
        by: By::Waits(is_for_a_name, 2, "answers of a name server"),
        although: true,
        change: "keep the address or the connection, or ask through a cache on this host",
    }],
    probe: None,
    check,
};

/// Fewer repeats are no habit.
const REPEATED_MIN: u64 = 3;
/// What a cache on this host takes at most: a question to another process and its answer.
const CACHED_NS: Ns = 200_000;
/// Rows of what the C library was asked: packets have their own.
const LIBRARY: &str = "getaddrinfo";

fn check(evidence: &Evidence<'_>) -> Outcome {
    Outcome::of_table(&evidence.run.tables.lookups, |rows| {
        let sent = || rows.iter().enumerate().filter(|(_, row)| row.kind != LIBRARY);
        let sum = |of: fn(&LookupRow) -> u64| sent().map(|(_, row)| of(row)).sum::<u64>();
        let repeated = sum(|row| row.repeated);
        let most = sent().max_by_key(|(_, row)| row.repeated_ns);
        if repeated < REPEATED_MIN {
            return Outcome::RuledOut(match sum(|row| row.times) {
                0 => say!("no name server was asked").into(),
                times => {
                    let what = say!("of ", Count(times, "lookup".into()), " had been answered before");
                    RuledOut::below(Number(repeated), what, Number(REPEATED_MIN))
                }
            });
        }
        let total_ns = sum(|row| row.answer.map_or(0, |answer| answer.total_ns));
        let again = Again { repeated, ns: sum(|row| row.repeated_ns), total_ns };
        match (most, goes(evidence)) {
            (Some((row, most)), Some(goes)) => {
                Outcome::Found(vec![finding(evidence, row, most, &again, &goes)])
            }
            _ => {
                let questions = Count(repeated, "repeated lookup".into());
                Outcome::RuledOut(say!(questions, " took less than 1 % of the run").into())
            }
        }
    })
}

/// Where name servers listen.
const PORT: u16 = 53;

fn is_for_a_name(wait: &WaitRow) -> bool {
    match &wait.on {
        WaitTarget::Answer(_) => true,
        WaitTarget::Tcp(end) | WaitTarget::Udp(end) => end.port == PORT,
        _ => false,
    }
}

/// All repeats together.
struct Again {
    repeated: u64,
    ns: Ns,
    /// From question to answer, of all.
    total_ns: Ns,
}

/// The waits for answers; none where they are less than 1 % of the run.
fn goes(evidence: &Evidence<'_>) -> Option<Removal> {
    let waits = || evidence.run.waits.iter().filter(|wait| matches!(wait.on, WaitTarget::Answer(_)));
    let (path_ns, total_ns) =
        (waits().map(|wait| wait.path_ns).sum(), waits().map(|wait| wait.total_ns).sum());
    if evidence.run.window.is_some() {
        return Some(Removal::Account(Interval { lo: total_ns, hi: total_ns }, Kind::Waiting));
    }
    let share_ns = Interval { lo: path_ns, hi: path_ns };
    match evidence.prediction {
        Some(_) => evidence.site(&Site::NameLookups).map(|_| Removal::Account(share_ns, Kind::Waiting)),
        None => Some(Removal::Account(share_ns, Kind::Waiting)),
    }
}

fn finding(evidence: &Evidence<'_>, row: usize, most: &LookupRow, again: &Again, goes: &Removal) -> Finding {
    let part = |ns: Ns| ns as f64 / again.total_ns.max(1) as f64;
    let part = (part(again.ns.saturating_sub(again.repeated * CACHED_NS)), part(again.ns));
    Finding {
        cause: CAUSE.name.clone(),
        place: RowRef::Lookup(row),
        what: say!(Count(again.repeated, "name lookup".into()), " repeated an answered one (")
            .and(name(most))
            .and(say!(" ", Count(most.times, "time".into()), ") and took ", Time(again.ns))),
        change: say!("keep the address or the connection, or ask through a cache on this host"),
        share_ns: super::peers::share(goes, part),
        saving: evidence.saving(goes, part, SavingBasis::Counted),
        evidence: vec![say!(
            Name(most.server.clone()),
            " took ",
            Time(most.repeated_ns / most.repeated.max(1)),
            " on average to answer again"
        )],
        assumes: vec![say!("an answer stays valid for as long as the program runs")],
        verify: vec![say!("`lookups` of `dwell run --json -`: `repeated` is 0")],
        explains: Vec::new(),
        belief: None,
    }
}

fn name(row: &LookupRow) -> Sentence {
    match row.name.value() {
        Some(name) => say!(Name(name.clone())),
        None => say!("one of many"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::samples::{found, is_assumed, judged, ruled_out, run, saves, sites, wait, waiting};
    use model::network::{Endpoint, Question};
    use model::peers::Lengths;
    use model::{Run, Seen, State};

    const MS: Ns = 1_000_000;

    /// A run with `times` questions for one name, each answered after 10 ms.
    fn of(times: u64) -> Run {
        let ns = times * 10 * MS;
        let server = Endpoint::read("192.0.2.53:53").unwrap();
        let on = WaitTarget::Answer(Question { server, name: Some("a.test".into()) });
        let mut run = run(&[(State::Network, ns), (State::User, 60 * MS)]);
        run.waits = vec![wait(State::Network, on, &[waiting(100, ns)])];
        run.waits[0].path_ns = ns;
        run.tables.lookups = Seen::Value(vec![LookupRow {
            together: None,
            name: Seen::Value("a.test".into()),
            kind: "A".into(),
            server: "192.0.2.53:53".into(),
            times,
            answered: times,
            failed: 0,
            repeated: times - 1,
            repeated_ns: ns - 10 * MS,
            answer: Some(Lengths { total_ns: ns, p50_ns: 10 * MS, p99_ns: 10 * MS, max_ns: 10 * MS }),
        }]);
        run
    }

    fn judge(run: &Run) -> model::Diagnosis {
        let ns = run.waits[0].total_ns;
        judged(run, &sites(run, &[(Site::NameLookups, [ns; 3])]))
    }

    #[test]
    fn all_but_the_first_go_but_for_what_a_cache_takes() {
        let diagnosis = judge(&of(101));
        // 100 of 10 ms, less 0.2 ms each.
        assert_eq!(saves(found(&diagnosis, "dns-lookups").unwrap()), (980 * MS, 1000 * MS));
    }

    #[test]
    fn few_repeats_and_what_only_the_library_was_asked_are_none() {
        assert!(found(&judge(&of(4)), "dns-lookups").is_some());
        assert!(is_assumed(&judge(&of(3)), "dns-lookups"), "their waits alone are a sign");
        let mut run = of(101);
        if let Seen::Value(rows) = &mut run.tables.lookups {
            rows[0].kind = LIBRARY.into();
        }
        assert!(is_assumed(&judge(&run), "dns-lookups"));
    }

    #[test]
    fn answers_that_nobody_waited_for_are_none() {
        let mut run = of(101);
        run.waits[0].path_ns = 0;
        run.waits[0].threads.clear();
        assert!(ruled_out(&judged(&run, &sites(&run, &[])), "dns-lookups"));
    }
}
