//! What the tables of sampled code share: which rows are worth a line, in which order, and a share
//! as text.

use crate::Look;
use crate::units::share_of_one;
use model::run::Share;

/// Rows with this many samples say something. One sample is a share between 3 and 56 % of ten.
const TOLD_FROM: u64 = 2;

/// The positions of rows that are worth a line: the program's own first, of these those with the
/// largest total; the others in their order, by self time.
pub(super) fn own_first<R>(
    rows: &[R],
    samples: fn(&R) -> u64,
    total: fn(&R) -> Option<Share>,
    own: impl Fn(usize) -> bool,
) -> Vec<usize> {
    let part = |at: usize| total(&rows[at]).map_or(0.0, |total| total.value);
    // A caller without samples of its own counts where it leads to much.
    let leads = |at: usize| own(at) && part(at) >= LEADS;
    let told = (0..rows.len()).filter(|at| samples(&rows[*at]) >= TOLD_FROM || leads(*at));
    let (mut owned, others): (Vec<usize>, Vec<usize>) = told.partition(|at| own(*at));
    owned.sort_by(|a, b| part(*b).total_cmp(&part(*a)).then(a.cmp(b)));
    owned.extend(others);
    owned
}

/// The share from which on an own function without samples of its own has a row.
const LEADS: f64 = 0.05;

/// How many rows with a sample have none of these lines.
pub(super) fn single_samples<R>(rows: &[R], samples: fn(&R) -> u64, order: &[usize]) -> usize {
    let told = |at: &usize| order.contains(at);
    (0..rows.len()).filter(|at| samples(&rows[*at]) > 0 && !told(at)).count()
}

/// A share as its 95 % interval.
pub(super) fn interval(share: &Share, look: Look) -> String {
    let ends = (share_of_one(share.lo), share_of_one(share.hi));
    let (lo, hi) = (ends.0.trim_end_matches(" %"), ends.1.trim_end_matches(" %"));
    if lo == hi { ends.1 } else { format!("{lo}{}{hi} %", look.dash()) }
}
