//! What a result says of itself when many are together: which it is, and of which machine.

use crate::{JsonSchema, Seen};
use serde::{Deserialize, Serialize};

/// Which result it is, and where it is from. Results of older versions lack all of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Origin {
    /// A number of the result: 32 hexadecimal digits, of a SHA-256 of what was measured, when and
    /// where. It is the same in every file that has the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[0-9a-f]{32}$"))]
    pub id: Option<String>,
    /// A number of the machine: 16 hexadecimal digits, of a hash of its machine-id(5), which cannot
    /// be recovered from it, and of its CPU. Copies of one image have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[0-9a-f]{16}$"))]
    pub machine_number: Option<String>,
}

/// The number of a machine, from its machine-id(5), or its name where it has none, and its CPU
/// model. It has half the bits of a machine-id.
pub fn machine_number(machine: &str, cpu: &Seen<String>) -> String {
    let cpu = cpu.value().map_or("", String::as_str);
    format!("{:016x}", fnv_1a([machine, "\0", cpu].concat().as_bytes()))
}

/// A hash that is the same in every version, by Fowler, Noll and Vo (FNV-1a).
pub fn fnv_1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
