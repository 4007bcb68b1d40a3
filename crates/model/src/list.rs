//! What `dwell list --json` writes: results that were kept, without what is in them.

use crate::{JsonSchema, Ns};
use serde::{Deserialize, Serialize};

/// The schema of a list.
pub const SCHEMA_LIST: &str = "dwell.list/1";

/// Kept results, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResultList {
    /// [`SCHEMA_LIST`].
    pub schema: String,
    /// As many as were asked for.
    pub results: Vec<Listed>,
    /// Whether there are more.
    pub more: bool,
}

/// A kept result, for a line of a list. All of it may be of others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Listed {
    /// Its name.
    pub id: String,
    /// When it was kept: RFC 3339, UTC.
    #[schemars(with = "crate::shape::Utc")]
    pub at: String,
    /// The verb.
    pub verb: String,
    /// What it was of.
    pub command: String,
    /// Its host, where that is not this one.
    pub elsewhere: Option<String>,
    /// The wall clock.
    pub wall_ns: Option<Ns>,
    /// The verdict or the class.
    pub verdict: Option<String>,
    /// The first finding.
    pub finding: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// What was written beside it.
    pub note: Option<String>,
    /// Whether its recording is there.
    pub has_recording: bool,
}
