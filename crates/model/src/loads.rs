//! Loads of the program's own code: where one was that a sample struck, and what samples tell of
//! the memory that a function loads from.

use crate::cache::Cache;
use crate::{JsonSchema, Seen};
use serde::{Deserialize, Serialize};

/// The load that a sample struck: that of the instruction before, which has just come, or that of
/// the instruction that is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SampledLoad {
    /// Neither of them loads.
    None,
    /// It is on the stack, at an address in the code, or of the thread: few such places are used.
    Near,
    /// It loads, but from where is not known any more.
    Unknown,
    /// Its address is known.
    At {
        /// The first byte. Where a load has overwritten its own base it is where the same
        /// instruction would load from next.
        address: u64,
        /// The address moves by a constant in the loop around: the code runs through an array.
        steps: bool,
    },
}

/// Whether loads were told with the samples of a recording: then what caches its host has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadsObserved {
    /// Caches that hold data, smallest level first. Empty where the kernel does not list them.
    pub caches: Vec<Cache>,
}

/// The loads of the program's own code, by function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadTable {
    /// Functions with 30 samples or more, those with most samples at loads first; at most 50.
    pub functions: Vec<LoadRow>,
    /// The host's caches that hold data, as the kernel lists them, smallest level first.
    pub caches: Vec<Cache>,
}

/// What samples tell of one function's loads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadRow {
    /// The function.
    pub function: String,
    /// Its file.
    pub module: String,
    /// Samples of its own code whose instructions could be read.
    pub samples: u64,
    /// Of these, samples at or just behind a load that is neither on the stack nor at a constant
    /// address.
    pub at_loads: u64,
    /// Of these, loads whose address moves by a constant in a loop.
    pub stepping: u64,
    /// Samples at the other loads whose address is known.
    pub jumping: u64,
    /// Of these addresses, those that were kept. All that follows is of them.
    pub addresses: u64,
    /// Different lines of a cache among them.
    pub lines: u64,
    /// Different pages of 4 KiB.
    pub pages: u64,
    /// The memory that they are spread over, as the birthday problem has it: by how many pairs of
    /// addresses are in the same line.
    pub set_bytes: Seen<SetBytes>,
    /// The same by pairs in the same page of 4 KiB: whole pages.
    #[serde(default)]
    pub page_set_bytes: Seen<SetBytes>,
    /// How much of the way from one sample to the thread's next is always the same: the part of
    /// such steps that the most frequent eighth has. An eighth and some where addresses jump, more
    /// where they run on in order.
    #[schemars(with = "Seen<crate::shape::Fraction>")]
    pub in_order: Seen<f64>,
}

/// The size of a set of memory, with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SetBytes {
    /// Pairs of addresses in the same line, or page.
    pub pairs: u64,
    /// At least.
    pub lo: u64,
    /// At most; null where no two addresses were in the same page.
    pub hi: Option<u64>,
}
