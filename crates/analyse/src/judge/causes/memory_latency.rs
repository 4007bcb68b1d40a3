//! Loads that wait for memory: functions whose samples stand at loads from addresses that jump
//! in more memory than a cache holds.

use super::{Cause, Manual, Outcome};
use crate::code::Amount;
use crate::judge::Evidence;
use crate::judge::counters::{self, Waits};
use crate::judge::load_costs::{self, Beyond};
use crate::judge::named::{called, how_shown, place};
use crate::judge::own_code::{self, Charge, Sum};
use crate::judge::predict::Removal;
use model::coverage::Interval;
use model::finding::{CauseName, Finding, SavingBasis};
use model::loads::{LoadRow, LoadTable};
use model::profile::Activity;
use model::recording::Tier;
use model::run::Share;
use model::sentence::Piece::{self, Bytes, Count, Name};
use model::{Ns, RuledOut, Seen, State, say};
use rustc_hash::FxHashMap;

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("memory-latency", "loads that wait for memory"),
    tiers: &[Tier::Bpf, Tier::Perf, Tier::Proc],
    manual: Manual {
        what: "The program follows pointers, or looks up places of a large table. Each load waits \
               for memory or for a distant cache, and the code that needs the value waits with it.",
        why: "A load from the first-level cache takes a nanosecond, a load from memory a hundred: \
              as long as some hundred instructions. The CPU loads ahead only what it can predict: \
              arrays that are read in order.",
        rule: "The rule looks at the addresses of loads. The places of samples do not tell: in a \
               pointer chase through 16 KiB, which the first-level cache holds, 95 % of the \
               samples fall behind the load, as they do in one through 64 MiB. So at each sample \
               of the program's own code, the address of the load is taken from the registers and \
               the instruction. A function is reported if all of this holds. It has a tenth of the \
               CPU time or more; with less no single function is worth a change. Half of its \
               samples or more fall at loads whose address is known and does not step through an \
               array. 100 addresses or more are known, enough to show an order. The steps from \
               each address to the next differ: the most frequent eighth of the step lengths has \
               less than a quarter of them (by chance it has an eighth and some). And the \
               addresses spread over more memory than the largest cache that one CPU has to \
               itself. That size is estimated from pairs of addresses in the same cache line: n \
               addresses in a set of K lines give n(n-1)/2K pairs. The low end of the estimate's \
               interval counts. If too few addresses are known for that, pages are counted in the \
               same way: from 4,096 on each load needs its address translation as well. (No CPU \
               keeps more than some 3,000 translations for pages of 4 KiB, and the lines of these \
               pages fill at least half a cache.) If a ladder of the host is kept (`dwell \
               ladder`), a load from that much memory must also take at least half as long again \
               as a load from half of that cache. If the processor's counters were sampled they \
               decide, whatever the addresses leave open. A function waits for memory if two \
               things hold. Half a read from memory or more is under way on average: misses of the \
               last-level cache per second, times the length of a load from memory (by the ladder, \
               else 50 to 300 ns). And the back end leaves half of its slots empty, or, if the \
               processor does not count slots, the function executes less than one instruction per \
               cycle. The function does not wait for memory if it is certain that the counters are \
               below these limits. Ends of intervals count. A second sign needs no large \
               set. Two threads or more execute the function, each with a quarter of the samples of \
               the busiest or more, and 19 of 20 samples fall at loads from fewer cache lines than \
               there are threads. A line that all only read would be in each CPU's own cache, and \
               nothing would wait for it; so they write to it.",
        else_it_could_be: "Address translation may be slow, if the set has more pages than the \
                           TLB: the same changes help, and so do huge pages. Threads that \
                           share a cache line may wait in a loop for a flag, or for a lock.",
        change: "Put together in memory what is used together: arrays instead of lists and trees, \
                 smaller records, indexes instead of pointers, hot fields apart from cold ones. \
                 Ask for several items at once, or in order, or prefetch; use huge pages if the \
                 table is large.",
        part: "Assumed: the data can lie closer together. From a third of the samples at these \
               loads, as for hot code, since a dictionary or an index may have to jump, to all of \
               them.",
        assumes: "The data can be laid out so that the cache, or reading in order, serves these \
                  loads. Their share of the critical path is the same as their share of all \
                  threads.",
    },
    explains: &["hot-code"],
    signs: &[],
    probe: None,
    check,
};

