//! Looks at a host, told as a story: what the series show, and which sentences they support.

use crate::story::{NANOSLEEP, RECVFROM, ROOT, Story, none, waiting_in};
use model::recording::{Event, Object, SocketEnds, Waker};
use model::series::SeriesVerdict;
use model::surroundings::{
    CpuCounters, DiskCounters, HostMetrics, LinkCounters, MemoryCounters, NfsCounters, NfsOperation,
};
use model::{Ns, Run, Seen, Series};

const MS: u64 = 1_000_000;
/// Looks of the story.
const LOOKS: u64 = 20;

/// A host that has been up for a while and does nothing.
fn host() -> HostMetrics {
    let disk = |name: &str, dev| DiskCounters {
        name: name.into(),
        dev,
        requests: (5_000, 5_000),
        bytes: (1 << 30, 1 << 30),
        request_ns: (9_000 * MS, 9_000 * MS),
        busy_ns: 18_000 * MS,
        queue_ns: 20_000 * MS,
    };
    let link = |name: &str| LinkCounters {
        name: name.into(),
        bytes: (1 << 30, 1 << 30),
        packets: (1 << 20, 1 << 20),
        errors: 7,
        drops: 7,
        speed_bits: Seen::Value(10_000_000),
        speed_given: true,
        full_duplex: Seen::Value(true),
        mtu_bytes: Seen::Value(1500),
    };
    HostMetrics {
        disks: Seen::Value(vec![disk("vda", 1), disk("vdb", 2)]),
        links: Seen::Value(vec![link("eth0")]),
        links_namespace: 1,
        memory: Seen::Value(MemoryCounters {
            total_bytes: 8 << 30,
            available_bytes: 4 << 30,
            free_bytes: 1 << 30,
            cache_bytes: 3 << 30,
            dirty_bytes: 0,
            swap_bytes: 0,
            faults: (1_000, 10),
            swapped_pages: (10, 10),
            pressure_ns: Seen::Value(77),
        }),
        cpu: Seen::Value(CpuCounters {
            busy_ns: 1_000_000 * MS,
            iowait_ns: 0,
            steal_ns: 0,
            interrupt_ns: 0,
            dwell_ns: 5 * MS,
        }),
        nfs: Seen::Value(vec![NfsCounters {
            device: "s:/e".into(),
            mount: "/e".into(),
            operations: Vec::new(),
        }]),
    }
}

fn value<T>(seen: &mut Seen<T>) -> &mut T {
    match seen {
        Seen::Value(value) => value,
        _ => panic!("not seen"),
    }
}

fn far() -> Object {
    let mut far = SocketEnds { protocol: 6, local: [0; 16], local_port: 1, remote: [0; 16], remote_port: 2 };
    far.remote[12..].copy_from_slice(&[192, 0, 2, 1]);
    Object::Net(far)
}

/// The root waits for two seconds in `call`; `passes` says what a tenth of one (the given) does to
/// the host.
fn waiting(call: u16, on: Object, passes: impl Fn(u64, &mut HostMetrics)) -> Run {
    let mut story = Story::begins();
    let mut host = host();
    let look = |story: &mut Story, host: &HostMetrics| {
        let surroundings = Box::new(host.clone());
        story.push(|at| Event::Surroundings { at, surroundings });
    };
    look(&mut story, &host);
    story.leaves(ROOT, waiting_in(call, on), none());
    for tenth in 0..LOOKS {
        passes(tenth, &mut host);
        story.after(100_000);
        look(&mut story, &host);
    }
    let waker = if call == NANOSLEEP { Waker::Timer } else { Waker::Network { over: 9_000, ready: None } };
    story.wakes(ROOT, waker, none()).comes(ROOT);
    story.ends()
}

fn series(run: &Run) -> &Series {
    run.series.value().unwrap_or_else(|| panic!("{:?}", run.series))
}

/// A tenth of a second of 10 Mb/s Ethernet in one direction, in full packets.
fn a_tenth_of_ethernet(link: &mut LinkCounters) {
    let packets = 81;
    link.packets.0 += packets;
    link.bytes.0 += packets * 1514;
}

