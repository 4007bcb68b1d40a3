//! The tests of dwell as a whole, one program: a file is a module, and what they share is in
//! `support`.
//!
//! `cargo xtask test` runs each module as a process of its own, those that measure one after
//! another (ARCHITECTURE.md, Tests).

mod attach;
mod attach_degraded;
mod bad_luck;
mod bounded;
mod bounds;
mod causes_cpu;
mod causes_files;
mod causes_net;
mod causes_reads;
mod cli;
mod cli_signals;
mod code;
mod compare;
mod compare_revisions;
mod cpu_split;
mod cross_checks;
mod degraded;
mod disk_requests;
mod downloads;
mod files;
mod hits;
mod lab;
mod ladder;
mod ladder_kept;
mod ladder_memory;
mod ladder_places;
mod load;
mod network;
mod peers;
mod probe;
mod promises;
mod python;
mod real_programs;
mod resolver;
mod results;
mod run_diff;
mod safety;
mod safety_odd;
mod sheet;
mod starved;
mod strace_equal;
mod support;
mod surroundings;
mod throttled;
mod truth;
mod waits;
mod wake;
mod wake_diff;
mod wake_spikes;
mod what_if;
mod words;
