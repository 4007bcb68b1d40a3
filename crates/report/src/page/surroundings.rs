//! Host metrics: a line with a sparkline for each device that was busy or matters to the program's
//! class, and the verdicts in sentences. Nothing where there is neither.

use super::limits;
use crate::Look;
use crate::clean::{clean, fit, width};
use crate::paint::{Ink, Line};
use crate::units::{bits_per_s, bytes, counted, duration, share_of_one, three_digits};
use model::diagnosis::Metric;
use model::series::{CpuSeries, DiskSeries, LinkSeries, MemorySeries, NfsSeries, SeriesVerdict};
use model::{Diagnosis, Ns, Run, Series};
use stats::mean;
use std::collections::HashMap;
use std::mem;

/// The most lines with a sparkline, in all and of one kind.
const LINES_MAX: usize = 6;
const OF_A_KIND_MAX: usize = 3;
/// Columns of a sparkline.
const SPARK: std::ops::RangeInclusive<usize> = 16..=40;
/// The most columns of a device's name.
const LABEL_MAX: usize = 20;

/// One line, before its layout.
pub(crate) struct MetricRow {
    pub(crate) label: String,
    /// 0 to 1, over time.
    pub(crate) spark: Vec<f64>,
    /// Figures, the most important first: the last are left out where the page is narrow.
    pub(crate) said: Vec<String>,
}

pub(super) fn lines(run: &Run, diagnosis: &Diagnosis, look: Look) -> Vec<Line> {
    let series = run.series.value();
    let mut rows = series.map(|series| rows(series, &diagnosis.metrics)).unwrap_or_default();
    rows.truncate(LINES_MAX);
    let mut lines = Vec::new();
    if !rows.is_empty() {
        lines.push(Line::new(look).add(Ink::Bold, "host metrics"));
        lines.extend(laid_out(&rows, look));
    }
    lines.extend(limits::lines(run, &diagnosis.limits, look));
    for verdict in series.map_or(&[][..], |series| &series.verdicts) {
        lines.extend(sentence(verdict, look).wrap(2));
    }
    lines
}

/// All devices, the first few of each kind, and the sentences.
pub(super) fn whole(run: &Run, diagnosis: &Diagnosis, look: Look) -> (Vec<MetricRow>, Vec<Line>) {
    let mut said = limits::lines(run, &diagnosis.limits, look);
    let Some(series) = run.series.value() else { return (Vec::new(), said) };
    said.extend(series.verdicts.iter().flat_map(|verdict| sentence(verdict, look).wrap(2)));
    let many = |len: Option<usize>, of: fn(usize) -> Metric| (0..len.unwrap_or(0)).map(of);
    let metrics: Vec<Metric> = many(series.cpu.value().map(Vec::len), Metric::Cpu)
        .chain(many(series.disks.value().map(Vec::len), Metric::Disk))
        .chain(many(series.links.value().map(Vec::len), Metric::Link))
        .chain(many(series.nfs.value().map(Vec::len), Metric::Nfs))
        .chain(many(series.memory.value().map(Vec::len), Metric::Memory))
        .collect();
    (rows(series, &metrics), said)
}

fn laid_out(rows: &[MetricRow], look: Look) -> Vec<Line> {
    let labels: Vec<String> =
        rows.iter().map(|row| fit(&clean(&row.label, look.unicode), LABEL_MAX, look.unicode)).collect();
    let labels_wide = labels.iter().map(|label| width(label)).max().unwrap_or(0);
    let points = rows.iter().map(|row| row.spark.len()).max().unwrap_or(0);
    let spark_from = 2 + labels_wide + 2;
    let spark_least = points.min(*SPARK.start());
    let texts: Vec<String> = rows
        .iter()
        .map(|row| fitted(&row.said, look.columns().saturating_sub(spark_from + spark_least + 2), look))
        .collect();
    let texts_wide = texts.iter().map(|text| width(text)).max().unwrap_or(0);
    let left = look.columns().saturating_sub(spark_from + 2 + texts_wide);
    let columns = left.clamp(*SPARK.start(), *SPARK.end()).min(points);
    rows.iter()
        .zip(labels)
        .zip(texts)
        .map(|((row, label), text)| {
            Line::new(look)
                .add(Ink::Plain, &format!("  {label}"))
                .pad_to(spark_from)
                .add(Ink::Plain, &spark(&row.spark, columns, look))
                .pad_to(spark_from + columns + 2)
                .add(Ink::Plain, &text)
                .cut()
        })
        .collect()
}

/// The figures that fit, and the first in any case.
fn fitted(said: &[String], room: usize, look: Look) -> String {
    let mut text = String::new();
    for (index, figure) in said.iter().enumerate() {
        let comma = if index > 0 { ", " } else { "" };
        let figure = clean(&format!("{comma}{figure}"), look.unicode);
        if index > 0 && width(&text) + width(&figure) > room {
            break;
        }
        text.push_str(&figure);
    }
    text
}

