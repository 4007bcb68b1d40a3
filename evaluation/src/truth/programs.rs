//! The programs, a file for each family. The class of each was judged before it was run, by what
//! the program is known to do; the reason stands beside it.

mod builds;
mod clients;
mod databases;
mod edges;
mod go_proxy;
mod maps;
mod maven;
mod npm;
mod packages;
mod polling;
mod pypi;
mod python;
mod runtimes;
mod shell;
mod storage;
mod text;
mod tools;
mod web;

use super::program::Program;

/// All of them, in the order of the table.
pub(crate) fn all() -> impl Iterator<Item = &'static Program> {
    let families = [
        text::PROGRAMS,
        shell::PROGRAMS,
        builds::PROGRAMS,
        storage::PROGRAMS,
        databases::PROGRAMS,
        web::PROGRAMS,
        runtimes::PROGRAMS,
        python::PROGRAMS,
        packages::PROGRAMS,
        pypi::PROGRAMS,
        npm::PROGRAMS,
        go_proxy::PROGRAMS,
        maven::PROGRAMS,
        tools::PROGRAMS,
        clients::PROGRAMS,
        polling::PROGRAMS,
        maps::PROGRAMS,
        edges::PROGRAMS,
    ];
    families.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::super::program::{Also, Attach, Ready, Watch};
    use super::*;
    use std::collections::BTreeSet;

    const PLACES: &[&str] =
        &["{dir}", "{inputs}", "{sources}", "{root}", "{temp}", "{port}", "{pg}", "{python}", "{group}"];

    /// All words of a program in which places are filled in.
    fn words(program: &Program) -> Vec<&'static str> {
        let watched = match program.watch {
            Watch::Run(words) => words.to_vec(),
            Watch::Attach(Attach { pid_file, load, .. }) => {
                load.unwrap_or_default().iter().copied().chain(pid_file).collect()
            }
        };
        let server = |server: &'static super::super::program::Server| {
            let ready: &[&str] = match &server.ready {
                Ready::Port => &[],
                Ready::Succeeds(words) => words,
                Ready::File(path) => std::slice::from_ref(path),
            };
            server.command.iter().chain(ready).copied().collect::<Vec<_>>()
        };
        let servers = program.servers.iter().flat_map(server);
        watched.into_iter().chain(servers).chain(program.prepare.iter().copied()).collect()
    }

    #[test]
    fn there_are_at_least_forty_with_a_name_a_class_and_a_reason() {
        let names: BTreeSet<_> = all().map(|program| program.name).collect();
        assert_eq!(names.len(), all().count());
        assert!(names.len() >= 40, "{}", names.len());
        for program in all() {
            assert!(!program.class.is_empty() && program.why.len() > 10, "{}", program.name);
            assert!(!program.name.contains(['/', ' ', '|']), "{}", program.name);
        }
    }

    #[test]
    fn each_is_watched_in_a_way_that_works() {
        for program in all() {
            match program.watch {
                Watch::Run(words) => assert!(!words.is_empty(), "{}", program.name),
                Watch::Attach(_) => {
                    assert!(!program.servers.is_empty(), "{}", program.name);
                    let beside = |also: &Also| matches!(also, Also::Calls(_) | Also::OwnClock);
                    assert!(!program.also.iter().any(beside), "{}", program.name);
                }
            }
        }
    }

    #[test]
    fn all_places_are_known() {
        for program in all() {
            for word in words(program) {
                let known = PLACES.iter().fold(word.to_owned(), |word, place| word.replace(place, ""));
                let opens = known.find('{').filter(|at| {
                    let place = known[at + 1..].split('}').next().unwrap_or_default();
                    !place.is_empty() && place.chars().all(|c| c.is_ascii_lowercase())
                });
                assert!(opens.is_none(), "{}: {word}", program.name);
            }
        }
    }

    #[test]
    fn sources_that_are_named_are_there() {
        let sources = workshop::shell::root().join("evaluation/sources");
        for word in all().flat_map(words) {
            for named in word.split("{sources}/").skip(1) {
                let name = named.split([' ', '"', '\'']).next().unwrap_or_default();
                assert!(sources.join(name).exists(), "{name}");
            }
        }
    }
}
