//! What went on over time: a ledger by slice.

use super::activity::Activities;
use super::breakdown::Breakdown;
use super::divide::{Divide, Total};
use super::layers::Key;
use super::path::Amount;
use super::slicing::{Slicing, coarse};
use super::times::Times;
use model::Ns;
use model::run::Phases;

/// The slices until `end`, each by state. They are longer than `slicing` has them where `end` is
/// so far behind the last event that there would be too many. `breakdown` is told what of its steps
/// is in which slice.
pub(crate) fn phases<'a>(
    slicing: Slicing,
    end: Ns,
    entries: impl Iterator<Item = (Key, Amount)>,
    activities: &'a Activities,
    divide: &'a dyn Divide,
    breakdown: &mut Breakdown,
) -> Phases {
    let mut fitting = slicing;
    fitting.fit(end.saturating_sub(1));
    let longer = fitting.shift() - slicing.shift();
    let mut slices = vec![Times::default(); fitting.count(end)];
    for (key, amount) in entries {
        let slice = coarse(key.slice, longer);
        let Some(times) = slices.get_mut(slice as usize) else { continue };
        let activity = activities.get(key.activity);
        for portion in divide.divide(activity, &Total::from(amount)) {
            times.add(portion.state, portion.ns);
            breakdown.in_slice(activity.thread, portion, slice);
        }
    }
    Phases { slice_ns: fitting.slice_ns(), slices: slices.iter().map(Times::rows).collect() }
}
