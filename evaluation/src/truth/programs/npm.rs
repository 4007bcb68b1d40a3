//! Programs and libraries from npm, in the versions that are named here.

use super::super::needs::{NODE, NPM};
use super::super::program::{Class, PLAIN, Program, Watch};

const FETCH: &str = "test -e {inputs}/node/done || (npm install --silent --ignore-scripts --no-audit --no-fund \
     --prefix {inputs}/node eslint@9.14.0 webpack@5.96.1 webpack-cli@5.1.4 mocha@10.8.2 classic-level@1.4.1 \
     esbuild@0.24.0 npm-run-all@4.1.5; touch {inputs}/node/done)";

/// Modules that each need the next, in one directory.
macro_rules! modules {
    ($count:literal) => {
        concat!(
            "rm -rf src out; mkdir src; i=0; while [ $i -lt ",
            $count,
            " ]; do j=$((i + 1)); echo \"const next = require('./m$j.js'); \
             exports.f = (a) => a + $i + next.f(a);\" > src/m$i.js; i=$j; done; \
             echo 'exports.f = (a) => a;' > src/m$i.js; \
             echo \"console.log(require('./m0.js').f(1));\" > src/index.js"
        )
    };
}

pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "eslint",
        needs: &[&NODE, &NPM],
        prepare: &[
            FETCH,
            "rm -rf src; cp -r {inputs}/node/node_modules/eslint/lib src; \
             cp {sources}/others/eslint.config.js eslint.config.js",
        ],
        watch: Watch::Run(&["node", "{inputs}/node/node_modules/eslint/bin/eslint.js", "{dir}/src"]),
        class: &[Class::Cpu],
        why: "parses and checks 400 files in one thread of JavaScript",
        ..PLAIN
    },
    Program {
        name: "webpack",
        needs: &[&NODE, &NPM],
        prepare: &[FETCH, modules!("1000")],
        watch: Watch::Run(&[
            "node",
            "{inputs}/node/node_modules/webpack/bin/webpack.js",
            "--mode",
            "development",
            "--entry",
            "{dir}/src/index.js",
            "-o",
            "{dir}/out",
        ]),
        class: &[Class::Cpu],
        why: "JavaScript around each of a thousand modules; their files come through libuv's pool",
        ..PLAIN
    },
    Program {
        name: "esbuild",
        needs: &[&NODE, &NPM],
        prepare: &[FETCH, modules!("6000")],
        watch: Watch::Run(&[
            "node",
            "{inputs}/node/node_modules/esbuild/bin/esbuild",
            "--bundle",
            "{dir}/src/index.js",
            "--outfile={dir}/out.js",
            "--log-level=error",
        ]),
        class: &[Class::Cpu, Class::Kernel, Class::Mixed],
        why: "a Go program that opens, reads and parses six thousand files of 80 bytes",
        ..PLAIN
    },
    Program {
        name: "mocha",
        needs: &[&NODE, &NPM],
        prepare: &[FETCH],
        watch: Watch::Run(&[
            "node",
            "{inputs}/node/node_modules/mocha/bin/mocha.js",
            "--reporter",
            "dot",
            "{sources}/others/timers.spec.js",
        ]),
        // Judged without `io`: the start of node is more than a tenth.
        class: &[Class::Idle, Class::Io],
        why: "a hundred tests that wait 15 ms each, one after the other",
        ..PLAIN
    },
    Program {
        name: "classic-level",
        needs: &[&NODE, &NPM],
        prepare: &[FETCH, "rm -rf db"],
        watch: Watch::Run(&[
            "node",
            "{sources}/others/level.js",
            "{inputs}/node/node_modules/classic-level",
            "{dir}/db",
            "3000",
        ]),
        class: &[Class::Io, Class::Mixed, Class::Kernel],
        why: "each record waits until LevelDB's log is on the disk",
        ..PLAIN
    },
    Program {
        name: "npm-run-all",
        needs: &[&NODE, &NPM],
        prepare: &[
            FETCH,
            "printf '{\"name\": \"t\", \"scripts\": {\"a:1\": \"true\"' > package.json; \
             for i in 2 3 4 5 6 7 8 9 10 11 12; do printf ', \"a:%s\": \"true\"' $i; done >> package.json; \
             echo '}}' >> package.json",
        ],
        watch: Watch::Run(&[
            "node",
            "{inputs}/node/node_modules/npm-run-all/bin/run-s/index.js",
            "-s",
            "a:*",
        ]),
        class: &[Class::Cpu],
        why: "each of twelve scripts is an npm that starts, and a shell",
        ..PLAIN
    },
];
