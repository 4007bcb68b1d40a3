//! Go, Node and Java: short programs of our own on runtimes with threads that wait for work.

use super::super::needs::{AB, GO, JAVAC, NODE};
use super::super::program::{Also, Class, JIT, LEFT_ALONE, PLAIN, Program, Ready, Server, Watch, under};

const GO_BUILD: &[&str] = &["go build -o {dir}/work {sources}/work.go"];
const JAVA_BUILD: &[&str] = &["javac -d {dir} {sources}/Work.java"];

const GO_SERVER: Server = Server { command: &["{dir}/work", "server", "{port}"], ready: Ready::Port };
const NODE_SERVER: Server =
    Server { command: &["node", "{sources}/work.js", "server", "{port}"], ready: Ready::Port };
const JAVA_SERVER: Server =
    Server { command: &["java", "-cp", "{dir}", "Work", "server", "{port}"], ready: Ready::Port };

const MANY_REQUESTS: Watch =
    under(&["ab", "-q", "-c", "8", "-t", "30", "-n", "100000000", "http://127.0.0.1:{port}/"]);

pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "go-server-busy",
        needs: &[&GO, &AB],
        prepare: GO_BUILD,
        servers: &[GO_SERVER],
        watch: MANY_REQUESTS,
        class: &[Class::Cpu],
        why: "hashes for most of a millisecond at each request; threads without work are no lock",
        also: &[Also::Function(&["sha256"])],
    },
    Program {
        name: "go-server-idle",
        needs: &[&GO],
        prepare: GO_BUILD,
        servers: &[GO_SERVER],
        watch: LEFT_ALONE,
        class: &[Class::Idle],
        why: "nobody asks it anything",
        ..PLAIN
    },
    Program {
        name: "go-workers",
        needs: &[&GO],
        prepare: GO_BUILD,
        watch: Watch::Run(&["{dir}/work", "workers", "2"]),
        class: &[Class::Cpu],
        why: "four goroutines hash what comes over a channel",
        also: &[Also::OwnClock, Also::Function(&["sha256"])],
        ..PLAIN
    },
    Program {
        name: "go-mutex",
        needs: &[&GO],
        prepare: GO_BUILD,
        watch: Watch::Run(&["{dir}/work", "mutex", "2"]),
        class: &[Class::Cpu],
        why: "one goroutine at a time hashes, and always one does: the path is in the one with the lock",
        also: &[Also::OwnClock, Also::Function(&["sha256"])],
        ..PLAIN
    },
    Program {
        name: "go-ticks",
        needs: &[&GO],
        prepare: GO_BUILD,
        watch: Watch::Run(&["{dir}/work", "ticks", "2"]),
        class: &[Class::Idle],
        why: "sleeps 20 ms at a time",
        ..PLAIN
    },
    Program {
        name: "node-server-busy",
        needs: &[&NODE, &AB],
        servers: &[NODE_SERVER],
        watch: MANY_REQUESTS,
        class: &[Class::Cpu],
        why: "the main thread runs JavaScript; libuv's pool waits for work",
        also: &[Also::Function(&["compute", JIT])],
        ..PLAIN
    },
    Program {
        name: "node-server-idle",
        needs: &[&NODE],
        servers: &[NODE_SERVER],
        watch: LEFT_ALONE,
        class: &[Class::Idle],
        why: "nobody asks it anything",
        ..PLAIN
    },
    Program {
        name: "node-workers",
        needs: &[&NODE],
        watch: Watch::Run(&["node", "{sources}/work.js", "workers", "2"]),
        class: &[Class::Cpu],
        why: "two workers run JavaScript, and the main thread waits for them",
        also: &[Also::OwnClock, Also::Function(&["compute", JIT])],
        ..PLAIN
    },
    Program {
        name: "node-files",
        needs: &[&NODE],
        watch: Watch::Run(&["node", "{sources}/work.js", "files", "2", "{inputs}/pages"]),
        class: &[Class::Cpu, Class::Kernel, Class::Mixed],
        why: "cached files through libuv's pool: the loop and the pool hand over and never wait for a disk",
        ..PLAIN
    },
    Program {
        name: "node-timers",
        needs: &[&NODE],
        watch: Watch::Run(&["node", "{sources}/work.js", "timers", "3"]),
        class: &[Class::Idle],
        why: "a timer that does nothing, every 20 ms",
        ..PLAIN
    },
    Program {
        name: "java-hot-method",
        needs: &[&JAVAC],
        prepare: JAVA_BUILD,
        watch: Watch::Run(&["java", "-cp", "{dir}", "Work", "hot", "2"]),
        class: &[Class::Cpu],
        why: "one compiled method",
        also: &[Also::Function(&["hot", JIT])],
        ..PLAIN
    },
    Program {
        name: "java-stop-the-world",
        needs: &[&JAVAC],
        prepare: JAVA_BUILD,
        watch: Watch::Run(&["java", "-Xmx64m", "-XX:+UseSerialGC", "-cp", "{dir}", "Work", "collect", "2"]),
        class: &[Class::Cpu],
        why: "allocates, and the VM thread collects, in turns; one of them always computes",
        ..PLAIN
    },
    Program {
        name: "java-monitor",
        needs: &[&JAVAC],
        prepare: JAVA_BUILD,
        watch: Watch::Run(&["java", "-cp", "{dir}", "Work", "lock", "2"]),
        class: &[Class::Cpu],
        why: "one thread at a time computes, and always one does: the path is in the one with the monitor",
        also: &[Also::Function(&["hot", JIT])],
        ..PLAIN
    },
    Program {
        name: "java-sleep",
        needs: &[&JAVAC],
        prepare: JAVA_BUILD,
        watch: Watch::Run(&["java", "-cp", "{dir}", "Work", "sleep", "4"]),
        class: &[Class::Idle],
        why: "the main thread sleeps 4 s after a start of less than 0.3 s",
        ..PLAIN
    },
    Program {
        name: "java-server-busy",
        needs: &[&JAVAC, &AB],
        prepare: JAVA_BUILD,
        servers: &[JAVA_SERVER],
        watch: MANY_REQUESTS,
        class: &[Class::Cpu],
        why: "four threads compute answers; the rest of the JVM waits for work",
        also: &[Also::Function(&["hot", JIT])],
    },
    Program {
        name: "java-server-idle",
        needs: &[&JAVAC],
        prepare: JAVA_BUILD,
        servers: &[JAVA_SERVER],
        watch: LEFT_ALONE,
        class: &[Class::Idle],
        why: "nobody asks it anything; its VM looks at itself now and then",
        ..PLAIN
    },
];
