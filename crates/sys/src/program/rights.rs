//! dwell's own rights, and giving them up.

use rustix::process::{DumpableBehavior, geteuid, set_dumpable_behavior};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities,
};

/// What root keeps after a recording: reading and writing files of others, reading what programs
/// name with their users' rights, and the kernel's symbols.
const TO_REPORT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SYSLOG);

/// Gives up the capabilities of an ordinary user's dwell, for good. Root keeps its rights: those
/// over files are root's without any, and the program that root starts is to have them.
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

/// The recording is complete, and nothing is started any more: gives up all that is not needed to
/// analyse it and to write results, for good, also of root's dwell.
///
/// Only while there is one thread, as [`give_up`].
pub fn after_recording() {
    if !geteuid().is_root() {
        return give_up();
    }
    // Another program would get back what the bounding set has.
    for capability in CapabilitySet::all().iter().filter(|one| !TO_REPORT.contains(*one)) {
        // Refused without the right to set it, and for those that this kernel does not know.
        let _ = remove_capability_from_bounding_set(capability);
    }
    let Ok(now) = capabilities(None) else { return };
    let sets = CapabilitySets {
        effective: now.effective & TO_REPORT,
        permitted: now.permitted & TO_REPORT,
        inheritable: CapabilitySet::empty(),
    };
    let _ = clear_ambient_capability_set();
    // A part of what there is can always be kept.
    let _ = set_capabilities(None, sets);
}
