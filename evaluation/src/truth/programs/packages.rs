//! Programs from the registries of languages: PyPI, npm, the Go proxy, Maven Central and crates.io,
//! and one of Rust from Debian. Each is fetched once, by the registry's own client, and kept.

use super::super::needs::{AB, CARGO, GO, JAVAC, MVN, NGINX, NODE, NPM, PYTHON, RIPGREP};
use super::super::program::{Also, Class, LEFT_ALONE, PLAIN, Program, Ready, Server, Watch, under};
use super::web::{NGINX_CONF, NGINX_SERVER};

const FROM_PYPI: &str = "test -e {inputs}/venv/done || (rm -rf {inputs}/venv; {python} -m venv {inputs}/venv; \
     {inputs}/venv/bin/pip install -q gunicorn pygments; touch {inputs}/venv/done)";

const FROM_NPM: &str = "test -e {inputs}/npm/node_modules/typescript || \
     npm install --silent --no-audit --no-fund --prefix {inputs}/npm typescript@5";

const FROM_GO: &str = "test -x {inputs}/go/hey || GOBIN={inputs}/go go install github.com/rakyll/hey@v0.1.4";

pub(super) const FROM_MAVEN: &str = "test -e {inputs}/maven/h2-2.2.224.jar || mvn -q -B dependency:copy \
     -Dartifact=com.h2database:h2:2.2.224 -DoutputDirectory={inputs}/maven";

/// Functions for the compiler to check.
const TYPESCRIPT: &str = "i=0; while [ $i -lt 3000 ]; do echo \"export function f$i(a: number, b: string): string \
     { return b.repeat(a % 7) + a * $i; }\"; i=$((i + 1)); done > big.ts";

const TOKIO_BUILD: &[&str] = &["mkdir -p {inputs}/tokio; cp -r {sources}/tokio/. {inputs}/tokio; \
     cargo build --quiet --release --manifest-path {inputs}/tokio/Cargo.toml --target-dir {inputs}/tokio/target"];

const TOKIO_SERVER: Server =
    Server { command: &["{inputs}/tokio/target/release/tokio-server", "{port}"], ready: Ready::Port };

const GUNICORN: Server = Server {
    command: &[
        "{inputs}/venv/bin/gunicorn",
        "--workers",
        "2",
        "--bind",
        "127.0.0.1:{port}",
        "--chdir",
        "{dir}",
        "app:app",
    ],
    ready: Ready::Port,
};

const MANY_REQUESTS: Watch =
    under(&["ab", "-q", "-c", "8", "-t", "30", "-n", "100000000", "http://127.0.0.1:{port}/"]);

pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "gunicorn-busy",
        needs: &[&PYTHON, &AB],
        prepare: &[FROM_PYPI, "cp {sources}/app.py {dir}"],
        servers: &[GUNICORN],
        watch: MANY_REQUESTS,
        class: &[Class::Cpu],
        why: "two workers run Python for each request; the arbiter waits",
        also: &[Also::Function(&["app"])],
    },
    Program {
        name: "gunicorn-idle",
        needs: &[&PYTHON],
        prepare: &[FROM_PYPI, "cp {sources}/app.py {dir}"],
        servers: &[GUNICORN],
        watch: LEFT_ALONE,
        class: &[Class::Idle],
        why: "nobody asks it anything; arbiter and workers look at each other once a second",
        ..PLAIN
    },
    Program {
        name: "pygmentize",
        needs: &[&PYTHON],
        prepare: &[FROM_PYPI, "cat {inputs}/units/*.c {inputs}/units/*.c > all.c"],
        watch: Watch::Run(&[
            "{inputs}/venv/bin/pygmentize",
            "-l",
            "c",
            "-f",
            "html",
            "-o",
            "{dir}/all.html",
            "{dir}/all.c",
        ]),
        class: &[Class::Cpu],
        why: "regular expressions of one Python thread",
        ..PLAIN
    },
    Program {
        name: "tsc",
        needs: &[&NODE, &NPM],
        prepare: &[FROM_NPM, TYPESCRIPT],
        watch: Watch::Run(&[
            "node",
            "{inputs}/npm/node_modules/typescript/lib/tsc.js",
            "--noEmit",
            "--target",
            "es2020",
            "{dir}/big.ts",
        ]),
        class: &[Class::Cpu],
        why: "checks types in one thread of JavaScript",
        ..PLAIN
    },
    Program {
        name: "h2-query",
        needs: &[&JAVAC, &MVN],
        prepare: &[FROM_MAVEN],
        watch: Watch::Run(&[
            "java",
            "-cp",
            "{inputs}/maven/h2-2.2.224.jar",
            "org.h2.tools.Shell",
            "-url",
            "jdbc:h2:mem:truth",
            "-sql",
            "select sum(mod(x * x, 7)) from system_range(1, 8000000)",
        ]),
        class: &[Class::Cpu],
        why: "a query on nothing but the CPU, in one thread of Java beside those that compile",
        ..PLAIN
    },
    Program {
        name: "hey",
        needs: &[&GO, &NGINX],
        prepare: &[FROM_GO, NGINX_CONF[0], NGINX_CONF[1]],
        servers: &[NGINX_SERVER],
        watch: Watch::Run(&["{inputs}/go/hey", "-n", "30000", "-c", "8", "http://127.0.0.1:{port}/1"]),
        class: &[Class::Cpu, Class::Kernel, Class::Mixed],
        why: "goroutines send and read as fast as they can: its own code and the kernel's network in shares",
        ..PLAIN
    },
    Program {
        name: "tokio-server-busy",
        needs: &[&CARGO, &AB],
        prepare: TOKIO_BUILD,
        servers: &[TOKIO_SERVER],
        watch: MANY_REQUESTS,
        class: &[Class::Cpu],
        why: "computes for most of a millisecond at each request; workers without work park",
        also: &[Also::Function(&["compute", "answer"])],
    },
    Program {
        name: "tokio-server-idle",
        needs: &[&CARGO],
        prepare: TOKIO_BUILD,
        servers: &[TOKIO_SERVER],
        watch: LEFT_ALONE,
        class: &[Class::Idle],
        why: "nobody asks it anything",
        ..PLAIN
    },
    Program {
        name: "ripgrep",
        needs: &[&RIPGREP],
        prepare: &["rg -l EINPROGRESS {inputs}/tree /usr/include > found"],
        watch: Watch::Run(&[
            "sh",
            "-c",
            "for i in 1 2 3 4 5 6 7 8 9 10; do rg -l EINPROGRESS {inputs}/tree /usr/include; done",
        ]),
        class: &[Class::Kernel, Class::Mixed],
        why: "threads that open and read small cached files; searching them costs less",
        ..PLAIN
    },
];
