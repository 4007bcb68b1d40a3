//! What a thread that was seen waiting waits for, from the call it is in, that call's first argument, and the
//! kernel function it sleeps in. The best of the three that could be read decides.

use crate::calls::{Arch, waits_for};
use model::network::Endpoint;
use model::recording::{Ends, FileKind, Looked, Object};
use model::wait::{Reason, TargetKind, WaitCall, WaitTarget};
use model::{Seen, State};

/// One kind of wait.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Wait {
    pub(super) state: State,
    /// The call; unseen outside one or where it could not be read.
    pub(super) call: WaitCall,
    pub(super) on: WaitTarget,
    pub(super) follow: Follow,
}

/// Where the path may go on from a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Follow {
    /// Nowhere: the time is a wait.
    Nowhere,
    /// Into a child process.
    Children,
    /// Into a child process, if one is busy: what a poll waits for cannot be read from outside.
    BusyChildren,
    /// Into another thread of the process.
    Siblings,
    /// Into a process that has the other end of this pipe.
    Pipe { ino: u64, writes: bool },
}

impl Wait {
    /// A wait that no look fell into.
    pub(super) fn unseen() -> Self {
        let target = WaitTarget::External(Seen::unseen("no look fell into it"));
        on(State::OtherWait, &WaitCall::Unseen, target, Follow::Nowhere)
    }

    /// For a place on the path: the call and what it was about.
    pub(super) fn reason(&self) -> Reason {
        Reason::Wait(self.call.clone(), self.on.clone())
    }
}

/// What a thread in state S or D waits for.
pub(super) fn wait(looked: &Looked, arch: Arch) -> Wait {
    let deep = looked.state == b'D';
    let wchan = looked.wchan.value().map(String::as_str).unwrap_or_default();
    let call = looked.call.value().and_then(|call| arch.name(*call)).unwrap_or_default();
    let shown = match looked.call {
        Seen::Value(call) => WaitCall::Syscall(arch.syscall(call)),
        Seen::Absent | Seen::Unseen(_) => WaitCall::Unseen,
    };
    if let Some(wait) = by_object(&looked.on, &shown, call, wchan) {
        return wait;
    }
    if !call.is_empty()
        && let Some(wait) = by_call(call, &shown, deep)
    {
        return wait;
    }
    let file = |why| on(State::Disk, &shown, WaitTarget::File(Seen::unseen(why)), Follow::Nowhere);
    by_wchan(wchan, &shown).unwrap_or_else(|| match (&looked.call, deep) {
        // Asleep outside any call, in a way that no signal ends: a fault that is read in.
        (Seen::Absent, true) => file("a fault"),
        (_, true) => file("uninterruptible sleep"),
        _ => {
            let target = WaitTarget::External(Seen::unseen("not to be told from outside"));
            on(State::OtherWait, &shown, target, Follow::Nowhere)
        }
    })
}

fn on(state: State, call: &WaitCall, on: WaitTarget, follow: Follow) -> Wait {
    Wait { state, call: call.clone(), on, follow }
}

fn by_object(object: &Object, shown: &WaitCall, call: &str, wchan: &str) -> Option<Wait> {
    let nowhere = |state, target| Some(on(state, shown, target, Follow::Nowhere));
    match object {
        Object::Unknown => None,
        Object::Futex { .. } => Some(futex(shown)),
        Object::Net(ends) => nowhere(State::Network, socket(*ends)),
        Object::Unix { .. } => nowhere(State::Pipe, WaitTarget::Unix(Seen::unseen("its other end"))),
        Object::OtherSocket { .. } => {
            nowhere(State::OtherWait, WaitTarget::External(Seen::Value("socket".to_owned())))
        }
        Object::File { kind, ino, name, .. } => {
            let named = Seen::Value(name.to_text());
            match kind {
                // A named pipe looks like any file from outside; the kernel function tells.
                FileKind::Disk if wchan.contains("pipe") || wchan.contains("fifo") => {
                    nowhere(State::Pipe, WaitTarget::Pipe(named))
                }
                FileKind::Disk if call == "flock" || call == "fcntl" => {
                    nowhere(State::Lock, WaitTarget::File(named))
                }
                FileKind::Disk => nowhere(State::Disk, WaitTarget::File(named)),
                FileKind::Remote => nowhere(State::Network, WaitTarget::File(named)),
                FileKind::Pipe => {
                    let writes = call.contains("write") || call == "vmsplice" || call == "tee";
                    let follow = Follow::Pipe { ino: *ino, writes };
                    Some(on(State::Pipe, shown, WaitTarget::Pipe(Seen::Absent), follow))
                }
                FileKind::Tty => nowhere(State::Pipe, WaitTarget::Tty(named)),
                FileKind::TimerFd => nowhere(State::Sleep, WaitTarget::Timer(named)),
                FileKind::Epoll => Some(poll(shown)),
                FileKind::Device => nowhere(State::OtherWait, WaitTarget::Device(named)),
                FileKind::EventFd | FileKind::Anonymous => {
                    nowhere(State::OtherWait, WaitTarget::External(named))
                }
            }
        }
    }
}

