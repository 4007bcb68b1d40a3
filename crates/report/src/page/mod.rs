//! The page for a terminal, top to bottom: headline, what to change, what explains the time, the
//! account, phases, places, the tables, threads, coverage. One file a part; each returns lines and
//! knows nothing of the others.

mod account;
mod calls;
mod costs;
mod counters;
mod coverage;
mod explained;
mod faults;
pub(crate) mod findings;
pub(crate) mod functions;
mod hand_overs;
mod headline;
mod limits;
mod meanwhile;
pub(crate) mod parts;
mod peers;
mod phases;
pub(crate) mod places;
pub(crate) mod requests;
mod rows;
mod run_queue;
mod samples;
mod short;
pub(crate) mod source_lines;
pub(crate) mod surroundings;
mod tables;
pub(crate) mod threads;
pub(crate) mod waits;
mod whole;
pub(crate) mod words;

use crate::Look;
use crate::paint::Line;
use model::run::Class;
use model::{Diagnosis, Ns, Run, State};

/// The page of a run and of what it means, with a newline after each line.
pub fn terminal(run: &Run, diagnosis: &Diagnosis, look: Look) -> String {
    let order = by_size(run);
    let threads = threads::table(run, look, if run.bound.class == Class::Cpu { 6 } else { 4 });
    let mut parts = vec![headline::lines(run, diagnosis, look)];
    parts[0].extend(costs::lines(run, diagnosis, look));
    parts.push([findings::lines(run, diagnosis, look), explained::lines(diagnosis, look)].concat());
    parts.push(requests::table(run, look, 10));
    parts.push(account::lines(run, &order, look));
    parts.push(counters::lines(run, look));
    parts.push(whole::lines(run, look));
    parts.push(phases::lines(run, &order, look));
    parts.push(places::table(run, look));
    parts.push(meanwhile::lines(run, look));
    parts.extend(
        tables::on_terminal(run.bound.class, diagnosis).map(|(table, rows)| table.lines(run, look, rows)),
    );
    parts.push(threads);
    parts.push(surroundings::lines(run, diagnosis, look));
    parts.push(threads::idle(run, look));
    parts.push(coverage::lines(run, diagnosis.doubts, look));
    let parts: Vec<Vec<Line>> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let mut page = String::new();
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            page.push('\n');
        }
        for line in part {
            page.push_str(&line.render());
            page.push('\n');
        }
    }
    page
}

/// The page that fits a screen: at most 30 lines of 80 columns.
pub fn screen(run: &Run, diagnosis: &Diagnosis, look: Look) -> String {
    short::page(run, diagnosis, look)
}

/// The same without what to change and what that would save: for a reader who is to find it.
pub fn unexplained(run: &Run, diagnosis: &Diagnosis, look: Look) -> String {
    short::without_findings(run, diagnosis, look)
}

/// All causes of a run: those found with what they rest on, those ruled out and those that could
/// not be looked for.
pub fn causes(run: &Run, diagnosis: &Diagnosis, look: Look) -> String {
    findings::all(run, diagnosis, look)
}

/// The states that occur, longest first: the order of the bar, its legend and the strip.
fn by_size(run: &Run) -> Vec<State> {
    let mut parts: Vec<_> = run.account.iter().filter(|part| part.ns > 0).collect();
    parts.sort_by_key(|part| (std::cmp::Reverse(part.ns), part.state));
    parts.iter().map(|part| part.state).collect()
}

/// One state's time in a ledger.
fn time_in(states: &[(State, Ns)], which: impl Fn(State) -> bool) -> Ns {
    states.iter().filter(|(state, _)| which(*state)).map(|(_, ns)| ns).sum()
}

/// Divides `cells` among `weights` in proportion: the method of largest remainders.
fn apportion(weights: &[Ns], cells: usize) -> Vec<usize> {
    let sum: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    if sum == 0 {
        return vec![0; weights.len()];
    }
    let exact = |weight: Ns| u128::from(weight) * cells as u128;
    let mut shares: Vec<usize> = weights.iter().map(|weight| (exact(*weight) / sum) as usize).collect();
    let mut by_remainder: Vec<usize> = (0..weights.len()).collect();
    by_remainder.sort_by_key(|index| std::cmp::Reverse(exact(weights[*index]) % sum));
    let missing = cells - shares.iter().sum::<usize>();
    for index in by_remainder.into_iter().take(missing) {
        shares[index] += 1;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_cells_are_divided() {
        assert_eq!(apportion(&[1, 1, 1], 10), [4, 3, 3]);
        assert_eq!(apportion(&[999, 1], 10), [10, 0]);
        assert_eq!(apportion(&[u64::MAX, u64::MAX], 9), [5, 4]);
        assert_eq!(apportion(&[0, 0], 5), [0, 0]);
        assert_eq!(apportion(&[], 5), [0; 0]);
    }
}
