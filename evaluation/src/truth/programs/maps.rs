//! Machine code that is made at run time, with a perf map of it that is right, missing, or not to
//! be believed: what is computed is the same, and a wrong name is worse than none.

use super::super::needs::{CC, JAVAC, NODE};
use super::super::program::{Also, Class, JIT, PLAIN, Program, Watch};

const JIT_BUILD: &[&str] = &["cc -O2 -o {dir}/jit {sources}/jit.c"];
const JAVA_BUILD: &[&str] = &["javac -d {dir} {sources}/Work.java"];

/// A loop of machine code with a map of this kind.
const fn map(name: &'static str, command: &'static [&'static str], also: &'static [Also]) -> Program {
    Program {
        name,
        needs: &[&CC],
        prepare: JIT_BUILD,
        watch: Watch::Run(command),
        class: &[Class::Cpu],
        why: "counts down in machine code, whatever its map says",
        also,
        ..PLAIN
    }
}

const NAMED: &[Also] = &[Also::OwnClock, Also::Function(&["hot_loop"])];
const NAMED_OR_NOT: &[Also] = &[Also::OwnClock, Also::Function(&["hot_loop", JIT])];
const NOT_NAMED: &[Also] = &[Also::OwnClock, Also::Function(&[JIT])];

pub(super) const PROGRAMS: &[Program] = &[
    map("jit-without-map", &["{dir}/jit", "none", "2"], NOT_NAMED),
    map("jit-with-map", &["{dir}/jit", "named", "2"], NAMED),
    map("jit-stale-map", &["{dir}/jit", "stale", "2"], NOT_NAMED),
    map("jit-map-of-another-user", &["{dir}/jit", "foreign", "2"], NOT_NAMED),
    map("jit-hostile-map", &["{dir}/jit", "hostile", "2"], NAMED_OR_NOT),
    map("jit-map-of-100-mb", &["{dir}/jit", "large", "3"], NAMED_OR_NOT),
    Program {
        name: "node-with-map",
        needs: &[&NODE],
        watch: Watch::Run(&["node", "--perf-basic-prof", "{sources}/work.js", "workers", "2"]),
        class: &[Class::Cpu],
        why: "two workers run JavaScript, and the main thread waits for them",
        also: &[Also::OwnClock, Also::Function(&["compute"])],
        ..PLAIN
    },
    Program {
        name: "java-with-map",
        needs: &[&JAVAC],
        prepare: JAVA_BUILD,
        watch: Watch::Run(&[
            "java",
            "-XX:+UnlockDiagnosticVMOptions",
            "-XX:+DumpPerfMapAtExit",
            "-cp",
            "{dir}",
            "Work",
            "hot",
            "2",
        ]),
        class: &[Class::Cpu],
        why: "one compiled method",
        also: &[Also::Function(&["hot"])],
        ..PLAIN
    },
    Program {
        name: "java-does-not-answer",
        needs: &[&JAVAC],
        prepare: JAVA_BUILD,
        watch: Watch::Run(&["java", "-XX:+DisableAttachMechanism", "-cp", "{dir}", "Work", "hot", "2"]),
        class: &[Class::Cpu],
        why: "one compiled method, of a JVM that may not be asked for its name",
        also: &[Also::Function(&[JIT])],
        ..PLAIN
    },
];