/// The other end; of a socket that has none the port on which it listens.
fn socket(ends: Ends) -> WaitTarget {
    let end = match ends.remote_port {
        0 => Endpoint { address: None, port: ends.local_port },
        port => Endpoint::new(ends.remote, port),
    };
    if ends.protocol == 17 { WaitTarget::Udp(end) } else { WaitTarget::Tcp(end) }
}

fn futex(shown: &WaitCall) -> Wait {
    on(State::Lock, shown, WaitTarget::Futex(Seen::Absent), Follow::Siblings)
}

fn poll(shown: &WaitCall) -> Wait {
    let target = WaitTarget::External(Seen::unseen("which of the polled objects"));
    on(State::OtherWait, shown, target, Follow::BusyChildren)
}

fn child(shown: &WaitCall) -> Wait {
    on(State::OtherWait, shown, WaitTarget::Child(Seen::unseen("which child")), Follow::Children)
}

/// From the call alone; `None` where it says too little.
fn by_call(call: &str, shown: &WaitCall, deep: bool) -> Option<Wait> {
    Some(match call {
        // vfork and its like sleep until the child executes or ends; a shell may wait for a child's signal.
        "wait4" | "waitid" | "waitpid" | "vfork" | "clone" | "clone3" | "rt_sigsuspend" => child(shown),
        "poll" | "ppoll" | "ppoll_time64" | "select" | "_newselect" | "pselect6" | "pselect6_time64"
        | "epoll_wait" | "epoll_pwait" | "epoll_pwait2" => poll(shown),
        _ => {
            let unnamed = Seen::unseen("its name");
            let (state, target) = match waits_for(call, deep) {
                State::OtherWait => return None,
                State::Sleep => (State::Sleep, WaitTarget::Timer(Seen::Absent)),
                State::Lock if call.starts_with("futex") => return Some(futex(shown)),
                State::Disk => (State::Disk, WaitTarget::File(unnamed)),
                State::Pipe => (State::Pipe, WaitTarget::Pipe(unnamed)),
                state => (state, WaitTarget::External(unnamed)),
            };
            on(state, shown, target, Follow::Nowhere)
        }
    })
}

