//! A cache of a CPU.

use serde::{Deserialize, Serialize};

/// A cache as the kernel describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cache {
    /// Level: 1, 2, 3.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub level: u32,
    /// Size, in bytes.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub bytes: u64,
    /// Line size, in bytes.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub line_bytes: u64,
    /// CPUs that share it.
    pub shared_by: u32,
}
