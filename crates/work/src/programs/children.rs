//! Parents and children: waits for children, and orphans.

use crate::board::Board;
use crate::clock::{self, MS, Pass};
use crate::{Failure, Program, Truth, number, process, truth};
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Command;

pub(super) static PROGRAMS: &[Program] = &[
    Program {
        name: "child-sleep",
        what: "waits for a child that sleeps [MS=100]",
        truth: "ns.waited (parent), ns.passed (child); ids main, child",
        run: |args| child(args, Pass::Asleep),
    },
    Program {
        name: "child-spin",
        what: "waits for a child that uses the CPU [MS=100]",
        truth: "as child-sleep",
        run: |args| child(args, Pass::AtWork),
    },
    Program {
        name: "vfork-exec",
        what: "has a child by vfork that executes `spin` [MS=100], and waits for it",
        truth: "ns.waited; ids main, child; and the line of `spin`",
        run: vfork_exec,
    },
    Program {
        name: "orphan",
        what: "has a child that dies before its own child, which then uses the CPU [MS=100] and writes to a pipe",
        truth: "ns.waited (root's read), ns.passed (the orphan); ids main, parent, orphan",
        run: orphan,
    },
    Program {
        name: "outlive",
        what: "sleeps [MS=50] and ends, leaving a child that sleeps [MS=400] on",
        truth: "ns.slept; ids main, child",
        run: outlive,
    },
    Program {
        name: "exec-thread",
        what: "a thread that does not lead its process executes `spin` [MS=50]",
        truth: "the line of `spin`",
        run: exec_thread,
    },
    Program {
        name: "series",
        what: "runs NAME,ARG,… of this list, one after another, in processes of their own",
        truth: "the lines of each",
        run: series,
    },
    Program {
        name: "tree",
        what: "runs CMD… and waits for it",
        truth: "ns.cpu: user and system time of all children that were waited for; ns.waited; counts.status",
        run: tree,
    },
];

fn itself() -> Result<Command, Failure> {
    Ok(Command::new(std::env::current_exe()?))
}

fn child(args: &[String], pass: Pass) -> Result<Option<Truth>, Failure> {
    let ns = number(args, 0, 100)? * MS;
    let board = Board::new()?;
    let child = process::fork(|| board.add_spent(0, pass.pass(ns)))?;
    let (ended, waited) = clock::time(|| process::wait(child));
    ended?;
    Ok(Some(
        Truth::new()
            .spent("waited", waited)
            .spent("passed", board.spent(0))
            .id("main", process::tid())
            .id("child", child as u64),
    ))
}

/// The standard library spawns by `posix_spawn`, which clones with `CLONE_VFORK`: the parent is
/// suspended until the child executes.
fn vfork_exec(args: &[String]) -> Result<Option<Truth>, Failure> {
    let ms = number(args, 0, 100)?;
    let mut command = itself()?;
    command.args(["spin", &ms.to_string()]);
    let (child, waited) = clock::time(|| -> Result<u64, Failure> {
        let mut child = command.spawn()?;
        let id = u64::from(child.id());
        child.wait()?;
        Ok(id)
    });
    Ok(Some(Truth::new().spent("waited", waited).id("main", process::tid()).id("child", child?)))
}

fn orphan(args: &[String]) -> Result<Option<Truth>, Failure> {
    let ns = number(args, 0, 100)? * MS;
    let board = Board::new()?;
    let (mut reader, mut writer) = process::pipe()?;
    let parent = process::fork(|| {
        let own = process::pid() as process::Pid;
        let _ = process::fork(|| {
            board.set(2, process::pid());
            while process::parent() == own {
                clock::sleep(MS);
            }
            board.add_spent(0, clock::spin(ns));
            let _ = writer.write_all(b"x");
        });
    })?;
    let (read, waited) = clock::time(|| -> std::io::Result<()> {
        process::wait(parent)?;
        reader.read_exact(&mut [0])
    });
    read?;
    Ok(Some(
        Truth::new()
            .spent("waited", waited)
            .spent("passed", board.spent(0))
            .id("main", process::tid())
            .id("parent", parent as u64)
            .id("orphan", board.get(2)),
    ))
}

fn outlive(args: &[String]) -> Result<Option<Truth>, Failure> {
    let (ms, child_ms) = (number(args, 0, 50)?, number(args, 1, 400)?);
    let child = process::fork(|| {
        // Closes the pipes that a test may be reading to their end.
        process::silence();
        clock::sleep(child_ms * MS);
    })?;
    let slept = clock::sleep(ms * MS);
    Ok(Some(Truth::new().spent("slept", slept).id("main", process::tid()).id("child", child as u64)))
}

fn exec_thread(args: &[String]) -> Result<Option<Truth>, Failure> {
    let ms = number(args, 0, 50)?.to_string();
    let mut command = itself()?;
    command.args(["spin", &ms]);
    let thread = std::thread::spawn(move || command.exec());
    match thread.join() {
        Ok(error) => Err(error.into()),
        Err(_) => Err("the thread that was to execute panicked".into()),
    }
}

fn tree(args: &[String]) -> Result<Option<Truth>, Failure> {
    let (program, rest) = args.split_first().ok_or("it takes a command")?;
    let (status, waited) = clock::time(|| Command::new(program).args(rest).status());
    let status = status?;
    Ok(Some(
        Truth::new()
            .ns("cpu", truth::rusage_ns(libc::RUSAGE_CHILDREN))
            .spent("waited", waited)
            .count("status", status.into_raw() as u64),
    ))
}

fn series(args: &[String]) -> Result<Option<Truth>, Failure> {
    for program in args {
        let status = itself()?.args(program.split(',')).status()?;
        if !status.success() {
            return Err(format!("{program} ended with {status}").into());
        }
    }
    Ok(None)
}
