//! The kernel stack at a late wake-up: the choice among those recorded, and its relevant part.

use super::ring::Stack;
use model::{Ns, Seen};

/// Prefixes of the functions at interrupt entry, between the interrupted code and the instrument.
/// arch/x86/include/asm/idtentry.h, arch/arm64/kernel/entry-common.c.
const ENTRIES: [&str; 6] =
    ["asm_sysvec_", "asm_common_interrupt", "el1h_64_irq", "el0t_64_irq", "el1_interrupt", "el0_interrupt"];

/// The instrument itself.
const INSTRUMENT: [&str; 5] = ["bpf_prog_", "bpf_trace_run", "__bpf_trace_", "__traceiter_", "bpf_get_stack"];

/// There may be one from when the thread was made runnable and one from when it got the CPU: the
/// one at the end of the longer wait is used.
pub(super) fn of_longest(stacks: Vec<Stack>, expected_ns: Ns) -> Option<Stack> {
    let mut since = expected_ns;
    let waits = stacks.into_iter().map(|stack| {
        let waited = stack.at.saturating_sub(since);
        since = stack.at;
        (waited, stack)
    });
    waits.max_by_key(|(waited, _)| *waited).map(|(_, stack)| stack)
}

/// The code that was interrupted, or that was switched out; absent when it was not kernel code.
pub(super) fn named(frames: &[u64], names: impl Iterator<Item = Option<String>>) -> Seen<Vec<String>> {
    let names = frames.iter().zip(names).map(|(at, name)| name.unwrap_or_else(|| format!("{at:#x}")));
    let mut names: Vec<String> = names.collect();
    let begins = |name: &String, any: &[&str]| any.iter().any(|begin| name.starts_with(begin));
    let own = names.iter().take_while(|name| begins(name, &INSTRUMENT)).count();
    // The innermost interrupt may have interrupted the handler of another one.
    let entry = names
        .iter()
        .position(|name| begins(name, &ENTRIES))
        .map_or(0, |first| first + names[first..].iter().take_while(|name| begins(name, &ENTRIES)).count());
    names.drain(..own.max(entry));
    if names.is_empty() { Seen::Absent } else { Seen::Value(names) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str]) -> Seen<Vec<String>> {
        let frames: Vec<u64> = (0..names.len() as u64).collect();
        named(&frames, names.iter().map(|name| (!name.is_empty()).then(|| (*name).to_owned())))
    }

    #[test]
    fn the_instrument_and_the_interrupt_are_left_out() {
        let interrupted =
            ["bpf_prog_12_sched_waking", "bpf_trace_run1", "try_to_wake_up", "hrtimer_interrupt"];
        let interrupted = [&interrupted[..], &["asm_sysvec_apic_timer_interrupt", "copy_page", ""]].concat();
        assert_eq!(of(&interrupted), Seen::Value(vec!["copy_page".into(), "0x6".into()]));
        let gave_up = ["bpf_prog_34_sched_switch", "__traceiter_sched_switch", "__schedule", "schedule"];
        assert_eq!(of(&gave_up), Seen::Value(vec!["__schedule".into(), "schedule".into()]));
        assert_eq!(of(&interrupted[..5]), Seen::Absent);
        let within =
            [&interrupted[..5], &["net_rx_action", "handle_softirqs", "asm_common_interrupt"]].concat();
        let within = [&within[..], &["copy_page"]].concat();
        let culprit = ["net_rx_action", "handle_softirqs", "asm_common_interrupt", "copy_page"];
        assert_eq!(of(&within), Seen::Value(culprit.map(String::from).to_vec()));
        assert_eq!(of(&[]), Seen::Absent);
    }

    #[test]
    fn the_longer_wait_has_the_stack() {
        let stacks = |times: &[Ns]| times.iter().map(|at| Stack { at: *at, frames: vec![] }).collect();
        let at = |times: &[Ns]| of_longest(stacks(times), 100).map(|stack| stack.at);
        assert_eq!(at(&[]), None);
        assert_eq!(at(&[180]), Some(180));
        assert_eq!(at(&[180, 200]), Some(180));
        assert_eq!(at(&[120, 200]), Some(200));
    }
}
