//! What follows from the host metrics: which limits were reached, what was idle, what others did.
//! Only what they support.

use crate::grid::{Grid, rounded};
use model::run::{Bound, Class};
use model::series::{DiskSeries, LinkSeries, SeriesVerdict};
use model::{Ns, Seen, Series, State};

/// From this share of what it can carry on, a link is at its limit.
pub(super) const LINK_LIMIT_SHARE: f64 = 0.9;
/// A disk is at its limit in a step that it is busy for this share of, with this many requests
/// under way on average. Busy alone is no limit for a disk that can serve many requests at once: a
/// thread that waits for each of its requests keeps it busy with one, which is the thread's doing.
const DISK_LIMIT_SHARE: f64 = 0.9;
const DISK_LIMIT_QUEUE: f64 = 1.5;
/// How often the kernel looks whether a disk is busy: once a tick, of which most kernels have 250 a
/// second. So the share of a short step is that of a few samples.
const TICK_NS: f64 = 4e6;

/// Less of the wall at a limit than this is not worth a sentence.
pub(super) const SHARE_OF_WALL_MIN: f64 = 0.1;
/// A disk that is busy for less is idle.
pub(super) const IDLE_SHARE: f64 = 0.02;
/// From this share of the CPUs on, others are worth a sentence.
pub(super) const OTHERS_SHARE_MIN: f64 = 0.2;
/// Memory is short when some task waits for it for this share of the wall clock, or this number of
/// pages is swapped per second.
pub(super) const PRESSURE_SHARE_MIN: f64 = 0.01;
const SWAPPED_PAGES_PER_S_MIN: f64 = 100.0;
/// A rate is steady when its steps vary by no more than this part of their mean, after a tenth of
/// them at either end of the order is left out; when there are enough of them; and when it is no
/// trickle. Steps in which a transfer begins or ends do not count: they have a part of it.
const STEADY_VARIATION_MAX: f64 = 0.1;
const STEADY_STEPS_MIN: usize = 5;
const STEADY_BITS_PER_S_MIN: f64 = 100_000.0;

/// Whether a share of what a link can carry is its limit.
pub(crate) fn link_at_limit(share: f64) -> bool {
    share >= LINK_LIMIT_SHARE
}

/// Whether a disk is at its limit in a step of this length: with this many requests under way, and
/// no less busy than samples at the ticks may show of a disk that is.
pub(crate) fn disk_at_limit(busy_share: f64, queue_mean: f64, step_ns: Ns) -> bool {
    let samples = (step_ns as f64 / TICK_NS).max(1.0);
    let by_chance = 2.0 * (DISK_LIMIT_SHARE * (1.0 - DISK_LIMIT_SHARE) / samples).sqrt();
    busy_share >= DISK_LIMIT_SHARE - by_chance && queue_mean >= DISK_LIMIT_QUEUE
}

/// What the series of a wall show for a program that is bound so, most telling first.
pub(crate) fn verdicts(series: &Series, wall_ns: Ns, bound: &Bound) -> Vec<SeriesVerdict> {
    let grid = &Grid::of(series, wall_ns);
    let disks = series.disks.value().map_or(&[][..], Vec::as_slice);
    let links = series.links.value().map_or(&[][..], Vec::as_slice);
    let mut of_links: Vec<SeriesVerdict> = links.iter().filter_map(limited_link).collect();
    if waits_for(bound, &[State::Network]) {
        of_links.extend(links.iter().filter_map(|link| steady_link(link, grid)));
    }
    let mut all: Vec<SeriesVerdict> = disks.iter().filter_map(|disk| limited_disk(disk, grid)).collect();
    let at = if bound.resource == State::Disk { all.len() } else { 0 };
    all.splice(at..at, of_links);
    if waits_for(bound, &[State::Network, State::Pipe, State::OtherWait]) {
        all.extend(idle_disks(disks, grid));
    }
    all.extend(short_memory(series, grid));
    all.extend(busy_host(series, grid));
    all
}

/// Whether the program mostly waits, and above all for one of these.
fn waits_for(bound: &Bound, states: &[State]) -> bool {
    matches!(bound.class, Class::Io | Class::Mixed) && states.contains(&bound.resource)
}

fn limited_link(link: &LinkSeries) -> Option<SeriesVerdict> {
    let share = link.limit_share.value()?;
    let share_of_wall = *link.at_limit_share.value()?;
    // The middle one of those steps, since a look that comes late gives one step more and the next
    // one less.
    let steps = link.payload_bits_per_s.iter().zip(share).filter(|(_, share)| link_at_limit(**share));
    let mut carried: Vec<f64> = steps.map(|(carried, _)| *carried).collect();
    carried.sort_by(f64::total_cmp);
    let carried = *carried.get(carried.len() / 2)?;
    (share_of_wall >= SHARE_OF_WALL_MIN).then(|| SeriesVerdict::LinkAtLimit {
        name: link.name.clone(),
        share_of_wall,
        carried_bits_per_s: rounded(carried, 0),
        limit_bits_per_s: link.payload_limit_bits_per_s.value().copied().unwrap_or(0),
    })
}

