//! Which programs are attached to what, and what is unseen where the kernel refuses one.

use super::refusal::BpfRefusal;
use super::types::Types;
use crate::mounts;
use aya::programs::tp_btf::BtfTracePointLinkId;
use aya::programs::{BtfTracePoint, Program, ProgramError};
use aya::{Btf, Ebpf};
use model::coverage::{Extent, Source};
use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Mutex;
use std::{iter, thread};

/// Without these there is no account.
const NEEDED: &[&str] = &[
    "sched_switch",
    "sys_enter",
    "sys_exit",
    "sched_waking",
    "sched_process_fork",
    "sched_wakeup_new",
    "sched_process_exec",
    "sched_process_exit",
    "task_rename",
    "softirq_entry",
    "softirq_exit",
    "irq_handler_entry",
    "irq_handler_exit",
    "hrtimer_expire_entry",
    "hrtimer_expire_exit",
];

/// Newer kernels have these; without them a wait on a network peer on this host may not be followed
/// to it.
const WANTED: &[&str] = &["sk_data_ready", "sock_send_length"];

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

/// Those that take longest to load, the longest first: so that no thread is left with one of them
/// when all others have been loaded.
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

/// At most so many threads load programs: the longest one takes a quarter of the time of all.
const THREADS_MAX: usize = 4;

/// All tracepoints used.
pub(super) fn tracepoints() -> impl Iterator<Item = &'static str> {
    [NEEDED, WANTED, REQUESTS, &[MAKER], &PAGES, NETWORK].into_iter().flatten().copied()
}

/// The outcome of attaching all.
pub(super) struct AttachedPrograms {
    /// The programs without which there is no account.
    pub(super) links: Vec<Link>,
    /// What is observed, and why not more.
    pub(super) sources: Vec<Source>,
    /// A page fault that reads without a file is from swap.
    pub(super) swaps: bool,
    /// Whether the programs of the sampling clock and of page faults can be attached.
    pub(super) sample: Result<(), BpfRefusal>,
    pub(super) fault: Result<(), BpfRefusal>,
    /// The same of the processor's counters.
    pub(super) counted: Result<(), BpfRefusal>,
}

/// Attaches every tracepoint, and loads the programs of perf events.
pub(super) fn everything(ebpf: &mut Ebpf, types: &Types) -> Result<AttachedPrograms, BpfRefusal> {
    let mut all = [NEEDED, WANTED, REQUESTS, &PAGES[..1], NETWORK, &OF_EVENTS].concat();
    // Others rely on it where the kernel has it.
    all.extend(types.has_tracepoint(MAKER).then_some(MAKER));
    let btf = types.targets();
    let mut done: Outcomes = load_all(ebpf, &all, btf).into_iter().collect();
    let mut links = Vec::new();
    for name in NEEDED {
        let link = done.remove(name).ok_or(BpfRefusal::Missing(name))??;
        links.extend(link.map(|link| (*name, link)));
    }
    let mut sources = vec![Source::full("switches"), Source::full("calls"), sockets(&mut done)];
    let (disks, swaps) = files(ebpf, btf, &mut done);
    sources.extend(disks);
    sources.push(network(&mut done));
    let [sample, fault, counted] =
        OF_EVENTS.map(|name| done.remove(name).unwrap_or(Err(BpfRefusal::Missing(name))).map(|_| ()));
    Ok(AttachedPrograms { links, sources, swaps, sample, fault, counted })
}

/// What became of each program.
type Outcomes = BTreeMap<&'static str, Result<Option<BtfTracePointLinkId>, BpfRefusal>>;

/// Why any of these programs was refused.
fn refused(done: &mut Outcomes, names: &[&'static str]) -> Vec<BpfRefusal> {
    names.iter().filter_map(|name| done.remove(name)?.err()).collect()
}

fn sockets(done: &mut Outcomes) -> Source {
    match refused(done, WANTED).first() {
        None => Source::full("sockets"),
        Some(why) => Source::partial(
            "sockets",
            why.to_string(),
            "Linux 6.3 or newer: it reports which socket became ready, and the sender",
        ),
    }
}

fn network(done: &mut Outcomes) -> Source {
    let refused = refused(done, NETWORK);
    let Some(why) = refused.first() else { return Source::full("network") };
    let remedy = "a kernel with the tracepoints of its network (CONFIG_NET)";
    let seen = if refused.len() == NETWORK.len() { Extent::None } else { Extent::Partial };
    Source { seen, ..Source::partial("network", why.to_string(), remedy) }
}

/// The programs for block requests and for files of page faults. Returns what could not be
/// attached, and whether a fault without a file is from swap.
fn files(ebpf: &mut Ebpf, btf: &Btf, done: &mut Outcomes) -> (Vec<Source>, bool) {
    let requests = match refused(done, &[REQUESTS, &[MAKER]].concat()).first() {
        None => Source::full("disks"),
        Some(why) => Source::partial("disks", why.to_string(), "a kernel with the block layer's tracepoints"),
    };
    let exact = refused(done, &PAGES[..1]).is_empty();
    let pages = match exact || attach(ebpf, &PAGES[1..], btf).iter().all(Result::is_ok) {
        _ if exact => None,
        true => Some(Source::partial(
            "pages",
            "the file is not known for page faults that wait for a read in progress",
            "Linux 6.13 or newer: it reports the file of each page fault",
        )),
        false => Some(Source::partial("pages", "the kernel does not report the files of page faults", "")),
    };
    // A page fault without a file is from swap only where the file of each fault is reported.
    let swaps = exact && mounts::swaps(host::here());
    (iter::once(requests).chain(pages).collect(), swaps)
}

/// Loads and attaches these programs of tracepoints.
pub(crate) fn attach(ebpf: &mut Ebpf, names: &[&'static str], btf: &Btf) -> Vec<Result<Link, BpfRefusal>> {
    let linked = |(name, done): (_, Result<Option<_>, _>)| {
        done.and_then(|link| link.map(|link| (name, link)).ok_or(BpfRefusal::Missing(name)))
    };
    load_all(ebpf, names, btf).into_iter().map(linked).collect()
}

/// Loads these programs and attaches those of tracepoints, several at a time. The verifier takes
/// the longest part of the start-up, and most of it is four programs: so all are in one queue, in
/// which these are first.
fn load_all(
    ebpf: &mut Ebpf,
    names: &[&'static str],
    btf: &Btf,
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
        iter::from_fn(next).map(|(name, program)| (name, load_one(name, program, btf))).collect::<Vec<_>>()
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
    btf: &Btf,
) -> Result<Option<BtfTracePointLinkId>, BpfRefusal> {
    let refused = |doing| {
        move |error: ProgramError| BpfRefusal::Program {
            doing,
            program: name.to_owned(),
            error: Box::new(error),
        }
    };
    let program = program.ok_or(BpfRefusal::Missing(name))?;
    if let Program::PerfEvent(program) = program {
        program.load().map_err(refused("load"))?;
        return Ok(None);
    }
    let program: &mut BtfTracePoint = program.try_into().map_err(refused("find"))?;
    program.load(name, btf).map_err(refused("load"))?;
    Ok(Some(program.attach().map_err(refused("attach"))?))
}
