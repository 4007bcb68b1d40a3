//! Windows and programs at the edges: a window that is over at once, very many threads, processes
//! that leave while they are asked.

use super::super::needs::CC;
use super::super::program::{ALONE, Also, Attach, Class, LEFT_ALONE, PLAIN, Program, Ready, Server, Watch};

const POOL: &[&str] = &["cc -O2 -pthread -o {dir}/pool {sources}/pool.c"];
const KERNEL: &[&str] = &["cc -O2 -o {dir}/kernel {sources}/kernel.c"];

/// Ready when all its threads are there.
const POOL_AT_REST: Server =
    Server { command: &["{dir}/pool", "10000", "60", "0"], ready: Ready::File("{dir}/up") };
const POOL_AT_WORK: Server =
    Server { command: &["{dir}/pool", "10000", "60", "1"], ready: Ready::File("{dir}/up") };

/// A loop, for as long as it says.
const fn loops(command: &'static [&'static str]) -> Server {
    Server { command, ready: Ready::File("{dir}/up") }
}

pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "window-of-50-ms",
        servers: &[loops(&["sh", "-c", "touch {dir}/up; while :; do :; done"])],
        watch: Watch::Attach(Attach { window: "50ms", ..ALONE }),
        class: &[Class::Cpu],
        why: "a loop of the shell, however short the look at it",
        ..PLAIN
    },
    Program {
        name: "10000-threads",
        needs: &[&CC],
        prepare: POOL,
        watch: Watch::Run(&["{dir}/pool", "10000", "6", "1"]),
        class: &[Class::Cpu],
        why: "one thread of the pool after the other computes for a millisecond, and all others wait; \
              starting and ending them is a fourth of it",
        also: &[Also::OwnClock],
        ..PLAIN
    },
    Program {
        name: "10000-threads-busy",
        needs: &[&CC],
        prepare: POOL,
        servers: &[POOL_AT_WORK],
        watch: LEFT_ALONE,
        class: &[Class::Cpu],
        why: "of the threads that do not wait for work one always computes",
        ..PLAIN
    },
    Program {
        name: "10000-threads-idle",
        needs: &[&CC],
        prepare: POOL,
        servers: &[POOL_AT_REST],
        watch: LEFT_ALONE,
        class: &[Class::Idle],
        why: "all threads wait for work",
        ..PLAIN
    },
    Program {
        name: "leaves-within-the-window",
        needs: &[&CC],
        prepare: KERNEL,
        servers: &[loops(&["sh", "-c", "touch {dir}/up; exec {dir}/kernel touch 3"])],
        watch: Watch::Attach(Attach { window: "10s", ..ALONE }),
        class: &[Class::Kernel],
        why: "a page fault for each 4 KiB until it ends, and the window with it",
        ..PLAIN
    },
    Program {
        name: "leave-while-asked",
        servers: &[loops(&["sh", "-c", "touch {dir}/up; while :; do /bin/true; done"])],
        watch: LEFT_ALONE,
        class: &[Class::Kernel],
        why: "a process a millisecond: fork, exec, faults and exit are the kernel's",
        ..PLAIN
    },
];
