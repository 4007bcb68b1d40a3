//! The tables of a run beside its account: what was observed, by thing. One list names each with
//! its type and with why it is unseen where nothing of it was recorded; JSON, the tiers, the bounds
//! and judgement go by that list.

use crate::Seen;
use crate::counters::CounterTable;
use crate::disk_requests::DiskRequests;
use crate::fault_places::FaultPlaces;
use crate::files::FileTable;
use crate::hand_overs::HandOvers;
use crate::loads::LoadTable;
use crate::peers::{ConnectionRow, LookupRow};
use crate::processes::{MemoryPeak, Programs};
use crate::run_rows::{Faults, FunctionRow, LineRow};
use crate::seen::unrecorded;
use crate::syscall_rows::CallRow;
use crate::waits_at_once::WaitsAtOnce;
use serde::{Deserialize, Serialize};

/// `$d` is a dollar sign for the macro that this one makes.
macro_rules! tables {
    ($d:tt $($(#[$doc:meta])* $name:ident: $type:ty, $unseen:literal;)*) => {
        /// The tables, in the order of the JSON.
        #[derive(Debug, Clone, Serialize, Deserialize)]
        pub struct Tables {
            $($(#[$doc])* #[serde(default = "unrecorded")] pub $name: Seen<$type>,)*
        }

        impl Tables {
            /// None of them was seen, each for its own reason: what a tier fills.
            pub fn unseen() -> Self {
                Self { $($name: Seen::unseen($unseen),)* }
            }
        }

        /// Does the same with each table, of whatever type it is: `name` is its name in JSON, and
        /// `table` the `Seen` itself, to be changed.
        #[macro_export]
        macro_rules! for_each_table {
            ($d tables:expr, ($d label:ident, $d table:ident) => $d body:expr) => {
                $({
                    let ($d label, $d table) = (stringify!($name), &mut $d tables.$name);
                    $d body;
                })*
            };
        }
    };
}

tables! { $
    /// How many of the waits for the network and for disks were under way at once.
    waits_at_once: WaitsAtOnce, "which waits overlap needs BPF";
    /// Waits that threads of the tree ended, by who ended whose.
    hand_overs: HandOvers, "which thread ended whose wait needs BPF";
    /// TCP connections of the tree by peer, those most waited on first.
    connections: Vec<ConnectionRow>, "connections and name lookups need BPF";
    /// Name lookups of the tree, by name, longest total first.
    lookups: Vec<LookupRow>, "connections and name lookups need BPF";
    /// What processes asked of disks.
    disk_requests: DiskRequests, "requests to disks are counted with BPF only";
    /// System calls of the tree that returned, longest total first.
    syscalls: Vec<CallRow>, "system calls need BPF";
    /// What processes read and wrote of regular files, by calls; estimates by a sample.
    files: FileTable, "what was read of each file is counted with BPF only";
    /// Page faults of the tree.
    faults: Faults, "no thread exit was observed";
    /// Which mappings page faults are in, and whose code they are of; estimates by a sample.
    fault_places: FaultPlaces, "page faults are sampled with BPF only";
    /// The process with the largest resident set.
    memory_peak: MemoryPeak, "no process exit was observed";
    /// The processes of the tree by the program that they execute.
    programs: Programs, "when processes begin and end needs BPF";
    /// Which code ran.
    functions: Vec<FunctionRow>, "no stack of running code was seen";
    /// Which source lines ran.
    lines: Vec<LineRow>, "no stack of running code was seen";
    /// What memory its own code loads from.
    loads: LoadTable, "no stack of running code was seen";
    /// What the processor's counters say of the code that ran.
    counters: CounterTable, "counters were not opened";
}
