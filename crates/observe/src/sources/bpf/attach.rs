//! Which programs are attached to what, and what is unseen where the kernel refuses one.

use super::decode::Reports;
use super::firing;
use super::refusal::BpfRefusal;
use super::types::Types;
use crate::mounts;
use aya::Ebpf;
use aya::programs::tp_btf::BtfTracePointLinkId;
use aya::programs::{BtfTracePoint, Program, ProgramError};
use model::coverage::{Extent, Source};
use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Mutex;
use std::{iter, thread};

/// Without these there is no account: which threads there are, which of them has a CPU, and whom
/// the path passes to at the end of a wait.
const NEEDED: &[&str] = &[
    "sched_switch",
    "sched_waking",
    "sys_enter",
    "sched_process_fork",
    "sched_wakeup_new",
    "sched_process_exec",
    "sched_process_exit",
];

/// Without the exit of calls none is counted or timed. Their entry shows when the program begins.
const EXIT: &str = "sys_exit";

/// What a CPU is in when it wakes a thread, the begin and the end of each.
const CONTEXTS: &[&str] = &[
    "softirq_entry",
    "softirq_exit",
    "irq_handler_entry",
    "irq_handler_exit",
    "hrtimer_expire_entry",
    "hrtimer_expire_exit",
];

/// Names that threads give themselves.
const NAMER: &str = "task_rename";

/// Newer kernels have these; without them a wait on a network peer on this host may not be followed
/// to it.
const WANTED: &[&str] = &["sk_data_ready", "sock_send_length", "sock_recv_length"];

/// The issue and completion of block requests; a kernel without block devices lacks them.
const REQUESTS: &[&str] = &["block_rq_issue", "block_rq_complete"];

/// Who makes a request; where the kernel lacks it, that is who issues it.
pub(super) const MAKER: &str = "block_io_start";

/// The file of a page fault, the best first: the first available one is enough.
const PAGES: [&str; 2] = ["mm_filemap_fault", "mm_filemap_add_to_page_cache"];

/// Connections and name lookups; not needed for the account.
const NETWORK: &[&str] = &["inet_sock_set_state", "net_dev_queue", "netif_receive_skb"];

/// Of perf events: loaded with all others, attached where their events are made (`clock.rs`,
/// `fault_samples.rs`, `counted.rs`).
const OF_EVENTS: [&str; 3] = ["sample", "fault", "counted"];

/// The programs that take longest to load, the longest first: so that no thread is left with one of
/// them when all others have been loaded.
const LONGEST: &[&str] = &[
    "sched_switch",
    "sys_exit",
    "fault",
    "sample",
    "sched_waking",
    "block_rq_issue",
    "block_io_start",
    "sched_wakeup_new",
    "sock_send_length",
];

/// At most this many threads load programs: the longest one takes a quarter of the time of all.
const THREADS_MAX: usize = 4;

/// All tracepoints used.
pub(super) fn tracepoints() -> impl Iterator<Item = &'static str> {
    let single = [EXIT, NAMER, MAKER];
    let all = [NEEDED, CONTEXTS, WANTED, REQUESTS, &PAGES, NETWORK].into_iter().flatten().copied();
    all.chain(single)
}

/// The outcome of attaching all.
pub(super) struct AttachedPrograms {
    /// The programs without which there is no account, and those of calls.
    pub(super) links: Vec<Link>,
    /// What is observed, and why not more.
    pub(super) sources: Vec<Source>,
    /// What the decoder is to make of records.
    pub(super) reports: Reports,
    /// Whether the programs of the sampling clock and of page faults can be attached.
    pub(super) sample: Result<(), BpfRefusal>,
    pub(super) fault: Result<(), BpfRefusal>,
    /// The same of the processor's counters.
    pub(super) counted: Result<(), BpfRefusal>,
}

