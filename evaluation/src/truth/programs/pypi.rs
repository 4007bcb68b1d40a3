//! Programs and libraries from PyPI, in the versions that are named here.

use super::super::needs::PYTHON;
use super::super::program::{Class, PLAIN, Program, Ready, Server, Watch};

const FETCH: &str = "test -e {inputs}/pypi/done || (rm -rf {inputs}/pypi; {python} -m venv {inputs}/pypi; \
     {inputs}/pypi/bin/pip install -q black==24.10.0 mypy==1.13.0 pytest==8.3.3 requests==2.32.3 \
     sqlite-utils==3.37 dnspython==2.7.0 invoke==2.2.0 imageio-ffmpeg==0.5.1; touch {inputs}/pypi/done)";

/// Sources of pip, which each environment has: some 40 files.
const SOURCES: &str = "rm -rf src cache; mkdir src; cd {inputs}/pypi/lib/python3*/site-packages/pip/_internal; \
     cp -r utils req cli {dir}/src";

/// The loopback's own name server.
const NAME_SERVER: Server = Server {
    command: &["{python}", "{sources}/others/name_server.py", "127.0.0.9", "{dir}/up"],
    ready: Ready::File("{dir}/up"),
};

const SLOW_SERVER: Server =
    Server { command: &["{python}", "{sources}/others/slow.py", "{port}", "5"], ready: Ready::Port };

pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "black",
        needs: &[&PYTHON],
        prepare: &[FETCH, SOURCES],
        // Files that are named: a repository ignores what is in this directory.
        watch: Watch::Run(&[
            "sh",
            "-c",
            "BLACK_CACHE_DIR={dir}/cache exec {inputs}/pypi/bin/black -q --line-length 60 {dir}/src/*/*.py",
        ]),
        class: &[Class::Cpu],
        why: "a process for each CPU parses and formats files, and the first waits for them",
        ..PLAIN
    },
    Program {
        name: "mypy",
        needs: &[&PYTHON],
        prepare: &[FETCH, SOURCES],
        watch: Watch::Run(&[
            "{inputs}/pypi/bin/mypy",
            "--no-incremental",
            "--cache-dir=/dev/null",
            "--follow-imports=skip",
            "--ignore-missing-imports",
            "--disable-error-code=attr-defined",
            "{dir}/src/utils",
        ]),
        class: &[Class::Cpu],
        why: "one thread parses and checks types",
        ..PLAIN
    },
    Program {
        name: "pytest",
        needs: &[&PYTHON],
        prepare: &[
            FETCH,
            "printf 'import pytest\\n\\n\\n@pytest.mark.parametrize(\"n\", range(2000))\\ndef test_square(n):\\n    \
             assert n * n >= n\\n' > test_squares.py",
        ],
        watch: Watch::Run(&[
            "{inputs}/pypi/bin/pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "{dir}/test_squares.py",
        ]),
        class: &[Class::Cpu],
        why: "Python around two thousand tests that do next to nothing",
        ..PLAIN
    },
    Program {
        name: "requests",
        needs: &[&PYTHON],
        prepare: &[FETCH],
        servers: &[SLOW_SERVER],
        watch: Watch::Run(&[
            "{inputs}/pypi/bin/python",
            "{sources}/others/requests_loop.py",
            "http://127.0.0.1:{port}/",
            "200",
        ]),
        class: &[Class::Io, Class::Mixed],
        why: "each page takes its server 5 ms, and Python 2 ms or more around it",
        ..PLAIN
    },
    Program {
        name: "sqlite-utils",
        needs: &[&PYTHON],
        prepare: &[
            FETCH,
            "rm -f db; i=0; echo id,name > rows.csv; while [ $i -lt 1500 ]; do echo $i,name-$i; i=$((i + 1)); done \
             >> rows.csv",
        ],
        watch: Watch::Run(&[
            "{inputs}/pypi/bin/sqlite-utils",
            "insert",
            "{dir}/db",
            "t",
            "{dir}/rows.csv",
            "--csv",
            "--silent",
            "--batch-size",
            "1",
        ]),
        class: &[Class::Io, Class::Mixed, Class::Kernel],
        why: "each row is a transaction that waits for the disk, by calls of a disk that is fast",
        ..PLAIN
    },
    Program {
        name: "dnspython",
        needs: &[&PYTHON],
        prepare: &[FETCH, "rm -f up"],
        servers: &[NAME_SERVER],
        watch: Watch::Run(&["{inputs}/pypi/bin/python", "{sources}/others/names.py", "127.0.0.9", "300"]),
        class: &[Class::Io],
        why: "waits 3 ms for each answer",
        ..PLAIN
    },
    Program {
        name: "invoke",
        needs: &[&PYTHON],
        prepare: &[FETCH, "cp {sources}/others/tasks.py tasks.py"],
        watch: Watch::Run(&["{inputs}/pypi/bin/inv", "check"]),
        // Judged without `io`; time that passes is waiting, and Python starts for over a tenth.
        class: &[Class::Idle, Class::Mixed, Class::Io],
        why: "looks every 10 ms whether its command has ended, which it has by then",
        ..PLAIN
    },
    Program {
        name: "ffmpeg",
        needs: &[&PYTHON],
        prepare: &[
            FETCH,
            "ln -sf {inputs}/pypi/lib/python3*/site-packages/imageio_ffmpeg/binaries/ffmpeg-* ffmpeg",
        ],
        watch: Watch::Run(&[
            "{dir}/ffmpeg",
            "-v",
            "error",
            "-nostdin",
            "-f",
            "lavfi",
            "-i",
            "testsrc2=size=1280x720:rate=25:duration=4",
            "-c:v",
            "libx264",
            "-threads",
            "2",
            "-y",
            "{dir}/out.mp4",
        ]),
        class: &[Class::Cpu],
        why: "threads of x264 encode pictures that another makes",
        ..PLAIN
    },
];
