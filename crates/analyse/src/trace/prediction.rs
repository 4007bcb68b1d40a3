//! What the clocks of the thread that the program ended with come to, and how well that is known.

use super::division::OwnTimeSamples;
use super::predictor::Predictor;
use super::wall::Wall;
use crate::account::{Clocks, SiteClock, SiteKey, Watched, part};
use crate::names::Names;
use model::account::Basis;
use model::coverage::Interval;
use model::prediction::{Prediction, Site, SiteTimes};
use model::{Ns, Seen, State};
use std::cmp::Reverse;

/// The prediction. `known`: how well the own time on the path is; `sliced`: calls were traced in a
/// part of the time.
pub(super) fn prediction(
    wall: &Wall,
    predictor: &mut Predictor,
    names: &Names,
    known: &OwnTimeSamples,
    sliced: bool,
) -> Seen<Prediction> {
    let Some(clocks) = predictor.ends_with(wall.last.unwrap_or(0)) else {
        return Seen::unseen("no thread was seen");
    };
    let unedited_ns = clocks.at().saturating_sub(wall.start);
    let of_end = |site: Watched| {
        let known = is_sampled(&site, sliced).then_some(known);
        times(site, &clocks, unedited_ns, names, known)
    };
    let mut sites: Vec<_> = predictor.sites.at_end(unedited_ns).map(of_end).collect();
    let most = |seen: &Seen<Interval>| seen.value().map(|ns| ns.hi);
    // In an order of their own where they save the same.
    sites.sort_by_cached_key(|times| {
        (Reverse((most(&times.saved_ns), most(&times.path_ns))), format!("{:?}", times.site))
    });
    Seen::Value(Prediction { unedited_ns, sites })
}

/// Whether samples tell some of a site's time: user code is what they leave, and calls that were
/// not traced all the time may have had more.
fn is_sampled(site: &Watched, sliced: bool) -> bool {
    match site.key {
        SiteKey::State(State::User) => true,
        SiteKey::State(State::Kernel) | SiteKey::Call(_) if sliced => true,
        _ => site.sampled_ns > 0,
    }
}

/// `known`: where samples tell some of it, how well they do.
fn times(
    site: Watched,
    clocks: &Clocks,
    wall_ns: Ns,
    names: &Names,
    known: Option<&OwnTimeSamples>,
) -> SiteTimes {
    let seen = site.place.map(|(place, before_ns)| {
        let within = |(lo, hi): (Ns, Ns)| Interval { lo, hi: (hi + before_ns).min(wall_ns) };
        let SiteClock { path_ns, saved_ns, alone_ns } = clocks.of(place);
        let estimates = [path_ns, saved_ns, alone_ns];
        let by_samples = known.map(|known| left_open(&site, estimates, known).map(within));
        (estimates.map(|ns| within((ns, ns))), by_samples)
    });
    let [path_ns, saved_ns, alone_ns] = match &seen {
        Some((estimates, by_samples)) => by_samples.unwrap_or(*estimates).map(Seen::Value),
        None => [(); 3].map(|()| Seen::unseen("dwell predicts only the places with the most time")),
    };
    SiteTimes {
        site: named(site.key, names),
        path_ns,
        saved_ns,
        alone_ns,
        estimates: seen.and_then(|(estimates, by_samples)| by_samples.and(Some(estimates))),
        basis: if known.is_some() { Basis::Sampled } else { Basis::Measured },
    }
}

/// P, S and A of a site, as wide as samples leave them open.
fn left_open(
    site: &Watched,
    [path_ns, saved_ns, alone_ns]: [Ns; 3],
    known: &OwnTimeSamples,
) -> [(Ns, Ns); 3] {
    let state = if let SiteKey::State(state) = site.key { Some(state) } else { None };
    let of = |ns: Ns| {
        let sampled_ns = match state {
            Some(State::User) => ns,
            // On the path as everywhere.
            _ => part(ns, site.sampled_ns, site.ns),
        };
        let (lo, hi) = known.part(state, sampled_ns);
        (ns - sampled_ns + lo, ns - sampled_ns + hi.max(sampled_ns))
    };
    let path = of(path_ns);
    // What is saved is the length of the path less that of another one: as uncertain as the first.
    let less_path = |ns: Ns| saved_ns.saturating_add(ns).saturating_sub(path_ns);
    let saved = (less_path(path.0), less_path(path.1).min(path.1));
    [path, saved, of(alone_ns)]
}

fn named(key: SiteKey, names: &Names) -> Site {
    match key {
        SiteKey::Call(call) => Site::Call(names.arch.syscall(call)),
        SiteKey::Lock(pid, address) => Site::Lock { pid, address },
        SiteKey::Peer(target) => Site::Peer(names.target(target)),
        SiteKey::NameLookups => Site::NameLookups,
        SiteKey::File(file) => Site::File(names.files.path(file)),
        SiteKey::Program(name) => Site::Program(name.to_text()),
        SiteKey::State(state) => Site::State(state),
    }
}
