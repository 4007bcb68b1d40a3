//! What a snapshot of a waiting thread says to the classifier.

use crate::classify::{Classified, Evidence, classify};
use crate::for_work::is_for_work;
use crate::keys::{CallKey, TargetKey};
use crate::names::Names;
use model::recording::{FileKind, Object, ThreadSnapshot, Waker};
use model::wait::TargetKind;
use model::{Seen, State};

/// What a thread in state S or D waits for. In a window, what is for work is told apart.
pub(super) fn wait(snapshot: &ThreadSnapshot, in_window: bool, names: &mut Names) -> Classified {
    let uninterruptible = snapshot.state == b'D';
    let call = match snapshot.call {
        Seen::Value(call) => CallKey::Syscall(call),
        // Asleep outside any call, in a way that no signal ends.
        Seen::Absent if uninterruptible => CallKey::Fault,
        Seen::Absent | Seen::Unseen(_) => CallKey::Unseen,
    };
    let function = snapshot.wchan.value().map(|name| (names.function(name), name.as_str()));
    let evidence = Evidence {
        call,
        object: &snapshot.on,
        uninterruptible,
        io: None,
        waker: &Waker::Unknown,
        function,
        file: file(&snapshot.on),
        local: names.local_sockets.end(&snapshot.on),
        roles: None,
        by_name: true,
        signalled: false,
    };
    let classified = classify(evidence, names.arch);
    let is_idle = in_window && is_for_work(classified, evidence, names.arch);
    Classified { state: if is_idle { State::Idle } else { classified.state }, ..classified }
}

fn file(object: &Object) -> TargetKey {
    match object {
        Object::File { kind: FileKind::Disk | FileKind::Remote, name, .. } => {
            TargetKey::Named(TargetKind::File, *name)
        }
        _ => TargetKey::Unseen(TargetKind::File, "its name"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::header;
    use super::*;
    use crate::classify::Next;
    use model::Call;
    use model::recording::Tier;
    use model::recording::{Comm, SocketEnds};

    fn looked(state: u8, call: Seen<Call>, object: Object, wchan: &str) -> ThreadSnapshot {
        ThreadSnapshot {
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

    fn names() -> Names {
        Names::new(&header(Tier::Proc))
    }

    fn a_file(kind: FileKind) -> Object {
        Object::File { kind, dev: 0, ino: 7, name: Comm::from("name") }
    }

    fn check(looked: &ThreadSnapshot, state: State, reason: &str) {
        let mut names = names();
        let wait = wait(looked, false, &mut names);
        let found = names.reason(wait.reason()).to_string();
        assert_eq!((wait.state, found.as_str()), (state, reason), "{looked:?}");
    }

    #[test]
    fn a_wait_is_told_by_object_then_call_then_kernel_function() {
        let unseen = || Seen::unseen("Permission denied");
        let value = |number| Seen::Value(Call(number));
        let none = Object::Unknown;
        check(&looked(b'S', value(0), a_file(FileKind::Pipe), "anon_pipe_read"), State::Pipe, "read, pipe");
        check(&looked(b'S', value(0), a_file(FileKind::Disk), "fifo_open"), State::Pipe, "read, pipe name");
        check(
            &looked(b'D', value(0), a_file(FileKind::Disk), "folio_wait_bit"),
            State::Disk,
            "read, file name",
        );
        check(&looked(b'S', value(73), a_file(FileKind::Disk), ""), State::Lock, "flock, file name");
        check(&looked(b'S', value(0), a_file(FileKind::Tty), ""), State::Pipe, "read, tty name");
        check(&looked(b'S', value(0), a_file(FileKind::TimerFd), ""), State::Sleep, "read, timer");
        check(&looked(b'S', value(202), Object::Futex { address: 16 }, ""), State::Lock, "futex, futex 0x10");
        check(&looked(b'S', value(61), none.clone(), "do_wait"), State::OtherWait, "wait4, child");
        check(&looked(b'S', value(230), none.clone(), ""), State::Sleep, "clock_nanosleep, timer");
        check(&looked(b'S', value(7), none.clone(), "do_sys_poll"), State::OtherWait, "poll, external");
        check(&looked(b'D', value(257), none.clone(), ""), State::Disk, "openat, file");
        check(&looked(b'D', Seen::Absent, none.clone(), ""), State::Disk, "fault, file");
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
        let ends = SocketEnds { protocol: 6, local, local_port: 40_000, remote: local, remote_port: 80 };
        check(
            &looked(b'S', Seen::Value(Call(45)), Object::Net(ends), ""),
            State::Network,
            "recvfrom, tcp 127.0.0.1:80",
        );
    }

    #[test]
    fn in_a_window_an_event_loop_waits_for_work() {
        let looked = looked(b'S', Seen::Value(Call(232)), a_file(FileKind::Epoll), "");
        assert_eq!(wait(&looked, true, &mut names()).state, State::Idle);
        assert_eq!(wait(&looked, false, &mut names()).state, State::OtherWait);
    }

    #[test]
    fn a_local_socket_waits_for_work_at_the_end_that_serves() {
        let looked = looked(b'S', Seen::Value(Call(45)), Object::Unix { ino: 5, peer: 0 }, "");
        for (serves, state) in [(true, State::Idle), (false, State::Pipe)] {
            let mut names = names();
            names.local_sockets.observe(5, serves, "/run/x");
            let wait = wait(&looked, true, &mut names);
            assert_eq!(wait.state, state);
            assert_eq!(names.reason(wait.reason()).to_string(), "recvfrom, unix /run/x");
        }
    }

    #[test]
    fn reading_looks_for_the_writer_and_writing_for_the_reader() {
        let follow = |number| {
            let looked = looked(b'S', Seen::Value(Call(number)), a_file(FileKind::Pipe), "");
            wait(&looked, false, &mut names()).next
        };
        assert_eq!(follow(0), Next::Pipe { ino: 7, writes: false });
        assert_eq!(follow(1), Next::Pipe { ino: 7, writes: true });
    }
}
