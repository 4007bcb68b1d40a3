//! Shells and small tools: processes that are started, waits for time, locks and pipes, and a
//! quota.

use super::super::needs::QUOTA;
use super::super::program::{Also, Class, PLAIN, Program, Ready, Server, Watch};

pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "shell-500-forks",
        watch: Watch::Run(&["sh", "-c", "i=0; while [ $i -lt 500 ]; do /bin/true; i=$((i + 1)); done"]),
        class: &[Class::Kernel],
        why: "fork, exec, faults and exit are the kernel's; the programs do nothing else",
        also: &[Also::Calls(&["execve"])],
        ..PLAIN
    },
    Program {
        name: "find",
        prepare: &["find /usr -size +1000000M"],
        watch: Watch::Run(&["sh", "-c", "for i in 1 2; do find /usr -size +1000000M; done"]),
        class: &[Class::Kernel],
        why: "a stat of each file, all cached",
        also: &[Also::Calls(&["newfstatat"])],
        ..PLAIN
    },
    Program {
        name: "grep-r",
        prepare: &["grep -rl EINPROGRESS {inputs}/tree /usr/include > {dir}/found"],
        watch: Watch::Run(&[
            "sh",
            "-c",
            "for i in 1 2 3 4 5; do grep -rl EINPROGRESS {inputs}/tree /usr/include; done",
        ]),
        class: &[Class::Kernel, Class::Mixed],
        why: "opens and reads of small cached files cost more than searching them",
        ..PLAIN
    },
    Program {
        name: "dd-zeroes",
        watch: Watch::Run(&["dd", "if=/dev/zero", "of=/dev/null", "bs=64k", "count=100000"]),
        class: &[Class::Kernel],
        why: "the kernel fills a buffer, and nothing is done with it",
        also: &[Also::Calls(&["read", "write"])],
        ..PLAIN
    },
    Program {
        name: "sleeps-of-a-shell",
        watch: Watch::Run(&["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.2; done"]),
        class: &[Class::Idle],
        why: "two seconds of sleep, and ten short programs",
        ..PLAIN
    },
    Program {
        name: "fifo-within",
        prepare: &["rm -f fifo; mkfifo fifo"],
        watch: Watch::Run(&["sh", "-c", "(sleep 1.5; echo x) > {dir}/fifo & cat {dir}/fifo; wait"]),
        class: &[Class::Idle],
        why: "the writer of the pipe is the program's own and sleeps",
        ..PLAIN
    },
    Program {
        name: "fifo-outside",
        prepare: &["rm -f fifo; mkfifo fifo"],
        servers: &[Server {
            command: &["sh", "-c", "touch {dir}/up; exec 3> {dir}/fifo; sleep 1.5; echo x >&3"],
            ready: Ready::File("{dir}/up"),
        }],
        watch: Watch::Run(&["cat", "{dir}/fifo"]),
        class: &[Class::Io],
        why: "waits for a pipe whose writer is another program",
        ..PLAIN
    },
    Program {
        name: "flock",
        servers: &[Server {
            command: &["flock", "{dir}/lock", "sh", "-c", "touch {dir}/held; exec sleep 3"],
            ready: Ready::File("{dir}/held"),
        }],
        watch: Watch::Run(&["flock", "{dir}/lock", "true"]),
        class: &[Class::Io],
        why: "waits for a file lock that another program holds",
        ..PLAIN
    },
    Program {
        name: "quota-of-a-fifth",
        needs: &[&QUOTA],
        // The group's name must not be known from the command.
        prepare: &["ln -sf {group} {dir}/entry"],
        watch: Watch::Run(&[
            "sh",
            "-c",
            "echo $$ > {dir}/entry; i=0; while [ $i -lt 600000 ]; do i=$((i + 1)); done",
        ]),
        class: &[Class::Starved],
        why: "computes all along, and its group may have a fifth of a CPU",
        also: &[Also::Quota],
        ..PLAIN
    },
];
