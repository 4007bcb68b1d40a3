//! A host while a program runs: every kind of series, and every verdict.

use model::series::{
    CpuSeries, DiskSeries, LinkSeries, MemorySeries, NfsOperationRow, NfsSeries, Series, SeriesVerdict,
};
use model::{Ns, Seen};

const STEPS: usize = 24;

/// This number of points between two figures, up and down.
fn wave(low: f64, high: f64) -> Vec<f64> {
    (0..STEPS).map(|step| low + (high - low) * (step % 6) as f64 / 5.0).collect()
}

fn flat(figure: f64) -> Vec<f64> {
    vec![figure; STEPS]
}

fn unknown(name: &str) -> String {
    format!("the kernel knows no speed for a virtual link; give it with --link {name}=10M")
}

fn link(name: &str, speed: Option<u64>, bits_per_s: f64) -> LinkSeries {
    fn seen<T>(name: &str, value: Option<T>) -> Seen<T> {
        value.map_or_else(|| Seen::Unseen(unknown(name)), Seen::Value)
    }
    LinkSeries {
        name: name.into(),
        bytes: 2_812_000,
        errors: 0,
        drops: 3,
        speed_bits_per_s: seen(name, speed),
        speed_given: speed.is_some(),
        full_duplex: seen(name, speed.map(|_| true)),
        payload_limit_bits_per_s: seen(name, speed.map(|speed| speed / 1538 * 1448)),
        received_bytes_per_s: flat(bits_per_s / 8.0 * 1.04),
        sent_bytes_per_s: flat(3_312.5),
        received_packets_per_s: flat(812.0),
        sent_packets_per_s: flat(401.2),
        payload_bits_per_s: flat(bits_per_s),
        limit_share: seen(name, speed.map(|_| wave(0.95, 1.0))),
        at_limit_share: seen(name, speed.map(|_| 0.9731)),
    }
}

fn disk(name: &str, busy: f64) -> DiskSeries {
    let busy_share = wave(0.0, busy);
    let latency = |share: &f64| (*share > 0.1).then_some((*share * 1e6) as Ns);
    DiskSeries {
        name: name.into(),
        requests: 3_120,
        bytes: 51_118_080,
        reads_per_s: wave(0.0, 1_200.0 * busy),
        writes_per_s: flat(2.0),
        read_bytes_per_s: wave(0.0, 2e7 * busy),
        written_bytes_per_s: flat(8_192.0),
        queue_mean: wave(0.0, 4.0 * busy),
        latency_ns_mean: busy_share.iter().map(latency).collect(),
        at_limit_share: 0.21,
        busy_share,
    }
}

/// A host with everything.
pub(crate) fn everything() -> Series {
    let memory = MemorySeries {
        total_bytes: 8_321_499_136,
        available_bytes: (0..STEPS as u64).map(|step| 7_000_000_000 - step * 250_000_000).collect(),
        free_bytes: vec![412_332_032; STEPS],
        cache_bytes: vec![3_000_000_000; STEPS],
        dirty_bytes: vec![12_288; STEPS],
        swap_bytes: vec![0; STEPS],
        faults_per_s: flat(1_203.4),
        major_faults_per_s: flat(2.1),
        swapped_pages_per_s: flat(340.0),
        pressure_share: Seen::Value(wave(0.0, 0.24)),
    };
    let nfs = NfsSeries {
        name: "filer:/vol/home".into(),
        mount: "/home".into(),
        calls_per_s: wave(1.0, 50.0),
        sent_bytes_per_s: flat(8_192.0),
        received_bytes_per_s: flat(81_920.0),
        latency_ns_mean: vec![Some(1_580_000), None],
        operations: vec![NfsOperationRow {
            name: "GETATTR".into(),
            calls: 5_201,
            total_ns: 8_201_000_000,
            latency_ns_mean: 1_576_812,
        }],
    };
    let cpu = CpuSeries {
        cpus: 2,
        busy_share: flat(0.93),
        others_share: wave(0.7, 0.95),
        steal_share: flat(0.02),
        interrupt_share: flat(0.01),
        iowait_share: flat(0.0),
    };
    Series {
        step_ns: 100_000_000,
        disks: Seen::Value(vec![disk("nvme0n1", 1.0), disk("sda", 0.0)]),
        links: Seen::Value(vec![link("eth0", Some(10_000_000), 9.39e6), link("veth9", None, 2e6)]),
        memory: Seen::Value(vec![memory]),
        nfs: Seen::Value(vec![nfs]),
        cpu: Seen::Value(vec![cpu]),
        verdicts: vec![
            SeriesVerdict::LinkAtLimit {
                name: "eth0".into(),
                share_of_wall: 0.9731,
                carried_bits_per_s: 9_390_112.0,
                limit_bits_per_s: 9_414_824,
            },
            SeriesVerdict::LinkSteady { name: "veth9".into(), carried_bits_per_s: 2e6 },
            SeriesVerdict::DiskAtLimit { name: "nvme0n1".into(), share_of_wall: 0.21, queue_mean: 3.21 },
            SeriesVerdict::DisksIdle { names: vec!["sda".into(), "sdb".into()] },
            SeriesVerdict::MemoryShort { pressure_share: Seen::Value(0.1201), swapped_pages_per_s: 340.0 },
            SeriesVerdict::HostBusy { cpus_taken: 1.65, cpus: 2 },
        ],
    }
}