#[test]
fn a_link_at_its_limit_is_named_and_idle_disks_are_ruled_out() {
    let run = waiting(RECVFROM, far(), |tenth, host| {
        if tenth >= 10 {
            a_tenth_of_ethernet(&mut value(&mut host.links)[0]);
        }
    });
    let series = series(&run);
    let link = &series.links.value().unwrap()[0];
    assert_eq!(series.step_ns, 100 * MS);
    assert!(link.limit_share.value().unwrap()[12] > 0.98, "{link:?}");
    assert_eq!(link.bytes, 81 * 1514 * 10);
    let [SeriesVerdict::LinkAtLimit { name, share_of_wall, carried_bits_per_s, limit_bits_per_s }, idle] =
        &series.verdicts[..]
    else {
        panic!("{:?}", series.verdicts)
    };
    assert_eq!((name.as_str(), *limit_bits_per_s), ("eth0", 9_414_824));
    assert!((0.45..0.55).contains(share_of_wall), "{share_of_wall}");
    assert!((9.3e6..9.5e6).contains(carried_bits_per_s), "{carried_bits_per_s}");
    assert_eq!(*idle, SeriesVerdict::DisksIdle { names: vec!["vda".into(), "vdb".into()] });
}

#[test]
fn of_a_link_without_a_limit_no_more_is_said_than_that_it_was_steady() {
    let unknown = |host: &mut HostMetrics| value(&mut host.links)[0].speed_bits = Seen::unseen("virtual");
    let steady = waiting(RECVFROM, far(), |_, host| {
        unknown(host);
        a_tenth_of_ethernet(&mut value(&mut host.links)[0]);
    });
    assert!(
        matches!(&series(&steady).verdicts[0], SeriesVerdict::LinkSteady { name, carried_bits_per_s }
            if name == "eth0" && (9.3e6..9.5e6).contains(carried_bits_per_s)),
        "{:?}",
        series(&steady).verdicts
    );
    // Neither of one that comes and goes, nor where the program waited for something else.
    let waves = waiting(RECVFROM, far(), |tenth, host| {
        unknown(host);
        (0..tenth % 4).for_each(|_| a_tenth_of_ethernet(&mut value(&mut host.links)[0]));
    });
    let asleep = waiting(NANOSLEEP, Object::Unknown, |_, host| {
        unknown(host);
        a_tenth_of_ethernet(&mut value(&mut host.links)[0]);
    });
    for run in [waves, asleep] {
        let said = &series(&run).verdicts;
        assert!(!said.iter().any(|said| matches!(said, SeriesVerdict::LinkSteady { .. })), "{said:?}");
    }
}

#[test]
fn a_busy_disk_is_at_its_limit_only_with_requests_that_wait() {
    let busy = |queue_ms: u64| {
        waiting(NANOSLEEP, Object::Unknown, |_, host| {
            let disk = &mut value(&mut host.disks)[0];
            disk.requests.1 += 10;
            disk.request_ns.1 += 10 * 4 * MS;
            disk.busy_ns += 98 * MS;
            disk.queue_ns += queue_ms * MS;
        })
    };
    let run = busy(250);
    let disk = &series(&run).disks.value().unwrap()[0];
    assert_eq!((disk.name.as_str(), disk.requests, disk.latency_ns_mean[5]), ("vda", 200, Some(4 * MS)));
    assert!(
        matches!(&series(&run).verdicts[..], [SeriesVerdict::DiskAtLimit { name, queue_mean, .. }]
            if name == "vda" && (2.4..2.6).contains(queue_mean)),
        "{:?}",
        series(&run).verdicts
    );
    assert_eq!(series(&busy(50)).verdicts, []);
}

#[test]
fn other_programs_are_what_is_left_of_the_hosts_time() {
    let run = waiting(NANOSLEEP, Object::Unknown, |_, host| {
        let cpu = value(&mut host.cpu);
        cpu.busy_ns += 150 * MS;
        cpu.dwell_ns += 10 * MS;
        cpu.steal_ns += 2 * MS;
    });
    let cpu = &series(&run).cpu.value().unwrap()[0];
    assert_eq!((cpu.busy_share[7], cpu.others_share[7], cpu.steal_share[7]), (0.75, 0.7, 0.01));
    assert!(
        matches!(series(&run).verdicts[..], [SeriesVerdict::HostBusy { cpus_taken, cpus: 2 }] if (1.39..1.41).contains(&cpus_taken)),
        "{:?}",
        series(&run).verdicts
    );
}

