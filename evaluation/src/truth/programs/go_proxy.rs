//! Programs from the Go proxy, in the versions that are named here. `hey` is among `packages`.

use super::super::needs::{GO, NGINX};
use super::super::program::{Class, PLAIN, Program, Watch};
use super::web::{NGINX_CONF, NGINX_SERVER};

/// Fetches and builds one, where it is not there yet.
macro_rules! fetch {
    ($program:literal, $module:literal) => {
        concat!("test -x {inputs}/go/", $program, " || GOBIN={inputs}/go GOFLAGS=-p=1 go install ", $module)
    };
}

pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "vegeta",
        needs: &[&GO, &NGINX],
        prepare: &[
            fetch!("vegeta", "github.com/tsenart/vegeta/v12@v12.12.0"),
            NGINX_CONF[0],
            NGINX_CONF[1],
            "echo 'GET http://127.0.0.1:{port}/1' > targets",
        ],
        servers: &[NGINX_SERVER],
        watch: Watch::Run(&[
            "{inputs}/go/vegeta",
            "attack",
            "-targets={dir}/targets",
            "-rate=100/s",
            "-duration=3s",
            "-output={dir}/results",
        ]),
        class: &[Class::Idle],
        why: "asks a hundred times a second, and waits for the next time in between",
        ..PLAIN
    },
    Program {
        name: "bbolt",
        needs: &[&GO],
        prepare: &[fetch!("bbolt", "go.etcd.io/bbolt/cmd/bbolt@v1.3.11"), "rm -f db"],
        watch: Watch::Run(&[
            "{inputs}/go/bbolt",
            "bench",
            "-path",
            "{dir}/db",
            "-count",
            "1500",
            "-batch-size",
            "1",
            "-read-mode",
            "seq",
        ]),
        class: &[Class::Io, Class::Mixed, Class::Kernel],
        why: "each key is a transaction of two fdatasyncs; the reads take a second of the CPU",
        ..PLAIN
    },
    Program {
        name: "age",
        needs: &[&GO],
        prepare: &[
            fetch!("age", "filippo.io/age/cmd/age@v1.2.0"),
            "truncate -s 1200M zeroes; cat zeroes > /dev/null",
        ],
        watch: Watch::Run(&[
            "sh",
            "-c",
            "exec {inputs}/go/age -r age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p \
             {dir}/zeroes > /dev/null",
        ]),
        class: &[Class::Cpu],
        why: "encrypts 1.2 GB with ChaCha20 in one thread",
        ..PLAIN
    },
    Program {
        name: "shfmt",
        needs: &[&GO],
        prepare: &[
            fetch!("shfmt", "mvdan.cc/sh/v3/cmd/shfmt@v3.10.0"),
            "i=0; while [ $i -lt 40000 ]; do echo \"f$i() { if [ \\\"\\$1\\\" = $i ]; then echo \\\"\\$((\\$1 + $i))\\\" \
             | tr a b; fi; }\"; i=$((i + 1)); done > big.sh",
        ],
        watch: Watch::Run(&["sh", "-c", "exec {inputs}/go/shfmt {dir}/big.sh > {dir}/formatted.sh"]),
        class: &[Class::Cpu],
        why: "parses and prints a large script",
        ..PLAIN
    },
];
