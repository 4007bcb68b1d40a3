//! Which functions get a row of a flame view, and where in its strip of time each stands.
//!
//! A function below a least share counts for its caller; one that only calls one other shares that one's row; the
//! least share is raised until the rows are few enough. How a row looks is for [`super::flame`].

use super::tree::{Time, Tree};
use model::{Ns, State};

/// The least share that has a row: one of so many parts of all time.
const LEAST: Ns = 100;

/// One row: a function, or a chain of them that only call the next.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) depth: usize,
    pub(super) kind: Kind,
    pub(super) start: Ns,
    /// In all, with what it called.
    pub(super) total: Time,
    /// In the function itself, and in callees too small for a row.
    pub(super) own: Time,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// Outermost first.
    Chain(Vec<u32>),
    /// So many callees that are too small alone.
    Others(usize),
}

/// The rows, the time beneath them piece by piece in their order, and the least time that has a row.
pub(super) fn rows(tree: &Tree, total: Ns, rows_max: usize) -> (Vec<Row>, Vec<(State, Ns)>, Ns) {
    let mut least = (total / LEAST).max(1);
    loop {
        let (rows, pieces) = lay_out(tree, least, total);
        // Above a share of all there are no rows, so this ends.
        if rows.len() <= rows_max {
            return (rows, pieces, least);
        }
        least = least.saturating_add(least / 8 + 1);
    }
}

/// What is left to lay out: a function with its callees, or time without a row of its own.
enum Todo {
    Branch { branch: u32, depth: usize },
    Others { time: Time, count: usize, depth: usize },
    Own(Time),
}

fn lay_out(tree: &Tree, least: Ns, total: Ns) -> (Vec<Row>, Vec<(State, Ns)>) {
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
                rows.push(Row {
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
                // However high the bar for a row, a fiftieth of all time is not passed over within a chain.
                while let Some((only, rest)) = only_callee(tree, &last.children, least) {
                    let outer_own = rest.saturating_add(last.own.sum());
                    // A script's own function is what people look for, not what the interpreter does for it.
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
                rows.push(Row { depth, kind: Kind::Chain(chain), start, total: first.total.clone(), own });
            }
        }
    }
    (rows, pieces)
}

/// The one callee with a row, and the time of the others, where no others would have a row either.
fn only_callee(tree: &Tree, callees: &[u32], least: Ns) -> Option<(u32, Ns)> {
    let total = |branch: u32| tree.branches[branch as usize].total.sum();
    let (only, others) = callees.split_first()?;
    let rest = others.iter().fold(0, |sum: Ns, other| sum.saturating_add(total(*other)));
    (total(*only) >= least && others.first().is_none_or(|next| total(*next) < least)).then_some((*only, rest))
}

/// Time of a function within a chain, and of its small callees: it stands behind the rest of the chain.
fn pieces_of_passed(tree: &Tree, mut own: Time, callees: &[u32], only: u32, todo: &mut Vec<Todo>) {
    for callee in callees.iter().filter(|callee| **callee != only) {
        own.add_all(&tree.branches[*callee as usize].total);
    }
    todo.push(Todo::Own(own));
}

/// Puts callees with a row onto `todo`, so that the largest is taken first, then the others as one, then own time.
/// Gives the time of callees without any row.
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
