//! Reading from a pipe that is fed late, and three processes in a row.

use crate::board::Board;
use crate::clock::{self, MS, Pass};
use crate::{Failure, Program, Truth, number, process};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};

pub(super) static PROGRAMS: &[Program] = &[
    Program {
        name: "pipe-sleep",
        what: "reads a pipe that a child feeds after it slept [MS=100]",
        truth: "ns.waited (reader), ns.passed (feeder); ids main, feeder",
        run: |args| late(args, Pass::Asleep),
    },
    Program {
        name: "pipe-spin",
        what: "reads a pipe that a child feeds after it used the CPU [MS=100]",
        truth: "as pipe-sleep",
        run: |args| late(args, Pass::AtWork),
    },
    Program {
        name: "fifo-read",
        what: "reads one byte of the named pipe FIFO, which it holds open itself",
        truth: "ns.waited",
        run: |args| fifo(args, true),
    },
    Program {
        name: "fifo-open",
        what: "opens the named pipe FIFO for reading, which waits for a writer, and reads one byte",
        truth: "ns.waited (open and read)",
        run: |args| fifo(args, false),
    },
    Program {
        name: "pipeline-1",
        what: "[ITEMS=20] through three processes; the first works [MS=10] on each, the others hardly",
        truth: "ns.first ns.second ns.third (work of each); ids first second third main",
        run: |args| pipeline(args, 0),
    },
    Program {
        name: "pipeline-2",
        what: "as pipeline-1, with the slow stage second",
        truth: "as pipeline-1",
        run: |args| pipeline(args, 1),
    },
    Program {
        name: "pipeline-3",
        what: "as pipeline-1, with the slow stage last",
        truth: "as pipeline-1",
        run: |args| pipeline(args, 2),
    },
];

fn late(args: &[String], pass: Pass) -> Result<Option<Truth>, Failure> {
    let ns = number(args, 0, 100)? * MS;
    let board = Board::new()?;
    let (mut reader, mut writer) = process::pipe()?;
    let feeder = process::fork(|| {
        board.add_spent(0, pass.pass(ns));
        let _ = writer.write_all(b"x");
    })?;
    let (read, waited) = clock::time(|| reader.read_exact(&mut [0]));
    read?;
    process::wait(feeder)?;
    Ok(Some(
        Truth::new()
            .spent("waited", waited)
            .spent("passed", board.spent(0))
            .id("main", process::tid())
            .id("feeder", feeder as u64),
    ))
}

fn fifo(args: &[String], open_before: bool) -> Result<Option<Truth>, Failure> {
    let path = args.first().ok_or("it takes the path of a named pipe")?;
    let (read, waited) = if open_before {
        // Open for writing too, so that the open does not wait.
        let mut file = OpenOptions::new().read(true).write(true).open(path)?;
        clock::time(|| file.read_exact(&mut [0]))
    } else {
        clock::time(|| File::open(path)?.read_exact(&mut [0]))
    };
    read?;
    Ok(Some(Truth::new().spent("waited", waited).id("main", process::tid())))
}

/// Work of a stage that is not the slow one.
const LITTLE_NS: u64 = MS / 10;

fn pipeline(args: &[String], slow: usize) -> Result<Option<Truth>, Failure> {
    let items = number(args, 0, 20)?;
    let slow_ns = number(args, 1, 10)? * MS;
    let board = Board::new()?;
    let mut from: Option<File> = None;
    let mut stages = Vec::new();
    for stage in 0..3 {
        let work_ns = if stage == slow { slow_ns } else { LITTLE_NS };
        let (reader, writer) = process::pipe()?;
        let mut to = (stage < 2).then_some(writer);
        let mut input = from.take();
        stages.push(process::fork(|| {
            for _ in 0..items {
                if let Some(input) = &mut input
                    && input.read_exact(&mut [0]).is_err()
                {
                    return;
                }
                board.add_spent(2 * stage, clock::spin(work_ns));
                if let Some(to) = &mut to
                    && to.write_all(b"x").is_err()
                {
                    return;
                }
            }
            board.set(10 + stage, items);
        })?);
        from = Some(reader);
    }
    for stage in &stages {
        process::wait(*stage)?;
    }
    let mut truth = Truth::new().id("main", process::tid());
    for (stage, name) in ["first", "second", "third"].into_iter().enumerate() {
        if board.get(10 + stage) != items {
            return Err(format!("stage {name} did not see every item").into());
        }
        truth = truth.spent(name, board.spent(2 * stage)).id(name, stages[stage] as u64);
    }
    Ok(Some(truth))
}
