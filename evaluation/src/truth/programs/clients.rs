//! Clients of Debian that ask servers on the loopback, and SQLite.

use super::super::needs::{CURL, NGINX, POSTGRES, REDIS, SQLITE};
use super::super::program::{Class, PLAIN, Program, Watch};
use super::databases::{CLUSTER, POSTMASTER, REDIS_SERVER};
use super::web::{NGINX_CONF, NGINX_SERVER};

pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "curl-loop",
        needs: &[&CURL, &NGINX],
        prepare: NGINX_CONF,
        servers: &[NGINX_SERVER],
        watch: Watch::Run(&[
            "sh",
            "-c",
            "i=0; while [ $i -lt 150 ]; do curl -s -o {dir}/page http://127.0.0.1:{port}/$i; i=$((i + 1)); done",
        ]),
        class: &[Class::Kernel, Class::Mixed, Class::Cpu],
        why: "a process for each page, which loads and starts libraries for longer than the page takes",
        ..PLAIN
    },
    Program {
        name: "redis-cli-sets",
        needs: &[&REDIS],
        prepare: &["i=0; while [ $i -lt 20000 ]; do echo \"set key-$i value\"; i=$((i + 1)); done > sets"],
        servers: &[REDIS_SERVER],
        watch: Watch::Run(&["sh", "-c", "exec redis-cli -p {port} < {dir}/sets > {dir}/out"]),
        class: &[Class::Io, Class::Kernel, Class::Mixed],
        why: "a question after the other to a server that takes as long as the client and the kernel",
        ..PLAIN
    },
    Program {
        name: "psql-inserts",
        needs: &[&POSTGRES],
        prepare: &[
            CLUSTER[0],
            CLUSTER[1],
            "(echo 'create table t (id int primary key, name text);'; i=0; while [ $i -lt 2000 ]; do \
             echo \"insert into t values ($i, 'name $i');\"; i=$((i + 1)); done) > inserts.sql",
        ],
        servers: &[POSTMASTER],
        watch: Watch::Run(&[
            "{pg}/psql",
            "-q",
            "-h",
            "127.0.0.1",
            "-p",
            "{port}",
            "-U",
            "postgres",
            "-f",
            "{dir}/inserts.sql",
            "postgres",
        ]),
        class: &[Class::Io],
        why: "waits for the server's commit of each row",
        ..PLAIN
    },
    Program {
        name: "sqlite3-wal",
        needs: &[&SQLITE],
        prepare: &["rm -f db db-wal db-shm; (echo 'pragma journal_mode=wal; pragma synchronous=full;'; \
             cat {inputs}/inserts.sql) > wal.sql"],
        watch: Watch::Run(&["sqlite3", "{dir}/db", ".read {dir}/wal.sql"]),
        class: &[Class::Io, Class::Kernel, Class::Mixed],
        why: "each row waits once until the log is on the disk",
        ..PLAIN
    },
    Program {
        name: "sqlite3-import",
        needs: &[&SQLITE],
        prepare: &[
            "rm -f db; awk 'BEGIN { for (i = 0; i < 700000; i++) print i \",name \" i * 7919 % 700000 }' > rows.csv",
        ],
        watch: Watch::Run(&[
            "sqlite3",
            "{dir}/db",
            "create table t (id integer primary key, name text)",
            "create index n on t (name)",
            ".import --csv {dir}/rows.csv t",
        ]),
        class: &[Class::Cpu, Class::Mixed],
        why: "one transaction that fills a table and an index; it is written once, at the end",
        ..PLAIN
    },
];
