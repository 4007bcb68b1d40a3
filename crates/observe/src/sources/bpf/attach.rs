//! Which programs are attached to what, and what is unseen where the kernel refuses one.

use super::refusal::BpfRefusal;
use crate::mounts;
use aya::programs::tp_btf::BtfTracePointLinkId;
use aya::programs::{BtfTracePoint, Program, ProgramError};
use aya::{Btf, Ebpf};
use model::coverage::{Extent, Source};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::{iter, thread};

/// Without these there is no account. The one that takes longest to load comes first.
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

/// Who makes a request; without it that is who issues it.
const MAKERS: &[&str] = &["block_io_start"];

/// The file of a page fault, the best first: the first available one is enough.
const PAGES: [&str; 2] = ["mm_filemap_fault", "mm_filemap_add_to_page_cache"];

/// Connections and name lookups; not needed for the account.
const NETWORK: &[&str] = &["inet_sock_set_state", "net_dev_queue", "netif_receive_skb"];

/// All tracepoints used.
pub(super) fn tracepoints() -> impl Iterator<Item = &'static str> {
    [NEEDED, WANTED, REQUESTS, MAKERS, &PAGES, NETWORK].into_iter().flatten().copied()
}

/// The outcome of attaching all.
pub(super) struct AttachedPrograms {
    /// The programs without which there is no account.
    pub(super) links: Vec<Link>,
    /// What is observed, and why not more.
    pub(super) sources: Vec<Source>,
    /// A page fault that reads without a file is from swap.
    pub(super) swaps: bool,
}

/// Attaches every tracepoint.
pub(super) fn everything(ebpf: &mut Ebpf, btf: &Btf) -> Result<AttachedPrograms, BpfRefusal> {
    let links = attach(ebpf, NEEDED, btf).into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut sources = vec![full("switches"), full("calls"), sockets(ebpf, btf)];
    let (disks, swaps) = files(ebpf, btf);
    sources.extend(disks);
    sources.push(network(ebpf, btf));
    Ok(AttachedPrograms { links, sources, swaps })
}

/// Why any of these programs was refused.
fn refused(ebpf: &mut Ebpf, names: &[&'static str], btf: &Btf) -> Vec<BpfRefusal> {
    attach(ebpf, names, btf).into_iter().filter_map(Result::err).collect()
}

fn sockets(ebpf: &mut Ebpf, btf: &Btf) -> Source {
    match refused(ebpf, WANTED, btf).first() {
        None => full("sockets"),
        Some(why) => partial(
            "sockets",
            why.to_string(),
            "Linux 6.3 or newer: it reports which socket became ready, and the sender",
        ),
    }
}

fn network(ebpf: &mut Ebpf, btf: &Btf) -> Source {
    let refused = refused(ebpf, NETWORK, btf);
    let Some(why) = refused.first() else { return full("network") };
    let remedy = "a kernel with the tracepoints of its network (CONFIG_NET)";
    let seen = if refused.len() == NETWORK.len() { Extent::None } else { Extent::Partial };
    Source { seen, ..partial("network", why.to_string(), remedy) }
}

/// Attaches the programs for block requests and for files of page faults. Returns what it could not
/// attach, and whether a fault without a file is from swap.
fn files(ebpf: &mut Ebpf, btf: &Btf) -> (Vec<Source>, bool) {
    let requests = match refused(ebpf, REQUESTS, btf).first() {
        None => full("disks"),
        Some(why) => partial("disks", why.to_string(), "a kernel with the block layer's tracepoints"),
    };
    refused(ebpf, MAKERS, btf);
    let mut attached = |name| refused(ebpf, &[name], btf).is_empty();
    let exact = attached(PAGES[0]);
    let pages = match exact || attached(PAGES[1]) {
        _ if exact => None,
        true => Some(partial(
            "pages",
            "the file is not known for page faults that wait for a read in progress".into(),
            "Linux 6.13 or newer: it reports the file of each page fault",
        )),
        false => Some(partial("pages", "the kernel does not report the files of page faults".into(), "")),
    };
    // A page fault without a file is from swap only where the file of each fault is reported.
    let swaps = exact && mounts::swaps(host::here());
    (iter::once(requests).chain(pages).collect(), swaps)
}

pub(super) fn full(name: &str) -> Source {
    Source { name: name.into(), seen: Extent::Full, why: String::new(), remedy: String::new() }
}

fn partial(name: &str, why: String, remedy: &str) -> Source {
    Source { name: name.into(), seen: Extent::Partial, why, remedy: remedy.into() }
}

/// Loads and attaches these programs, two at a time. The verifier takes the longest part of the
/// start-up; two threads take 11 ms, one takes 16 ms (lower quartiles of 60).
pub(crate) fn attach(ebpf: &mut Ebpf, names: &[&'static str], btf: &Btf) -> Vec<Result<Link, BpfRefusal>> {
    let mut programs: BTreeMap<_, _> = ebpf.programs_mut().collect();
    let queue: Vec<_> = names.iter().map(|name| (*name, programs.remove(name))).collect();
    let queue = Mutex::new(queue.into_iter());
    let work = || {
        let next = || queue.lock().expect("nothing panics while it holds the queue").next();
        iter::from_fn(next).map(|(name, program)| attach_one(name, program, btf)).collect::<Vec<_>>()
    };
    thread::scope(|scope| {
        // One that cannot be started is not needed.
        let other = thread::Builder::new().spawn_scoped(scope, work).ok();
        let mut done = work();
        done.extend(
            other.into_iter().flat_map(|other| other.join().expect("loading a program does not panic")),
        );
        done
    })
}

/// A program and its link.
pub(crate) type Link = (&'static str, BtfTracePointLinkId);

fn attach_one(name: &'static str, program: Option<&mut Program>, btf: &Btf) -> Result<Link, BpfRefusal> {
    let refused = |doing| {
        move |error: ProgramError| BpfRefusal::Program {
            doing,
            program: name.to_owned(),
            error: Box::new(error),
        }
    };
    let program: &mut BtfTracePoint =
        program.ok_or(BpfRefusal::Missing(name))?.try_into().map_err(refused("find"))?;
    program.load(name, btf).map_err(refused("load"))?;
    let link = program.attach().map_err(refused("attach"))?;
    Ok((name, link))
}
