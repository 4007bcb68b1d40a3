//! The server that the programs of some pairs talk to: dwell itself, in a process of its own.

use anyhow::{Context, bail};
use pairs::Served;
use pairs::server::Service;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A server for one pair. It ends with its standard input, and so with dwell.
pub(super) struct Server {
    child: Child,
    pub(super) at: SocketAddrV4,
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

impl Server {
    /// Starts one, `how` it is asked to be, in a directory; `exe` is dwell.
    pub(super) fn start(exe: &Path, service: Service, how: Served, directory: &Path) -> anyhow::Result<Self> {
        let mut command = Command::new(exe);
        command.args(["lab", "--serve", service.name()]);
        if let Some(ms) = how.latency_ms {
            command.args(["--latency", &ms.to_string()]);
        }
        command.current_dir(directory);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start the server")?;
        let output = child.stdout.take().context("the server has no output")?;
        let mut server = Self { child, at: SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0) };
        let mut text = String::new();
        BufReader::new(output).read_line(&mut text).context("the server says nothing")?;
        if text.is_empty() {
            bail!("its server did not start");
        }
        server.at = text.trim().parse().context("the server says no address")?;
        Ok(server)
    }
}
