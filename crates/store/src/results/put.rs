//! Keeping a result.

use super::change::Removed;
use super::error::StoreError;
use super::file::Store;
use super::limit::Size;
use super::pack;
use super::row::{NewResult, TEXT_MAX, cut, plain_id};
use rusqlite::{ErrorCode, params};
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A result that was kept.
#[derive(Debug)]
pub struct Put {
    /// Its name.
    pub id: String,
    /// What had to go for it.
    pub removed: Option<Removed>,
    /// Its recording could not be kept.
    pub without_recording: Option<io::Error>,
    /// The store is larger than it may be, and nothing can go: all else has tags.
    pub over: Option<Size>,
}

/// How long a recording may take to pack: nobody waits longer for a prompt.
const PACKING: Duration = Duration::from_secs(2);

/// A key that no result had before, also after the last one was removed: what was sent elsewhere is
/// known by it. The key that was given last stays in the settings.
const NEXT_KEY: &str = "INSERT INTO settings (name, value)
    VALUES ('last_key', (SELECT coalesce(max(seq), 0) + 1 FROM results))
    ON CONFLICT (name) DO UPDATE SET value = max(value + 1, excluded.value)
    RETURNING value";

impl Store {
    /// Keeps a result: it is there when this returns, whatever happens to the process. Then removes
    /// the oldest results without tags, where the store is too large.
    ///
    /// # Errors
    /// It is not there.
    pub fn put(&mut self, result: &NewResult) -> Result<Put, StoreError> {
        let io = |said| StoreError::Io { path: self.path.clone(), said };
        let packed = pack::packed(&result.json).map_err(io)?;
        let (id, without_recording) = self.add(result, &packed)?;
        let mut put = Put { id, removed: None, without_recording, over: None };
        let size = self.size()?;
        if size.used_bytes > size.limit_bytes {
            let removed = self.make_room()?;
            put.over = (removed.results == 0).then_some(size);
            put.removed = Some(removed).filter(|removed| removed.results > 0);
        }
        self.empty_log();
        Ok(put)
    }

    fn add(&mut self, result: &NewResult, packed: &[u8]) -> Result<(String, Option<io::Error>), StoreError> {
        loop {
            let id = self.new_id()?;
            // Before the row that names it. What is not named is removed when the store is checked.
            let kept = result.recording.as_deref().map(|from| self.keep_recording(from, &id));
            let (recording, failed) = match kept {
                Some(Ok(bytes)) => (bytes, None),
                Some(Err(error)) => (0, Some(error)),
                None => (0, None),
            };
            match self.insert(result, packed, &id, recording) {
                // Another result got that name meanwhile.
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {}
                Err(error) => {
                    let _ = std::fs::remove_file(self.recording(&id));
                    return Err(self.error(error));
                }
                Ok(Some(newer)) => {
                    let _ = std::fs::remove_file(self.recording(&id));
                    return Err(newer);
                }
                Ok(None) => return Ok((id, failed)),
            }
        }
    }

    /// A name that no result has.
    fn new_id(&self) -> Result<String, StoreError> {
        let asked = "WITH new(id) AS (VALUES (lower(hex(randomblob(4))))) \
                     SELECT id, EXISTS (SELECT 1 FROM results WHERE results.id = new.id) FROM new";
        loop {
            let (id, taken): (String, bool) = self
                .db
                .query_row(asked, [], |row| Ok((row.get(0)?, row.get(1)?)))
                .map_err(|error| self.error(error))?;
            if !taken {
                return Ok(id);
            }
        }
    }

    /// Writes the row. A store that a newer dwell has migrated is left as it is.
    fn insert(
        &mut self,
        result: &NewResult,
        packed: &[u8],
        id: &str,
        recording_bytes: u64,
    ) -> rusqlite::Result<Option<StoreError>> {
        let change = match self.change() {
            Ok(change) => change,
            Err(error) => return Ok(Some(error)),
        };
        let seq: i64 = change.query_row(NEXT_KEY, [], |row| row.get(0))?;
        change.execute(
            "INSERT INTO results (seq, id, at_s, verb, command, host, machine, kernel, wall_ns, verdict, finding, \
             schema, dwell, json_bytes, recording_bytes) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
            params![
                seq,
                id,
                result.at_s,
                result.verb,
                cut(&result.command, TEXT_MAX),
                cut(&result.host, TEXT_MAX),
                result.machine,
                cut(&result.kernel, TEXT_MAX),
                result.wall_ns.map(|ns| i64::try_from(ns).unwrap_or(i64::MAX)),
                result.verdict,
                result.finding,
                result.schema,
                result.dwell,
                result.json.len(),
                recording_bytes,
            ],
        )?;
        change.execute("INSERT INTO contents (seq, packed) VALUES (?1, ?2)", params![seq, packed])?;
        change.commit()?;
        Ok(None)
    }

    /// Packs a recording into a file beside the store; returns its size.
    fn keep_recording(&self, from: &Path, id: &str) -> io::Result<u64> {
        let to = self.recording(id);
        let within = crate::above(&to)?;
        DirBuilder::new().recursive(true).mode(0o700).create(within)?;
        let mut file = tempfile::Builder::new().prefix(".recording-").tempfile_in(within)?;
        let until = Instant::now() + PACKING;
        let bytes = pack::pack_file(from, file.as_file_mut(), &|| self.is_late() || Instant::now() >= until)?;
        file.persist(to)?;
        Ok(bytes)
    }

    /// The file of a result's recording.
    pub fn recording(&self, id: &str) -> PathBuf {
        self.recordings().join(format!("{}.dwell.gz", plain_id(id)))
    }

    /// The directory of recordings.
    pub(super) fn recordings(&self) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push("-recordings");
        name.into()
    }
}
