//! Web servers and their clients on the loopback.

use super::super::needs::{AB, CURL, NGINX};
use super::super::program::{Also, Class, LEFT_ALONE, PLAIN, Program, Ready, Server, Watch, under};

/// One worker, so that its thread is the server.
pub(super) const NGINX_CONF: &[&str] = &[
    "printf 'worker_processes 1; pid nginx.pid; error_log stderr; events {}\\nhttp { access_log off; \
     keepalive_requests 1000000; server { listen 127.0.0.1:{port}; root {inputs}/pages; } }\\n' > nginx.conf",
    // The worker is another user's, who has to be able to read the pages.
    "sed -i '1i user root;' nginx.conf",
];

pub(super) const NGINX_SERVER: Server = Server {
    command: &["nginx", "-p", "{dir}", "-c", "{dir}/nginx.conf", "-g", "daemon off;"],
    ready: Ready::Port,
};

const PYTHON_SERVER: Server = Server {
    command: &[
        "{python}",
        "-m",
        "http.server",
        "--bind",
        "127.0.0.1",
        "--directory",
        "{inputs}/pages",
        "{port}",
    ],
    ready: Ready::Port,
};

pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "nginx-busy",
        needs: &[&NGINX, &AB],
        prepare: NGINX_CONF,
        servers: &[NGINX_SERVER],
        watch: under(&[
            "ab",
            "-q",
            "-k",
            "-c",
            "8",
            "-t",
            "30",
            "-n",
            "100000000",
            "http://127.0.0.1:{port}/1",
        ]),
        class: &[Class::Kernel],
        why: "opens and sends a small file for each request; its own code is short",
        ..PLAIN
    },
    Program {
        name: "nginx-idle",
        needs: &[&NGINX],
        prepare: NGINX_CONF,
        servers: &[NGINX_SERVER],
        watch: LEFT_ALONE,
        class: &[Class::Idle],
        why: "nobody asks it anything",
        ..PLAIN
    },
    Program {
        name: "nginx-some-requests",
        needs: &[&NGINX, &CURL],
        prepare: NGINX_CONF,
        servers: &[NGINX_SERVER],
        watch: under(&["sh", "-c", "while :; do curl -s http://127.0.0.1:{port}/1; sleep 0.05; done"]),
        class: &[Class::Idle],
        why: "answers in less than a millisecond, fifteen times a second",
        ..PLAIN
    },
    Program {
        name: "ab",
        needs: &[&NGINX, &AB],
        prepare: NGINX_CONF,
        servers: &[NGINX_SERVER],
        watch: Watch::Run(&["ab", "-q", "-c", "8", "-n", "20000", "http://127.0.0.1:{port}/1"]),
        class: &[Class::Kernel],
        why: "one thread that connects, writes and reads, with more connections than the server needs",
        ..PLAIN
    },
    Program {
        name: "curl-1000-files",
        needs: &[&CURL],
        servers: &[PYTHON_SERVER],
        watch: Watch::Run(&["curl", "-s", "-o", "{dir}/page", "http://127.0.0.1:{port}/[0-999]"]),
        class: &[Class::Io],
        why: "each file waits for an answer of a slow server",
        also: &[Also::Calls(&["connect", "sendto"])],
        ..PLAIN
    },
    Program {
        name: "python-http-busy",
        needs: &[&AB],
        servers: &[PYTHON_SERVER],
        watch: under(&["ab", "-q", "-c", "2", "-t", "30", "-n", "100000000", "http://127.0.0.1:{port}/1"]),
        class: &[Class::Cpu, Class::Mixed],
        why: "the interpreter works at each request, and the kernel on its thread, socket and file as long",
        ..PLAIN
    },
    Program {
        name: "python-http-idle",
        servers: &[PYTHON_SERVER],
        watch: LEFT_ALONE,
        class: &[Class::Idle],
        why: "nobody asks it anything; it looks twice a second whether to end",
        ..PLAIN
    },
];
