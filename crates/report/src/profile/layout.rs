//! The rows of a flame view, and their positions in its strip of time.
//!
//! A function below a least share counts for its caller; one with a single callee shares the row of
//! the callee; the least share is raised until the rows are few enough. The look of a row is left
//! to [`super::flame`].

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

/// The rows, the pieces of time below them in their order, and the least time that has a row.
pub(super) fn rows(tree: &Tree, total: Ns, rows_max: usize) -> (Vec<FlameRow>, Vec<(State, Ns)>, Ns) {
    let mut least = (total / LEAST).max(1);
    loop {
        let (rows, pieces) = lay_out(tree, least, total);
        // It ends: at the latest when the least share is above the whole.
        if rows.len() <= rows_max {
            return (rows, pieces, least);
        }
        least = least.saturating_add(least / 8 + 1);
    }
}

/// A step of the layout: a function with its callees, or time without a row of its own.
enum Todo {
    Branch { branch: u32, depth: usize },
    Others { time: Time, count: usize, depth: usize },
    Own(Time),
}

fn lay_out(tree: &Tree, least: Ns, total: Ns) -> (Vec<FlameRow>, Vec<(State, Ns)>) {
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
                    // A script's function has a row apart from the interpreter's functions that it
                    // calls.
                    let leaves_script = last.script && !tree.branches[only as usize].script;
                    if outer_own >= least || outer_own > total / 50 || leaves_script {
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
fn only_callee(tree: &Tree, callees: &[u32], least: Ns) -> Option<(u32, Ns)> {
    let total = |branch: u32| tree.branches[branch as usize].total.sum();
    let (only, others) = callees.split_first()?;
    let rest = others.iter().fold(0, |sum: Ns, other| sum.saturating_add(total(*other)));
    (total(*only) >= least && others.first().is_none_or(|next| total(*next) < least)).then_some((*only, rest))
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
fn plan(tree: &Tree, callees: &[u32], own: Time, depth: usize, least: Ns, todo: &mut Vec<Todo>) -> Time {
    let small = callees.iter().position(|callee| tree.branches[*callee as usize].total.sum() < least);
    let (shown, small) = callees.split_at(small.unwrap_or(callees.len()));
    let mut rest = Time::default();
    for callee in small {
        rest.add_all(&tree.branches[*callee as usize].total);
    }
    let enough = rest.sum() >= least;
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