/// Attaches every tracepoint, and loads the programs of perf events. A program that the kernel
/// refuses takes with it what it would have told, and no more.
pub(super) fn everything(ebpf: &mut Ebpf, types: &Types) -> Result<AttachedPrograms, BpfRefusal> {
    let mut all = [NEEDED, CONTEXTS, WANTED, REQUESTS, &PAGES[..1], NETWORK, &OF_EVENTS].concat();
    all.extend([EXIT, NAMER]);
    // Others rely on it where the kernel has it.
    all.extend(types.has_tracepoint(MAKER).then_some(MAKER));
    let mut done = Outcomes::new();
    for (name, one) in load_all(ebpf, &all, types) {
        match one {
            Err(why) if why.is_no_file_left() => return Err(why),
            one => done.insert(name, one),
        };
    }
    for name in firing::silent(ebpf) {
        if let Some(one) = done.get_mut(name).filter(|one| one.is_ok()) {
            *one = Err(BpfRefusal::Silent(name));
        }
    }
    let mut links = Vec::new();
    for name in NEEDED {
        let link = done.remove(name).ok_or(BpfRefusal::Missing(name))??;
        links.extend(link.map(|link| (*name, link)));
    }
    let calls = calls(&mut links, &mut done);
    let contexts = contexts(ebpf, &mut done);
    let no_contexts = contexts.is_some();
    let mut sources = vec![Source::full("switches"), calls, sockets(&mut done)];
    sources.extend(contexts.into_iter().chain(renames(&mut done)));
    let (disks, swaps) = files(ebpf, types, &mut done);
    sources.extend(disks);
    sources.push(network(&mut done));
    let [sample, fault, counted] =
        OF_EVENTS.map(|name| done.remove(name).unwrap_or(Err(BpfRefusal::Missing(name))).map(|_| ()));
    let reports = Reports { swaps, no_contexts };
    Ok(AttachedPrograms { links, sources, reports, sample, fault, counted })
}

/// What became of each program.
type Outcomes = BTreeMap<&'static str, Result<Option<BtfTracePointLinkId>, BpfRefusal>>;

