//! One thread holds a lock, another wants it.
#![allow(unsafe_code)]

use crate::board::Board;
use crate::clock::{self, MS, Pass};
use crate::{Failure, Program, Truth, number, process};
use std::os::fd::AsRawFd;
use std::sync::{Mutex, PoisonError};

pub(super) static PROGRAMS: &[Program] = &[
    Program {
        name: "lock-sleep",
        what: "main waits for a mutex that a thread holds while it sleeps [MS=50]",
        truth: "ns.waited (main), ns.held (holder); ids main, holder",
        run: |args| mutex(args, Pass::Asleep),
    },
    Program {
        name: "lock-spin",
        what: "main waits for a mutex that a thread holds while it uses the CPU [MS=50]",
        truth: "as lock-sleep",
        run: |args| mutex(args, Pass::AtWork),
    },
    Program {
        name: "flock-sleep",
        what: "main waits for a file lock that a child holds while it sleeps [MS=50]",
        truth: "as lock-sleep",
        run: flock,
    },
];

fn mutex(args: &[String], pass: Pass) -> Result<Option<Truth>, Failure> {
    let ns = number(args, 0, 50)? * MS;
    let board = Board::new()?;
    let lock = Mutex::new(());
    let waited = std::thread::scope(|threads| {
        threads.spawn(|| {
            let held = lock.lock().unwrap_or_else(PoisonError::into_inner);
            board.set(1, process::tid());
            board.set(0, 1);
            board.add_spent(2, pass.pass(ns));
            drop(held);
        });
        board.until_set(0);
        clock::time(|| drop(lock.lock().unwrap_or_else(PoisonError::into_inner))).1
    });
    Ok(Some(truth(board, waited)))
}

fn flock(args: &[String]) -> Result<Option<Truth>, Failure> {
    let ns = number(args, 0, 50)? * MS;
    let board = Board::new()?;
    let path = std::env::temp_dir().join(format!("dwell-work-{}", std::process::id()));
    let file = std::fs::File::create(&path)?;
    let lock = |file: &std::fs::File| {
        // SAFETY: takes and keeps no memory.
        process::check(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) }).map(drop)
    };
    let holder = process::fork(|| {
        // An open of its own: the lock belongs to the open file, which a fork shares.
        if let Ok(file) = std::fs::File::open(&path)
            && lock(&file).is_ok()
        {
            board.set(1, process::tid());
            board.set(0, 1);
            board.add_spent(2, clock::sleep(ns));
        }
    })?;
    board.until_set(0);
    let (locked, waited) = clock::time(|| lock(&file));
    process::wait(holder)?;
    std::fs::remove_file(&path)?;
    locked?;
    Ok(Some(truth(board, waited)))
}

fn truth(board: Board, waited: clock::Spent) -> Truth {
    Truth::new()
        .spent("waited", waited)
        .spent("held", board.spent(2))
        .id("main", process::tid())
        .id("holder", board.get(1))
}
