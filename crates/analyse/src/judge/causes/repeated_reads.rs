//! Programs that read the same bytes again.

use super::{Cause, Manual, Outcome};
use crate::judge::Evidence;
use model::finding::CauseName;
use model::recording::Tier;

pub(super) static CAUSE: Cause = Cause {
    name: CauseName { id: "repeated-reads", title: "the same bytes read again" },
    tiers: &[Tier::Bpf],
    manual: Manual {
        what: "The program reads a file whose bytes it has read before.",
        why: "Each time the bytes are copied from the kernel's memory and taken apart again; if memory was short meanwhile, \
              the disk has to give them again too.",
        rule: "It is not looked for yet: for that it must be known how much was read of each file, and how large the file is.",
        else_it_could_be: "A file that changed meanwhile.",
        change: "Read it once and keep what was made of it; look at its time of change (`stat`) to know whether it is still \
                 the same.",
        part: "All but one of N passes go, N - 1 of N.",
        assumes: "What is made of the bytes fits into memory.",
    },
    explains: &[],
    check,
};

fn check(_: &Evidence<'_>) -> Outcome {
    Outcome::Unavailable("how much was read of each file, and how large it is, is not recorded".to_owned())
}
