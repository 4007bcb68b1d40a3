//! `dwell mcp`: the verbs as tools of the Model Context Protocol, over standard input and output.
//!
//! One thread waits for the client, for signals and for the one verb that runs. Calls wait for one
//! another: two measurements would be in each other's way, and so would a measurement and a page.

mod answer;
mod client;
mod dialogue;
mod running;

use crate::cli::{McpArgs, StoreArgs, VERSION};
use crate::output;
use crate::stop::Stop;
use anyhow::Context;
use client::Client;
use dialogue::{Allowed, Call, Dialogue, message};
use running::Running;
use serde_json::{Value, json};
use std::env;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};
use sys::poll;
use sys::signals::Signals;

/// How often a client that asked for it is told that a measurement goes on.
const PROGRESS: Duration = Duration::from_secs(2);

/// Serves until standard input ends; returns the exit status.
pub(crate) fn mcp(args: &McpArgs, store: &StoreArgs) -> anyhow::Result<u8> {
    let allowed = Allowed::of(&args.allow, &args.allow_attach, args.confirm)?;
    let mut signals = Signals::take_over().context("cannot handle signals")?;
    let watch = signals.as_fd().try_clone_to_owned().context("cannot handle signals")?;
    let stop = Stop::new(&mut signals);
    if io::stdin().is_terminal() {
        output::complain("this speaks JSON-RPC with an agent, which starts it; Ctrl-C to stop");
    }
    let here = env::current_dir().unwrap_or_default();
    let mut server = Server {
        client: Client::new().context("cannot use standard input and output")?,
        stop: &stop,
        store,
        dialogue: Dialogue::new(allowed, VERSION, &here.to_string_lossy()),
        now: None,
    };
    server.serve(watch.as_fd())?;
    Ok(stop.status().unwrap_or(0))
}

struct Server<'a> {
    client: Client,
    stop: &'a Stop<'a>,
    store: &'a StoreArgs,
    dialogue: Dialogue,
    now: Option<Now>,
}

/// What runs for a call.
struct Now {
    call: Call,
    running: Box<Running>,
    told: Instant,
    cancelled: bool,
}

impl Server<'_> {
    fn serve(&mut self, signals: BorrowedFd<'_>) -> anyhow::Result<()> {
        loop {
            if self.is_over() {
                self.wind_down();
            }
            while self.now.is_none() {
                let call = self.dialogue.next();
                self.send_said();
                let Some(call) = call else { break };
                self.start(call);
            }
            // Also where a question could not be sent: nobody will answer it.
            if self.now.is_none() && self.is_over() {
                return Ok(());
            }
            if self.wait(signals).context("cannot wait for the client")? {
                for line in self.client.lines() {
                    if let Some(id) = self.dialogue.take(line) {
                        self.cancel(&id);
                    }
                    self.send_said();
                }
            }
            self.attend()?;
        }
    }

    /// Whether a signal asked for the end, or the client is gone.
    fn is_over(&self) -> bool {
        self.stop.asked() || self.client.input().is_none()
    }

    /// Waits for whatever comes first; whether the client sent something.
    fn wait(&self, signals: BorrowedFd<'_>) -> io::Result<bool> {
        let input = self.client.input();
        let (streams, mut most) = self.now.as_ref().map_or_else(Default::default, |now| now.running.waits());
        if let Some(Now { call: Call { progress: Some(_), .. }, told, .. }) = &self.now {
            let due = PROGRESS.saturating_sub(told.elapsed());
            most = Some(most.map_or(due, |most| most.min(due)));
        }
        let fds: Vec<_> = [signals].into_iter().chain(input).chain(streams).collect();
        let ready = poll::wait(&fds, most)?;
        Ok(input.is_some() && ready[1])
    }

    /// Ends what measures, and forgets what nobody waits for: after a signal, or without a client.
    fn wind_down(&mut self) {
        let all = self.stop.asked();
        self.dialogue.forget(all);
        if let Some(Now { call, running, cancelled, .. }) = &mut self.now
            && (all || call.job.measures())
        {
            *cancelled = true;
            running.interrupt();
        }
    }

    fn send(&mut self, message: &Value) {
        self.client.send(message, self.stop);
    }

    fn send_said(&mut self) {
        for message in self.dialogue.said() {
            self.send(&message);
        }
    }

    fn start(&mut self, call: Call) {
        match Running::start(&call.job, self.store) {
            Ok(running) => {
                let running = Box::new(running);
                self.now = Some(Now { call, running, told: Instant::now(), cancelled: false });
            }
            Err(error) => self.dialogue.answer(call.id, message::refusal(&format!("{error:#}"))),
        }
    }

    /// Ends what runs for a call that is not wanted any more: it is not answered.
    fn cancel(&mut self, id: &Value) {
        if let Some(now) = self.now.as_mut().filter(|now| now.call.id == *id) {
            now.cancelled = true;
            now.running.interrupt();
        }
    }

    /// Goes on with what runs, and answers when it has ended.
    fn attend(&mut self) -> anyhow::Result<()> {
        let Some(Now { call, running, told, .. }) = &mut self.now else { return Ok(()) };
        if running.attend().context("cannot wait for dwell")? {
            let Some(Now { call, running, cancelled, .. }) = self.now.take() else { return Ok(()) };
            let made = running.made()?;
            if !cancelled {
                self.send(&message::answer(call.id, answer::of_verb(&made)));
            }
            return Ok(());
        }
        if let Some(token) = call.progress.as_ref().filter(|_| told.elapsed() >= PROGRESS) {
            *told = Instant::now();
            let seconds = running.begun.elapsed().as_secs();
            let params = json!({"progressToken": token, "progress": seconds, "message": format!("{seconds} s so far")});
            self.send(&message::notification("notifications/progress", params));
        }
        Ok(())
    }
}
