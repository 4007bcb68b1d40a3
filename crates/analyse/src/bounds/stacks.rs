//! Stacks of waits, which are most of their rows: those of the shortest waits are left out before
//! any rows are put together.

use crate::bounded::{DEPTH, Row, Together, bytes, bytes_of};
use model::Seen;
use model::run::WaitRow;
use std::cmp::Reverse;

/// Why a row has none.
const WHY: &str = "left out so that the result stays below 1 MB";

/// The part of the room that rows with stacks have, where not all can.
const STACKS_PART: usize = 4;

/// Leaves out stacks where waits take more than `most` bytes: those beyond the first rows by rank
/// that have a quarter of it. Says how many rows lost some, and how many bytes all take then.
pub(super) fn leave_out(waits: &mut [WaitRow], size: usize, most: usize) -> (Option<Together>, usize) {
    if size <= most {
        return (None, size);
    }
    let mut by_rank: Vec<usize> = (0..waits.len()).collect();
    by_rank.sort_by_cached_key(|at| (Reverse(waits[*at].rank(*at)), *at));
    let mut sum = 0;
    let kept = by_rank.iter().take_while(|at| {
        sum += bytes(&waits[**at], DEPTH);
        sum <= most / STACKS_PART
    });
    let kept = kept.count();
    let lost = by_rank.split_off(kept).into_iter().filter(|at| strip(&mut waits[*at])).count() as u64;
    ((lost > 0).then_some((lost, 0)), bytes_of(waits, most))
}

/// Whether it had any.
fn strip(wait: &mut WaitRow) -> bool {
    let of_wakers = wait.by.iter_mut().map(|waker| &mut waker.stack);
    let mut had = !std::mem::take(&mut wait.places).is_empty();
    for stack in of_wakers.chain([&mut wait.stack]) {
        if matches!(stack, Seen::Value(_)) {
            *stack = Seen::unseen(WHY);
            had = true;
        }
    }
    had
}
