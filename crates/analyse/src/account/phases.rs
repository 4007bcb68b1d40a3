//! What went on over time: a ledger by slice.

use super::activity::Activities;
use super::divide::{Divide, Total};
use super::path::{Amount, Key};
use super::slicing::Slicing;
use super::times::Times;
use model::Ns;
use model::run::Phases;

/// The slices until `end`, each by state.
pub(crate) fn phases<'a>(
    slicing: Slicing,
    end: Ns,
    entries: impl Iterator<Item = (Key, Amount)>,
    activities: &'a Activities,
    divide: &'a dyn Divide,
) -> Phases {
    let mut slices = vec![Times::default(); slicing.count(end)];
    for (key, amount) in entries {
        let Some(slice) = slices.get_mut(key.slice as usize) else { continue };
        for portion in divide.divide(activities.get(key.activity), &Total::from(amount)) {
            slice.add(portion.state, portion.ns);
        }
    }
    Phases { slice_ns: slicing.slice_ns(), slices: slices.iter().map(Times::rows).collect() }
}
