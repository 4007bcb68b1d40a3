//! A search path of which each place is asked for each name, or listed once.

use crate::work::compute;
use crate::{Pair, Run, Setting, Size, Way};
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::{fs, io};

pub(super) static PAIR: Pair = Pair {
    name: "lookups",
    title: "each directory of a search path is asked, or listed once",
    cause: Some("metadata-calls"),
    size: Size { unit: "look-ups", usual: 40_000, least: 20_000, most: 40_000 },
    ways: &[
        Way { name: "asked", what: "a question to each directory", run: Run::Native(asked) },
        Way { name: "listed", what: "directories that are listed once", run: Run::Native(listed) },
    ],
    source: include_str!("lookups.rs"),
    needs: &[],
    lesson: "Loaders and compilers look along a path: for each name each directory is asked, and most say no. A no takes a \
             system call as well. Whoever lists the directories once, or remembers what is not there, asks nobody.",
    writing: None,
};

const PLACES: usize = 8;
/// Few, since both ways make these files first, which takes some 0.2 ms each.
const NAMES: u64 = 100;

fn asked(setting: &Setting) -> io::Result<()> {
    let places = places()?;
    for at in 0..setting.size {
        let name = format!("module-{}", at % NAMES);
        let found = places.iter().find(|place| Path::new(place).join(&name).exists());
        found.ok_or(io::ErrorKind::NotFound)?;
        compute(1000);
    }
    remove(&places)
}

fn listed(setting: &Setting) -> io::Result<()> {
    let places = places()?;
    let mut there = Vec::new();
    for place in &places {
        let names = fs::read_dir(place)?.map(|entry| Ok(entry?.file_name()));
        there.push(names.collect::<io::Result<HashSet<OsString>>>()?);
    }
    for at in 0..setting.size {
        let name = format!("module-{}", at % NAMES);
        let found = there.iter().find(|names| names.contains(OsStr::new(&name)));
        found.ok_or(io::ErrorKind::NotFound)?;
        compute(1000);
    }
    remove(&places)
}

/// Directories, of which the last has all names.
fn places() -> io::Result<Vec<String>> {
    let places: Vec<String> = (0..PLACES).map(|place| format!("place-{place}")).collect();
    for place in &places {
        fs::create_dir(place)?;
    }
    for name in 0..NAMES {
        fs::write(format!("place-{}/module-{name}", PLACES - 1), "")?;
    }
    Ok(places)
}

fn remove(places: &[String]) -> io::Result<()> {
    places.iter().try_for_each(fs::remove_dir_all)
}
