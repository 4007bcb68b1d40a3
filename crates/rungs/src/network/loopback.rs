//! The other end of loopback rungs: a thread, on another CPU if there is one.

use crate::Unmeasured;
use crate::bench::Bench;
use crate::cpu::pin::{self, Pinned};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Any port of this host, as the kernel chooses.
pub(super) const ANY_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// On loopback an answer that takes longer does not come.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
/// Rungs that make a connection for each sample make no more: each that is closed keeps its port
/// for a minute.
pub(super) const CONNECTIONS: u64 = 1_000;

/// What stands in the methods of these rungs.
pub(super) const ENDS: &str = "between two threads, on two CPUs where there are two";

/// Why something on loopback did not work.
pub(super) fn refused(what: &str, error: &io::Error) -> Unmeasured {
    let remedy = match error.kind() {
        io::ErrorKind::AddrNotAvailable | io::ErrorKind::NetworkUnreachable | io::ErrorKind::NetworkDown => {
            ": the loopback interface has no address or is down\ntry: ip link set lo up"
        }
        _ => "",
    };
    Unmeasured::Unseen(format!("cannot {what} on loopback: {error}{remedy}"))
}

/// Which limit the ends have.
pub(super) fn limits(bench: &Bench<'_>) -> Vec<String> {
    let alone = pin::others(bench.machine).is_empty();
    alone.then(|| "both ends share one CPU".to_owned()).into_iter().collect()
}

/// The CPU of the other end.
pub(super) fn other_cpu(bench: &Bench<'_>) -> u32 {
    pin::others(bench.machine).last().copied().unwrap_or_else(|| pin::home(bench.machine))
}

/// A thread that accepts connections, one after another. It ends with this.
#[derive(Debug)]
pub(super) struct Server {
    address: SocketAddr,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Gives each connection to `serve`, which returns when its client has closed it.
    pub(super) fn start(
        bench: &Bench<'_>,
        serve: impl Fn(TcpStream) + Send + 'static,
    ) -> Result<Self, Unmeasured> {
        let listener = TcpListener::bind(ANY_PORT).map_err(|error| refused("listen", &error))?;
        let address = listener.local_addr().map_err(|error| refused("listen", &error))?;
        let over = Arc::new(AtomicBool::new(false));
        let (cpu, told) = (other_cpu(bench), Arc::clone(&over));
        let accept = move || {
            let _pinned = Pinned::to(cpu);
            while let Ok((stream, _)) = listener.accept()
                && !told.load(Relaxed)
            {
                serve(stream);
            }
        };
        let thread = thread::Builder::new().name("ladder-server".into()).spawn(accept);
        Ok(Self { address, over, thread: Some(thread.map_err(|error| refused("start a thread", &error))?) })
    }

    /// A new connection, which waits no longer than is sensible.
    pub(super) fn connect(&self) -> Result<TcpStream, Unmeasured> {
        let stream = self.dial().map_err(|error| refused("connect", &error))?;
        let prepared = stream.set_nodelay(true).and_then(|()| stream.set_read_timeout(Some(PATIENCE)));
        prepared.map_err(|error| refused("connect", &error))?;
        Ok(stream)
    }

    /// Only connects.
    pub(super) fn dial(&self) -> io::Result<TcpStream> {
        TcpStream::connect(self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
        // It waits in accept: a last connection wakes it. Where none can be made it stays, and ends
        // with dwell.
        if self.dial().is_ok()
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
    }
}

/// Samples of a limited number of operations, each timed by itself.
pub(super) fn a_few(
    bench: &Bench<'_>,
    most: u64,
    mut one: impl FnMut() -> Result<model::Ns, Unmeasured>,
) -> Result<model::ladder::Samples, Unmeasured> {
    let begun = sys::clock::monotonic_ns();
    let mut samples = model::ladder::Samples {
        ops_per_sample: 1,
        clock_cost_ns: bench.clock_cost_ns,
        ..Default::default()
    };
    // The first ones look up, load and fill what the others find.
    let mut warming = most / 20;
    while (samples.per_op_ns.len() as u64) < most && !bench.stopped() {
        let took = one()?;
        if warming > 0 {
            warming -= 1;
        } else {
            samples.per_op_ns.push(took as f64);
        }
        if sys::clock::monotonic_ns() - begun > bench.budget_ns && !samples.per_op_ns.is_empty() {
            break;
        }
    }
    if samples.per_op_ns.is_empty() { Err(crate::bench::interrupted()) } else { Ok(samples) }
}
