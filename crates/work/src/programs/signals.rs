//! Jobs stopped and continued.

use crate::board::Board;
use crate::clock::{self, MS};
use crate::{Failure, Program, Truth, number, process};

pub(super) static PROGRAMS: &[Program] = &[
    Program {
        name: "stopped",
        what: "a child at work is stopped by its sibling, which sleeps [MS=100] and has it continue",
        truth: "ns.gap (the longest that the stopped child's clock jumped), ns.passed (the sibling's sleep); \
                ids main, worker, sibling",
        run: stopped,
    },
    Program {
        name: "stoppable",
        what: "waits for a child that uses the CPU [MS=300]; the test may stop and continue the child",
        truth: "prints the child's id first; then ns.gap, ns.spun; ids main, worker",
        run: stoppable,
    },
];

/// Uses `ns` of CPU time; stores that in slots 0 and 1, and the longest jump of the clock in slot
/// 2.
fn worker(board: Board, ns: u64) {
    let ((), spent) = clock::time(|| {
        let from = clock::thread_cpu();
        let (mut last, mut gap) = (clock::now(), 0);
        while clock::thread_cpu() - from < ns {
            clock::burn();
            let now = clock::now();
            gap = gap.max(now - last);
            last = now;
        }
        board.set(2, gap);
    });
    board.add_spent(0, spent);
}

fn stopped(args: &[String]) -> Result<Option<Truth>, Failure> {
    let ns = number(args, 0, 100)? * MS;
    let board = Board::new()?;
    let stopped = process::fork(|| worker(board, 60 * MS))?;
    let sibling = process::fork(|| {
        clock::sleep(20 * MS);
        if process::kill(stopped, libc::SIGSTOP).is_ok() {
            board.add_spent(4, clock::sleep(ns));
            let _ = process::kill(stopped, libc::SIGCONT);
        }
    })?;
    process::wait(stopped)?;
    process::wait(sibling)?;
    Ok(Some(
        Truth::new()
            .ns("gap", board.get(2))
            .spent("spun", board.spent(0))
            .spent("passed", board.spent(4))
            .id("main", process::tid())
            .id("worker", stopped as u64)
            .id("sibling", sibling as u64),
    ))
}

fn stoppable(args: &[String]) -> Result<Option<Truth>, Failure> {
    let ns = number(args, 0, 300)? * MS;
    let board = Board::new()?;
    let child = process::fork(|| worker(board, ns))?;
    process::say(&child.to_string())?;
    process::wait(child)?;
    Ok(Some(
        Truth::new()
            .ns("gap", board.get(2))
            .spent("spun", board.spent(0))
            .id("main", process::tid())
            .id("worker", child as u64),
    ))
}
