//! Programs in pairs: each is slow in one known way, and does the same work without it.
//!
//! `dwell lab` runs them: it shows a cause on the machine in front of the reader, and holds what
//! dwell predicts of the slow program against what the fast one really takes. A pair is one file in
//! `pairs/`: a function for each way, and what there is to learn from it. The difference between
//! two ways is shown as the text of these functions, from the same file that was compiled.
//!
//! A program runs in a process of its own, in a directory that is its current one; it is bounded in
//! time and space, and leaves nothing outside that directory. This crate concludes nothing.

mod download;
pub mod group;
mod local;
mod pairs;
mod peer;
mod programs;
pub mod server;
mod work;

use std::io;
use std::net::Ipv4Addr;

pub use pairs::ALL;
pub use programs::{Language, Source};

/// A program in several ways.
pub struct Pair {
    /// On the command line: lower case, with hyphens.
    pub name: &'static str,
    /// What it shows, in a few words.
    pub title: &'static str,
    /// The cause that the slow way has, by its name; none for a healthy program, of which nothing
    /// may be claimed. Judged before any run.
    pub cause: Option<&'static str>,
    /// How much it does.
    pub size: Size,
    /// The slow way, the fast way, and further fast ways.
    pub ways: &'static [Way],
    /// The file of the pair.
    pub source: &'static str,
    /// What it needs besides a directory.
    pub needs: &'static [Need],
    /// What happened, and what to do about it: paragraphs.
    pub lesson: &'static str,
    /// The writing that it comes from.
    pub writing: Option<Writing>,
}

/// How much a program does: drawn anew for each sitting that is scored.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Of what, in the plural.
    pub unit: &'static str,
    /// By default.
    pub usual: u64,
    /// The least that is drawn: a run of at least 0.2 s.
    pub least: u64,
    /// The most that is drawn: a run of at most 1 s.
    pub most: u64,
}

/// One way to do the work.
pub struct Way {
    /// On the command line; with `_` for `-`, the function of the file that does it.
    pub name: &'static str,
    /// What it does, as a noun or a participle: `one file for each record`.
    pub what: &'static str,
    /// Does it.
    pub run: Run,
}

/// How a way is run.
pub enum Run {
    /// In this process.
    Native(fn(&Setting) -> io::Result<()>),
    /// As a program of another language, which is written into the directory and, if need be,
    /// compiled there.
    Foreign(&'static Source),
}

/// What a program needs besides a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// A server of [`server`], outside of the program's own processes.
    Server(server::Service),
    /// This program in `$PATH`.
    Program(&'static str),
    /// The user root.
    Root,
}

/// A part of what a way does, timed by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// What it does, as a participle.
    pub what: &'static str,
    /// How long that took.
    pub ns: u64,
}

/// A writing on latency, and the figures in it.
#[derive(Debug, Clone, Copy)]
pub struct Writing {
    /// Author and title.
    pub title: &'static str,
    /// What they measured, on their machine.
    pub theirs: &'static str,
}

/// What a program is told.
#[derive(Debug, Clone)]
pub struct Setting {
    /// How much to do, in units of the pair's [`Size`].
    pub size: u64,
    /// Where the server is.
    pub host: Ipv4Addr,
    /// Its port, 0 if there is none.
    pub port: u16,
    /// What to download, in place of what the server has.
    pub urls: Vec<String>,
    /// How the server of the lab is to be; none for the pair's own.
    pub server: Served,
}

/// How the server of the lab is to be, where the user chose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Served {
    /// Milliseconds until it answers.
    pub latency_ms: Option<u64>,
    /// Bytes a second on each connection.
    pub rate: Option<u64>,
}

impl Pair {
    /// What serves it.
    pub fn service(&self) -> Option<server::Service> {
        self.needs.iter().find_map(|need| match need {
            Need::Server(service) => Some(*service),
            _ => None,
        })
    }

    /// The pair of that name.
    pub fn named(name: &str) -> Option<&'static Pair> {
        ALL.iter().copied().find(|pair| pair.name == name)
    }

    /// The way of that name.
    pub fn way(&self, name: &str) -> Option<&Way> {
        self.ways.iter().find(|way| way.name == name)
    }

    /// Whether its ways have parts that can be timed apart.
    pub fn has_parts(&self) -> bool {
        pairs::apart(self.name).is_some()
    }

    /// The parts of a way, each timed by itself, in the current directory; none where it has none.
    ///
    /// # Errors
    /// What the system refused.
    pub fn parts(&self, way: &Way) -> io::Result<Vec<Part>> {
        pairs::apart(self.name).map_or_else(|| Ok(Vec::new()), |apart| apart(way.name))
    }

    /// The text of the function that does it this way.
    pub fn text(&self, way: &Way) -> &'static str {
        let name = way.name.replace('-', "_");
        match way.run {
            Run::Native(_) => function(self.source, &name),
            Run::Foreign(source) => source.function(&name),
        }
        .unwrap_or_default()
    }
}

/// The text of a function that begins at the margin.
fn function(source: &'static str, name: &str) -> Option<&'static str> {
    between(source, &format!("\nfn {name}("), "\n}\n", 2)
}

/// From the line that begins with `head`, which has a line break before it, so far into `end`.
fn between(source: &'static str, head: &str, end: &str, into: usize) -> Option<&'static str> {
    let from = source.find(head)? + 1;
    let len = source[from..].find(end)? + into;
    Some(&source[from..from + len])
}

impl Way {
    /// Does the work in this process, or becomes the program that does.
    ///
    /// # Errors
    /// What the system refused, or that the work came out wrong.
    pub fn run(&self, setting: &Setting) -> io::Result<()> {
        match self.run {
            Run::Native(run) => run(setting),
            Run::Foreign(source) => source.run(self.name, setting),
        }
    }
}

#[cfg(test)]
mod tests;
