//! Programs of our own in C: parents that look now and then whether a worker is done, and the
//! kernel's own work.

use super::super::needs::CC;
use super::super::program::{Also, Class, PLAIN, Program, Watch};

const POLL: &[&str] = &["cc -O2 -pthread -o {dir}/poll {sources}/poll.c"];
const KERNEL: &[&str] = &["cc -O2 -o {dir}/kernel {sources}/kernel.c"];

/// A parent that waits in this way for two seconds of work.
const fn polls(name: &'static str, command: &'static [&'static str]) -> Program {
    Program {
        name,
        needs: &[&CC],
        prepare: POLL,
        watch: Watch::Run(command),
        class: &[Class::Cpu],
        why: "a worker computes all along; that its parent only looks changes nothing",
        also: &[Also::OwnClock, Also::Function(&["compute"])],
        ..PLAIN
    }
}

pub(super) const PROGRAMS: &[Program] = &[
    polls("poll-nanosleep", &["{dir}/poll", "nanosleep", "2"]),
    polls("poll-waitpid", &["{dir}/poll", "waitpid", "2"]),
    polls("poll-timerfd", &["{dir}/poll", "timerfd", "2"]),
    polls("poll-timed-futex", &["{dir}/poll", "condvar", "2"]),
    // Its parent computes as much.
    Program { also: &[Also::OwnClock], ..polls("poll-spin", &["{dir}/poll", "spin", "2"]) },
    Program {
        name: "first-touches",
        needs: &[&CC],
        prepare: KERNEL,
        watch: Watch::Run(&["{dir}/kernel", "touch", "2"]),
        class: &[Class::Kernel],
        why: "a page fault for each 4 KiB, and nothing is done with it",
        ..PLAIN
    },
    Program {
        name: "pipe-ping-pong",
        needs: &[&CC],
        prepare: KERNEL,
        watch: Watch::Run(&["{dir}/kernel", "pass", "1"]),
        class: &[Class::Kernel],
        why: "two processes switch to each other through two pipes",
        ..PLAIN
    },
];
