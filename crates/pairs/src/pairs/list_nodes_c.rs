//! The list of a million nodes in C, with the system's own `malloc`.

use crate::{Language, Pair, Run, Size, Source, Way, Writing};

pub(super) static PAIR: Pair = Pair {
    name: "list-nodes-c",
    title: "a list of a million nodes in C: the system's malloc for each, or one block",
    cause: Some("allocation"),
    size: Size { unit: "nodes", usual: 8_000_000, least: 4_000_000, most: 8_000_000 },
    ways: &[
        Way { name: "each", what: "malloc for each node", run: Run::Foreign(&SOURCE) },
        Way { name: "bump", what: "nodes from one block, one after another", run: Run::Foreign(&SOURCE) },
        Way { name: "arena", what: "blocks of 1 MiB, as they are needed", run: Run::Foreign(&SOURCE) },
        Way { name: "pool", what: "a list of free nodes, filled by thousands", run: Run::Foreign(&SOURCE) },
    ],
    source: SOURCE.text,
    needs: &[],
    lesson: "malloc finds a free piece and writes its size before it: some twenty nanoseconds, and 48 bytes for a node of 28. \
             The pages behind it are cleared by the kernel the first time they are touched, which no allocator avoids: \
             smaller nodes avoid some. One block, an arena or a pool make a node with an addition or two.",
    writing: Some(Writing {
        title: "How latency impacts performance, parts 1 and 2 (Arm)",
        theirs: "a million nodes took 29,473 us with malloc (malloc 24.6 %, _int_malloc 23.7 %, clear_page 17.1 %) and 5,374 \
                 us from one block: more than 5 times as fast",
    }),
};

static SOURCE: Source =
    Source { language: Language::C, file: "list_nodes.c", text: include_str!("list_nodes.c") };
