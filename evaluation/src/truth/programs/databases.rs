//! PostgreSQL and Redis: servers that are busy, idle, or wait for each other's locks.

use super::super::needs::{POSTGRES, REDIS};
use super::super::program::{
    ALONE, Also, Attach, Class, LEFT_ALONE, PLAIN, Program, Ready, Server, Watch, under,
};

/// A cluster in a directory that its user owns: the server refuses to be root's.
pub(super) const CLUSTER: &[&str] = &[
    "rm -rf {temp}/pg; mkdir {temp}/pg; chown postgres {temp}/pg",
    "cd {temp}/pg; setpriv --reuid=postgres --regid=postgres --clear-groups \
     {pg}/initdb -D {temp}/pg/data --no-sync --auth=trust > /dev/null",
];

/// The first line of this file is the PID of the server.
const POSTMASTER_PID: Option<&str> = Some("{temp}/pg/data/postmaster.pid");

pub(super) const POSTMASTER: Server = Server {
    command: &[
        // A change of user forgets what was asked for at the parent's end.
        "setpriv",
        "--pdeathsig=TERM",
        "--reuid=postgres",
        "--regid=postgres",
        "--clear-groups",
        "{pg}/postgres",
        "-D",
        "{temp}/pg/data",
        "-p",
        "{port}",
        "-k",
        "{temp}/pg",
        "-c",
        "listen_addresses=127.0.0.1",
    ],
    ready: Ready::Succeeds(&["{pg}/pg_isready", "-q", "-h", "127.0.0.1", "-p", "{port}"]),
};

/// Tables of pgbench, made before the server is used.
const TABLES: Server = Server {
    command: &[
        "sh",
        "-c",
        "{pg}/pgbench -q -i -s 2 -h 127.0.0.1 -p {port} -U postgres postgres && touch {dir}/tables; \
         exec sleep 60",
    ],
    ready: Ready::File("{dir}/tables"),
};

/// `psql` with a script, in the program's directory.
macro_rules! psql {
    ($($word:literal),*) => {
        &["{pg}/psql", "-q", "-A", "-t", "-h", "127.0.0.1", "-p", "{port}", "-U", "postgres",
          $($word,)* "postgres"]
    };
}

const HOLDER: Server =
    Server { command: psql!("-f", "{sources}/holder.sql"), ready: Ready::File("{dir}/held") };

const WAITER: Server =
    Server { command: psql!("-f", "{sources}/waiter.sql"), ready: Ready::File("{dir}/pid") };

/// The same with a holder that lets it have the row now and then.
const HOLDS: Server =
    Server { command: psql!("-f", "{sources}/holds.sql"), ready: Ready::File("{dir}/held") };
const WANTS: Server = Server { command: psql!("-f", "{sources}/wants.sql"), ready: Ready::File("{dir}/pid") };

/// A window on the session that waits, which another one looks at.
const WAITING_SESSION: Watch = Watch::Attach(Attach {
    pid_file: Some("{dir}/pid"),
    load: Some(&[
        "sh",
        "-c",
        "exec {pg}/psql -q -At -h 127.0.0.1 -p {port} -U postgres -v pid=$(cat pid) \
         -f {sources}/waits.sql postgres",
    ]),
    ..ALONE
});

pub(super) const REDIS_SERVER: Server = Server {
    command: &["redis-server", "--port", "{port}", "--bind", "127.0.0.1", "--save", "", "--dir", "{dir}"],
    ready: Ready::Port,
};

pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "postgres-pgbench",
        needs: &[&POSTGRES],
        prepare: CLUSTER,
        servers: &[POSTMASTER, TABLES],
        watch: Watch::Attach(Attach {
            pid_file: POSTMASTER_PID,
            load: Some(&[
                "{pg}/pgbench",
                "-c",
                "4",
                "-T",
                "30",
                "-h",
                "127.0.0.1",
                "-p",
                "{port}",
                "-U",
                "postgres",
                "postgres",
            ]),
            ..ALONE
        }),
        class: &[Class::Io, Class::Mixed],
        why: "each transaction waits for its commit record on the disk, and for rows and WAL of others; where the \
              disk answers as fast as four clients ask, neither that nor what they compute leads",
        ..PLAIN
    },
    Program {
        name: "postgres-select",
        needs: &[&POSTGRES],
        prepare: CLUSTER,
        servers: &[POSTMASTER],
        watch: Watch::Attach(Attach {
            pid_file: POSTMASTER_PID,
            load: Some(psql!("-c", "select sum(i::bigint * i % 7) from generate_series(1, 100000000) i")),
            ..ALONE
        }),
        class: &[Class::Cpu],
        why: "one session computes a sum; all other processes wait for work",
        ..PLAIN
    },
    Program {
        name: "postgres-row-lock",
        needs: &[&POSTGRES],
        prepare: CLUSTER,
        servers: &[POSTMASTER, HOLDER, WAITER],
        watch: WAITING_SESSION,
        class: &[Class::Io],
        why: "waits for a transaction of another session: Lock:transactionid",
        // Its holder is in the server's own memory, and nothing that can be observed names it
        // before the wait ends.
        also: &[Also::LockWaits],
    },
    Program {
        name: "postgres-row-locks",
        needs: &[&POSTGRES],
        prepare: CLUSTER,
        servers: &[POSTMASTER, HOLDS, WANTS],
        watch: WAITING_SESSION,
        class: &[Class::Io],
        why: "waits for transactions of another session, half a second each: Lock:transactionid",
        also: &[Also::LockWaits, Also::LockHolder],
    },
    Program {
        name: "postgres-idle",
        needs: &[&POSTGRES],
        prepare: CLUSTER,
        servers: &[POSTMASTER],
        watch: Watch::Attach(Attach { pid_file: POSTMASTER_PID, ..ALONE }),
        class: &[Class::Idle],
        why: "nobody asks it anything",
        ..PLAIN
    },
    Program {
        name: "postgres-local",
        needs: &[&POSTGRES],
        prepare: CLUSTER,
        servers: &[POSTMASTER],
        watch: Watch::Attach(Attach {
            pid_file: POSTMASTER_PID,
            load: Some(&[
                "sh",
                "-c",
                "while sleep 0.2; do echo 'select 1;'; done | \
                 {pg}/psql -q -h {temp}/pg -p {port} -U postgres postgres > {dir}/out",
            ]),
            ..ALONE
        }),
        class: &[Class::Idle],
        why: "one session over the local socket, which waits for a query five times a second",
        ..PLAIN
    },
    Program {
        name: "psql-query",
        needs: &[&POSTGRES],
        prepare: CLUSTER,
        servers: &[POSTMASTER],
        watch: Watch::Run(psql!("-c", "select sum(i::bigint * i % 7) from generate_series(1, 8000000) i")),
        class: &[Class::Io],
        why: "the client waits for the answer of a server outside the tree",
        ..PLAIN
    },
    Program {
        name: "redis-busy",
        needs: &[&REDIS],
        servers: &[REDIS_SERVER],
        watch: under(&["redis-benchmark", "-q", "-p", "{port}", "-t", "set", "-n", "100000000"]),
        class: &[Class::Kernel],
        why: "one thread that reads and writes sockets; its own work is small",
        ..PLAIN
    },
    Program {
        name: "redis-50-pings",
        needs: &[&REDIS],
        servers: &[REDIS_SERVER],
        watch: under(&["redis-cli", "-p", "{port}", "-i", "0.02", "-r", "1000", "ping"]),
        class: &[Class::Idle],
        why: "answers in microseconds and waits 20 ms for the next question",
        ..PLAIN
    },
    Program {
        name: "redis-idle",
        needs: &[&REDIS],
        servers: &[REDIS_SERVER],
        watch: LEFT_ALONE,
        class: &[Class::Idle],
        why: "nobody asks it anything; it looks at its own state ten times a second",
        ..PLAIN
    },
    Program {
        name: "redis-benchmark",
        needs: &[&REDIS],
        servers: &[REDIS_SERVER],
        watch: Watch::Run(&["redis-benchmark", "-q", "-p", "{port}", "-t", "set,get", "-n", "100000"]),
        class: &[Class::Kernel],
        why: "one thread that writes and reads fifty sockets",
        ..PLAIN
    },
];
