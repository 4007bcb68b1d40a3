//! Which first finding is right for programs of others that were added on 26 November 2026: judged
//! before any of them was run under dwell, from what the program is known to do, with the reason.

/// A judgement.
pub(super) struct Judged {
    /// The registry that has it: what is named here is in the table of results, by registry.
    pub(super) from: From,
    pub(super) name: &'static str,
    /// The causes that may be found first.
    pub(super) right: &'static [&'static str],
    pub(super) why: &'static str,
}

/// A registry.
#[derive(Clone, Copy)]
pub(super) enum From {
    PyPi,
    Npm,
    GoProxy,
    Maven,
    Debian,
}

impl From {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::PyPi => "PyPI",
            Self::Npm => "npm",
            Self::GoProxy => "Go proxy",
            Self::Maven => "Maven",
            Self::Debian => "Debian",
        }
    }
}

const fn judged(from: From, name: &'static str, right: &'static [&'static str], why: &'static str) -> Judged {
    Judged { from, name, right, why }
}

use self::From::{Debian, GoProxy, Maven, Npm, PyPi};

pub(super) const JUDGED: &[Judged] = &[
    judged(PyPi, "black", &["hot-code"], "two processes compute, and share the files between them already"),
    judged(PyPi, "mypy", &["hot-code"], "one thread computes; nothing says that its work can be divided"),
    judged(PyPi, "pytest", &["hot-code"], "Python around each test, spread over many functions"),
    judged(
        PyPi,
        "requests",
        &["serial-requests", "connection-churn"],
        "one page after the other, 5 ms each; a connection for each page",
    ),
    judged(PyPi, "sqlite-utils", &["sync-writes"], "a transaction for each row"),
    judged(PyPi, "dnspython", &["dns-lookups"], "one name, asked for again and again, 3 ms each"),
    judged(
        PyPi,
        "invoke",
        &["sleep-polling", "process-spawning"],
        "sleeps 10 ms between two looks whether its command has ended; a shell for each command",
    ),
    judged(PyPi, "ffmpeg", &["hot-code"], "encoders compute in threads for both CPUs"),
    judged(Npm, "eslint", &["hot-code", "allocation"], "JavaScript and its collector"),
    judged(
        Npm,
        "webpack",
        &["hot-code", "allocation"],
        "some hundred microseconds of JavaScript for each of its calls: files are a small part",
    ),
    judged(
        Npm,
        "esbuild",
        &["small-files", "metadata-calls", "hot-code"],
        "six thousand files of 80 bytes in one directory: to open each costs more than to parse it",
    ),
    judged(Npm, "mocha", &[], "its tests wait for times to pass, and are to"),
    judged(Npm, "classic-level", &["sync-writes"], "a sync for each record, asked for by its caller"),
    judged(
        Npm,
        "npm-run-all",
        &["process-spawning", "single-thread"],
        "an npm that starts for each script, though the script is `true`; and one after the other",
    ),
    judged(
        GoProxy,
        "hey",
        &["cpu-contention"],
        "its server is another program, and has one of the two CPUs that its threads could use",
    ),
    judged(GoProxy, "vegeta", &[], "it was told to ask a hundred times a second, and waits in between"),
    judged(GoProxy, "bbolt", &["sync-writes"], "a transaction for each key"),
    judged(GoProxy, "age", &["hot-code"], "one cipher in one thread"),
    judged(GoProxy, "shfmt", &["hot-code", "allocation"], "a tree of small nodes is made and printed"),
    judged(
        Maven,
        "google-java-format",
        &["hot-code", "allocation"],
        "Java that is compiled while it computes",
    ),
    judged(Maven, "derby-ij", &["sync-writes"], "a transaction for each row; the start of Java is less"),
    judged(Maven, "h2-over-tcp", &["serial-requests"], "a question, its answer, the next question"),
    judged(Debian, "make-j1", &["single-thread"], "compilers one after another, with a CPU idle"),
    judged(Debian, "find-exec", &["process-spawning"], "a wc for each file, where one could take them all"),
    judged(Debian, "xargs-bzip2", &["single-thread"], "eight compressors one after another, with a CPU idle"),
    judged(Debian, "shell-cut", &["process-spawning"], "two processes for each line"),
    judged(Debian, "shell-read", &["small-io"], "a read for each byte"),
    judged(Debian, "dd-bytes", &["small-io"], "a read and a write for each byte"),
    judged(Debian, "ls-colour", &["metadata-calls"], "a look at each file, for its colour only"),
    judged(Debian, "tar-many", &["small-files"], "three thousand files of 2 KB or less"),
    judged(
        Debian,
        "git-add",
        &["small-files", "metadata-calls", "hot-code"],
        "three thousand small files are read, and as many written; each is compressed",
    ),
    judged(Debian, "dpkg-unpack", &["sync-writes"], "a sync for each file, before it gets its name"),
    judged(Debian, "ssh-keygen", &["hot-code"], "one key derivation in one thread"),
    judged(Debian, "zip", &["hot-code"], "compresses in one thread"),
    judged(Debian, "pv-limited", &[], "the limit was asked for"),
    judged(
        Debian,
        "iperf3",
        &[],
        "the kernel's copies through the loopback, which has no limit of its own; blocks are large",
    ),
    judged(
        Debian,
        "curl-loop",
        &["process-spawning", "connection-churn"],
        "a process, and so a connection, for each page; the page itself takes less",
    ),
    judged(Debian, "redis-cli-sets", &["serial-requests"], "a question, its answer, the next question"),
    judged(Debian, "psql-inserts", &["serial-requests"], "a row, its commit by the server, the next row"),
    judged(Debian, "sqlite3-wal", &["sync-writes"], "a sync for each row"),
    judged(Debian, "sqlite3-import", &["hot-code"], "fills two trees in one thread"),
    judged(
        Debian,
        "rsync",
        &["small-files", "metadata-calls"],
        "three thousand small files are opened, written under another name and renamed",
    ),
];
