//! How a thread came into the kernel, by the outermost functions of its stack: whether a sample
//! there that is in no call is in a page fault.
//!
//! The saved registers do not tell: after an exception they are as after an interrupt, whose way
//! back to user code (the scheduler, work that is due there) can be sampled as well. The functions
//! that the processor enters by have names of their own, a few of them, each asked for once.

use rustc_hash::FxHashMap;

/// The outermost functions that tell: the entry itself is the first, but where all entries begin
/// alike (FRED, arm64) the exception's own function comes after it.
const OUTERMOST: usize = 5;

/// A stack of this many entries may lack its outermost ones (`KERNEL_MAX` of the kernel half).
const WHOLE_BELOW: usize = 48;

/// How names of what an exception enters begin: on x86_64 and arm64, from 5.10 on. A call is an
/// exception on arm64, but its samples are known to be of it.
const EXCEPTIONS: &[&str] =
    &["asm_exc_", "exc_", "el0t_64_sync", "el0t_32_sync", "el0_sync", "el0_da", "el0_ia"];
/// Those among them that are interrupts.
const INTERRUPTS: &[&str] = &["asm_exc_xen_hypervisor_callback", "asm_exc_nmi", "exc_nmi"];

/// What is known of addresses.
#[derive(Debug, Default)]
pub(super) struct Entered {
    /// Whether an exception enters by the function; none where it has no name.
    known: FxHashMap<u64, Option<bool>>,
    /// Addresses that came since they were last asked for.
    unasked: Vec<u64>,
}

impl Entered {
    /// A stack came: what is not known of it is to be asked for.
    pub(super) fn came(&mut self, kernel: &[u64]) {
        for address in outermost(kernel) {
            match self.known.get(&address) {
                // The others do not matter: most stacks are of faults, and end here.
                Some(Some(true)) => return,
                Some(_) => {}
                None => {
                    self.known.insert(address, None);
                    self.unasked.push(address);
                }
            }
        }
    }

    /// Addresses whose names are asked for.
    pub(super) fn unasked(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.unasked)
    }

    /// The names of addresses.
    pub(super) fn named(&mut self, addresses: &[u64], names: Vec<Option<String>>) {
        for (address, name) in addresses.iter().zip(names) {
            self.known.insert(*address, name.map(|name| is_exception(&name)));
        }
    }

    /// Whether it was by an interrupt, and not by an exception. False where that is not known.
    pub(super) fn by_interrupt(&self, kernel: &[u64]) -> bool {
        let mut names = outermost(kernel).map(|address| self.known.get(&address).copied().flatten());
        (1..WHOLE_BELOW).contains(&kernel.len()) && names.all(|is_exception| is_exception == Some(false))
    }
}

/// The outermost functions of a stack, each by an address in it: a return address is that of the
/// next instruction, which may belong to the next function.
fn outermost(kernel: &[u64]) -> impl Iterator<Item = u64> {
    kernel.iter().enumerate().rev().take(OUTERMOST).map(|(depth, address)| address - u64::from(depth > 0))
}

fn is_exception(name: &str) -> bool {
    let begins = |with: &[&str]| with.iter().any(|begin| name.starts_with(begin));
    begins(EXCEPTIONS) && !begins(INTERRUPTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a stack with these functions, the innermost first, is of an interrupt.
    fn by_interrupt(names: &[&str]) -> bool {
        let kernel: Vec<u64> = (1..).map(|at| at * 0x100).take(names.len()).collect();
        let mut entered = Entered::default();
        entered.came(&kernel);
        let asked = entered.unasked();
        let name = |address: &u64| {
            let name = names[usize::try_from(address.div_ceil(0x100)).unwrap() - 1];
            (!name.is_empty()).then(|| name.to_owned())
        };
        let told = asked.iter().map(name).collect();
        entered.named(&asked, told);
        entered.came(&kernel);
        assert!(entered.unasked().is_empty(), "each is asked for once");
        entered.by_interrupt(&kernel)
    }

    #[test]
    fn the_entry_tells_a_fault_from_the_way_back_after_an_interrupt() {
        let fault = ["clear_page_erms", "do_anonymous_page", "handle_mm_fault", "exc_page_fault"];
        assert!(!by_interrupt(&[&fault[..], &["asm_exc_page_fault"]].concat()));
        let arm = ["el0_da", "el0t_64_sync_handler", "el0t_64_sync"];
        assert!(!by_interrupt(&[&["do_mem_abort"], &arm[..]].concat()));
        let fred = ["exc_page_fault", "fred_hwexc", "fred_entry_from_user", "asm_fred_entrypoint_user"];
        assert!(!by_interrupt(&fred));
        let back = ["finish_task_switch", "__schedule", "schedule", "irqentry_exit_to_user_mode"];
        assert!(by_interrupt(&[&back[..], &["asm_sysvec_apic_timer_interrupt"]].concat()));
        let arm = ["finish_task_switch", "__schedule", "schedule", "el0_interrupt", "el0t_64_irq_handler"];
        assert!(by_interrupt(&[&arm[..], &["el0t_64_irq"]].concat()));
        let fred = ["__schedule", "schedule", "fred_extint", "fred_entry_from_user"];
        assert!(by_interrupt(&[&fred[..], &["asm_fred_entrypoint_user"]].concat()));
        assert!(by_interrupt(&["__schedule", "asm_exc_xen_hypervisor_callback"]));
    }

    #[test]
    fn of_a_known_fault_nothing_more_is_asked() {
        let mut entered = Entered::default();
        entered.came(&[0x100, 0x900]);
        assert_eq!(entered.unasked(), [0x8ff, 0x100]);
        let names = ["asm_exc_page_fault", "handle_mm_fault"].map(|name| Some(name.to_owned()));
        entered.named(&[0x8ff, 0x100], names.to_vec());
        entered.came(&[0x200, 0x900]);
        assert!(entered.unasked().is_empty() && !entered.by_interrupt(&[0x200, 0x900]));
    }

    #[test]
    fn what_has_no_name_and_a_stack_that_is_cut_tell_nothing() {
        assert!(!by_interrupt(&["schedule", ""]));
        assert!(!by_interrupt(&[]));
        assert!(!by_interrupt(&["ext4_readpage"; WHOLE_BELOW]));
        assert!(!Entered::default().by_interrupt(&[0x100]), "not asked for yet");
    }
}
