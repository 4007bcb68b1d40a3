//! Many: children, threads, and threads that want one CPU.

use crate::board::Board;
use crate::clock::{self, MS};
use crate::{Failure, Program, Truth, number, process, truth};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Barrier, mpsc};
use std::thread::Thread;
use std::time::Duration;

pub(super) static PROGRAMS: &[Program] = &[
    Program {
        name: "forks",
        what: "[N=5000] children in sequence, which exit at once",
        truth: "ns.loop; counts.children",
        run: forks,
    },
    Program {
        name: "spawns",
        what: "[N=5000] children in sequence, by vfork, which execute `nothing`",
        truth: "ns.loop; counts.children",
        run: spawns,
    },
    Program {
        name: "threads",
        what: "[N=2000] threads that are alive at one time",
        truth: "ns.loop; counts.threads",
        run: threads,
    },
    Program {
        name: "turns",
        what: "16 threads that hand on [N=20000] turns: one works for 20 us, the others wait",
        truth: "ns.loop; counts.turns",
        run: turns,
    },
    Program {
        name: "crowd",
        what: "4 threads that each use [MS=50] of one and the same CPU",
        truth: "ns.all; of each thread N: ns.spun_N, ns.runqueue_N from /proc; ids main, thread_N",
        run: crowd,
    },
    Program {
        name: "yield",
        what: "main yields until a thread has used the CPU [MS=50]; both may use one CPU only",
        truth: "ns.loop; counts.yields; ids main, worker",
        run: give_way,
    },
    Program {
        name: "hostile",
        what: "two threads use the CPU [MS=30] under names that are terminal codes",
        truth: "ids main, thread",
        run: hostile,
    },
];

fn forks(args: &[String]) -> Result<Option<Truth>, Failure> {
    let children = number(args, 0, 5000)?;
    let (ended, spent) = clock::time(|| {
        (0..children).try_for_each(|_| process::wait(process::fork(|| process::exit_now(0))?).map(drop))
    });
    ended?;
    Ok(Some(Truth::new().spent("loop", spent).count("children", children)))
}

fn spawns(args: &[String]) -> Result<Option<Truth>, Failure> {
    let children = number(args, 0, 5000)?;
    let itself = std::env::current_exe()?;
    let (ended, spent) = clock::time(|| {
        (0..children).try_for_each(|_| Command::new(&itself).arg("nothing").status().map(drop))
    });
    ended?;
    Ok(Some(Truth::new().spent("loop", spent).count("children", children)))
}

fn threads(args: &[String]) -> Result<Option<Truth>, Failure> {
    let threads = number(args, 0, 2000)?;
    let alive = Barrier::new(threads as usize + 1);
    let met = AtomicU64::new(0);
    let (made, spent) = clock::time(|| -> std::io::Result<()> {
        std::thread::scope(|scope| {
            for _ in 0..threads {
                std::thread::Builder::new().stack_size(64 * 1024).spawn_scoped(scope, || {
                    alive.wait();
                    met.fetch_add(1, SeqCst);
                })?;
            }
            alive.wait();
            Ok(())
        })
    });
    made?;
    Ok(Some(Truth::new().spent("loop", spent).count("threads", met.load(SeqCst))))
}

const RING: usize = 16;
const TURN_NS: u64 = 20_000;

fn turns(args: &[String]) -> Result<Option<Truth>, Failure> {
    let turns = number(args, 0, 20_000)?;
    let at = AtomicU64::new(0);
    let ((), spent) = clock::time(|| {
        std::thread::scope(|threads| {
            let all: Vec<_> = (0..RING as u64)
                .map(|own| {
                    let at = &at;
                    let (tell, told) = mpsc::channel::<Thread>();
                    let thread = threads.spawn(move || {
                        let Ok(next) = told.recv() else { return };
                        loop {
                            while at.load(SeqCst) < turns && at.load(SeqCst) % RING as u64 != own {
                                std::thread::park();
                            }
                            if at.load(SeqCst) >= turns {
                                return next.unpark();
                            }
                            clock::spin(TURN_NS);
                            at.fetch_add(1, SeqCst);
                            next.unpark();
                        }
                    });
                    (thread.thread().clone(), tell)
                })
                .collect();
            for (index, (_, tell)) in all.iter().enumerate() {
                // It listens until it is told.
                let _ = tell.send(all[(index + 1) % RING].0.clone());
            }
        });
    });
    Ok(Some(Truth::new().spent("loop", spent).count("turns", at.load(SeqCst).min(turns))))
}

const CROWD: usize = 4;

fn crowd(args: &[String]) -> Result<Option<Truth>, Failure> {
    let ns = number(args, 0, 50)? * MS;
    let board = Board::new()?;
    let all_spun = &Barrier::new(CROWD);
    process::pin(process::cpu())?;
    let ((), all) = clock::time(|| {
        std::thread::scope(|threads| {
            for index in 0..CROWD {
                threads.spawn(move || {
                    board.add_spent(4 * index, clock::spin(ns));
                    board.set(4 * index + 3, process::tid());
                    // One by one from here: a thread that reads while others run waits in the run
                    // queue again before it has ended.
                    all_spun.wait();
                    std::thread::sleep(Duration::from_millis(3 * index as u64));
                    board.set(4 * index + 2, truth::runqueue_ns());
                });
            }
        });
    });
    let mut truth = Truth::new().spent("all", all).id("main", process::tid());
    for index in 0..CROWD {
        truth = truth
            .spent(&format!("spun_{index}"), board.spent(4 * index))
            .ns(&format!("runqueue_{index}"), board.get(4 * index + 2))
            .id(&format!("thread_{index}"), board.get(4 * index + 3));
    }
    Ok(Some(truth))
}

fn give_way(args: &[String]) -> Result<Option<Truth>, Failure> {
    let ns = number(args, 0, 50)? * MS;
    let board = Board::new()?;
    let done = AtomicBool::new(false);
    let mut yields = 0;
    process::pin(process::cpu())?;
    let ((), spent) = clock::time(|| {
        std::thread::scope(|threads| {
            threads.spawn(|| {
                board.set(2, process::tid());
                board.add_spent(0, clock::spin(ns));
                done.store(true, SeqCst);
            });
            while !done.load(SeqCst) {
                process::give_way();
                yields += 1;
            }
        });
    });
    Ok(Some(
        Truth::new()
            .spent("loop", spent)
            .spent("spun", board.spent(0))
            .count("yields", yields)
            .id("main", process::tid())
            .id("worker", board.get(2)),
    ))
}

fn hostile(args: &[String]) -> Result<Option<Truth>, Failure> {
    let ns = number(args, 0, 30)? * MS;
    let board = Board::new()?;
    // Sets a window's title; then colours, a new line and what might pass for a line of a report.
    process::name_thread(c"\x1b]0;owned\x07")?;
    std::thread::scope(|threads| {
        threads.spawn(|| {
            board.set(0, process::tid());
            let _ = process::name_thread(c"\x1b[31m\n\rwall 0\xff");
            clock::spin(ns);
        });
    });
    clock::spin(ns);
    Ok(Some(Truth::new().id("main", process::tid()).id("thread", board.get(0))))
}
