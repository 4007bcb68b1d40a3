//! The peer of programs that need one, outside of their own processes.
//!
//! On loopback, until its standard input ends. A request of 8 bytes, a number of microseconds in
//! the byte order of the machine, is answered with the same 8 bytes after that time.

use crate::local;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process;
use std::thread;
use std::time::Duration;

/// Longest that a request may ask for.
const LONGEST_US: u64 = 5_000_000;

/// Serves until standard input ends. `say` gets the line that tells the port.
///
/// # Errors
/// If there is no port on loopback.
pub fn serve(say: impl FnOnce(&str) -> io::Result<()>) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    thread::spawn(|| {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        process::exit(0);
    });
    let port = listener.local_addr()?.port();
    local::serve(port, answer)?;
    say(&format!("{port}\n"))?;
    for connection in listener.incoming().flatten() {
        thread::spawn(move || answer(connection));
    }
    Ok(())
}

fn answer(mut connection: impl Read + Write) -> io::Result<()> {
    let mut request = [0; 8];
    loop {
        connection.read_exact(&mut request)?;
        let us = u64::from_ne_bytes(request).min(LONGEST_US);
        if us > 0 {
            thread::sleep(Duration::from_micros(us));
        }
        connection.write_all(&request)?;
    }
}
