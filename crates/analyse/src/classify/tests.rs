//! Which evidence gives which state and target.

use super::*;
use crate::keys::FileId;
use model::{Call, State};

fn wait(call: u16) -> WaitContext {
    WaitContext { call: Some(Call(call)), uninterruptible: false, io: false, on: Object::Unknown }
}

fn state(wait: &WaitContext, waker: &Waker) -> State {
    classify(Evidence::traced(wait, waker, TargetKey::File(FileId::UNSEEN)), Arch::X86).state
}

#[test]
fn a_poll_that_times_out_has_slept_and_one_that_does_not_waited_on_what_came() {
    let poll = wait(7);
    assert_eq!(state(&poll, &Waker::Timer), State::Sleep);
    assert_eq!(state(&poll, &Waker::Network { over: 0, ready: None }), State::Network);
    assert_eq!(state(&poll, &Waker::Task { tid: 9, name: Some("x".into()) }), State::OtherWait);
}

#[test]
fn io_in_a_fault_is_disk_and_a_fault_that_waits_otherwise_is_a_lock() {
    let fault = |io| WaitContext { call: None, uninterruptible: true, io, on: Object::Unknown };
    assert_eq!(state(&fault(true), &Waker::Device), State::Disk);
    assert_eq!(state(&fault(false), &Waker::Task { tid: 9, name: None }), State::Lock);
}

#[test]
fn a_service_is_named_by_its_port_from_either_end() {
    let mut address = [0; 16];
    address[10..].copy_from_slice(&[0xff, 0xff, 127, 0, 0, 1]);
    let ends =
        SocketEnds { protocol: 6, local: address, local_port: 40_000, remote: address, remote_port: 80 };
    let named = |ends| {
        let wait = WaitContext { on: Object::Net(ends), ..wait(45) };
        match classify(Evidence::traced(&wait, &Waker::Device, TargetKey::External), Arch::X86).target {
            TargetKey::Tcp(end) => end.to_string(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(named(ends), "127.0.0.1:80");
    assert_eq!(named(ends.reversed()), "127.0.0.1:80");
}

#[test]
fn a_path_given_to_a_call_names_the_file_but_not_the_kind_of_wait() {
    let file = Object::File { kind: FileKind::Disk, dev: 0, ino: 1, name: "x".into() };
    let open = WaitContext { on: file, ..wait(2) };
    assert_eq!(state(&open, &Waker::Unknown), State::Pipe, "a named pipe that no other process has opened");
    assert_eq!(state(&WaitContext { uninterruptible: true, ..open }, &Waker::Device), State::Disk);
}

#[test]
fn who_has_a_file_in_the_kernel_is_waited_for_and_not_its_disk() {
    let file = || Object::File { kind: FileKind::Disk, dev: 1, ino: 1, name: "x".into() };
    let sleeps = |call: u16, io, on| WaitContext { uninterruptible: true, io, on, ..wait(call) };
    let by_tree = Waker::Task { tid: 9, name: None };
    let jbd2 = Waker::Task { tid: 9, name: Some("jbd2/vda-8".into()) };
    // openat and unlink of paths, a write to a descriptor.
    for (call, on) in [(257, Object::Unknown), (87, Object::Unknown), (1, file())] {
        let of = |io, waker: &Waker| state(&sleeps(call, io, on.clone()), waker);
        assert_eq!(of(false, &by_tree), State::Lock, "{call}");
        assert_eq!(of(true, &by_tree), State::Disk, "another thread had the page read");
        assert_eq!((of(false, &jbd2), of(false, &Waker::Device)), (State::Disk, State::Disk));
        assert_eq!(of(false, &Waker::Unknown), State::Disk, "it is not known who ended it");
    }
    assert_eq!(
        state(&sleeps(74, false, file()), &by_tree),
        State::Disk,
        "a thread that syncs for others, too"
    );
    let remote = Object::File { kind: FileKind::Remote, dev: 1, ino: 1, name: "x".into() };
    assert_eq!(state(&sleeps(0, false, remote), &by_tree), State::Network);
    let polled = sleeps(257, false, Object::Unknown);
    let traced = Evidence::traced(&polled, &Waker::Unknown, TargetKey::External);
    for (function, is) in [("rwsem_down_write_slowpath", State::Lock), ("jbd2_log_wait_commit", State::Disk)]
    {
        let function = Some((crate::keys::FunctionId(0), function));
        assert_eq!(classify(Evidence { io: None, function, ..traced }, Arch::X86).state, is);
    }
}

#[test]
fn a_file_lock_is_a_lock() {
    let file = Object::File { kind: FileKind::Disk, dev: 1, ino: 1, name: "x".into() };
    let flock = WaitContext { on: file.clone(), ..wait(73) };
    assert_eq!(state(&flock, &Waker::Task { tid: 9, name: Some("y".into()) }), State::Lock);
    assert_eq!(state(&WaitContext { on: file, ..wait(0) }, &Waker::Device), State::Disk);
}

#[test]
fn polled_and_traced_evidence_of_the_same_wait_give_the_same() {
    let traced = |call: u16, on: Object| WaitContext { on, ..wait(call) };
    let file = |kind, name: &str| Object::File { kind, dev: 1, ino: 7, name: name.into() };
    let cases = [
        traced(0, file(FileKind::EventFd, "[eventfd]")),
        traced(0, file(FileKind::Anonymous, "inotify")),
        traced(426, file(FileKind::Anonymous, "[io_uring]")),
        traced(72, file(FileKind::Disk, "x")),
        traced(232, file(FileKind::Epoll, "[eventpoll]")),
        traced(7, Object::Unknown),
        traced(61, Object::Unknown),
        traced(435, Object::Unknown),
        traced(202, Object::Futex { address: 16 }),
        traced(0, Object::Unix { ino: 1, peer: 2 }),
    ];
    for wait in &cases {
        let traced = Evidence::traced(wait, &Waker::Unknown, TargetKey::File(FileId::UNSEEN));
        let polled = Evidence { io: None, by_name: true, ..traced };
        assert_eq!(classify(traced, Arch::X86), classify(polled, Arch::X86), "{wait:?}");
    }
}

#[test]
fn who_waits_for_a_lock_other_than_a_futex_is_not_on_a_futex() {
    let mmap = WaitContext { uninterruptible: true, ..wait(9) };
    let found = classify(Evidence::traced(&mmap, &Waker::Unknown, TargetKey::Swap), Arch::X86);
    assert_eq!(
        found.key(),
        (State::Lock, ReasonKey::Wait(CallKey::Syscall(Call(9)), TargetKey::AddressSpace))
    );
}
