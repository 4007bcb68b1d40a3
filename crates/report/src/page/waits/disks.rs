//! The requests to disks that ended waits.

use crate::Look;
use crate::clean::clean;
use crate::paint::{Ink, Line};
use crate::units::{counted, duration, share_of_one};
use model::run::WaitRow;
use model::{Seen, State};
use std::collections::BTreeMap;

/// A line for each disk: its requests, with their shares of time in the queue and the device.
pub(super) fn lines<'a>(waits: impl Iterator<Item = &'a WaitRow>, look: Look) -> Vec<Line> {
    let mut disks: BTreeMap<&str, [u64; 3]> = BTreeMap::new();
    for wait in waits {
        if let (Seen::Value(disk), Seen::Value(requests), Seen::Value(queue), Seen::Value(device)) =
            (&wait.device, &wait.requests, &wait.queue_ns, &wait.device_ns)
        {
            let sums = disks.entry(disk).or_default();
            sums.iter_mut().zip([requests, queue, device]).for_each(|(sum, more)| *sum += more);
        }
    }
    let line = |(disk, [requests, queue, device]): (&str, [u64; 3])| {
        let all = queue + device;
        let share = |ns: u64| share_of_one(ns as f64 / all.max(1) as f64);
        let said = format!(
            ": {} ended these waits, {}{}: queue {}, device {}",
            counted(requests, "request"),
            duration(all / requests.max(1)),
            if requests == 1 { "" } else { " each on average" },
            share(queue),
            share(device)
        );
        Line::new(look)
            .add(Ink::Of(State::Disk), &format!("  {}", clean(disk, look.unicode)))
            .add(Ink::Plain, &said)
            .wrap(4)
    };
    disks.into_iter().flat_map(line).collect()
}
