//! A cache of the machine.

use serde::{Deserialize, Serialize};

/// A cache as the kernel describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// 1, 2, 3.
    pub level: u32,
    /// Its size.
    pub bytes: u64,
    /// Of one line.
    pub line_bytes: u64,
    /// CPUs that share it.
    pub shared_by: u32,
}
