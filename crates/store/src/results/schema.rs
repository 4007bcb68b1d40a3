//! The tables, version by version.

/// The version of stores that this dwell writes.
pub const SCHEMA: i64 = STEPS.len() as i64;

/// In the header of the file, for file(1) and for dwell: "dwel".
pub(super) const APPLICATION: i64 = 0x6477_656c;

/// What leads from each version to the next; the first makes a store. A step never changes once a
/// dwell with it was released, and only adds: an older dwell reads what it knows.
pub(super) const STEPS: &[&str] = &["
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
"];
