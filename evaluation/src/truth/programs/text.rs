//! Tools that read, compress and order text: one or two processes that compute.

use super::super::needs::{PERL, XZ};
use super::super::program::{Class, PLAIN, Program, Watch};

pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "xz-2-threads",
        needs: &[&XZ],
        watch: Watch::Run(&["sh", "-c", "exec xz -1 -T2 -c {inputs}/generated.text > {dir}/out.xz"]),
        class: &[Class::Cpu],
        why: "two encoders compute; the main thread reads and waits for them",
        ..PLAIN
    },
    Program {
        name: "sort",
        watch: Watch::Run(&["sort", "{inputs}/generated.text", "-o", "{dir}/sorted"]),
        class: &[Class::Cpu],
        why: "compares lines in memory",
        ..PLAIN
    },
    Program {
        name: "tar-gzip",
        watch: Watch::Run(&["sh", "-c", "tar c -C {inputs} tree generated.text | gzip -4 > {dir}/out.tgz"]),
        class: &[Class::Cpu],
        why: "gzip is slower than tar by far, and tar waits for it at the pipe",
        ..PLAIN
    },
    Program {
        name: "sha256sum",
        watch: Watch::Run(&[
            "sha256sum",
            "{inputs}/generated.text",
            "{inputs}/generated.text",
            "{inputs}/generated.text",
            "{inputs}/generated.text",
        ]),
        class: &[Class::Cpu],
        why: "one thread that hashes cached files",
        ..PLAIN
    },
    Program {
        name: "awk",
        watch: Watch::Run(&[
            "awk",
            "{ for (i = 1; i <= NF; i++) n[$i]++ } END { for (w in n) s += n[w]; print s }",
            "{inputs}/generated.text",
        ]),
        class: &[Class::Cpu],
        why: "counts words in memory",
        ..PLAIN
    },
    Program {
        name: "perl",
        needs: &[&PERL],
        watch: Watch::Run(&["perl", "-e", "my $s = 0; $s = ($s * 31 + $_) % 1000003 for 1..20000000;"]),
        class: &[Class::Cpu],
        why: "a loop of the interpreter",
        ..PLAIN
    },
    Program {
        name: "gzip-pipe-of-three",
        watch: Watch::Run(&[
            "sh",
            "-c",
            "cat {inputs}/generated.text | gzip -1 | gzip -d | sha256sum > {dir}/sum",
        ]),
        class: &[Class::Cpu],
        why: "the slowest of the pipe computes, and all others wait for it",
        ..PLAIN
    },
];
