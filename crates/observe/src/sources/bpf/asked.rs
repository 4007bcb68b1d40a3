//! The paths that processes asked for again most often, from the table of the kernel half
//! (`asked.h`). How many calls asked again is counted with the calls (`cost.rs`).

use super::{maps, wire};
use aya::Ebpf;
use aya::maps::HashMap;
use model::{Call, CallStats, PathAgain};
use std::cmp::Reverse;
use zerocopy::transmute;

/// Paths of one call that are recorded.
const PATHS: usize = 8;

type CountsWords = [u64; size_of::<wire::AskedCounts>() / 8];

/// Adds them to the counts of their calls.
pub(super) fn add(ebpf: &Ebpf, calls: &mut [CallStats]) {
    let map = ebpf.map("asked").map(HashMap::<_, u64, CountsWords>::try_from);
    // Without their names the counts are the same.
    let Some(Ok(map)) = map else { return };
    let all: Vec<wire::AskedCounts> =
        map.iter().filter_map(Result::ok).map(|(_, it)| transmute!(it)).collect();
    for call in calls {
        if let Some(paths) = call.results.as_mut().and_then(|results| results.paths.as_mut()) {
            paths.most = most(all.iter().filter(|one| Call(one.call as u16) == call.call));
        }
    }
}

fn most<'a>(all: impl Iterator<Item = &'a wire::AskedCounts>) -> Vec<PathAgain> {
    let mut paths: Vec<PathAgain> = all
        .map(|one| PathAgain { pid: one.pid, path: path(one), again: one.again, failed: one.failed })
        .collect();
    paths.sort_by(|one, other| {
        (Reverse(one.again), &one.path, one.pid).cmp(&(Reverse(other.again), &other.path, other.pid))
    });
    paths.truncate(PATHS);
    paths
}

fn path(counts: &wire::AskedCounts) -> String {
    let text = counts.text.split(|byte| *byte == 0).next().unwrap_or_default();
    let text = String::from_utf8_lossy(text);
    match counts.cut {
        0 => text.into_owned(),
        _ => format!("…{text}"),
    }
}

/// Resets the counts: they are not part of a window that begins.
pub(super) fn forget(ebpf: &mut Ebpf) {
    maps::clear::<u64, CountsWords>(ebpf, "asked");
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerocopy::FromZeros;

    #[test]
    fn those_asked_for_most_are_first_and_a_long_one_has_its_end() {
        let counted = |text: &str, again| {
            let mut counts = wire::AskedCounts::new_zeroed();
            (counts.again, counts.failed, counts.pid) = (again, 1, 7);
            counts.text[..text.len()].copy_from_slice(text.as_bytes());
            counts
        };
        let mut all: Vec<_> = (0..PATHS as u64).map(|again| counted("few", again)).collect();
        let cut = wire::AskedCounts { cut: 1, ..counted("dir/long", 900) };
        all.extend([counted("/etc/localtime", 1000), cut]);
        let most = most(all.iter());
        assert_eq!(most.len(), PATHS);
        let first = PathAgain { pid: 7, path: "/etc/localtime".into(), again: 1000, failed: 1 };
        assert_eq!((&most[0], &*most[1].path), (&first, "…dir/long"));
    }
}
