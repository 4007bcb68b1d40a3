//! dwell's own rights, and giving them up.

use rustix::process::{DumpableBehavior, geteuid, set_dumpable_behavior};
use rustix::thread::{CapabilitySet, CapabilitySets, clear_ambient_capability_set, set_capabilities};

/// Gives up the capabilities of an ordinary user's dwell, for good. Root keeps its rights: those
/// over files are root's without any.
///
/// Only while there is one thread: capabilities are a thread's.
pub fn give_up() {
    if geteuid().is_root() {
        return;
    }
    let none = CapabilitySet::empty();
    // Neither can fail: nothing is asked for.
    let _ = clear_ambient_capability_set();
    let given_up =
        set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none });
    // The kernel keeps a process that got rights by its execution from its own user, and so the
    // child that it forks: nobody could trace that one.
    if given_up.is_ok() {
        let _ = set_dumpable_behavior(DumpableBehavior::Dumpable);
    }
}
