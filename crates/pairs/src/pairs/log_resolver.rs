//! The addresses of a log: names asked for line by line, remembered, or asked for by many threads.

use crate::server::Service;
use crate::work::in_threads;
use crate::{Need, Pair, Run, Setting, Size, Way, Writing};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{self, Write};
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Mutex;
use std::time::Duration;

pub(super) static PAIR: Pair = Pair {
    name: "log-resolver",
    title: "the addresses of a log: each line's name asked for, or remembered",
    cause: Some("dns-lookups"),
    size: Size { unit: "lines", usual: 150, least: 50, most: 150 },
    ways: &[
        Way { name: "one-by-one", what: "a question for each line", run: Run::Native(one_by_one) },
        Way { name: "cached", what: "a question for each address", run: Run::Native(cached) },
        Way { name: "parallel", what: "that by 16 threads", run: Run::Native(parallel) },
    ],
    source: include_str!("log_resolver.rs"),
    needs: &[Need::Server(Service::Names)],
    lesson: "Resolving is waiting: this server takes 5 ms for an answer, others up to 150 ms, and the CPU is idle \
             meanwhile. The addresses of a log repeat, so what is remembered is not asked for again: a cache saves the \
             part of the lines whose address came before. What is left can be asked for at the same time. The last column \
             above is what ten million lines would take at the same rate; of your own program dwell run --work N --of 10M \
             tells it, with N the lines of the part that you run. Another distance: --latency MS.",
    writing: Some(Writing {
        title: "D. Spinellis, Code Quality, section 4.1",
        theirs: "a log resolver took 1,230.55 s, 99.99 % idle, one answer up to 150 ms; ten million lines would take 17 days",
    }),
};

/// Lines for each address, on average.
const LINES_EACH: u64 = 5;
const TRIES: u32 = 3;

fn one_by_one(setting: &Setting) -> io::Result<()> {
    let server = server(setting)?;
    for address in log(setting.size) {
        write(&name_of(&server, address)?)?;
    }
    Ok(())
}

fn cached(setting: &Setting) -> io::Result<()> {
    let (server, mut names) = (server(setting)?, HashMap::<_, String>::new());
    for address in log(setting.size) {
        let name = match names.entry(address) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(name_of(&server, address)?),
        };
        write(name)?;
    }
    Ok(())
}

fn parallel(setting: &Setting) -> io::Result<()> {
    let mut addresses: Vec<_> = log(setting.size).collect();
    addresses.sort_unstable();
    addresses.dedup();
    let (queue, names) = (Mutex::new(addresses), Mutex::new(HashMap::new()));
    in_threads(16, &|| {
        let server = server(setting)?;
        while let Some(address) = take(&queue) {
            let name = name_of(&server, address)?;
            put(&names, address, name);
        }
        Ok(())
    })?;
    let names = names.into_inner().unwrap_or_default();
    log(setting.size).try_for_each(|address| write(&names[&address]))
}

/// The addresses of a log: some come again and again, some once.
fn log(lines: u64) -> impl Iterator<Item = Ipv4Addr> {
    let addresses = (lines / LINES_EACH).max(1);
    (0..lines).map(move |line| {
        let which = line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let [.., b, c] = ((which % addresses) as u32 + 1).to_be_bytes();
        Ipv4Addr::new(198, 51, b, c)
    })
}

fn server(setting: &Setting) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.connect((setting.host, setting.port))?;
    socket.set_read_timeout(Some(Duration::from_secs(2)))?;
    Ok(socket)
}

/// Asks for the name of an address (RFC 1035): again if no answer comes.
fn name_of(server: &UdpSocket, address: Ipv4Addr) -> io::Result<String> {
    let [a, b, c, d] = address.octets();
    let id = [c, d];
    let mut question = [&id[..], &[1, 0, 0, 1, 0, 0, 0, 0, 0, 0]].concat();
    for label in [d.to_string(), c.to_string(), b.to_string(), a.to_string(), "in-addr".into(), "arpa".into()]
    {
        question.push(label.len() as u8);
        question.extend(label.bytes());
    }
    question.extend([0, 0, 12, 0, 1]);
    let mut answer = [0; 512];
    for _ in 0..TRIES {
        server.send(&question)?;
        match server.recv(&mut answer) {
            Ok(len) if answer[..2] == id => return name_in(&answer[..len], question.len()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(format!("no answer for {address}")))
}

/// The name in the first answer, which follows the question.
fn name_in(answer: &[u8], question: usize) -> io::Result<String> {
    let mut rest = answer.get(question + 12..).ok_or(io::ErrorKind::InvalidData)?;
    let mut name = String::new();
    while let Some((len, labels)) = rest.split_first().filter(|(len, _)| **len > 0) {
        let label = labels.get(..usize::from(*len)).ok_or(io::ErrorKind::InvalidData)?;
        name.push_str(&String::from_utf8_lossy(label));
        name.push('.');
        rest = &labels[usize::from(*len)..];
    }
    Ok(name)
}

fn write(name: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{name}")
}

fn take(queue: &Mutex<Vec<Ipv4Addr>>) -> Option<Ipv4Addr> {
    queue.lock().ok()?.pop()
}

fn put(names: &Mutex<HashMap<Ipv4Addr, String>>, address: Ipv4Addr, name: String) {
    if let Ok(mut names) = names.lock() {
        names.insert(address, name);
    }
}
