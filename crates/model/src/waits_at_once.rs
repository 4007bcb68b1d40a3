//! How many threads of the tree wait at once, in the schema of `--json`.

use crate::{JsonSchema, Ns};
use serde::{Deserialize, Serialize};

/// Waits of all threads that were under way at once, by what they are for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaitsAtOnce {
    /// For the network.
    pub network: AtOnce,
    /// For disks.
    pub disk: AtOnce,
}

/// How many of them were under way at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AtOnce {
    /// Number of waits.
    pub waits: u64,
    /// For how long one was or more.
    pub any_ns: Ns,
    /// For how long exactly one was.
    pub one_ns: Ns,
    /// How many on average, while there were any; 0 where there was none.
    #[schemars(range(min = 0))]
    pub mean: f64,
    /// The largest number.
    pub most: u32,
    /// Time of waits that is in none of these: a wait is counted when it ends, and back through the
    /// last 1,024 changes of their number.
    pub untold_ns: Ns,
}

impl AtOnce {
    /// The part of the time with any in which there was exactly one.
    pub fn one_share(&self) -> Option<f64> {
        (self.any_ns > 0).then(|| self.one_ns as f64 / self.any_ns as f64)
    }
}
