//! Python that computes in threads, or in processes.

use crate::{Language, Pair, Run, Size, Source, Way};

pub(super) static PAIR: Pair = Pair {
    name: "python-threads",
    title: "Python that computes in four threads, or in four processes",
    cause: Some("interpreter-lock"),
    size: Size { unit: "thousand rounds each", usual: 4_000, least: 2_500, most: 5_000 },
    ways: &[
        Way { name: "threads", what: "four threads", run: Run::Foreign(&SOURCE) },
        Way { name: "processes", what: "four processes", run: Run::Foreign(&SOURCE) },
    ],
    source: SOURCE.text,
    needs: &[],
    lesson: "Only the thread that has the interpreter's lock runs Python, so threads that compute take turns on one CPU. They \
             help where threads wait: for files, peers, other programs. To compute side by side takes processes, code \
             that releases the lock (NumPy), or a build without it.",
    writing: None,
};

static SOURCE: Source =
    Source { language: Language::Python, file: "threads.py", text: include_str!("python_threads.py") };