#[test]
fn the_trees_own_time_is_no_other_programs() {
    let mut story = Story::begins();
    let mut host = host();
    for _ in 0..10 {
        let surroundings = Box::new(host.clone());
        story.push(|at| Event::Surroundings { at, surroundings });
        // The root runs all the time, and is never switched.
        value(&mut host.cpu).busy_ns += 100 * MS;
        story.after(100_000);
    }
    let run = story.ends();
    let cpu = &series(&run).cpu.value().unwrap()[0];
    assert!(cpu.busy_share[..8].iter().all(|share| *share == 0.5), "{cpu:?}");
    assert!(cpu.others_share.iter().all(|share| *share < 0.01), "{cpu:?}");
}

#[test]
fn memory_that_runs_short_and_nfs_calls_are_told() {
    let run = waiting(NANOSLEEP, Object::Unknown, |tenth, host| {
        let memory = value(&mut host.memory);
        memory.available_bytes -= 100 << 20;
        memory.swapped_pages.1 += 30;
        *value(&mut memory.pressure_ns) += 20 * MS;
        let calls = tenth + 1;
        let read = NfsOperation { name: "READ".into(), calls, total_ns: calls * 8 * MS, bytes: (100, 4096) };
        value(&mut host.nfs)[0].operations = vec![read];
    });
    let series = series(&run);
    let memory = &series.memory.value().unwrap()[0];
    assert_eq!(memory.pressure_share.value().unwrap()[3], 0.2);
    assert_eq!(memory.swapped_pages_per_s[3], 300.0);
    assert!(memory.available_bytes.is_sorted_by(|a, b| a >= b) && memory.available_bytes[1] < 4 << 30);
    assert!(matches!(series.verdicts[..], [SeriesVerdict::MemoryShort { .. }]), "{:?}", series.verdicts);
    let nfs = &series.nfs.value().unwrap()[0];
    assert_eq!((nfs.operations[0].calls, nfs.operations[0].latency_ns_mean), (LOOKS, 8 * MS));
    assert_eq!((nfs.calls_per_s[9], nfs.latency_ns_mean[9]), (10.0, Some(8 * MS)));
}

#[test]
fn what_could_not_be_looked_at_says_why_and_short_runs_say_nothing() {
    let run = waiting(NANOSLEEP, Object::Unknown, |_, host| host.nfs = Seen::unseen("no /proc"));
    // It was seen at first, so there is a series, and the coverage says that there was more to see.
    let source = run.coverage.sources.iter().find(|source| source.name == "surroundings").unwrap();
    assert_eq!(source.why, "nfs: no /proc");
    let mut story = Story::begins();
    let surroundings = Box::new(host());
    story.push(|at| Event::Surroundings { at, surroundings });
    let short: Ns = story.after(2_000).ends().wall_ns;
    assert!(short < 300 * MS);
    let run = story.told();
    assert!(matches!(&run.series, Seen::Unseen(why) if why.contains("too short")), "{:?}", run.series);
    assert!(!run.coverage.sources.iter().any(|source| source.name == "surroundings"));
    let run = Story::begins().ends();
    assert!(matches!(&run.series, Seen::Unseen(why) if why.contains("no host metrics")), "{:?}", run.series);
}

#[test]
fn links_of_another_namespace_are_other_links() {
    let run = waiting(RECVFROM, far(), |tenth, host| {
        if tenth == 5 {
            host.links_namespace = 2;
            value(&mut host.links)[0].bytes = (1 << 40, 1 << 40);
        }
    });
    assert_eq!(series(&run).links.value().unwrap()[0].bytes, 0);
}

#[test]
fn devices_beyond_those_that_are_listed_are_said_to_be_left_out() {
    let run = waiting(RECVFROM, far(), |_, host| {
        let disks = value(&mut host.disks);
        let first = disks[0].clone();
        (disks.len() as u32 + 1..=70).for_each(|dev| disks.push(DiskCounters { dev, ..first.clone() }));
    });
    let source = run.coverage.sources.iter().find(|source| source.name == "surroundings");
    assert_eq!(source.expect("there are metrics").why, "disks: the 6 least busy of 70 are omitted");
    assert_eq!(value(&mut series(&run).disks.clone()).len(), 64);
}
