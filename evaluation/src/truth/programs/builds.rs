//! Compilers, build tools and git.

use super::super::needs::{CARGO, CC, GIT, GO, MAKE, RUSTC};
use super::super::program::{Class, PLAIN, Program, Watch};

pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "cc",
        needs: &[&CC],
        watch: Watch::Run(&["cc", "-O2", "-c", "{inputs}/generated.c", "-o", "{dir}/generated.o"]),
        class: &[Class::Cpu],
        why: "an optimising compiler on one file",
        ..PLAIN
    },
    Program {
        name: "make-j2",
        needs: &[&MAKE, &CC],
        prepare: &["rm -f *.o"],
        watch: Watch::Run(&["make", "-s", "-j2", "-f", "{inputs}/units/Makefile", "SOURCES={inputs}/units"]),
        class: &[Class::Cpu],
        why: "make waits for two compilers that compute",
        ..PLAIN
    },
    Program {
        name: "make-j8",
        needs: &[&MAKE, &CC],
        prepare: &["rm -f *.o"],
        watch: Watch::Run(&["make", "-s", "-j8", "-f", "{inputs}/units/Makefile", "SOURCES={inputs}/units"]),
        class: &[Class::Cpu],
        why: "more compilers than CPUs wait for one another's CPU: work has used up the CPUs",
        ..PLAIN
    },
    Program {
        name: "cargo-build",
        needs: &[&CARGO, &CC],
        prepare: &[
            "rm -rf crate; mkdir -p crate/src",
            "printf '[package]\\nname = \"tiny\"\\nversion = \"0.1.0\"\\nedition = \"2021\"\\n[workspace]\\n' > crate/Cargo.toml",
            "cp {inputs}/generated.rs crate/src/lib.rs",
            // The compiler is in memory afterwards: read from the disk it is a third of the build.
            "cargo build --offline --quiet --manifest-path crate/Cargo.toml --target-dir warm",
            "rm -rf warm",
        ],
        watch: Watch::Run(&[
            "cargo",
            "build",
            "--offline",
            "--quiet",
            "--manifest-path",
            "{dir}/crate/Cargo.toml",
            "--target-dir",
            "{dir}/crate/target",
        ]),
        class: &[Class::Cpu],
        why: "cargo waits for rustc, which computes",
        ..PLAIN
    },
    Program {
        name: "cargo-check",
        needs: &[&CARGO, &CC],
        prepare: &[
            "rm -rf crate; mkdir -p crate/src",
            "printf '[package]\\nname = \"tiny\"\\nversion = \"0.1.0\"\\nedition = \"2021\"\\n[workspace]\\n' > crate/Cargo.toml",
            "cp {inputs}/generated.rs crate/src/lib.rs",
        ],
        watch: Watch::Run(&[
            "cargo",
            "check",
            "--offline",
            "--quiet",
            "--manifest-path",
            "{dir}/crate/Cargo.toml",
            "--target-dir",
            "{dir}/crate/target",
        ]),
        class: &[Class::Cpu],
        why: "cargo waits for rustc, which checks types",
        ..PLAIN
    },
    Program {
        name: "rustc",
        needs: &[&RUSTC],
        watch: Watch::Run(&[
            "rustc",
            "--edition",
            "2021",
            "--crate-type",
            "lib",
            "-O",
            "{inputs}/generated.rs",
            "--out-dir",
            "{dir}",
        ]),
        class: &[Class::Cpu],
        why: "an optimising compiler with threads of LLVM",
        ..PLAIN
    },
    Program {
        name: "go-build",
        needs: &[&GO],
        prepare: &[
            "cp {sources}/work.go work.go; go build -o server work.go",
            "echo '// changed' >> work.go; rm server",
        ],
        watch: Watch::Run(&["go", "build", "-o", "{dir}/server", "{dir}/work.go"]),
        class: &[Class::Cpu],
        why: "compiles one file and links; both CPUs compute, and the command waits for them",
        ..PLAIN
    },
    Program {
        name: "git-clone",
        needs: &[&GIT],
        // The first one brings the objects into memory: else it is the disk that is judged.
        prepare: &["rm -rf clone", "git clone --quiet --no-local {root} clone", "rm -rf clone"],
        watch: Watch::Run(&["git", "clone", "--quiet", "--no-local", "{root}", "{dir}/clone"]),
        class: &[Class::Cpu],
        why: "index-pack inflates objects and resolves deltas",
        ..PLAIN
    },
    Program {
        name: "git-log",
        needs: &[&GIT],
        watch: Watch::Run(&["sh", "-c", "exec git -C {root} log -p -300 --stat > {dir}/log"]),
        class: &[Class::Cpu],
        why: "inflates objects and makes differences in one thread",
        ..PLAIN
    },
    Program {
        name: "git-gc",
        needs: &[&GIT],
        prepare: &["rm -rf clone; git clone --quiet --no-local {root} clone"],
        watch: Watch::Run(&["git", "-C", "{dir}/clone", "repack", "-q", "-a", "-d", "-f"]),
        class: &[Class::Cpu],
        why: "two threads look for deltas, and the first waits for them",
        ..PLAIN
    },
];
