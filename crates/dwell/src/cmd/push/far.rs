//! The far ends: a directory, a web server, and OpenTelemetry.

use super::http::{Body, Client, Got};
use super::pusher::Far;
use crate::cmd::export::lake;
use send::{Answer, Files, Url};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use store::results::Item;

/// A directory that gets the files of `dwell export --as rows`.
pub(super) struct Directory(pub(super) PathBuf);

impl Far for Directory {
    fn takes_many(&self) -> bool {
        false
    }

    fn send(&mut self, _part: &str, items: &[Item], _within: Duration) -> Answer {
        for item in items {
            let Files { id, day, tables } = match Files::unpack(&item.content) {
                Ok(files) => files,
                Err(error) => return Answer::Refused(error.to_string()),
            };
            // A full disk, missing rights: the next one would fare alike.
            if let Err(error) = lake::put(&self.0, lake::Form::Rows, &day, &id, tables) {
                return Answer::Stop(format!("{error:#}"));
            }
        }
        Answer::DONE
    }
}

/// A web server that gets the same files by PUT.
pub(super) struct WebServer {
    pub(super) client: Client,
    pub(super) url: Url,
}

/// A file is tried this often at once, and so long after the time before: a result has a dozen, and
/// of a server that fails one request in ten hardly a result would come through.
const AT_ONCE: u32 = 3;
const BREATH: Duration = Duration::from_millis(50);

impl WebServer {
    fn put(&self, of: &Files, table: &str, bytes: &[u8], until: Instant) -> Answer {
        let mut times = AT_ONCE;
        loop {
            let answer = self.put_once(of, table, bytes, until);
            let may_pass = match &answer {
                Ok(answer) => answer.may_pass(),
                Err(failed) => matches!(failed, Answer::Later { .. }),
            };
            times -= 1;
            if !may_pass || times == 0 || left(until) <= BREATH {
                return answer.map_or_else(|failed| failed, |answer| answer.read(|answer| answer.of_file()));
            }
            std::thread::sleep(BREATH);
        }
    }

    fn put_once(&self, of: &Files, table: &str, bytes: &[u8], until: Instant) -> Result<Got, Answer> {
        let within = lake::within(table, &of.day);
        let url = self.url.below(&format!("{within}/{}", lake::Form::Rows.file(&of.id)));
        let body = Body { media: "application/gzip", bytes };
        let put = || self.client.ask("PUT", &url, Some(body), left(until));
        match put() {
            // WebDAV makes no directories by itself.
            Ok(answer) if answer.status == 409 => {
                for above in [table, within.as_str()] {
                    let above = self.url.below(&format!("{above}/"));
                    self.client.ask("MKCOL", &above, None, left(until))?;
                }
                put()
            }
            answer => answer,
        }
    }
}

impl Far for WebServer {
    fn takes_many(&self) -> bool {
        false
    }

    fn send(&mut self, _part: &str, items: &[Item], within: Duration) -> Answer {
        let until = Instant::now() + within;
        for item in items {
            let files = match Files::unpack(&item.content) {
                Ok(files) => files,
                Err(error) => return Answer::Refused(error.to_string()),
            };
            for (table, bytes) in &files.tables {
                match self.put(&files, table, bytes, until) {
                    Answer::Accepted { .. } => {}
                    other => return other,
                }
            }
        }
        Answer::DONE
    }
}

/// An endpoint of OpenTelemetry.
pub(super) struct OtlpEndpoint {
    pub(super) client: Client,
    pub(super) url: Url,
}

impl Far for OtlpEndpoint {
    fn takes_many(&self) -> bool {
        true
    }

    fn send(&mut self, part: &str, items: &[Item], within: Duration) -> Answer {
        let Some((_, path)) = send::otlp::PARTS.iter().find(|(name, _)| *name == part) else {
            return Answer::Refused(format!("{part:?} is no signal"));
        };
        // One after another they are one request.
        let bytes: Vec<u8> = items.iter().flat_map(|item| item.content.iter().copied()).collect();
        let body = Body { media: "application/x-protobuf", bytes: &bytes };
        let asked = self.client.ask("POST", &self.url.below(path), Some(body), within);
        asked.map_or_else(|failed| failed, |answer| answer.read(|answer| answer.of_otlp()))
    }
}

fn left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now())
}
