//! The ledgers of a run: what its threads did and waited for, added up the same way however it was
//! seen.
//!
//! Two producers see a program: `trace` by its switches and wake-ups, `poll` by snapshots from
//! outside. Both give [`Interval`]s: a thread was in one state, for one reason, from then to then.
//! What they know beyond that (samples, the kernel's counters) says how an interval's time
//! divides by states ([`Divide`]) and how sure that is.
//!
//! ```text
//!   trace ─┐                       ┌─► ledgers: time by activity and slice ─► steps, parts, phases
//!          ├─ Interval ─► Ledgers ─┤
//!   poll ──┘   ended waits         └─► waits: lengths, wakers, stacks ──────► wait rows
//! ```

mod activity;
mod breakdown;
mod clocks;
mod divide;
mod holders;
mod idle;
mod layers;
mod ledgers;
mod lock_waits;
mod meanwhile;
mod path;
mod phases;
mod pieces;
mod places;
mod pools;
mod progress_clock;
mod run_queue;
mod site_keys;
mod sites;
mod slicing;
mod solo_clock;
pub(crate) mod split;
mod steps;
mod thread_rows;
mod thread_state;
mod times;
mod wait_groups;
mod wait_rows;
mod waits;

pub(crate) use activity::{Activities, Activity, ActivityId, Certainty, Interval, NOBODY, Slot};
pub(crate) use breakdown::{Breakdown, Sum};
pub(crate) use clocks::{Clocks, SiteClock};
pub(crate) use divide::{Divide, Portion, Portions, Total, by_activity, by_thread};
pub(crate) use holders::{Begins, HolderTimes};
pub(crate) use idle::{Life, Member, Pace, idle, keep_time, window};
pub(crate) use layers::Key;
pub(crate) use ledgers::Ledgers;
pub(crate) use lock_waits::{Verdicts, stacks_may_tell};
pub(crate) use meanwhile::{Passed, placeholder, resolved};
pub(crate) use path::{Amount, Path};
pub(crate) use phases::phases;
pub(crate) use pieces::Pieces;
pub(crate) use places::Reading;
pub(crate) use progress_clock::{Progress, ProgressTimes};
pub(crate) use run_queue::run_queue;
pub(crate) use site_keys::{SiteId, SiteKey};
pub(crate) use sites::{Sites, Watched};
pub(crate) use slicing::Slicing;
pub(crate) use solo_clock::{Mark, SoloClock, part};
#[cfg(test)]
pub(crate) use steps::StepReason;
pub(crate) use steps::{NO_REASON, StepRef, StepThread};
pub(crate) use thread_rows::ThreadTotals;
pub(crate) use thread_state::ThreadState;
pub(crate) use times::Times;
pub(crate) use wait_rows::{Seeing, WaitTimes, wait_rows};
pub(crate) use waits::{CompletedWait, Ends, WaitEnd, Waits};