/// From the kernel function: prefixes, since names gain and lose suffixes between kernels and compilers.
fn by_wchan(wchan: &str, shown: &WaitCall) -> Option<Wait> {
    const DISK: &[&str] = &[
        "io_schedule",
        "folio_wait",
        "wait_on_page",
        "wait_on_buffer",
        "__wait_on_buffer",
        "bit_wait_io",
        "blk_",
        "submit_bio",
        "rq_qos_wait",
        "balance_dirty",
        "jbd2_",
        "ext4_",
        "xfs_",
        "btrfs_",
        "f2fs_",
        "__filemap",
        "filemap_",
        "iomap_",
        "do_blockdev_direct",
    ];
    const NETWORK: &[&str] = &[
        "inet_",
        "sk_wait",
        "sk_stream_wait",
        "tcp_",
        "udp_",
        "__skb_wait",
        "wait_woken",
        "nfs",
        "rpc_",
        "wait_on_commit",
        "cifs",
        "smb",
        "fuse_",
        "request_wait_answer",
        "p9_",
    ];
    const LOCK: &[&str] =
        &["rwsem_", "mutex_", "__mutex", "flock_", "posix_lock", "down_", "fcntl_setlk", "locks_lock"];
    const POLL: &[&str] = &[
        "do_epoll_wait",
        "ep_poll",
        "do_sys_poll",
        "do_poll",
        "poll_schedule",
        "do_select",
        "core_sys_select",
    ];
    const TIMER: &[&str] = &["hrtimer_nanosleep", "do_nanosleep", "common_nsleep"];
    const CHILD: &[&str] = &["do_wait", "kernel_wait", "wait_for_vfork", "sigsuspend"];
    const PIPE: &[&str] = &["pipe_", "anon_pipe", "fifo_", "wait_for_partner", "unix_", "n_tty", "tty_"];
    let starts = |with: &[&str]| with.iter().any(|prefix| wchan.starts_with(prefix));
    let inside =
        |state, kind| on(state, shown, WaitTarget::KernelFunction(kind, wchan.to_owned()), Follow::Nowhere);
    Some(if starts(CHILD) {
        child(shown)
    } else if wchan.starts_with("futex") {
        futex(shown)
    } else if starts(TIMER) {
        on(State::Sleep, shown, WaitTarget::Timer(Seen::Absent), Follow::Nowhere)
    } else if starts(PIPE) {
        inside(State::Pipe, TargetKind::Pipe)
    } else if starts(POLL) {
        poll(shown)
    } else if starts(DISK) {
        inside(State::Disk, TargetKind::File)
    } else if starts(NETWORK) {
        inside(State::Network, TargetKind::External)
    } else if starts(LOCK) {
        inside(State::Lock, TargetKind::External)
    } else {
        return None;
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Call;
    use model::recording::Comm;

    fn looked(state: u8, call: Seen<Call>, object: Object, wchan: &str) -> Looked {
        Looked {
            tid: 1,
            pid: 1,
            parent: 0,
            name: Comm::from("a"),
            state,
            call,
            on: object,
            wchan: if wchan.is_empty() { Seen::Absent } else { Seen::Value(wchan.to_owned()) },
            cpu_ns: Seen::Value(0),
            runqueue_ns: Seen::Value(0),
            user_ns: 0,
            kernel_ns: 0,
            minor_faults: 0,
            major_faults: 0,
            pipes: Vec::new(),
        }
    }

    fn file(kind: FileKind) -> Object {
        Object::File { kind, dev: 0, ino: 7, name: Comm::from("name") }
    }

    fn check(looked: &Looked, state: State, reason: &str) {
        let wait = wait(looked, Arch::X86);
        assert_eq!((wait.state, wait.reason().to_string().as_str()), (state, reason), "{looked:?}");
    }

    #[test]
    fn a_wait_is_told_by_object_then_call_then_kernel_function() {
        let unseen = || Seen::unseen("Permission denied");
        let value = |number| Seen::Value(Call(number));
        let none = Object::Unknown;
        check(&looked(b'S', value(0), file(FileKind::Pipe), "anon_pipe_read"), State::Pipe, "read, pipe");
        check(&looked(b'S', value(0), file(FileKind::Disk), "fifo_open"), State::Pipe, "read, pipe name");
        check(
            &looked(b'D', value(0), file(FileKind::Disk), "folio_wait_bit"),
            State::Disk,
            "read, file name",
        );
        check(&looked(b'S', value(73), file(FileKind::Disk), ""), State::Lock, "flock, file name");
        check(&looked(b'S', value(0), file(FileKind::Tty), ""), State::Pipe, "read, tty name");
        check(&looked(b'S', value(0), file(FileKind::TimerFd), ""), State::Sleep, "read, timer name");
        check(&looked(b'S', value(202), Object::Futex { address: 16 }, ""), State::Lock, "futex, futex");
        check(&looked(b'S', value(61), none.clone(), "do_wait"), State::OtherWait, "wait4, child");
        check(&looked(b'S', value(230), none.clone(), ""), State::Sleep, "clock_nanosleep, timer");
        check(&looked(b'S', value(7), none.clone(), "do_sys_poll"), State::OtherWait, "poll, external");
        check(&looked(b'D', value(257), none.clone(), ""), State::Disk, "openat, file");
        check(&looked(b'D', Seen::Absent, none.clone(), ""), State::Disk, "file");
        // As where /proc/PID/syscall is refused.
        check(&looked(b'S', unseen(), none.clone(), "do_wait"), State::OtherWait, "child");
        check(&looked(b'S', unseen(), none.clone(), "hrtimer_nanosleep"), State::Sleep, "timer");
        check(&looked(b'S', unseen(), none.clone(), "futex_do_wait"), State::Lock, "futex");
        check(
            &looked(b'S', unseen(), none.clone(), "inet_csk_accept"),
            State::Network,
            "external inet_csk_accept",
        );
        // And the kernel function too.
        check(&looked(b'S', unseen(), none, ""), State::OtherWait, "external");
    }

    #[test]
    fn a_peer_has_its_address() {
        let local = std::net::Ipv4Addr::LOCALHOST.to_ipv6_mapped().octets();
        let ends = Ends { protocol: 6, local, local_port: 9, remote: local, remote_port: 80 };
        check(
            &looked(b'S', Seen::Value(Call(45)), Object::Net(ends), ""),
            State::Network,
            "recvfrom, tcp 127.0.0.1:80",
        );
    }

    #[test]
    fn reading_looks_for_the_writer_and_writing_for_the_reader() {
        let follow = |number| {
            wait(&looked(b'S', Seen::Value(Call(number)), file(FileKind::Pipe), ""), Arch::X86).follow
        };
        assert_eq!(follow(0), Follow::Pipe { ino: 7, writes: false });
        assert_eq!(follow(1), Follow::Pipe { ino: 7, writes: true });
    }
}
