//! A pair of the lab by its name, as results name it, and whether it can be held here.

use crate::suggest;
use anyhow::{anyhow, bail};
use model::lab::{LabPair, Writing};
use pairs::server::Service;
use pairs::{Need, Pair, Run};
use std::env;

/// The pair of that name.
pub(super) fn named(name: &str) -> anyhow::Result<&'static Pair> {
    if let Some(pair) = Pair::named(name) {
        return Ok(pair);
    }
    let of_cause: Vec<&'static Pair> =
        pairs::ALL.iter().copied().filter(|pair| pair.cause == Some(name)).collect();
    if let [only] = of_cause[..] {
        return Ok(only);
    }
    if !of_cause.is_empty() {
        let commands: Vec<String> = of_cause.iter().map(|pair| format!("dwell lab {}", pair.name)).collect();
        bail!("{name} is the cause of {} pairs\ntry: {}", of_cause.len(), commands.join(", "));
    }
    Err({
        let all = format!("dwell lab (lists all {})", pairs::ALL.len());
        let near = suggest::nearest(name, pairs::ALL.iter().map(|pair| pair.name));
        anyhow!("the lab has no {name:?}\ntry: {}", suggest::or_all("dwell lab", &near, &all))
    })
}

/// As the results name it.
pub(super) fn described(pair: &Pair) -> LabPair {
    LabPair {
        name: pair.name.to_owned(),
        title: pair.title.to_owned(),
        cause: pair.cause.map(str::to_owned),
        writing: pair
            .writing
            .map(|writing| Writing { title: writing.title.to_owned(), theirs: writing.theirs.to_owned() }),
    }
}

/// Why a pair cannot be held here. None if it can.
pub(super) fn missing(pair: &Pair) -> Option<String> {
    let servers = pair.service().map_or(&[][..], Service::programs);
    let servers = servers.iter().copied().map(Need::Program);
    let languages = pair.ways.iter().filter_map(|way| match way.run {
        Run::Foreign(source) => Some(Need::Program(source.language.needs())),
        Run::Native(_) => None,
    });
    pair.needs.iter().copied().chain(servers).chain(languages).find_map(|need| match need {
        Need::Program(name) if !in_path(name) => Some(format!("there is no {name} in $PATH")),
        Need::Root if !sys::user::is_root() => Some("it needs root".to_owned()),
        _ => None,
    })
}

fn in_path(name: &str) -> bool {
    let paths = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&paths).any(|directory| directory.join(name).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_leads_to_its_pair() {
        for pair in pairs::ALL {
            assert_eq!(named(pair.name).unwrap().name, pair.name);
            let Some(cause) = pair.cause.filter(|cause| Pair::named(cause).is_none()) else { continue };
            let of_cause = pairs::ALL.iter().filter(|other| other.cause == Some(cause)).count();
            match named(cause) {
                Ok(found) => assert!(of_cause == 1 && found.name == pair.name, "{cause}"),
                Err(error) => assert!(error.to_string().contains(&format!("dwell lab {}", pair.name))),
            }
        }
        assert!(named("no-such-cause").is_err());
    }
}
