//! The file: opened, made, and checked for what it is.

use super::error::StoreError;
use super::pack;
use super::schema::{APPLICATION, SCHEMA, STEPS};
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The first bytes of a file of SQLite.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// Where a header has the number of the application.
const APPLICATION_AT: usize = 68;
/// From what length on the log is written into the file. The first to open a store reads it whole.
const LOG_BYTES: u64 = 1 << 20;
/// Mode bits by which others than the owner write.
const OTHERS_WRITE: u32 = 0o022;
/// What SQLite may take in hand for a file: bytes of a row and of a statement, columns, depth of an
/// expression, and what a store has no use for. Results are a megabyte or less.
const LIMITS: [(Limit, i32); 8] = [
    (Limit::SQLITE_LIMIT_LENGTH, 64 << 20),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, 64 << 10),
    (Limit::SQLITE_LIMIT_COLUMN, 200),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 100),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 10),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
];
/// What SQLite puts beside a file.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// An open store.
#[derive(Debug)]
pub struct Store {
    pub(super) db: Connection,
    pub(super) path: PathBuf,
    /// That of the file; 0 of one that is new.
    version: i64,
    /// The steps of this dwell; tests have others.
    steps: &'static [&'static str],
    /// When to give up waiting for others.
    until: Instant,
}

impl Store {
    /// Opens the store at `path` to write to it, and makes it where there is none, for its user
    /// alone; migrates one of an earlier version. `path` has no links in it, and its directory is
    /// there. Others are waited for until `until`. `local`: no other host has it, so that a log in
    /// shared memory can be used.
    ///
    /// # Errors
    /// What the system or SQLite says; that it is something else, of others, or newer.
    pub fn open(path: &Path, owner: u32, local: bool, until: Instant) -> Result<Self, StoreError> {
        Self::open_with(path, owner, local, until, STEPS)
    }