/// Why any of these programs was refused.
fn refused(done: &mut Outcomes, names: &[&'static str]) -> Vec<BpfRefusal> {
    names.iter().filter_map(|name| done.remove(name)?.err()).collect()
}

fn calls(links: &mut Vec<Link>, done: &mut Outcomes) -> Source {
    match done.remove(EXIT).unwrap_or(Err(BpfRefusal::Missing(EXIT))) {
        Ok(link) => {
            links.extend(link.map(|link| (EXIT, link)));
            Source::full("calls")
        }
        Err(why) => {
            let lost = "only calls that wait or are sampled are known";
            Source::none("calls", format!("{lost}: {why}"), why.remedy(""))
        }
    }
}

/// All of them or none: an entry without an exit would be worse.
fn contexts(ebpf: &mut Ebpf, done: &mut Outcomes) -> Option<Source> {
    let (links, refused): (Vec<_>, Vec<_>) = CONTEXTS
        .iter()
        .filter_map(|name| Some((*name, done.remove(name)?)))
        .partition(|(_, one)| one.is_ok());
    let (_, why) = refused.into_iter().next()?;
    let why = why.err()?;
    for (name, link) in links {
        let program = ebpf.program_mut(name).and_then(|program| program.try_into().ok());
        let program: Option<&mut BtfTracePoint> = program;
        if let (Some(program), Ok(Some(link))) = (program, link) {
            // It can only fail for a link that does not exist.
            let _ = program.detach(link);
        }
    }
    let lost = "wake-ups and samples of interrupts cannot be told from others";
    Some(Source::none("interrupts", format!("{lost}: {why}"), why.remedy("")))
}

fn renames(done: &mut Outcomes) -> Option<Source> {
    let why = refused(done, &[NAMER]).pop()?;
    let lost = "threads that rename themselves keep their creator's name";
    Some(Source::none("thread names", format!("{lost}: {why}"), why.remedy("")))
}

fn sockets(done: &mut Outcomes) -> Source {
    match refused(done, WANTED).first() {
        None => Source::full("sockets"),
        Some(why) => {
            let newer =
                "Linux 6.3 or newer: it reports which socket became ready, who sends and who receives";
            Source::partial("sockets", why.to_string(), why.remedy(newer))
        }
    }
}

fn network(done: &mut Outcomes) -> Source {
    let refused = refused(done, NETWORK);
    let Some(why) = refused.first() else { return Source::full("network") };
    let remedy = why.remedy("a kernel with the tracepoints of its network (CONFIG_NET)");
    let seen = if refused.len() == NETWORK.len() { Extent::None } else { Extent::Partial };
    Source { seen, ..Source::partial("network", why.to_string(), remedy) }
}

/// The programs for block requests and for files of page faults. Returns what could not be
/// attached, and whether a fault without a file is from swap.
fn files(ebpf: &mut Ebpf, types: &Types, done: &mut Outcomes) -> (Vec<Source>, bool) {
    let requests = match refused(done, &[REQUESTS, &[MAKER]].concat()).first() {
        None => Source::full("disks"),
        Some(why) => {
            let remedy = why.remedy("a kernel with the block layer's tracepoints");
            Source::partial("disks", why.to_string(), remedy)
        }
    };
    let best = refused(done, &PAGES[..1]).pop();
    let exact = best.is_none();
    let pages = best.map(|why| match attach(ebpf, &PAGES[1..], types).into_iter().find_map(Result::err) {
        None => {
            let lost = "the file is not known for page faults that wait for a read in progress";
            let newer = "Linux 6.12 or newer: it reports the file of each page fault";
            Source::partial("pages", format!("{lost}: {why}"), why.remedy(newer))
        }
        Some(why) => {
            let lost = "the kernel does not report the files of page faults";
            Source::none("pages", format!("{lost}: {why}"), why.remedy(""))
        }
    });
    // A page fault without a file is from swap only where the file of each fault is reported.
    let swaps = exact && mounts::swaps(host::here());
    (iter::once(requests).chain(pages).collect(), swaps)
}

/// Loads and attaches these programs of tracepoints.
pub(crate) fn attach(
    ebpf: &mut Ebpf,
    names: &[&'static str],
    types: &Types,
) -> Vec<Result<Link, BpfRefusal>> {
    let linked = |(name, done): (_, Result<Option<_>, _>)| {
        done.and_then(|link| link.map(|link| (name, link)).ok_or(BpfRefusal::Missing(name)))
    };
    load_all(ebpf, names, types).into_iter().map(linked).collect()
}

/// Loads these programs and attaches those of tracepoints, several at a time. The verifier takes
/// the longest part of the start-up, and most of it is four programs: so all are in one queue, in
/// which these are first.
fn load_all(
    ebpf: &mut Ebpf,
    names: &[&'static str],
    types: &Types,
) -> Vec<(&'static str, Result<Option<BtfTracePointLinkId>, BpfRefusal>)> {
    let mut programs: BTreeMap<_, _> = ebpf.programs_mut().collect();
    let mut queue: Vec<_> = names.iter().map(|name| (*name, programs.remove(name))).collect();
    let place = |name| LONGEST.iter().position(|long| *long == name).unwrap_or(LONGEST.len());
    queue.sort_by_key(|(name, _)| place(*name));
    let cpus = thread::available_parallelism().map_or(1, NonZero::get);
    let threads = cpus.min(THREADS_MAX).min(queue.len());
    let queue = Mutex::new(queue.into_iter());
    let work = || {
        let next = || queue.lock().expect("nothing panics while it holds the queue").next();
        iter::from_fn(next).map(|(name, program)| (name, load_one(name, program, types))).collect::<Vec<_>>()
    };
    thread::scope(|scope| {
        // Those that cannot be started are not needed.
        let start = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..threads).filter_map(start).collect();
        let mut done = work();
        for other in others {
            done.extend(other.join().expect("loading a program does not panic"));
        }
        done
    })
}

/// A program and its link.
pub(crate) type Link = (&'static str, BtfTracePointLinkId);

/// Loads it; one of a tracepoint is attached, and has a link.
fn load_one(
    name: &'static str,
    program: Option<&mut Program>,
    types: &Types,
) -> Result<Option<BtfTracePointLinkId>, BpfRefusal> {
    let refused = |doing| {
        move |error: ProgramError| BpfRefusal::Program {
            doing,
            program: name.to_owned(),
            error: Box::new(error),
        }
    };
    let program = program.ok_or(BpfRefusal::Missing(name))?;
    let not_loaded = |error| BpfRefusal::of_load(name, error, types.lacking());
    if let Program::PerfEvent(program) = program {
        program.load().map_err(not_loaded)?;
        return Ok(None);
    }
    let program: &mut BtfTracePoint = program.try_into().map_err(refused("find"))?;
    if !types.has_tracepoint(name) {
        return Err(BpfRefusal::NoTracepoint(name));
    }
    program.load(name, types.targets()).map_err(not_loaded)?;
    Ok(Some(program.attach().map_err(refused("attach"))?))
}
