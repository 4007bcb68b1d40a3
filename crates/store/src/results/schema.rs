//! The tables, version by version.

/// The version of stores that this dwell writes.
pub const SCHEMA: i64 = STEPS.len() as i64;

/// In the header of the file, for file(1) and for dwell: "dwel".
pub(super) const APPLICATION: i64 = 0x6477_656c;

/// What leads from each version to the next; the first makes a store. A step never changes once a
/// dwell with it was released, and only adds: an older dwell reads what it knows.
pub(super) const STEPS: &[&str] = &[
    "
    CREATE TABLE results (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        at_s INTEGER NOT NULL,
        verb TEXT NOT NULL,
        command TEXT NOT NULL,
        host TEXT NOT NULL,
        machine TEXT NOT NULL,
        kernel TEXT NOT NULL,
        wall_ns INTEGER,
        verdict TEXT,
        finding TEXT,
        schema TEXT NOT NULL,
        dwell TEXT NOT NULL,
        json_bytes INTEGER NOT NULL,
        recording_bytes INTEGER NOT NULL,
        note TEXT
    ) STRICT;
    -- Apart, so that a list does not step over them.
    CREATE TABLE contents (seq INTEGER PRIMARY KEY, packed BLOB NOT NULL) STRICT;
    CREATE TABLE tags (seq INTEGER NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (seq, tag))
        STRICT, WITHOUT ROWID;
    CREATE TABLE settings (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE INDEX results_by_verb ON results (verb);
    CREATE INDEX tags_by_name ON tags (tag, seq);
    CREATE INDEX ladders ON results (machine, verdict) WHERE verb = 'ladder';
    CREATE INDEX recordings ON results (recording_bytes) WHERE recording_bytes > 0;
",
    "
    -- Where results are sent. Keys of results grow and none comes again: those up to sealed_to are
    -- in a batch, or were.
    CREATE TABLE destinations (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        sealed_to INTEGER NOT NULL DEFAULT 0,
        sent INTEGER NOT NULL DEFAULT 0,
        refused INTEGER NOT NULL DEFAULT 0,
        rejected INTEGER NOT NULL DEFAULT 0,
        evicted INTEGER NOT NULL DEFAULT 0,
        failures INTEGER NOT NULL DEFAULT 0,
        due_ms INTEGER NOT NULL DEFAULT 0,
        accepted_ms INTEGER NOT NULL DEFAULT 0,
        said TEXT
    ) STRICT;
    CREATE TABLE batches (
        id TEXT PRIMARY KEY,
        destination INTEGER NOT NULL,
        part TEXT NOT NULL,
        sealed_ms INTEGER NOT NULL,
        tries INTEGER NOT NULL DEFAULT 0,
        leased_ms INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    -- What is not settled yet. A result is there once for a part, so in no two batches.
    CREATE TABLE outbox (
        destination INTEGER NOT NULL,
        result TEXT NOT NULL,
        part TEXT NOT NULL,
        batch TEXT NOT NULL,
        seq INTEGER NOT NULL,
        content BLOB NOT NULL,
        PRIMARY KEY (destination, result, part)
    ) STRICT;
    CREATE INDEX outbox_by_batch ON outbox (batch);
    CREATE INDEX outbox_by_seq ON outbox (seq);
    CREATE TABLE refusals (
        destination INTEGER NOT NULL,
        at_ms INTEGER NOT NULL,
        result TEXT NOT NULL,
        part TEXT NOT NULL,
        why TEXT NOT NULL
    ) STRICT;
    CREATE INDEX refusals_by_result ON refusals (destination, result);
",
];
