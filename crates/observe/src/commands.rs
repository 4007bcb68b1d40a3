//! Command lines of the tree's processes: several of one name are told apart by them.
//!
//! Read from outside, so one that ended at once has none.

use crate::targets;
use model::{Event, Pid};

/// Bytes of a command line that are kept.
const LINE_MAX: usize = 256;
/// Processes whose command line is read: a build has hundreds of thousands.
const PROCESSES: usize = 4096;

/// The processes that were asked about.
#[derive(Debug, Default)]
pub(crate) struct Commands {
    asked: usize,
}

impl Commands {
    /// The command line of a process that this event tells of.
    pub(crate) fn command_line(&mut self, event: &Event) -> Option<Event> {
        let pid = match event {
            Event::Exec { pid, .. } => *pid,
            Event::Alive { tid, pid, .. } if tid == pid => *pid,
            _ => return None,
        };
        self.asked += 1;
        (self.asked <= PROCESSES).then(|| line(pid)).flatten().map(|line| Event::Command { pid, line })
    }
}

fn line(pid: Pid) -> Option<String> {
    let words = targets::arguments(pid)?;
    let mut line = words.join(" ").trim_end().to_owned();
    let end = (0..=LINE_MAX.min(line.len())).rev().find(|end| line.is_char_boundary(*end));
    line.truncate(end.unwrap_or(0));
    (!line.is_empty()).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_asked_for_its_command_line_when_it_is_found() {
        let pid = std::process::id();
        let found = Event::Exec { at: 1, entered: 0, tid: pid, pid, old_tid: pid, name: "it".into() };
        let Some(Event::Command { pid: of, line }) = Commands::default().command_line(&found) else {
            panic!("this process has a command line");
        };
        let own = std::env::args().next().expect("a first argument");
        assert!(of == pid && own.starts_with(line.split(' ').next().expect("a word")), "{line}");
        assert!(line.len() <= LINE_MAX);
        assert_eq!(Commands::default().command_line(&Event::Lost { at: 1, events: 1 }), None);
        assert_eq!(Commands { asked: PROCESSES }.command_line(&found), None);
    }
}
