//! Request and response: a client and a slow server, in one program or in two.

use crate::board::Board;
use crate::clock::{self, MS, Pass, Spent};
use crate::{Failure, Program, Truth, number, process};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;

const TRUTH: &str = "ns.waited (client, in reads), ns.served (server, at its work); ids main, server";

pub(super) static PROGRAMS: &[Program] = &[
    Program {
        name: "tcp-thread-sleep",
        what: "[N=10] requests over loopback to a thread that sleeps [MS=20] on each",
        truth: TRUTH,
        run: |args| tcp(args, Pass::Asleep, ServerPlace::Thread),
    },
    Program {
        name: "tcp-thread-spin",
        what: "[N=10] requests over loopback to a thread that uses the CPU [MS=20] on each",
        truth: TRUTH,
        run: |args| tcp(args, Pass::AtWork, ServerPlace::Thread),
    },
    Program {
        name: "tcp-process-sleep",
        what: "[N=10] requests over loopback to a child that sleeps [MS=20] on each",
        truth: TRUTH,
        run: |args| tcp(args, Pass::Asleep, ServerPlace::Process),
    },
    Program {
        name: "tcp-process-spin",
        what: "[N=10] requests over loopback to a child that uses the CPU [MS=20] on each",
        truth: TRUTH,
        run: |args| tcp(args, Pass::AtWork, ServerPlace::Process),
    },
    Program {
        name: "unix-thread-sleep",
        what: "[N=10] requests over a socket pair to a thread that sleeps [MS=20] on each",
        truth: TRUTH,
        run: |args| unix(args, Pass::Asleep, ServerPlace::Thread),
    },
    Program {
        name: "unix-thread-spin",
        what: "[N=10] requests over a socket pair to a thread that uses the CPU [MS=20] on each",
        truth: TRUTH,
        run: |args| unix(args, Pass::AtWork, ServerPlace::Thread),
    },
    Program {
        name: "unix-process-sleep",
        what: "[N=10] requests over a socket pair to a child that sleeps [MS=20] on each",
        truth: TRUTH,
        run: |args| unix(args, Pass::Asleep, ServerPlace::Process),
    },
    Program {
        name: "unix-process-spin",
        what: "[N=10] requests over a socket pair to a child that uses the CPU [MS=20] on each",
        truth: TRUTH,
        run: |args| unix(args, Pass::AtWork, ServerPlace::Process),
    },
    Program {
        name: "serve",
        what: "answers one client's requests over loopback after it slept [MS=20] on each",
        truth: "prints its port first; then ns.served; counts.requests",
        run: serve,
    },
    Program {
        name: "client",
        what: "[N=10] requests to the server on loopback PORT",
        truth: "ns.waited; ids main",
        run: client,
    },
];

/// Where the server runs.
#[derive(Clone, Copy)]
enum ServerPlace {
    Thread,
    Process,
}

fn tcp(args: &[String], pass: Pass, place: ServerPlace) -> Result<Option<Truth>, Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    both(args, pass, place, move || accept(&listener), move || connect(port))
}

fn unix(args: &[String], pass: Pass, place: ServerPlace) -> Result<Option<Truth>, Failure> {
    let (near, far) = UnixStream::pair()?;
    both(args, pass, place, move || Ok(far), move || Ok(near))
}

fn accept(listener: &TcpListener) -> std::io::Result<TcpStream> {
    let (stream, _) = listener.accept()?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn connect(port: u16) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn both<S: Read + Write>(
    args: &[String],
    pass: Pass,
    place: ServerPlace,
    server_end: impl FnOnce() -> std::io::Result<S> + Send,
    client_end: impl FnOnce() -> std::io::Result<S>,
) -> Result<Option<Truth>, Failure> {
    let (requests, ns) = (number(args, 0, 10)?, number(args, 1, 20)? * MS);
    let board = Board::new()?;
    let server = move || -> std::io::Result<()> {
        board.set(2, process::tid());
        answer(server_end()?, requests, pass, ns, board).map(drop)
    };
    let waited = match place {
        ServerPlace::Thread => std::thread::scope(|threads| -> Result<Spent, Failure> {
            let server = threads.spawn(server);
            let waited = ask(client_end()?, requests)?;
            server.join().map_err(|_| "the server panicked")??;
            Ok(waited)
        })?,
        ServerPlace::Process => {
            let child = process::fork(|| drop(server()))?;
            let waited = ask(client_end()?, requests)?;
            process::wait(child)?;
            waited
        }
    };
    Ok(Some(
        Truth::new()
            .spent("waited", waited)
            .spent("served", board.spent(0))
            .id("main", process::tid())
            .id("server", board.get(2)),
    ))
}

/// Answers up to this many requests, and returns how many came.
fn answer(
    mut stream: impl Read + Write,
    requests: u64,
    pass: Pass,
    ns: u64,
    board: Board,
) -> std::io::Result<u64> {
    let mut request = [0; 8];
    for seen in 0..requests {
        if stream.read(&mut request)? == 0 {
            return Ok(seen);
        }
        board.add_spent(0, pass.pass(ns));
        stream.write_all(&request)?;
    }
    Ok(requests)
}

/// Makes this many requests, one after another, and measures how long it waited for answers.
fn ask(mut stream: impl Read + Write, requests: u64) -> std::io::Result<Spent> {
    let mut total = Spent::default();
    for request in 0..requests {
        stream.write_all(&request.to_ne_bytes())?;
        let (read, spent) = clock::time(|| stream.read_exact(&mut [0; 8]));
        read?;
        total.wall_ns += spent.wall_ns;
        total.cpu_ns += spent.cpu_ns;
    }
    Ok(total)
}

fn serve(args: &[String]) -> Result<Option<Truth>, Failure> {
    let ns = number(args, 0, 20)? * MS;
    let board = Board::new()?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    process::say(&listener.local_addr()?.port().to_string())?;
    let requests = answer(accept(&listener)?, u64::MAX, Pass::Asleep, ns, board)?;
    Ok(Some(Truth::new().spent("served", board.spent(0)).count("requests", requests)))
}

fn client(args: &[String]) -> Result<Option<Truth>, Failure> {
    let port = args.first().ok_or("it takes the server's port")?.parse()?;
    let waited = ask(connect(port)?, number(args, 1, 10)?)?;
    Ok(Some(Truth::new().spent("waited", waited).id("main", process::tid())))
}
