//! The rows of a flame view, and their positions in its strip of time.
//!
//! A function below a least share counts for its caller; one with a single callee shares the row of
//! the callee; the least share is raised until the rows are few enough: first that of functions
//! that are not the program's own and lead to none, then that of all. The look of a row is left to
//! [`super::flame`].

use super::tree::{Time, Tree};
use model::{Ns, State};

/// The least share that has a row, at first (1 in N).
const LEAST: Ns = 100;

/// One row: a function, or a chain of functions with a single callee each.
#[derive(Debug)]
pub(super) struct FlameRow {
    pub(super) depth: usize,
    pub(super) kind: Kind,
    pub(super) start: Ns,
    /// Time with callees.
    pub(super) total: Time,
    /// Time in the function itself, and in callees too small for a row.
    pub(super) own: Time,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// Outermost first.
    Chain(Vec<u32>),
    /// The number of callees that are too small for rows of their own.
    Others(usize),
}

/// The least time that has a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Least {
    /// Time of the program's own functions, and what leads to them.
    pub(super) own: Ns,
    /// Of others.
    pub(super) other: Ns,
}

impl Least {
    fn of(self, tree: &Tree, branch: u32) -> Ns {
        if tree.branches[branch as usize].leads_to_own { self.own } else { self.other }
    }

    fn shows(self, tree: &Tree, branch: u32) -> bool {
        tree.branches[branch as usize].total.sum() >= self.of(tree, branch)
    }
}

/// The rows, the pieces of time below them in their order, and the least time that has a row.
pub(super) fn rows(tree: &Tree, total: Ns, rows_max: usize) -> (Vec<FlameRow>, Vec<(State, Ns)>, Least) {
    let least = (total / LEAST).max(1);
    let mut least = Least { own: least, other: least };
    let more = |least: Ns| least.saturating_add(least / 8 + 1);
    loop {
        let (rows, pieces) = lay_out(tree, least, total);
        // It ends: at the latest when the least share is above the whole.
        if rows.len() <= rows_max {
            return (rows, pieces, least);
        }
        if least.other <= total / FOLDED_FIRST {
            least.other = more(least.other);
        } else {
            least.own = more(least.own);
            least.other = least.other.max(least.own);
        }
    }
}

/// Functions of others that have this share (1 in N) are not folded before own ones: a program may
/// spend all of its time in a library.
const FOLDED_FIRST: Ns = 10;

/// A step of the layout: a function with its callees, or time without a row of its own.
enum Todo {
    Branch { branch: u32, depth: usize },
    Others { time: Time, count: usize, depth: usize },
    Own(Time),
}

fn lay_out(tree: &Tree, least: Least, total: Ns) -> (Vec<FlameRow>, Vec<(State, Ns)>) {
    let (mut rows, mut pieces) = (Vec::new(), Vec::new());
    let mut at: Ns = 0;
    let mut todo = Vec::new();
    plan(tree, &tree.roots, Time::default(), 0, least, &mut todo);
    while let Some(next) = todo.pop() {
        match next {
            Todo::Own(time) => {
                pieces.extend(time.parts());
                at = at.saturating_add(time.sum());
            }
            Todo::Others { time, count, depth } => {
                rows.push(FlameRow {
                    depth,
                    kind: Kind::Others(count),
                    start: at,
                    total: time.clone(),
                    own: Time::default(),
                });
                todo.push(Todo::Own(time));
            }
            Todo::Branch { branch, depth } => {
                let mut chain = vec![branch];
                let mut last = &tree.branches[branch as usize];
                // A function with 2 % of all time is never inside a chain, whatever the least
                // share.
                while let Some((only, rest)) = only_callee(tree, &last.children, least) {
                    let outer_own = rest.saturating_add(last.own.sum());
                    // An own function has a row apart from the library's or the interpreter's
                    // functions that it calls.
                    let next = &tree.branches[only as usize];
                    let leaves = (last.script && !next.script) || (last.own_code && !next.own_code);
                    if outer_own >= least.own || outer_own > total / 50 || leaves {
                        break;
                    }
                    pieces_of_passed(tree, last.own.clone(), &last.children, only, &mut todo);
                    chain.push(only);
                    last = &tree.branches[only as usize];
                }
                let mut own = last.own.clone();
                let first = &tree.branches[branch as usize];
                let start = at;
                let mut callees = Vec::new();
                own.add_all(&plan(tree, &last.children, last.own.clone(), depth + 1, least, &mut callees));
                todo.extend(callees);
                rows.push(FlameRow {
                    depth,
                    kind: Kind::Chain(chain),
                    start,
                    total: first.total.clone(),
                    own,
                });
            }
        }
    }
    (rows, pieces)
}

/// The single callee that would have a row, and the time of the other callees.
fn only_callee(tree: &Tree, callees: &[u32], least: Least) -> Option<(u32, Ns)> {
    let total = |branch: u32| tree.branches[branch as usize].total.sum();
    let mut shown = callees.iter().copied().filter(|callee| least.shows(tree, *callee));
    let (only, None) = (shown.next()?, shown.next()) else { return None };
    let others = callees.iter().filter(|callee| **callee != only);
    Some((only, others.fold(0, |sum: Ns, other| sum.saturating_add(total(*other)))))
}

/// Adds the time of a function within a chain, and of its small callees: it comes after the rest of
/// the chain.
fn pieces_of_passed(tree: &Tree, mut own: Time, callees: &[u32], only: u32, todo: &mut Vec<Todo>) {
    for callee in callees.iter().filter(|callee| **callee != only) {
        own.add_all(&tree.branches[*callee as usize].total);
    }
    todo.push(Todo::Own(own));
}

/// Adds steps to `todo`: callees with a row, largest first, then the others as one, then self time.
/// Returns the time of callees without any row.
fn plan(tree: &Tree, callees: &[u32], own: Time, depth: usize, least: Least, todo: &mut Vec<Todo>) -> Time {
    let (shown, small): (Vec<u32>, Vec<u32>) =
        callees.iter().copied().partition(|callee| least.shows(tree, *callee));
    let mut rest = Time::default();
    for callee in &small {
        rest.add_all(&tree.branches[*callee as usize].total);
    }
    let enough = rest.sum() >= least.other;
    let mut last = own;
    if !enough {
        last.add_all(&rest);
    }
    todo.push(Todo::Own(last));
    if enough {
        todo.push(Todo::Others { time: rest, count: small.len(), depth });
        rest = Time::default();
    }
    todo.extend(shown.iter().rev().map(|branch| Todo::Branch { branch: *branch, depth }));
    rest
}
