//! A server behind a link of 50 Mbit/s: in a network namespace of its own, at the far end of a pair
//! of virtual interfaces, whose far one sends through a token bucket.
//!
//! Nothing stays behind: the namespace ends with the server in it, and with the namespace the pair
//! of interfaces.

use super::Service;
use std::env;
use std::io::{self, BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::process::{self, Command, Stdio};

pub(super) const PROGRAMS: &[&str] = &["ip", "tc", "unshare", "nsenter"];
/// What it carries, for `tc`.
const RATE: &str = "50mbit";

pub(super) fn serve(at: Option<SocketAddrV4>, say: impl FnOnce(&str) -> io::Result<()>) -> io::Result<()> {
    let mut command = Command::new("unshare");
    command.arg("--net").arg(env::current_exe()?).args(["lab", "--serve", Service::Anywhere.name()]);
    command.args(at.iter().flat_map(|at| ["--port".to_owned(), at.port().to_string()]));
    // Its input ends with this process, however that ends.
    let mut far = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut line = String::new();
    BufReader::new(far.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?).read_line(&mut line)?;
    let made = match line.trim().parse::<SocketAddr>() {
        Ok(far_end) => make(far.id(), at.map(|at| *at.ip()))
            .and_then(|address| say(&format!("{address}:{}\n", far_end.port()))),
        // Why is on standard error.
        Err(_) => Err(io::Error::other("no network namespace can be made here: unshare --net failed")),
    };
    if made.is_ok() {
        io::copy(&mut io::stdin(), &mut io::sink())?;
    }
    drop(far.stdin.take());
    far.wait()?;
    made
}

/// The link to the namespace of `far`, and the address of its far end: `address`, or a free one.
fn make(far: u32, address: Option<Ipv4Addr>) -> io::Result<Ipv4Addr> {
    // Four addresses of those for measurements (RFC 2544), by the number of this process.
    let own = u32::from(Ipv4Addr::new(198, 18, 0, 0)) + process::id() % (1 << 15) * 4;
    let four = address.map_or(own, |address| u32::from(address) & !3);
    let (near_address, far_address) = (Ipv4Addr::from(four + 1), Ipv4Addr::from(four + 2));
    let (near, other) = (format!("dwlab{}", process::id()), "far");
    let there = format!("nsenter --net=/proc/{far}/ns/net");
    for line in [
        format!("ip link add {near} type veth peer name {other} netns {far}"),
        format!("ip addr add {near_address}/30 dev {near}"),
        format!("ip link set {near} up"),
        format!("{there} ip addr add {far_address}/30 dev {other}"),
        // The bucket holds packets as they are on a wire.
        format!("{there} ip link set {other} gso_max_segs 1 up"),
        format!("{there} tc qdisc add dev {other} root tbf rate {RATE} burst 16kb latency 50ms"),
    ] {
        done(&line)?;
    }
    Ok(far_address)
}

fn done(line: &str) -> io::Result<()> {
    let mut words = line.split(' ');
    let output = Command::new(words.next().unwrap_or_default()).args(words).stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("no link can be made here: {line}: {}", said.trim())))
}
