//! Python: short programs of our own on the interpreter with its lock, loops and processes.

use super::super::needs::PYTHON;
use super::super::program::{Also, Class, PLAIN, Program, Ready, Server, Watch, under};

const OWN_CLOCK: &[Also] = &[Also::OwnClock];

/// Two seconds of one mode of the script.
macro_rules! work {
    ($mode:literal) => {
        Watch::Run(&["{python}", "{sources}/work.py", $mode, "2"])
    };
}

/// Echoes lines of the clients of a local socket, each in a thread.
const LOCAL_SERVER: Server = Server {
    command: &[
        "{python}",
        "-c",
        "import socketserver\n\
         class Echo(socketserver.StreamRequestHandler):\n\
         \x20 def handle(self):\n    for line in self.rfile: self.wfile.write(line)\n\
         socketserver.ThreadingUnixStreamServer('{dir}/socket', Echo).serve_forever()\n",
    ],
    ready: Ready::File("{dir}/socket"),
};

pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "python-threads",
        needs: &[&PYTHON],
        watch: work!("threads"),
        class: &[Class::Cpu],
        why: "two threads compute in turns: one always has the interpreter's lock and runs",
        also: &[Also::OwnClock, Also::Function(&["compute"])],
        ..PLAIN
    },
    Program {
        name: "python-asyncio",
        needs: &[&PYTHON],
        watch: Watch::Run(&["{python}", "{sources}/work.py", "sleepers", "3"]),
        class: &[Class::Idle],
        why: "twenty coroutines that sleep 50 ms at a time",
        ..PLAIN
    },
    Program {
        name: "python-multiprocessing",
        needs: &[&PYTHON],
        watch: work!("processes"),
        class: &[Class::Cpu],
        why: "two processes compute, and the parent's threads wait for them",
        also: &[Also::OwnClock, Also::Function(&["compute"])],
        ..PLAIN
    },
    Program {
        name: "python-subprocess",
        needs: &[&PYTHON],
        watch: work!("programs"),
        class: &[Class::Kernel, Class::Mixed],
        why: "starts programs that do nothing: fork, exec, faults and exit, and the interpreter around them",
        also: OWN_CLOCK,
        ..PLAIN
    },
    Program {
        name: "python-queue",
        needs: &[&PYTHON],
        watch: work!("consumer"),
        class: &[Class::Cpu],
        why: "the consumer computes all along, and the producer waits for room in the queue",
        also: &[Also::OwnClock, Also::Function(&["genexpr"])],
        ..PLAIN
    },
    Program {
        name: "python-poll",
        needs: &[&PYTHON],
        watch: work!("poller"),
        class: &[Class::Cpu],
        why: "the parent sleeps and looks; its child computes all along",
        also: &[Also::OwnClock, Also::Function(&["compute"])],
        ..PLAIN
    },
    Program {
        name: "python-local-server",
        needs: &[&PYTHON],
        servers: &[LOCAL_SERVER],
        watch: under(&[
            "{python}",
            "-c",
            "import socket, time\n\
             s = socket.socket(socket.AF_UNIX)\n\
             s.connect('{dir}/socket')\n\
             while True:\n  s.sendall(b'x\\n')\n  s.recv(9)\n  time.sleep(0.2)\n",
        ]),
        class: &[Class::Idle],
        why: "a thread waits on a local socket for the next line, the main thread for the next client",
        ..PLAIN
    },
    Program {
        name: "python-start",
        needs: &[&PYTHON],
        watch: Watch::Run(&["sh", "-c", "i=0; while [ $i -lt 40 ]; do {python} -c pass; i=$((i + 1)); done"]),
        class: &[Class::Cpu, Class::Mixed],
        why: "the interpreter reads and unpacks its modules, with many small files and faults",
        ..PLAIN
    },
];
