//! The notation in JSON, each way.

use super::*;
use crate::task::TaskWait;
use crate::{State, Step};

/// The target that JSON parses to; asserts that it is written back the same.
fn target(json: &str) -> WaitTarget {
    let target: WaitTarget = serde_json::from_str(json).unwrap();
    assert_eq!(serde_json::to_string(&target).unwrap(), json);
    target
}

#[test]
fn a_stored_target_is_the_target_again() {
    let end = Endpoint::read("192.0.2.1:80").unwrap();
    for (json, expected) in [
        (r#"{"kind":"file","name":"/a for b"}"#, WaitTarget::File(Seen::Value("/a for b".into()))),
        (r#"{"kind":"futex","name":"0x7ffe10"}"#, WaitTarget::Futex(Seen::Value(0x7f_fe10))),
        (r#"{"kind":"futex","name":null}"#, WaitTarget::Futex(Seen::Absent)),
        (
            r#"{"kind":"futex","name":"Python's interpreter lock"}"#,
            WaitTarget::InterpreterLock(Language::Python),
        ),
        (r#"{"kind":"lock","name":"ProcSleep"}"#, WaitTarget::Lock(Seen::Value("ProcSleep".into()))),
        (r#"{"kind":"lock","name":"address space"}"#, WaitTarget::AddressSpace),
        (r#"{"kind":"task","name":"channel"}"#, WaitTarget::OfTask(TaskWait::Channel)),
        (r#"{"kind":"signal","name":null}"#, WaitTarget::Nameless(TargetKind::Signal)),
        (r#"{"kind":"timer","name":"time limit"}"#, WaitTarget::TimeLimit),
        (r#"{"kind":"timer","name":null}"#, WaitTarget::Timer(Seen::Absent)),
        (r#"{"kind":"device","name":"swap"}"#, WaitTarget::Swap),
        (r#"{"kind":"io_uring","name":null}"#, WaitTarget::Nameless(TargetKind::IoUring)),
        (
            r#"{"kind":"child","name":{"unseen":"which child"}}"#,
            WaitTarget::Child(Seen::unseen("which child")),
        ),
        (r#"{"kind":"tcp","name":"192.0.2.1:80"}"#, WaitTarget::Tcp(end)),
        (r#"{"kind":"tcp","name":":80"}"#, WaitTarget::Tcp(Endpoint { address: None, port: 80 })),
        (
            r#"{"kind":"udp","name":"192.0.2.1:80 for a.example"}"#,
            WaitTarget::Answer(Question { server: end, name: Some("a.example".into()) }),
        ),
        (
            r#"{"kind":"udp","name":"192.0.2.1:80 for other names"}"#,
            WaitTarget::Answer(Question { server: end, name: None }),
        ),
    ] {
        assert_eq!(target(json), expected, "{json}");
    }
}

#[test]
fn a_name_that_is_written_otherwise_is_kept_as_it_is() {
    for (kind, name) in
        [("tcp", "db.example:5432"), ("tcp", "[::ffff:192.0.2.1]:80"), ("udp", "a for b"), ("futex", "0X7F")]
    {
        let read = target(&format!(r#"{{"kind":"{kind}","name":"{name}"}}"#));
        assert!(matches!(read, WaitTarget::Other(..)), "{read:?}");
    }
}

#[test]
fn the_state_of_a_stored_step_says_how_its_reason_is_read() {
    let step = |state: State, reason: &str| {
        let json = format!(
            r#"{{"pid":1,"tid":1,"process":"a","state":"{}","reason":"{reason}","ns":1,"count":1}}"#,
            state.name()
        );
        let step: Step = serde_json::from_str(&json).unwrap();
        assert_eq!(serde_json::to_string(&step).unwrap(), json);
        step.reason
    };
    let pipe = |call| Reason::Wait(call, WaitTarget::Pipe(Seen::Absent));
    let read = || SyscallName::from("read");
    assert_eq!(step(State::Runqueue, "he ran ran"), Reason::Preempted("he ran".into()));
    assert_eq!(step(State::Runqueue, "cc1 of the tree ran"), Reason::PreemptedByOwn("cc1".into()));
    assert_eq!(step(State::Runqueue, "on its way to a free cpu"), Reason::IdleCpu);
    assert_eq!(step(State::Runqueue, ""), Reason::PreemptedUnseen);
    assert_eq!(step(State::Kernel, "read"), Reason::Syscall(read()));
    assert_eq!(step(State::Kernel, "entering and leaving calls"), Reason::SyscallEntry);
    assert_eq!(step(State::Kernel, "32:read"), Reason::Syscall(SyscallName { compat: true, ..read() }));
    assert_eq!(step(State::Pipe, "read, pipe"), pipe(WaitCall::Syscall(read())));
    assert_eq!(step(State::Pipe, "fault, pipe"), pipe(WaitCall::Fault));
    assert_eq!(step(State::Pipe, "pipe"), pipe(WaitCall::Unseen));
    assert_eq!(step(State::Unexplained, "no wake-up seen"), Reason::NoWakeUp);
    assert_eq!(step(State::Unexplained, "not looked at"), Reason::NotObserved);
    assert_eq!(step(State::Lock, "of a later dwell"), Reason::Text("of a later dwell".into()));
    assert_eq!(step(State::User, ""), Reason::None);
}

#[test]
fn a_stored_frame_has_its_source_and_language_again() {
    let frame = |text: &str| {
        let frame = StackFrame::from(text);
        assert_eq!(frame.to_string(), text);
        frame
    };
    let wait = frame("wait (threading.py:355)");
    assert_eq!((wait.source.clone(), wait.is_script()), (Some(("threading.py".into(), 355)), true));
    for script in ["<module> (<string>:1)", "_find_and_load (<frozen importlib._bootstrap>:1178)"] {
        assert!(frame(script).is_script(), "{script}");
    }
    assert_eq!(frame("pthread_mutex_unlock (unlock.c:68)").function, "pthread_mutex_unlock");
    assert_eq!(frame("f(int) (a.c:07)").source, None, "not as it would be written");
    assert_eq!(frame("operator()").source, None);
}

#[test]
fn a_frame_names_its_language_where_its_file_does_not_show_it() {
    let frame = |file: &str, line: u32, language| StackFrame {
        function: "main".into(),
        source: (line > 0).then(|| (file.to_owned(), line)),
        language,
        kind: FrameKind::Function,
    };
    for (frame, text) in [
        (frame("a.py", 3, Language::Python), "main (a.py:3)"),
        (frame("<string>", 3, Language::Python), "main (<string>:3)"),
        (frame("meson", 3, Language::Python), "main (meson:3) [python]"),
        (frame("a.py", 0, Language::Python), "main [python]"),
        (frame("a.c", 3, Language::Native), "main (a.c:3)"),
        // Compiled by Cython, or made by a compiler.
        (frame("a.py", 3, Language::Native), "main (a.py:3) [native]"),
        (frame("<artificial>", 3, Language::Native), "main (<artificial>:3) [native]"),
    ] {
        let json = serde_json::to_string(&frame).unwrap();
        assert_eq!(json, format!("\"{text}\""));
        assert_eq!(serde_json::from_str::<StackFrame>(&json).unwrap(), frame);
    }
    for kept in ["main (a.py:3) [python]", "main [native]", "main [python] [native]"] {
        assert_eq!(StackFrame::from(kept).function, kept);
    }
}

#[test]
fn what_is_no_function_is_known_again() {
    let cut = StackFrame::from("(cut: no unwind information in x (y))");
    assert_eq!((cut.kind, cut.function.as_str()), (FrameKind::Cut, "no unwind information in x (y)"));
    assert_eq!(cut.to_string(), "(cut: no unwind information in x (y))");
    for runtime in Runtime::ALL {
        let frame = StackFrame::from(runtime.mark());
        assert_eq!((frame.kind, frame.language), (FrameKind::Unnamed(runtime), Language::Jit));
        assert_eq!(frame.to_string(), runtime.mark());
    }
    assert_eq!(StackFrame::from("[jit:work]").kind, FrameKind::Function);
}

#[test]
fn what_writes_is_known_by_its_whole_name() {
    assert!(["write", "32:fsync", "pwritev2"].iter().all(|name| SyscallName::from(*name).writes()));
    assert!(
        !["process_vm_writev", "sync_later", "read"].iter().any(|name| SyscallName::from(*name).writes())
    );
}
