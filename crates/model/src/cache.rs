//! A cache of a CPU.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

/// A cache as the kernel describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cache {
    /// Level: 1, 2, 3.
    #[schemars(range(min = 1))]
    pub level: u32,
    /// Size, in bytes.
    #[schemars(range(min = 1))]
    pub bytes: u64,
    /// Line size, in bytes.
    #[schemars(range(min = 1))]
    pub line_bytes: u64,
    /// CPUs that share it.
    pub shared_by: u32,
}
