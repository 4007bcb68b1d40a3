//! Two branches at once, and a wait for both: the longer one decides.

use crate::board::Board;
use crate::clock::{self, MS, Pass};
use crate::{Failure, Program, Truth, number, process};

pub(super) static PROGRAMS: &[Program] = &[
    Program {
        name: "overlap",
        what: "two threads use the CPU, [MS=100] and [MS=200], and are joined",
        truth: "ns.short, ns.long, ns.both (until both were joined); ids main, short, long",
        run: threads,
    },
    Program {
        name: "fork-join-spin",
        what: "two children use the CPU, [MS=60] and [MS=150], and are waited for",
        truth: "as overlap",
        run: |args| processes(args, Pass::AtWork),
    },
    Program {
        name: "fork-join-sleep",
        what: "two children sleep, [MS=60] and [MS=150], and are waited for",
        truth: "as overlap",
        run: |args| processes(args, Pass::Asleep),
    },
];

fn threads(args: &[String]) -> Result<Option<Truth>, Failure> {
    let lengths = [number(args, 0, 100)? * MS, number(args, 1, 200)? * MS];
    let board = Board::new()?;
    let ((), both) = clock::time(|| {
        std::thread::scope(|threads| {
            for (index, ns) in lengths.into_iter().enumerate() {
                threads.spawn(move || {
                    board.set(10 + index, process::tid());
                    board.add_spent(2 * index, clock::spin(ns));
                });
            }
        });
    });
    Ok(Some(truth(board, both)))
}

fn processes(args: &[String], pass: Pass) -> Result<Option<Truth>, Failure> {
    let lengths = [number(args, 0, 60)? * MS, number(args, 1, 150)? * MS];
    let board = Board::new()?;
    let (ended, both) = clock::time(|| -> std::io::Result<()> {
        let mut children = Vec::new();
        for (index, ns) in lengths.into_iter().enumerate() {
            children.push(process::fork(|| {
                board.set(10 + index, process::tid());
                board.add_spent(2 * index, pass.pass(ns));
            })?);
        }
        // The long one first: the wait for the short one is then no wait.
        children.into_iter().rev().try_for_each(|child| process::wait(child).map(drop))
    });
    ended?;
    Ok(Some(truth(board, both)))
}

fn truth(board: Board, both: clock::Spent) -> Truth {
    Truth::new()
        .spent("short", board.spent(0))
        .spent("long", board.spent(2))
        .spent("both", both)
        .id("main", process::tid())
        .id("short", board.get(10))
        .id("long", board.get(11))
}