/// Less than this part of the account is no cause.
const PART: f64 = 0.05;
/// The least share of the CPU time of a function.
const SHARE_MIN: f64 = 0.10;
/// Of its samples, those at loads from addresses that jump.
const AT_LOADS_MIN: f64 = 0.5;
/// Fewer addresses show no order, nor a set.
const ADDRESSES_MIN: u64 = 100;
/// Steps from one address to the next: the share of the most frequent eighth of their lengths.
const IN_ORDER_MAX: f64 = 0.25;
/// Pages whose translations no CPU keeps at once: the largest second-level TLBs have some 3,000
/// entries (Software Optimization Guide for AMD Family 19h, 56665; Intel 64 and IA-32 Architectures
/// Optimization Reference Manual, 248966).
const TRANSLATED_MAX: u64 = 4096;
const PAGE_BYTES: u64 = 4096;
/// A thread takes part in a function that has this part of the samples of the one with most.
const THREAD_PART: u64 = 4;
/// Of samples, one in this number may be elsewhere than at the lines that threads share.
const ELSEWHERE_PART: u64 = 20;
/// Functions that are named.
const FOUND: usize = 3;

fn check(evidence: &Evidence<'_>) -> Outcome {
    let own =
        evidence.account_ns(|state| state == State::User) as f64 / evidence.run.whole_ns().max(1) as f64;
    if own < PART {
        let what = say!("of the time in the program's own code");
        return Outcome::RuledOut(RuledOut::below(Piece::Share(own), what, Piece::Share(PART)));
    }
    let table = match &evidence.run.tables.loads {
        Seen::Value(table) => table,
        Seen::Absent => return Outcome::RuledOut(say!("no samples in the program's own code").into()),
        Seen::Unseen(why) => return Outcome::Unavailable(format!("load addresses unavailable: {why}")),
    };
    if table.functions.iter().all(|row| row.samples == 0) && own >= SHARE_MIN {
        return Outcome::Unavailable("too few samples in code that could be read".to_owned());
    }
    let all = evidence.cpu_samples();
    let candidates: Vec<Candidate<'_>> =
        table.functions.iter().filter_map(|row| candidate(evidence, row, all)).collect();
    let mut found = Vec::new();
    let mut other = None;
    for candidate in &candidates {
        match candidate.judged(evidence, table) {
            Ok(finding) => found.push(finding),
            Err(outcome) => other = other.or(Some(outcome)),
        }
    }
    found.truncate(FOUND);
    if !found.is_empty() {
        return Outcome::Found(found);
    }
    other.unwrap_or(Outcome::RuledOut(
        say!("no function has 10 % of CPU time and half of its samples at loads from scattered addresses")
            .into(),
    ))
}

/// A function that spends its time at loads.
struct Candidate<'a> {
    row: &'a LoadRow,
    /// The program's own function that it works for.
    owner: Sum<'a>,
    /// The samples at loads, as a share of the CPU time.
    share: Share,
    /// What the processor's counters say.
    waits: Waits,
    /// The threads that execute it, but for those that do so little.
    threads: usize,
}

fn candidate<'a>(evidence: &Evidence<'a>, row: &'a LoadRow, all: Amount) -> Option<Candidate<'a>> {
    let profile = evidence.profile;
    let counted = counters::of_function(evidence, &row.function, Some(&row.module)).map(|row| &row.counted);
    let waits = counted.map_or(Waits::Unclear, |counted| counters::waits_for_memory(evidence, counted));
    let jumping = row.jumping as f64 / row.samples.max(1) as f64;
    let stepping = row.stepping as f64 / row.samples.max(1) as f64;
    let part = match (waits, counted) {
        _ if jumping >= AT_LOADS_MIN => jumping,
        // Half at least, since half of its slots are empty.
        (Waits::Yes, Some(counted)) if stepping < AT_LOADS_MIN => {
            counted.back_end_stalled.value().map_or(AT_LOADS_MIN, |stalled| stalled.value.min(1.0))
        }
        _ => return None,
    };
    let innermost = |node: u32| &profile.frames[profile.nodes[node as usize].frame as usize];
    let here: Vec<_> = evidence
        .charges()
        .filter(|charge| charge.doing == Activity::User)
        .filter(|charge| {
            let frame = innermost(charge.weight.node);
            frame.function == row.function && frame.module == row.module
        })
        .collect();
    let amount = here.iter().fold(Amount::default(), |mut all, charge| {
        all.add(charge.weight);
        all
    });
    if evidence.cpu_share(amount, all).value < SHARE_MIN {
        return None;
    }
    let share = evidence.cpu_share(amount.part(part), all);
    let threads = at_it(&here);
    let owner = own_code::functions(here.into_iter()).into_iter().next()?;
    Some(Candidate { row, owner, share, waits, threads })
}

