//! What the clocks of the thread that the program ended with come to.
//!
//! In a window there are none: it has no end that could come earlier.

use super::tree::Tree;
use super::wall::Wall;
use crate::account::{Clocks, SiteClock, SiteKey, Watched};
use crate::names::Names;
use model::account::Basis;
use model::coverage::Interval;
use model::prediction::{Prediction, Site, SiteTimes};
use model::{Ns, Seen};
use std::cmp::Reverse;

/// The prediction. `sliced`: calls were traced in a part of the time.
pub(super) fn prediction(wall: &Wall, tree: &mut Tree, names: &Names, sliced: bool) -> Seen<Prediction> {
    if tree.in_window {
        return Seen::Absent;
    }
    let Some(predictor) = &mut tree.predictor else {
        return Seen::unseen("it was not asked for");
    };
    let Some(clocks) = predictor.ends_with(wall.last.unwrap_or(0)) else {
        return Seen::unseen("no thread was seen");
    };
    let unedited_ns = clocks.at().saturating_sub(wall.start);
    let of_end = |site| times(site, &clocks, unedited_ns, names);
    let mut sites: Vec<_> = predictor.sites.at_end(unedited_ns).map(of_end).collect();
    for times in sites.iter_mut().filter(|times| sliced && matches!(times.site, Site::Call(_))) {
        times.basis = Basis::Sampled;
    }
    let most = |seen: &Seen<Interval>| seen.value().map(|ns| ns.hi);
    // In an order of their own where they save the same.
    sites.sort_by_cached_key(|times| {
        (Reverse((most(&times.saved_ns), most(&times.path_ns))), format!("{:?}", times.site))
    });
    Seen::Value(Prediction { unedited_ns, sites })
}

fn times(site: Watched, clocks: &Clocks, wall_ns: Ns, names: &Names) -> SiteTimes {
    let interval = |of: fn(SiteClock) -> Ns| match site.place {
        Some((place, before_ns)) => {
            let lo = of(clocks.of(place));
            Seen::Value(Interval { lo, hi: (lo + before_ns).min(wall_ns) })
        }
        None => Seen::unseen("too many sites had more time to watch this one as well"),
    };
    SiteTimes {
        site: named(site.key, names),
        path_ns: interval(|clock| clock.path_ns),
        saved_ns: interval(|clock| clock.saved_ns),
        alone_ns: interval(|clock| clock.alone_ns),
        basis: if site.sampled { Basis::Sampled } else { Basis::Measured },
    }
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
