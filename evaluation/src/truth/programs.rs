//! The programs, as they are in `evaluation/programs`: a file for each family. The class of each
//! was judged before it was run, by what the program is known to do; the reason stands beside it.

use super::program::{Program, Server};
use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use workshop::shell::root;

/// The files, in the order of the table.
const FAMILIES: [&str; 18] = [
    "text",
    "shell",
    "builds",
    "storage",
    "databases",
    "web",
    "runtimes",
    "python",
    "packages",
    "pypi",
    "npm",
    "go-proxy",
    "maven",
    "tools",
    "clients",
    "polling",
    "maps",
    "edges",
];

/// All programs, and what some of them share.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Programs {
    /// Parts of preparations, by name.
    #[serde(default)]
    pieces: BTreeMap<String, String>,
    #[serde(default, rename = "server")]
    servers: BTreeMap<String, Server>,
    #[serde(rename = "program")]
    programs: Vec<Program>,
}

impl Programs {
    /// Reads all files.
    ///
    /// # Errors
    /// When one cannot be read, or two things have one name.
    pub(crate) fn read() -> Result<Self> {
        let mut all = Self::default();
        for family in FAMILIES {
            let path = root().join(format!("evaluation/programs/{family}.toml"));
            let text =
                fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            all.add(&text).with_context(|| path.display().to_string())?;
        }
        Ok(all)
    }

    fn add(&mut self, text: &str) -> Result<()> {
        let Self { pieces, servers, programs } = toml::from_str(text)?;
        for (name, piece) in pieces {
            ensure!(self.pieces.insert(name.clone(), piece).is_none(), "two pieces are called {name}");
        }
        for (name, server) in servers {
            ensure!(self.servers.insert(name.clone(), server).is_none(), "two servers are called {name}");
        }
        for program in programs {
            let name = &program.name;
            ensure!(self.find(name).is_none(), "two programs are called {name}");
            ensure!(
                program.run.is_empty() == program.attach.is_some(),
                "{name} is either run or attached to"
            );
            self.programs.push(program);
        }
        Ok(())
    }

    /// In the order of the table.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Program> {
        self.programs.iter()
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Program> {
        self.all().find(|program| program.name == name)
    }

    /// Those of these names; all where there is none.
    ///
    /// # Errors
    /// When one is not there.
    pub(crate) fn named(&self, names: &[String]) -> Result<Vec<&Program>> {
        if names.is_empty() {
            return Ok(self.all().collect());
        }
        let known = || self.all().map(|program| program.name.as_str()).collect::<Vec<_>>().join(", ");
        let named = |name: &String| {
            self.find(name).with_context(|| format!("no program {name}; there are {}", known()))
        };
        names.iter().map(named).collect()
    }

    /// The lines of a program's preparation, with the pieces in them.
    pub(crate) fn prepare(&self, program: &Program) -> Vec<String> {
        let filled = |line: &String| {
            let pieces = self.pieces.iter();
            pieces.fold(line.clone(), |line, (name, piece)| line.replace(&format!("{{{name}}}"), piece))
        };
        program.prepare.iter().map(filled).collect()
    }

    /// The servers of a program.
    ///
    /// # Errors
    /// When one is not there.
    pub(crate) fn servers(&self, program: &Program) -> Result<Vec<&Server>> {
        let server = |name: &String| match self.servers.get(name) {
            Some(server) => Ok(server),
            None => bail!("{} has no server {name}", program.name),
        };
        program.servers.iter().map(server).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::program::{Also, Ready};
    use super::*;

    const PLACES: &[&str] =
        &["{dir}", "{inputs}", "{sources}", "{root}", "{temp}", "{port}", "{pg}", "{python}", "{group}"];

    fn programs() -> Programs {
        Programs::read().unwrap()
    }

    /// All words of a program in which places are filled in.
    fn words(all: &Programs, program: &Program) -> Vec<String> {
        let attached =
            program.attach.iter().flat_map(|attach| attach.load.iter().flatten().chain(&attach.pid_file));
        let servers = all.servers(program).unwrap();
        let server = |server: &&Server| {
            let ready: &[String] = match &server.ready {
                Ready::Port => &[],
                Ready::Succeeds(words) => words,
                Ready::File(path) => std::slice::from_ref(path),
            };
            [&server.command, ready].concat()
        };
        let own = program.run.iter().chain(attached).cloned();
        own.chain(servers.iter().flat_map(server)).chain(all.prepare(program)).collect()
    }

    #[test]
    fn programs_are_chosen_by_name_and_others_refused() {
        let all = programs();
        assert_eq!(all.named(&[]).unwrap().len(), all.all().count());
        let first = all.all().next().unwrap().name.clone();
        assert_eq!(all.named(&[first]).unwrap().len(), 1);
        assert!(all.named(&["no-such".to_owned()]).is_err());
    }

    #[test]
    fn there_are_at_least_forty_with_a_name_a_class_and_a_reason() {
        let all = programs();
        assert!(all.programs.len() >= 40, "{}", all.programs.len());
        for program in all.all() {
            assert!(!program.class.is_empty() && program.why.len() > 10, "{}", program.name);
            assert!(!program.name.contains(['/', ' ', '|']), "{}", program.name);
        }
    }

    #[test]
    fn all_files_are_read() {
        let files = fs::read_dir(root().join("evaluation/programs")).unwrap();
        let mut files: Vec<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        let mut read = FAMILIES.map(|family| format!("{family}.toml"));
        files.sort();
        read.sort();
        assert_eq!(files, read);
    }

    #[test]
    fn what_is_misspelt_or_there_twice_is_refused() {
        let refused = |text: &str| format!("{:#}", Programs::default().add(text).unwrap_err());
        let one = "[[program]]\nname = 'a'\nrun = ['true']\nclass = ['cpu']\nwhy = ''\n";
        assert!(Programs::default().add(one).is_ok());
        assert!(refused(&one.repeat(2)).contains("two programs are called a"));
        assert!(refused(&format!("{one}attach = {{}}")).contains("either run or attached to"));
        assert!(refused(&one.replace("why", "wy")).contains("unknown field `wy`"));
        assert!(refused(&format!("{one}needs = ['no-such']")).contains("no need no-such"));
        assert!(refused(&format!("[server.s]\ncommand = []\nready = 'now'\n{one}")).contains("`now`"));
    }

    #[test]
    fn each_is_watched_in_a_way_that_works() {
        for program in programs().all().filter(|program| program.attach.is_some()) {
            assert!(!program.servers.is_empty(), "{}", program.name);
            let beside = |also: &Also| matches!(also, Also::Calls(_) | Also::OwnClock);
            assert!(!program.also.iter().any(beside), "{}", program.name);
        }
    }

    #[test]
    fn all_places_are_known() {
        let all = programs();
        for program in all.all() {
            for word in words(&all, program) {
                let known = PLACES.iter().fold(word.clone(), |word, place| word.replace(place, ""));
                let is_place = |place: &str| {
                    !place.is_empty() && place.chars().all(|c| c.is_ascii_lowercase() || c == '-')
                };
                let mut opened = known.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
                assert!(!opened.any(is_place), "{}: {word}", program.name);
            }
        }
    }

    #[test]
    fn sources_that_are_named_are_there() {
        let (all, sources) = (programs(), root().join("evaluation/sources"));
        for word in all.all().flat_map(|program| words(&all, program)) {
            for named in word.split("{sources}/").skip(1) {
                let name = named.split([' ', '"', '\'']).next().unwrap_or_default();
                assert!(sources.join(name).exists(), "{name}");
            }
        }
    }
}