/// Threads with a quarter or more of the samples of the one that has most.
fn at_it(here: &[Charge<'_>]) -> usize {
    let mut samples = FxHashMap::<u32, u64>::default();
    here.iter().for_each(|charge| *samples.entry(charge.weight.thread).or_default() += charge.weight.count);
    let most = samples.values().copied().max().unwrap_or(0);
    samples.into_values().filter(|count| count.saturating_mul(THREAD_PART) >= most).count()
}

impl Candidate<'_> {
    /// A finding where the counters say that it waits for memory, else by its addresses.
    fn judged(&self, evidence: &Evidence<'_>, table: &LoadTable) -> Result<Finding, Outcome> {
        let row = self.row;
        let in_order = row.in_order.value().is_some_and(|part| *part >= IN_ORDER_MAX);
        match self.waits {
            Waits::No => Err(Outcome::RuledOut(
                say!(
                    Name(row.function.clone()),
                    " has the most loads, but does not wait for memory, by the CPU's counters"
                )
                .into(),
            )),
            Waits::Yes if !in_order => {
                Ok(self.finding(evidence, load_costs::own_cache(&table.caches).unwrap_or(u64::MAX), None))
            }
            _ => self.weighed(evidence, table),
        }
    }

    /// Whether its loads wait for memory; else what became of looking.
    fn weighed(&self, evidence: &Evidence<'_>, table: &LoadTable) -> Result<Finding, Outcome> {
        let row = self.row;
        let name = || Name(row.function.clone());
        let (Seen::Value(in_order), Seen::Value(set)) = (&row.in_order, &row.set_bytes) else {
            return Err(self.too_few());
        };
        if row.addresses < ADDRESSES_MIN {
            return Err(self.too_few());
        }
        if self.shares_lines() {
            return Ok(self.shared(evidence));
        }
        if *in_order >= IN_ORDER_MAX {
            let what = say!("of the steps between load addresses in ", name(), " are alike");
            let (figure, allowed) = (Piece::Share(*in_order), Piece::Share(IN_ORDER_MAX));
            return Err(Outcome::RuledOut(RuledOut::above(figure, what, allowed)));
        }
        let costs = evidence.run.costs.value().and_then(|costs| costs.load_ns.value());
        let beyond = load_costs::beyond(set, &table.caches, costs.map(Vec::as_slice));
        match beyond {
            Beyond::Within { cache } => {
                let within =
                    say!(name(), " loads from no more data than its cache of ", Bytes(cache), " holds");
                let size = set.hi.map(|hi| say!(": ", Bytes(hi), " at most")).unwrap_or_default();
                Err(Outcome::RuledOut(within.and(size).into()))
            }
            Beyond::Unclear { cache } if self.pages_min() >= TRANSLATED_MAX => {
                Ok(self.finding(evidence, cache, None))
            }
            Beyond::Unclear { cache } => Err(Outcome::Unavailable(format!(
                "{} load addresses in {} do not tell whether they fit the {} KiB cache; try: a longer run, or a higher --rate",
                row.addresses,
                row.function,
                cache >> 10
            ))),
            Beyond::Unknown => Err(Outcome::Unavailable(
                "the sizes of this host's caches are unknown; try: dwell ladder".to_owned(),
            )),
            Beyond::Outside { cache, cost } => Ok(self.finding(evidence, cache, cost)),
        }
    }

    /// Whether several threads do nearly nothing but load from fewer lines than there are threads.
    /// A line that is only read is in each CPU's own cache: nothing would wait for it.
    fn shares_lines(&self) -> bool {
        let elsewhere = self.row.samples.saturating_sub(self.row.jumping);
        (self.row.lines as usize) < self.threads
            && elsewhere.saturating_mul(ELSEWHERE_PART) < self.row.samples
    }

    /// That threads write to the same lines.
    fn shared(&self, evidence: &Evidence<'_>) -> Finding {
        let row = self.row;
        let figures = say!(
            Count(row.jumping, "sample".into()),
            " of ",
            Count(row.samples, "sample".into()),
            " are at loads from these lines"
        );
        Finding {
            what: called(&self.owner).and(say!(
                " waits for ",
                Count(row.lines, "cache line".into()),
                " that ",
                Count(self.threads as u64, "thread".into()),
                " use at once: ",
                Piece::Share(self.share.value),
                " of the CPU time"
            )),
            change: say!(
                "give each thread a cache line of its own (align to 128 bytes), or let each count for itself and sum at the end"
            ),
            evidence: vec![figures],
            assumes: vec![say!(
                "the threads write to these lines, and need not see each other's values at once"
            )],
            ..self.finding(evidence, 0, None)
        }
    }

    /// Pages that it loads from, at least.
    fn pages_min(&self) -> u64 {
        self.row.page_set_bytes.value().map_or(0, |set| set.lo / PAGE_BYTES)
    }

    fn too_few(&self) -> Outcome {
        Outcome::Unavailable(format!(
            "{} load addresses known in {} ({ADDRESSES_MIN} needed); try: a longer run, or a higher --rate",
            self.row.addresses, self.row.function
        ))
    }

    fn finding(&self, evidence: &Evidence<'_>, cache: u64, cost: Option<(f64, f64)>) -> Finding {
        let (row, share, owner) = (self.row, self.share, &self.owner);
        let on_cpu_ns = evidence.account_ns(State::on_cpu) as f64;
        let share_ns = Interval { lo: (on_cpu_ns * share.lo) as Ns, hi: (on_cpu_ns * share.hi) as Ns };
        let set =
            row.set_bytes.value().copied().unwrap_or(model::loads::SetBytes { pairs: 0, lo: 0, hi: None });
        let mut what =
            called(owner).and(say!(" waits for memory for ", Piece::Share(share.value), " of the CPU time"));
        if row.function != owner.frame.function {
            what = what.and(say!(", in ", Name(row.function.clone())));
        }
        let figures = counters::of_function(evidence, &row.function, Some(&row.module))
            .and_then(|row| counters::figures(&row.counted));
        what = what.and(if set.lo >= cache {
            say!(
                ": it loads from addresses scattered over ",
                Bytes(set.lo),
                " or more, and a CPU's own cache holds ",
                Bytes(cache)
            )
        } else if self.pages_min() >= TRANSLATED_MAX {
            say!(
                ": it loads from addresses scattered over ",
                Count(self.pages_min(), "page".into()),
                " or more, and a CPU keeps address translations for fewer"
            )
        } else {
            say!(": the CPU's counters show last-level cache misses and few instructions")
        });
        let mut lines = vec![
            say!(
                Count(row.jumping, "sample".into()),
                " of ",
                Count(row.samples, "sample".into()),
                " are at such loads"
            ),
            say!(
                Count(row.addresses, "address".into()),
                " in ",
                Count(row.lines, "cache line".into()),
                " and ",
                Count(row.pages, "page".into()),
                ": ",
                Count(set.pairs, "pair".into()),
                " in the same cache line"
            ),
        ];
        lines.extend(figures);
        if let Some((near, far)) = cost {
            let ns = |ns: f64| Piece::Ns(ns.round() as Ns);
            lines.push(say!(
                "a load from ",
                Bytes(set.lo),
                " takes ",
                ns(far),
                " by dwell ladder, one from half of that cache ",
                ns(near)
            ));
        }
        Finding {
            cause: CAUSE.name.clone(),
            place: place(evidence, owner),
            what,
            change: say!(
                "put together in memory what it uses together (an array instead of links, smaller records, sorted \
                 lookups), or prefetch the next items"
            ),
            share_ns,
            saving: evidence.saving(
                &Removal::Samples(share),
                (load_costs::PART_MIN, 1.0),
                SavingBasis::Assumed,
            ),
            evidence: lines,
            assumes: vec![say!("the data can be laid out so that these loads hit a cache or go in order")],
            verify: vec![say!(
                "dwell run ",
                how_shown(owner),
                " '",
                Name(owner.frame.function.clone()),
                "' …"
            )],
            explains: Vec::new(),
            belief: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::own_code::tests::{Told, native};
    use crate::judge::samples::{found, judged_with, run, saves};
    use model::Diagnosis;
    use model::costs::LoadCost;
    use model::ladder::Cache;
    use model::loads::SetBytes;

    const MS: Ns = 1_000_000;
    const MIB: u64 = 1 << 20;

    fn row() -> LoadRow {
        LoadRow {
            function: "walk".into(),
            module: "program".into(),
            samples: 1000,
            at_loads: 1000,
            stepping: 0,
            jumping: 1000,
            addresses: 1000,
            lines: 1000,
            pages: 990,
            set_bytes: Seen::Value(SetBytes { pairs: 0, lo: 10 * MIB, hi: None }),
            page_set_bytes: Seen::Value(SetBytes { pairs: 9, lo: 16 * MIB, hi: Some(64 * MIB) }),
            in_order: Seen::Value(0.14),
        }
    }

    fn cache(level: u32, bytes: u64, shared_by: u32) -> Cache {
        Cache { level, bytes, line_bytes: 64, shared_by }
    }

    fn judged(row: LoadRow, costs: Option<&[LoadCost]>) -> Diagnosis {
        let mut run = run(&[(State::User, 1000 * MS)]);
        let caches = vec![cache(1, 32 << 10, 1), cache(2, MIB, 1), cache(3, 32 * MIB, 2)];
        run.tables.loads = Seen::Value(LoadTable { functions: vec![row], caches });
        if let Some(costs) = costs {
            let mut all = crate::judge::load_costs::tests::costs();
            all.load_ns = Seen::Value(costs.to_vec());
            run.costs = Seen::Value(all);
        }
        let told = Told::default().stack(900, Activity::User, &[native("program", "walk")]).stack(
            100,
            Activity::User,
            &[native("program", "other")],
        );
        judged_with(&run, &told.0, &Seen::Absent)
    }

    fn is_found(row: LoadRow) -> bool {
        found(&judged(row, None), "memory-latency").is_some()
    }

    fn is_open(row: LoadRow) -> bool {
        judged(row, None).unavailable.iter().any(|(cause, _)| cause.id == "memory-latency")
    }

    #[test]
    fn without_a_ladder_a_third_goes_at_least() {
        let diagnosis = judged(row(), None);
        let finding = found(&diagnosis, "memory-latency").expect("it is there");
        let (lo, hi) = saves(finding);
        assert!((280 * MS..300 * MS).contains(&lo) && hi > 900 * MS, "{lo} to {hi}");
        assert!(found(&diagnosis, "hot-code").is_none(), "it is the same time");
    }

    #[test]
    fn threads_that_load_from_fewer_lines_than_they_are_wait_for_these() {
        let found_with = |threads: u32, lines: u64, elsewhere: u64| {
            let row = LoadRow {
                jumping: 1000 - elsewhere,
                lines,
                pages: 1,
                set_bytes: Seen::Value(SetBytes { pairs: 9, lo: 64, hi: Some(64 * lines) }),
                in_order: Seen::Value(1.0),
                ..row()
            };
            let mut run = run(&[(State::User, 1000 * MS)]);
            run.tables.loads = Seen::Value(LoadTable { functions: vec![row], caches: Vec::new() });
            let mut told = Told::default().stack(1000, Activity::User, &[native("program", "walk")]);
            let weight = told.0.weights[0];
            told.0.weights = (0..threads).map(|thread| model::profile::Weight { thread, ..weight }).collect();
            let diagnosis = judged_with(&run, &told.0, &Seen::Absent);
            found(&diagnosis, "memory-latency").is_some()
        };
        assert!(found_with(2, 1, 0) && found_with(4, 3, 49));
        assert!(!found_with(1, 1, 0), "nobody shares it");
        assert!(!found_with(2, 2, 0), "each may have its own");
        assert!(!found_with(2, 1, 50), "it does something else as well");
    }

    #[test]
    fn with_a_ladder_it_is_there_only_where_such_loads_cost_more() {
        let curve =
            [(MIB / 2, 5.0), (8 * MIB, 50.0), (16 * MIB, 100.0)].map(|(bytes, ns)| LoadCost { bytes, ns });
        assert!(found(&judged(row(), Some(&curve)), "memory-latency").is_some());
        // It costs the same: the cache's size says nothing of this machine.
        let flat = [(MIB / 2, 5.0), (16 * MIB, 6.0)].map(|(bytes, ns)| LoadCost { bytes, ns });
        assert!(found(&judged(row(), Some(&flat)), "memory-latency").is_none());
    }

    #[test]
    fn an_order_or_a_small_set_is_none() {
        assert!(is_found(row()));
        assert!(!is_found(LoadRow { in_order: Seen::Value(0.25), ..row() }));
        let set = |lo: u64, hi: Option<u64>| LoadRow {
            set_bytes: Seen::Value(SetBytes { pairs: 9, lo, hi }),
            ..row()
        };
        assert!(!is_found(set(12 << 10, Some(18 << 10))) && !is_open(set(12 << 10, Some(18 << 10))));
        let pages = |pages: u64, set: LoadRow| LoadRow {
            page_set_bytes: Seen::Value(SetBytes { pairs: 0, lo: pages * 4096, hi: None }),
            ..set
        };
        for row in [set(MIB - 1, Some(2 * MIB)), set(MIB - 1, None)] {
            assert!(is_open(pages(4095, row.clone())), "it may be larger");
            assert!(is_found(pages(4096, row)), "it is spread over more pages than have translations");
        }
        assert!(!is_found(pages(4096, set(12 << 10, Some(18 << 10)))), "the cache holds it");
        assert!(is_found(set(MIB, Some(2 * MIB))));
    }

    #[test]
    fn counters_decide_what_addresses_leave_open() {
        let judged = |row: LoadRow, (instructions, misses, stalled): (f64, f64, Option<f64>)| {
            let told = Told::default().stack(900, Activity::User, &[native("program", "walk")]);
            let mut run = run(&[(State::User, 1000 * MS)]);
            run.tables.loads =
                Seen::Value(LoadTable { functions: vec![row], caches: vec![cache(2, MIB, 1)] });
            run.tables.counters =
                counters::tests::table("walk", counters::tests::counted(instructions, misses, stalled));
            let diagnosis = judged_with(&run, &told.0, &Seen::Absent);
            let out = diagnosis.ruled_out.iter().any(|(cause, _)| cause.id == "memory-latency");
            (found(&diagnosis, "memory-latency").is_some(), out)
        };
        let (waits, computes) = ((0.3, 40.0, Some(0.8)), (1.9, 0.01, Some(0.1)));
        let few = || LoadRow { addresses: 40, ..row() };
        assert!(is_open(few()));
        assert_eq!(judged(few(), waits), (true, false));
        assert_eq!(judged(few(), computes), (false, true));
        assert_eq!(judged(row(), computes), (false, true), "what jumps may come ahead");
        assert_eq!(judged(row(), (0.3, 40.0, Some(0.5))), (true, false), "not certain: the addresses tell");
        // Where the addresses are not known, and not where it runs through an array.
        let unknown = || LoadRow { jumping: 0, addresses: 0, in_order: Seen::unseen("too few"), ..row() };
        assert_eq!(judged(unknown(), waits), (true, false));
        assert_eq!(judged(LoadRow { stepping: 900, ..unknown() }, waits), (false, true));
    }

    #[test]
    fn half_of_its_samples_stand_at_such_loads() {
        assert!(is_found(LoadRow { jumping: 500, ..row() }));
        assert!(!is_found(LoadRow { jumping: 499, ..row() }));
        assert!(is_open(LoadRow { addresses: 99, ..row() }), "an order would not show");
        assert!(!is_found(LoadRow { function: "other".into(), jumping: 499, ..row() }));
    }

    #[test]
    fn it_is_ruled_out_where_there_is_no_code_that_loads() {
        let is_open = |user_ns: Ns| {
            let mut run = run(&[(State::User, user_ns), (State::Sleep, 1000 - user_ns)]);
            run.tables.loads = Seen::unseen("not recorded");
            let diagnosis = judged_with(&run, &model::Profile::default(), &Seen::Absent);
            diagnosis.unavailable.iter().any(|(cause, _)| cause.id == "memory-latency")
        };
        assert!(is_open(50) && !is_open(49));
    }
}