    pub(super) fn open_with(
        path: &Path,
        owner: u32,
        local: bool,
        until: Instant,
        steps: &'static [&'static str],
    ) -> Result<Self, StoreError> {
        let io = |said| StoreError::Io { path: path.to_owned(), said };
        // SQLite would make it for all to read. What it puts beside has the mode of the file.
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(io(error)),
            _ => {}
        }
        of_owner(path, owner)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
        let mut store = Self::connect(path, flags, until, steps)?;
        store.configure(local).map_err(|error| store.error(error))?;
        store.version = store.read_version()?;
        if store.version == 0 {
            store.lay_out(local)?;
        }
        if store.version < store.current() {
            store.migrate()?;
        }
        Ok(store)
    }

    /// Opens the store at `path` to read it; none if there is no such file. Nothing is written, as
    /// far as that can be: a log without its index gets one where that may be made.
    ///
    /// # Errors
    /// As [`Store::open`], but that it is newer.
    pub fn open_to_read(path: &Path, owner: u32, until: Instant) -> Result<Option<Self>, StoreError> {
        match path.symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(said) => return Err(StoreError::Io { path: path.to_owned(), said }),
            // Somebody is about to make it.
            Ok(found) if found.len() == 0 => return Ok(None),
            Ok(_) => {}
        }
        of_owner(path, owner)?;
        let read = |store: Self| -> Result<Self, StoreError> {
            let mut store = store;
            store.harden().map_err(|error| store.error(error))?;
            store.version = store.read_version()?;
            Ok(store)
        };
        let opened = Self::connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY, until, STEPS).and_then(read);
        let store = match opened {
            // The log has no index, and none can be made: the file without it.
            Err(StoreError::ReadOnly(_) | StoreError::Io { .. }) => {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
                let db =
                    Connection::open_with_flags(unchanging(path), flags | OpenFlags::SQLITE_OPEN_NOFOLLOW)
                        .map_err(|error| store_error(path, &error))?;
                let path = path.to_owned();
                read(Self { db, path, version: 0, steps: STEPS, until })?
            }
            opened => opened?,
        };
        // Tables are not there yet.
        Ok((store.version > 0).then_some(store))
    }

    fn connect(
        path: &Path,
        flags: OpenFlags,
        until: Instant,
        steps: &'static [&'static str],
    ) -> Result<Self, StoreError> {
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let db = Connection::open_with_flags(path, flags).map_err(|error| store_error(path, &error))?;
        let store = Self { db, path: path.to_owned(), version: 0, steps, until };
        store.wait_for_others().map_err(|error| store.error(error))?;
        Ok(store)
    }

    /// What a file may make SQLite do is bounded: it may be of somebody else.
    fn harden(&self) -> rusqlite::Result<()> {
        for (limit, most) in LIMITS {
            self.db.set_limit(limit, most)?;
        }
        self.db.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        self.db.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        self.db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
        self.db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
        self.db.execute_batch("PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON;")
    }

    fn configure(&self, local: bool) -> rusqlite::Result<()> {
        self.harden()?;
        if local {
            // Ending does not wait for the disk; the log is written when it is long.
            self.db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            self.db.execute_batch("PRAGMA synchronous = NORMAL;")?;
            self.db.pragma_update(None, "wal_autocheckpoint", 0)
        } else {
            // Then there is no memory to share, whatever the file says.
            self.db.execute_batch("PRAGMA synchronous = FULL; PRAGMA locking_mode = EXCLUSIVE;")
        }
    }

    /// The version of the file: 0 of an empty one.
    fn read_version(&self) -> Result<i64, StoreError> {
        let asked = "SELECT (SELECT user_version FROM pragma_user_version), \
                     (SELECT application_id FROM pragma_application_id), \
                     (SELECT count(*) FROM sqlite_schema)";
        let told: (i64, i64, i64) = self
            .db
            .query_row(asked, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .map_err(|error| self.error(error))?;
        match told {
            (version, APPLICATION, _) if version > 0 => Ok(version),
            (0, 0, 0) => Ok(0),
            _ => Err(StoreError::NotAStore(self.path.clone())),
        }
    }

    /// Settings of the file that cannot be made in a transaction.
    fn lay_out(&self, local: bool) -> Result<(), StoreError> {
        let mode = if local { "WAL" } else { "DELETE" };
        loop {
            let done = self.db.execute_batch("PRAGMA auto_vacuum = INCREMENTAL;").and_then(|()| {
                self.db.pragma_update_and_check(None, "journal_mode", mode, |row| row.get::<_, String>(0))
            });
            match done.map_err(|error| self.error(error)) {
                // Two that make it at once: SQLite does not wait here.
                Err(StoreError::Busy(_)) if Instant::now() < self.until => {
                    std::thread::sleep(Duration::from_millis(2));
                }
                done => return done.map(drop),
            }
        }
    }

    /// Brings the file to the version of this dwell.
    fn migrate(&mut self) -> Result<(), StoreError> {
        self.wait_for_others().map_err(|error| self.error(error))?;
        let path = self.path.clone();
        let refused = |error| store_error(&path, &error);
        let steps = self.steps;
        let change = self.db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(refused)?;
        // Another dwell may have done it meanwhile.
        let version: i64 =
            change.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(refused)?;
        for step in steps.iter().skip(usize::try_from(version).unwrap_or(0)) {
            change.execute_batch(step).map_err(refused)?;
        }
        let version = version.max(steps.len() as i64);
        change.pragma_update(None, "application_id", APPLICATION).map_err(refused)?;
        change.pragma_update(None, "user_version", version).map_err(refused)?;
        change.commit().map_err(refused)?;
        self.version = version;
        // Into the file itself, which is known by its header from now on. If that cannot be done
        // yet, a later change does it.
        let _ = self.db.execute_batch("PRAGMA wal_checkpoint(PASSIVE)");
        Ok(())
    }

    /// Begins a change. Checks first that no newer dwell has migrated the store meanwhile.
    pub(super) fn change(&mut self) -> Result<rusqlite::Transaction<'_>, StoreError> {
        let current = self.current();
        let path = self.path.clone();
        let refused = |error| store_error(&path, &error);
        self.wait_for_others().map_err(refused)?;
        let change = self.db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(refused)?;
        let version: i64 =
            change.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(refused)?;
        if version > current {
            return Err(StoreError::Newer { path: path.clone(), version });
        }
        Ok(change)
    }

    /// Writes a long log into the file, and empties it. SQLite by itself would leave it for the
    /// next change to overwrite; but who opens the store next, and finds nobody else there, cannot
    /// know that it was written: it would be read and written again each time, and grow.
    pub(super) fn empty_log(&self) {
        let mut log = self.path.clone().into_os_string();
        log.push("-wal");
        if fs::metadata(log).is_ok_and(|log| log.len() > LOG_BYTES) {
            // Who reads it now is not waited for: a later change does it.
            let _ = self.db.busy_timeout(Duration::ZERO);
            let _ = self.db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
            let _ = self.wait_for_others();
        }
    }

    fn current(&self) -> i64 {
        self.steps.len() as i64
    }

    /// How long SQLite waits for a lock from here on.
    fn wait_for_others(&self) -> rusqlite::Result<()> {
        self.db.busy_timeout(self.until.saturating_duration_since(Instant::now()))
    }

    /// Whether there is no more time.
    pub(super) fn is_late(&self) -> bool {
        Instant::now() >= self.until
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The version of the file.
    pub fn version(&self) -> i64 {
        self.version
    }

    /// Whether a newer dwell made it.
    pub fn is_newer(&self) -> bool {
        self.version > SCHEMA
    }

    /// What SQLite says of the whole file, page by page, and what is wrong with each result and its
    /// recording: empty if all is well.
    ///
    /// # Errors
    /// It cannot be read at all.
    pub fn check(&self) -> Result<Vec<String>, StoreError> {
        let error = |error| self.error(error);
        let mut asked = self.db.prepare("PRAGMA integrity_check(20)").map_err(error)?;
        let said = asked.query_map([], |row| row.get::<_, String>(0)).map_err(error)?;
        let mut wrong = said.collect::<rusqlite::Result<Vec<_>>>().map_err(error)?;
        wrong.retain(|line| line != "ok");
        let of_each = "SELECT id, packed, recording_bytes FROM results LEFT JOIN contents USING (seq)";
        let mut asked = self.db.prepare(of_each).map_err(error)?;
        let mut rows = asked.query([]).map_err(error)?;
        while let Some(row) = rows.next().map_err(error)? {
            let (id, packed): (String, Option<Vec<u8>>) =
                (row.get(0).map_err(error)?, row.get(1).map_err(error)?);
            let recording_bytes: i64 = row.get(2).map_err(error)?;
            match packed.as_deref().map(pack::json) {
                None => wrong.push(format!("result {id}: it has no content")),
                Some(Err(why)) => wrong.push(format!("result {id}: {why}")),
                Some(Ok(_)) => {}
            }
            if recording_bytes > 0
                && let Err(why) = pack::check(&self.recording(&id), recording_bytes.unsigned_abs())
            {
                wrong.push(format!("the recording of result {id}: {why}"));
            }
        }
        Ok(wrong)
    }

    pub(super) fn error(&self, error: rusqlite::Error) -> StoreError {
        store_error(&self.path, &error)
    }
}

