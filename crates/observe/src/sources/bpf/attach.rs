//! Which programs are attached to what, and what is not seen where the kernel refuses one.

use super::load::Refused;
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

/// Younger kernels have these; without them a wait on a local network peer may stay a wait.
const WANTED: &[&str] = &["sk_data_ready", "sock_send_length"];

/// When requests to disks begin and end; a kernel without block devices has none.
const REQUESTS: &[&str] = &["block_rq_issue", "block_rq_complete"];

/// Which file a fault is about, the best first: the first that can be had is enough.
const PAGES: [&str; 2] = ["mm_filemap_fault", "mm_filemap_add_to_page_cache"];

/// What tells of connections and names; the account does without.
const NETWORK: &[&str] = &["inet_sock_set_state", "net_dev_queue", "netif_receive_skb"];

/// All that programs are attached to.
pub(super) fn tracepoints() -> impl Iterator<Item = &'static str> {
    [NEEDED, WANTED, REQUESTS, &PAGES, NETWORK].into_iter().flatten().copied()
}

/// What came of attaching all.
pub(super) struct Attached {
    /// The programs without which there is no account.
    pub(super) links: Vec<Link>,
    /// What is seen, and why not more.
    pub(super) sources: Vec<Source>,
    /// A fault that reads and is on no file is on swap.
    pub(super) swaps: bool,
}

/// Attaches every tracepoint.
pub(super) fn everything(ebpf: &mut Ebpf, btf: &Btf) -> Result<Attached, Refused> {
    let links = attach(ebpf, NEEDED, btf).into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut sources = vec![full("switches"), full("calls"), sockets(ebpf, btf)];
    let (disks, swaps) = files(ebpf, btf);
    sources.extend(disks);
    sources.push(network(ebpf, btf));
    Ok(Attached { links, sources, swaps })
}

/// Why programs of these were refused.
fn refused(ebpf: &mut Ebpf, names: &[&'static str], btf: &Btf) -> Vec<Refused> {
    attach(ebpf, names, btf).into_iter().filter_map(Result::err).collect()
}

fn sockets(ebpf: &mut Ebpf, btf: &Btf) -> Source {
    match refused(ebpf, WANTED, btf).first() {
        None => full("sockets"),
        Some(why) => partial(
            "sockets",
            why.to_string(),
            "a kernel from 6.3 on tells which socket became ready and who sent",
        ),
    }
}

fn network(ebpf: &mut Ebpf, btf: &Btf) -> Source {
    let refused = refused(ebpf, NETWORK, btf);
    let Some(why) = refused.first() else { return full("network") };
    let remedy = "a kernel with the tracepoints of its network (CONFIG_NET) tells of connections and names";
    let seen = if refused.len() == NETWORK.len() { Extent::None } else { Extent::Partial };
    Source { seen, ..partial("network", why.to_string(), remedy) }
}

/// Attaches what names requests to disks and the files of faults. What it cannot; whether a fault
/// on no file is one on swap.
fn files(ebpf: &mut Ebpf, btf: &Btf) -> (Vec<Source>, bool) {
    let requests = match refused(ebpf, REQUESTS, btf).first() {
        None => full("disks"),
        Some(why) => partial("disks", why.to_string(), "a kernel with the block layer's tracepoints"),
    };
    let mut attached = |name| refused(ebpf, &[name], btf).is_empty();
    let exact = attached(PAGES[0]);
    let pages = match exact || attached(PAGES[1]) {
        _ if exact => None,
        true => Some(partial(
            "pages",
            "of faults that wait for what was being read already, the file is not known".into(),
            "a kernel from 6.13 on tells the file of each fault",
        )),
        false => Some(partial("pages", "the kernel does not tell the files of faults".into(), "")),
    };
    // A fault without a file is on swap only where the file of each fault is reported.
    let swaps = exact && mounts::swaps(host::here());
    (iter::once(requests).chain(pages).collect(), swaps)
}

pub(super) fn full(name: &str) -> Source {
    Source { name: name.into(), seen: Extent::Full, why: String::new(), remedy: String::new() }
}

fn partial(name: &str, why: String, remedy: &str) -> Source {
    Source { name: name.into(), seen: Extent::Partial, why, remedy: remedy.into() }
}

/// Loads and attaches these programs, two at a time. The kernel's check of them is the longest part
/// of the start-up that is left; two threads take 11 ms for what takes one 16 ms (lower quartiles
/// of 60).
pub(crate) fn attach(ebpf: &mut Ebpf, names: &[&'static str], btf: &Btf) -> Vec<Result<Link, Refused>> {
    let mut programs: BTreeMap<_, _> = ebpf.programs_mut().collect();
    let queue: Vec<_> = names.iter().map(|name| (*name, programs.remove(name))).collect();
    let queue = Mutex::new(queue.into_iter());
    let work = || {
        let next = || queue.lock().expect("nothing panics while it holds the queue").next();
        iter::from_fn(next).map(|(name, program)| attach_one(name, program, btf)).collect::<Vec<_>>()
    };
    thread::scope(|scope| {
        let other = scope.spawn(work);
        let mut done = work();
        done.extend(other.join().expect("loading a program does not panic"));
        done
    })
}

/// A program and what holds it where it is attached.
pub(crate) type Link = (&'static str, BtfTracePointLinkId);

fn attach_one(name: &'static str, program: Option<&mut Program>, btf: &Btf) -> Result<Link, Refused> {
    let refused = |doing| {
        move |error: ProgramError| Refused::Program {
            doing,
            program: name.to_owned(),
            error: Box::new(error),
        }
    };
    let program: &mut BtfTracePoint =
        program.ok_or(Refused::Missing(name))?.try_into().map_err(refused("find"))?;
    program.load(name, btf).map_err(refused("load"))?;
    let link = program.attach().map_err(refused("attach"))?;
    Ok((name, link))
}
