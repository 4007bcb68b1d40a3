//! The tables of a run beside its account: what was observed, by thing. One list names each with
//! its type and with why it is unseen where nothing of it was recorded; JSON, the tiers, the bounds
//! and judgement go by that list.

use crate::counters::CounterTable;
use crate::disk_requests::DiskRequests;
use crate::fault_places::FaultPlaces;
use crate::files::FileTable;
use crate::hand_overs::HandOvers;
use crate::loads::LoadTable;
use crate::peers::{ConnectionRow, LookupRow};
use crate::processes::{MemoryPeak, Programs};
use crate::requests::Requests;
use crate::run_rows::{Faults, FunctionRow, LineRow};
use crate::syscall_rows::CallRow;
use crate::waits_at_once::WaitsAtOnce;
use crate::{JsonSchema, Seen};
use serde::{Deserialize, Serialize};

/// `$d` is a dollar sign for the macro that this one makes.
macro_rules! tables {
    ($d:tt $($(#[$attribute:meta])* $name:ident: $type:ty, $unseen:literal;)*) => {
        /// The tables, in the order of the JSON.
        #[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
        pub struct Tables {
            $($(#[$attribute])* pub $name: Seen<$type>,)*
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
    /// How many waits of the whole tree for the network, and for disks, were under way at once.
    #[serde(default)]
    waits_at_once: WaitsAtOnce, "which waits overlap needs BPF";
    /// Waits of threads of the tree that other threads of the tree ended, by who ended whose, most
    /// often first.
    #[serde(default)]
    hand_overs: HandOvers, "which thread ended whose wait needs BPF";
    /// TCP connections of the tree by peer, those most waited on first.
    #[serde(default)]
    connections: Vec<ConnectionRow>, "connections and name lookups need BPF";
    /// Requests that the tree served on TCP connections: how long they took, and what the slow ones
    /// have more. Absent where it served none.
    #[serde(default)]
    requests: Requests, "which thread received a request needs BPF, and Linux 6.3";
    /// Name lookups of the tree: DNS queries over UDP and, with `--names`, `getaddrinfo` calls; by
    /// name, longest total first.
    #[serde(default)]
    lookups: Vec<LookupRow>, "connections and name lookups need BPF";
    /// Requests that the tree's threads made to disks, whether one waited for it or not; not those
    /// of the kernel's own threads, such as pages that are written back later.
    #[serde(default)]
    disk_requests: DiskRequests, "requests to disks are counted with BPF only";
    /// System calls of the tree that returned, longest total first.
    syscalls: Vec<CallRow>, "system calls need BPF";
    /// What processes read and wrote of regular files, by `read`, `write` and the like; estimates
    /// by a sample of bytes. What is mapped, sent by `sendfile` or moved by io_uring is not in it.
    #[serde(default)]
    files: FileTable, "what was read of each file is counted with BPF only";
    /// Page faults of the tree, until the end of the wall clock.
    faults: Faults, "no thread exit was observed";
    /// Which mappings they are in, and whose code they are of; estimates by a sample.
    #[serde(default)]
    fault_places: FaultPlaces, "page faults are sampled with BPF only";
    /// The process with the largest resident set, among those that ended and those that lived at
    /// the end. Of a window: since that process began.
    #[serde(default)]
    memory_peak: MemoryPeak, "no process exit was observed";
    /// The processes of the tree by the program that they execute.
    #[serde(default)]
    programs: Programs, "when processes begin and end needs BPF";
    /// Functions by time on a CPU.
    functions: Vec<FunctionRow>, "no stack of running code was seen";
    /// Source lines by time on a CPU.
    lines: Vec<LineRow>, "no stack of running code was seen";
    /// What memory the program's own code loads from, by function: from the addresses of loads at
    /// samples.
    #[serde(default)]
    loads: LoadTable, "no stack of running code was seen";
    /// The processor's counters, sampled: instructions per cycle, misses, stalled slots, clock
    /// frequency. Unseen where there are none, as in most virtual machines.
    #[serde(default)]
    counters: CounterTable, "counters were not opened";
}
