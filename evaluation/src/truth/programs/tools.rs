//! Tools of Debian: a process for each item, small reads, many files, and programs that compute.

use super::super::needs::{BZIP2, CC, GIT, IPERF3, MAKE, PV, SSH_KEYGEN, ZIP};
use super::super::program::{Class, PLAIN, Program, Ready, Server, Watch};

pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "make-j1",
        needs: &[&MAKE, &CC],
        prepare: &["rm -f *.o"],
        watch: Watch::Run(&["make", "-s", "-f", "{inputs}/units/Makefile", "SOURCES={inputs}/units"]),
        class: &[Class::Cpu],
        why: "one compiler after the other computes",
        ..PLAIN
    },
    Program {
        name: "find-exec",
        watch: Watch::Run(&["find", "{inputs}/pages", "-name", "*[024]", "-exec", "wc", "-c", "{}", ";"]),
        class: &[Class::Kernel],
        why: "a process for each of three hundred files",
        ..PLAIN
    },
    Program {
        name: "xargs-bzip2",
        needs: &[&BZIP2],
        prepare: &["rm -f part.*; split -n 8 {inputs}/generated.text part."],
        watch: Watch::Run(&["sh", "-c", "ls part.* | xargs -n 1 -P 1 bzip2 -k"]),
        class: &[Class::Cpu],
        why: "eight files are compressed, one after the other",
        ..PLAIN
    },
    Program {
        name: "shell-cut",
        prepare: &["head -n 400 {inputs}/generated.text > lines"],
        watch: Watch::Run(&[
            "sh",
            "-c",
            "while read -r line; do echo \"$line\" | cut -c 1-9; done < {dir}/lines",
        ]),
        class: &[Class::Kernel],
        why: "two processes for each of four hundred lines",
        ..PLAIN
    },
    Program {
        name: "shell-read",
        prepare: &["head -c 2000000 {inputs}/generated.text > lines"],
        watch: Watch::Run(&[
            "sh",
            "-c",
            "n=0; while read -r line; do n=$((n + 1)); done < {dir}/lines; echo $n",
        ]),
        class: &[Class::Kernel, Class::Mixed, Class::Cpu],
        why: "the shell reads byte by byte, since what it starts may go on reading where it stopped",
        ..PLAIN
    },
    Program {
        name: "dd-bytes",
        watch: Watch::Run(&["dd", "if={inputs}/generated.text", "of=/dev/null", "bs=1", "count=2000000"]),
        class: &[Class::Kernel],
        why: "a read and a write for each byte",
        ..PLAIN
    },
    Program {
        name: "ls-colour",
        prepare: &["ls -R --color=always /usr > warm || true"],
        watch: Watch::Run(&["sh", "-c", "exec ls -R --color=always /usr > {dir}/list"]),
        class: &[Class::Kernel, Class::Mixed],
        why: "a look at each file for its colour, all cached",
        ..PLAIN
    },
    Program {
        name: "tar-many",
        prepare: &["tar cf warm.tar -C {inputs} tree pages; rm warm.tar"],
        watch: Watch::Run(&[
            "sh",
            "-c",
            "for i in 1 2 3 4 5 6 7 8; do tar cf {dir}/out.tar -C {inputs} tree pages; done",
        ]),
        class: &[Class::Kernel],
        why: "three thousand small cached files are opened and copied, eight times",
        ..PLAIN
    },
    Program {
        name: "git-add",
        needs: &[&GIT],
        prepare: &[
            "rm -rf repository; git init -q repository; cp -r {inputs}/tree {inputs}/pages repository",
        ],
        watch: Watch::Run(&["git", "-C", "{dir}/repository", "add", "."]),
        class: &[Class::Kernel, Class::Mixed],
        why: "a new file for the contents of each of three thousand",
        ..PLAIN
    },
    Program {
        name: "dpkg-unpack",
        prepare: &[
            "rm -rf package root; mkdir -p package/DEBIAN package/usr/share root/var/lib/dpkg/info \
             root/var/lib/dpkg/updates; touch root/var/lib/dpkg/status; cp -r {inputs}/tree package/usr/share",
            "printf 'Package: truth\\nVersion: 1\\nArchitecture: all\\nMaintainer: n <n@example.test>\\n\
             Description: files\\n' > package/DEBIAN/control; dpkg-deb -b package truth.deb > built",
        ],
        watch: Watch::Run(&["dpkg", "--root={dir}/root", "--log=/dev/null", "--unpack", "{dir}/truth.deb"]),
        class: &[Class::Io, Class::Mixed, Class::Kernel],
        why: "each of two thousand files has to be on the disk before it gets its name",
        ..PLAIN
    },
    Program {
        name: "ssh-keygen",
        needs: &[&SSH_KEYGEN],
        prepare: &["rm -f key key.pub"],
        watch: Watch::Run(&[
            "ssh-keygen",
            "-q",
            "-t",
            "ed25519",
            "-a",
            "200",
            "-N",
            "secret",
            "-f",
            "{dir}/key",
        ]),
        class: &[Class::Cpu],
        why: "two hundred rounds of bcrypt",
        ..PLAIN
    },
    Program {
        name: "zip",
        needs: &[&ZIP],
        prepare: &["rm -f out.zip"],
        watch: Watch::Run(&["zip", "-q", "{dir}/out.zip", "{inputs}/generated.text"]),
        class: &[Class::Cpu],
        why: "compresses in one thread",
        ..PLAIN
    },
    Program {
        name: "pv-limited",
        needs: &[&PV],
        watch: Watch::Run(&[
            "sh",
            "-c",
            "head -c 2500000 {inputs}/generated.text | pv -q -L 1m | cat > {dir}/out",
        ]),
        class: &[Class::Idle],
        why: "lets a megabyte pass each second, as it was told",
        ..PLAIN
    },
    Program {
        name: "iperf3",
        needs: &[&IPERF3],
        servers: &[Server {
            command: &["iperf3", "-s", "-1", "-B", "127.0.0.1", "-p", "{port}", "--pidfile", "{dir}/up"],
            ready: Ready::File("{dir}/up"),
        }],
        prepare: &["rm -f up"],
        watch: Watch::Run(&["iperf3", "-c", "127.0.0.1", "-p", "{port}", "-t", "3"]),
        // Judged without `io`: the server, which copies what came, takes longer than the client.
        class: &[Class::Kernel, Class::Mixed, Class::Io],
        why: "the kernel copies between two processes that each have a CPU",
        ..PLAIN
    },
];