/// At most `columns` blocks, each the mean of the points that fall into it.
fn spark(points: &[f64], columns: usize, look: Look) -> String {
    const BLOCKS: [char; 9] = ['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    const ASCII: [char; 9] = ['.', '_', ':', '-', '=', '+', '*', '%', '#'];
    let levels = if look.unicode { BLOCKS } else { ASCII };
    let level = |column: usize| {
        let [from, to] = [column, column + 1].map(|edge| edge * points.len() / columns);
        let within = &points[from..to.max(from + 1).min(points.len())];
        let mean = mean(within);
        // A value above zero is never shown as zero.
        let level = (mean.clamp(0.0, 1.0) * 8.0).round() as usize;
        levels[if mean > 0.0 { level.max(1) } else { 0 }]
    };
    (0..columns.min(points.len())).map(level).collect()
}

/// The rows of the metrics, the first few of each kind.
fn rows(series: &Series, metrics: &[Metric]) -> Vec<MetricRow> {
    let mut of_a_kind = HashMap::new();
    let shown = metrics.iter().filter(|metric| {
        let many: &mut usize = of_a_kind.entry(mem::discriminant(*metric)).or_default();
        *many += 1;
        *many <= OF_A_KIND_MAX
    });
    shown.filter_map(|metric| row(series, *metric)).collect()
}

fn row(series: &Series, metric: Metric) -> Option<MetricRow> {
    match metric {
        Metric::Link(at) => series.links.value()?.get(at).map(link_row),
        Metric::Disk(at) => series.disks.value()?.get(at).map(disk_row),
        Metric::Nfs(at) => series.nfs.value()?.get(at).and_then(nfs_row),
        Metric::Cpu(at) => series.cpu.value()?.get(at).map(cpu_row),
        Metric::Memory(at) => series.memory.value()?.get(at).and_then(memory_row),
    }
}

/// Each point as a share of the largest.
fn by_most(points: &[f64]) -> Vec<f64> {
    let most = points.iter().copied().fold(0.0, f64::max);
    points.iter().map(|point| if most > 0.0 { point / most } else { 0.0 }).collect()
}

fn link_row(link: &LinkSeries) -> MetricRow {
    let bits = |points: &[f64]| bits_per_s(mean(points) * 8.0);
    let limit = link.limit_share.value();
    let [into, out] = [&link.received_bytes_per_s, &link.sent_bytes_per_s];
    let mut said = vec![format!("{} in", bits(into)), format!("{} out", bits(out))];
    if mean(out) > mean(into) {
        said.swap(0, 1);
    }
    if let Some(share) = limit {
        said.insert(1, format!("{} of its limit", share_of_one(mean(share))));
    }
    if link.errors > 0 {
        said.push(counted(link.errors, "error"));
    }
    if link.drops > 0 {
        said.push(format!("{} dropped", counted(link.drops, "packet")));
    }
    let spark = limit.cloned().unwrap_or_else(|| by_most(&link.payload_bits_per_s));
    MetricRow { label: format!("link {}", link.name), spark, said }
}

fn disk_row(disk: &DiskSeries) -> MetricRow {
    let sum = |one: &[f64], other: &[f64]| mean(one) + mean(other);
    let mut said = vec![
        format!("busy {}", share_of_one(mean(&disk.busy_share))),
        format!("{} requests/s", three_digits(sum(&disk.reads_per_s, &disk.writes_per_s))),
        format!("{}/s", bytes(sum(&disk.read_bytes_per_s, &disk.written_bytes_per_s).round() as u64)),
    ];
    let means = disk.latency_ns_mean.iter().flatten().map(|ns| *ns as f64);
    said.extend(stats::median_of(means).map(|ns| format!("{} each", duration(ns.round() as Ns))));
    MetricRow { label: format!("disk {}", disk.name), spark: disk.busy_share.clone(), said }
}

fn nfs_row(nfs: &NfsSeries) -> Option<MetricRow> {
    let slowest = nfs.operations.first()?;
    let said = vec![
        format!("{} calls/s", three_digits(mean(&nfs.calls_per_s))),
        format!("{} {}", slowest.name, counted(slowest.calls, "time")),
        format!("{} each", duration(slowest.latency_ns_mean)),
    ];
    Some(MetricRow { label: format!("nfs {}", nfs.mount), spark: by_most(&nfs.calls_per_s), said })
}

fn cpu_row(cpu: &CpuSeries) -> MetricRow {
    let (others, steal) = (mean(&cpu.others_share), mean(&cpu.steal_share));
    let mut said =
        vec![format!("{:.1} of {}", others * f64::from(cpu.cpus), counted(u64::from(cpu.cpus), "CPU"))];
    if steal > 0.0 {
        said.push(format!("steal {}", share_of_one(steal)));
    }
    MetricRow { label: "other programs".into(), spark: cpu.others_share.clone(), said }
}

fn memory_row(memory: &MemorySeries) -> Option<MetricRow> {
    let least = memory.available_bytes.iter().min()?;
    let pressure = memory.pressure_share.value().map_or(0.0, |share| mean(share));
    let total = memory.total_bytes.max(1);
    let mut said = vec![format!("min {} of {}", bytes(*least), bytes(total))];
    if pressure > 0.0 {
        said.push(format!("tasks stalled {} of the time", share_of_one(pressure)));
    }
    let spark = memory.available_bytes.iter().map(|bytes| *bytes as f64 / total as f64).collect();
    Some(MetricRow { label: "memory available".into(), spark, said })
}

fn sentence(verdict: &SeriesVerdict, look: Look) -> Line {
    let line = Line::new(look);
    match verdict {
        SeriesVerdict::LinkAtLimit { name, share_of_wall, carried_bits_per_s, limit_bits_per_s } => line
            .add(Ink::Warn, &format!("link {name} at its limit"))
            .add(Ink::Plain, " (")
            .glued(Ink::Plain, &of(*carried_bits_per_s, *limit_bits_per_s as f64))
            .add(Ink::Plain, ") for ")
            .glued(Ink::Plain, &share_of_one(*share_of_wall))
            .add(Ink::Plain, " of the wall clock"),
        SeriesVerdict::LinkSteady { name, carried_bits_per_s } => line
            .add(Ink::Plain, &format!("link {name}: limit unknown, steady at "))
            .glued(Ink::Bold, &bits_per_s(*carried_bits_per_s))
            .add(Ink::Dim, &format!(" (set the limit with --link {name}=BITS)")),
        SeriesVerdict::DiskAtLimit { name, share_of_wall, queue_mean } => line
            .add(Ink::Warn, &format!("disk {name} at its limit"))
            .add(Ink::Plain, " for ")
            .glued(Ink::Plain, &share_of_one(*share_of_wall))
            .add(Ink::Plain, " of the wall clock: busy, with ")
            .glued(Ink::Plain, &format!("{queue_mean:.1} requests"))
            .add(Ink::Plain, " in flight"),
        SeriesVerdict::DisksIdle { names } => {
            let were = if let [_] = &names[..] { "was" } else { "were" };
            let disks = if let [_] = &names[..] { "disk" } else { "disks" };
            line.add(Ink::Plain, &format!("{disks} {} {were} idle: not the bottleneck", names.join(", ")))
        }
        SeriesVerdict::HostBusy { cpus_taken, cpus } => line
            .add(Ink::Warn, "host busy with other programs: ")
            .glued(Ink::Warn, &format!("{cpus_taken:.1} of {}", counted(u64::from(*cpus), "CPU"))),
        SeriesVerdict::MemoryShort { pressure_share, swapped_pages_per_s } => {
            let mut line = line.add(Ink::Warn, "memory pressure: ");
            let waited = pressure_share.value().filter(|share| **share > 0.0);
            if let Some(share) = waited {
                line = line.add(Ink::Plain, "tasks stalled for ").glued(Ink::Plain, &share_of_one(*share));
                line = line.add(Ink::Plain, " of the wall clock");
            }
            if *swapped_pages_per_s > 0.0 {
                line = line
                    .add(Ink::Plain, if waited.is_some() { "; " } else { "" })
                    .glued(Ink::Plain, &three_digits(*swapped_pages_per_s))
                    .add(Ink::Plain, " pages/s swapped");
            }
            line
        }
    }
}

/// `9.38 of 9.41 Mb/s`: the unit once where it is the same.
fn of(carried: f64, limit: f64) -> String {
    let (carried, limit) = (bits_per_s(carried), bits_per_s(limit));
    match (carried.split_once(' '), limit.split_once(' ')) {
        (Some((figure, one)), Some((_, other))) if one == other => format!("{figure} of {limit}"),
        _ => format!("{carried} of {limit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Look = Look { width: 80, colour: false, unicode: true, height: Look::HEIGHT };

    #[test]
    fn a_sparkline_never_shows_something_as_nothing() {
        let shown = spark(&[0.0, 0.001, 0.5, 1.0, 7.0], 5, LOOK);
        assert_eq!(shown, "·▁▄██");
        assert_eq!(spark(&[0.0, 0.001, 0.5, 1.0, 7.0], 5, Look { unicode: false, ..LOOK }), "._=##");
        // Means where there are more points than columns; no more columns than points.
        assert_eq!(spark(&[0.0, 1.0, 1.0, 1.0], 2, LOOK), "▄█");
        assert_eq!(spark(&[1.0], 9, LOOK), "█");
        assert_eq!(spark(&[], 9, LOOK), "");
    }

    #[test]
    fn figures_share_their_unit() {
        assert_eq!(of(9_380_000.0, 9_414_824.0), "9.38 of 9.41 Mb/s");
        assert_eq!(of(938_000.0, 1_000_000.0), "938 kb/s of 1.00 Mb/s");
    }
}