/// A link whose limit is unknown, and that carried the same all the time that it carried something.
fn steady_link(link: &LinkSeries, grid: &Grid) -> Option<SeriesVerdict> {
    let mean =
        steady_bits_per_s(link, grid).filter(|_| matches!(link.payload_limit_bits_per_s, Seen::Unseen(_)))?;
    Some(SeriesVerdict::LinkSteady { name: link.name.clone(), carried_bits_per_s: rounded(mean, 0) })
}

/// Whether a run has too few steps to tell a rate that does not change.
pub(super) fn too_short_for_rates(grid: &Grid) -> bool {
    grid.len() < STEADY_STEPS_MIN + 2
}

/// Bits of payload per second, where a link carried the same all the time that it carried
/// something, for half of the wall or more.
pub(super) fn steady_bits_per_s(link: &LinkSeries, grid: &Grid) -> Option<f64> {
    let rates = &link.payload_bits_per_s;
    let most = rates.iter().copied().fold(0.0, f64::max);
    let carries = |step: usize| rates[step] >= most / 2.0;
    // Where the one before or after carries nothing, the transfer began or ended within the step;
    // so it may have in the first step and in the last one.
    let within = |step: &usize| (step - 1..=step + 1).all(carries);
    let mut steady: Vec<f64> =
        (1..rates.len().saturating_sub(1)).filter(within).map(|step| rates[step]).collect();
    steady.sort_by(f64::total_cmp);
    let steady = &steady[steady.len() / 10..steady.len() - steady.len() / 10];
    let count = steady.len() as f64;
    let mean = steady.iter().sum::<f64>() / count;
    let variance = steady.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / count;
    let holds = steady.len() >= STEADY_STEPS_MIN
        && mean >= STEADY_BITS_PER_S_MIN
        && variance.sqrt() <= mean * STEADY_VARIATION_MAX
        && grid.share_of_wall(carries) >= 0.5;
    holds.then_some(mean)
}

fn limited_disk(disk: &DiskSeries, grid: &Grid) -> Option<SeriesVerdict> {
    let limited =
        |step: usize| disk_at_limit(disk.busy_share[step], disk.queue_mean[step], grid.length_ns(step));
    let queue_mean = grid.mean_where(&disk.queue_mean, limited)?;
    (disk.at_limit_share >= SHARE_OF_WALL_MIN).then(|| SeriesVerdict::DiskAtLimit {
        name: disk.name.clone(),
        share_of_wall: disk.at_limit_share,
        queue_mean: rounded(queue_mean, 2),
    })
}

/// Only when all are: one idle disk beside a busy one says nothing.
fn idle_disks(disks: &[DiskSeries], grid: &Grid) -> Option<SeriesVerdict> {
    let all_idle = disks.iter().all(|disk| grid.mean(&disk.busy_share) < IDLE_SHARE);
    let names = || disks.iter().map(|disk| disk.name.clone()).collect();
    (all_idle && !disks.is_empty()).then(|| SeriesVerdict::DisksIdle { names: names() })
}

fn short_memory(series: &Series, grid: &Grid) -> Option<SeriesVerdict> {
    let memory = series.memory.value()?.first()?;
    let pressure_share = memory.pressure_share.as_ref().map(|share| rounded(grid.mean(share), 4));
    let swapped = grid.mean(&memory.swapped_pages_per_s);
    let short = pressure_share.value().is_some_and(|share| *share >= PRESSURE_SHARE_MIN)
        || swapped >= SWAPPED_PAGES_PER_S_MIN;
    short.then(|| SeriesVerdict::MemoryShort { pressure_share, swapped_pages_per_s: rounded(swapped, 1) })
}

fn busy_host(series: &Series, grid: &Grid) -> Option<SeriesVerdict> {
    let cpu = series.cpu.value()?.first()?;
    let others = grid.mean(&cpu.others_share);
    (others >= OTHERS_SHARE_MIN).then(|| SeriesVerdict::HostBusy {
        cpus_taken: rounded(others * f64::from(cpu.cpus), 2),
        cpus: cpu.cpus,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Ns = 1_000_000;

    #[test]
    fn a_short_step_has_few_samples_of_a_busy_disk_and_a_long_one_has_many() {
        for (step_ns, least) in [(100 * MS, 0.78), (400 * MS, 0.84), (10_000 * MS, 0.888)] {
            let at_limit = |busy: f64| disk_at_limit(busy, 2.0, step_ns);
            assert!(at_limit(least + 0.001) && !at_limit(least - 0.001), "{step_ns}");
        }
    }

    #[test]
    fn busy_with_one_request_after_the_other_is_no_limit() {
        assert!(disk_at_limit(1.0, DISK_LIMIT_QUEUE, 100 * MS) && !disk_at_limit(1.0, 1.49, 100 * MS));
    }
}