/// The error that SQLite gives, as one of the store.
pub(super) fn store_error(path: &Path, error: &rusqlite::Error) -> StoreError {
    let at = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::OperationInterrupted) => {
            StoreError::Busy(at)
        }
        Some(ErrorCode::DiskFull) => StoreError::Full(at),
        Some(ErrorCode::ReadOnly) => StoreError::ReadOnly(at),
        Some(ErrorCode::NotADatabase) => StoreError::NotAStore(at),
        // Nothing that dwell keeps is so large.
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::TooBig) => {
            StoreError::Damaged { path: at, said: error.to_string() }
        }
        Some(ErrorCode::CannotOpen | ErrorCode::SystemIoFailure | ErrorCode::FileLockingProtocolFailed) => {
            StoreError::Io { path: at, said: io::Error::other(error.to_string()) }
        }
        _ => StoreError::Other { path: at, said: error.to_string() },
    }
}

/// Whether a store belongs to the user `owner`, and nobody else can change it.
fn of_owner(path: &Path, owner: u32) -> Result<(), StoreError> {
    // SQLite opens these as they are: a pipe would be waited for.
    for end in BESIDE {
        let mut beside = path.as_os_str().to_owned();
        beside.push(end);
        let beside = PathBuf::from(beside);
        if beside.symlink_metadata().is_ok_and(|found| !found.is_file()) {
            return Err(StoreError::Foreign { path: beside, why: "it is no regular file".to_owned() });
        }
    }
    let found = path.symlink_metadata().map_err(|said| StoreError::Io { path: path.to_owned(), said })?;
    let why = if !found.is_file() {
        "it is no regular file".to_owned()
    } else if found.uid() != owner {
        format!("it belongs to the user {}", found.uid())
    } else if found.mode() & OTHERS_WRITE != 0 {
        format!("its mode is {:o}", found.mode() & 0o7777)
    } else {
        return Ok(());
    };
    Err(StoreError::Foreign { path: path.to_owned(), why })
}

/// The name of a file for SQLite that says that nobody changes it.
fn unchanging(path: &Path) -> String {
    let escaped = |byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => char::from(*byte).to_string(),
        other => format!("%{other:02x}"),
    };
    let name: String = path.as_os_str().as_bytes().iter().map(escaped).collect();
    format!("file:{name}?immutable=1")
}

/// Whether a file is a store of dwell, or a file that SQLite puts beside it: nothing else is
/// to be written there.
pub fn is_store(path: &Path) -> bool {
    let is = |path: &Path| -> io::Result<bool> {
        if !fs::metadata(path)?.is_file() {
            return Ok(false);
        }
        let mut header = [0; APPLICATION_AT + 4];
        File::open(path)?.read_exact(&mut header)?;
        let application = (APPLICATION as u32).to_be_bytes();
        Ok(header.starts_with(MAGIC) && header[APPLICATION_AT..] == application)
    };
    let bytes = path.as_os_str().as_bytes();
    let stripped = BESIDE.iter().find_map(|end| bytes.strip_suffix(end.as_bytes()));
    let beside = stripped.map(|name| PathBuf::from(std::ffi::OsStr::from_bytes(name)));
    [Some(path.to_owned()), beside].iter().flatten().any(|path| is(path).unwrap_or(false))
}
