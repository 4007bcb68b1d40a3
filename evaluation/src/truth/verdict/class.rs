//! The classes that are right: the one that was judged beforehand, or what the oracles say where
//! that rests on the machine. How the classes are defined is in `docs/method/class.md`.

use super::super::program::{Class, Program};
use super::{HALF, POINTS, Range, Truth};

/// The leading kinds are as good as equal below this distance, in points.
const MIXED_POINTS: f64 = 10.0;

/// Classes of one program on this machine.
///
/// `starved`, once waiting for a CPU behind other programs or a quota is half of the time, and
/// either where it is about half or may be. And where waiting for a device or a peer was judged to
/// bound a program, the class of the oracles' shares is right as well: here it may answer in about
/// the time that asking takes. So is `mixed` where samples have user code and the kernel as good as
/// equal, or leave that open in a short run: how long a call takes is the machine's.
pub(super) fn right(program: &Program, truth: &Truth) -> Vec<Class> {
    let mut right = program.class.clone();
    if program.class == [Class::Io] && program.attach.is_none() {
        right.extend(by_shares(truth).into_iter().filter(|class| *class != Class::Io));
    }
    if right.iter().all(|class| matches!(class, Class::Cpu | Class::Kernel)) && may_be_even(truth) {
        right.push(Class::Mixed);
    }
    match truth.starved {
        Some(share) if share.lo >= HALF + POINTS => vec![Class::Starved],
        Some(share) if share.hi >= HALF - POINTS => [right, vec![Class::Starved]].concat(),
        _ => right,
    }
}

/// Whether the samples have user code and the kernel as good as equal, at one end of the interval.
fn may_be_even(truth: &Truth) -> bool {
    truth.user_percent.is_some_and(|(user, half)| {
        let nearest_even = HALF.clamp(user - half, user + half);
        (nearest_even - HALF).abs() * 2.0 < MIXED_POINTS
    })
}

/// The classes of a program that was started, by the oracles' shares, each of which may be off.
fn by_shares(truth: &Truth) -> Vec<Class> {
    let (Some([on, runnable, blocked]), Some((user_percent, _))) = (truth.kinds, truth.user_percent) else {
        return Vec::new();
    };
    let behind_others = truth.starved.map_or(0.0, |starved: Range| starved.lo);
    // A wake-up of an idle CPU, which dwell has with waiting, is runnable or blocked in the trace.
    let waking = (runnable.value - behind_others).clamp(0.0, blocked.value);
    let user = on.value * user_percent / 100.0;
    let mut classes = Vec::new();
    for waiting in [blocked.value, blocked.value + waking] {
        for off in [-POINTS, 0.0, POINTS] {
            for shift in [-POINTS, 0.0, POINTS] {
                let class = class(waiting + off, on.value - user + shift, user - shift);
                if !classes.contains(&class) {
                    classes.push(class);
                }
            }
        }
    }
    classes
}

/// By shares in percent.
fn class(waiting: f64, kernel: f64, user: f64) -> Class {
    let mut kinds = [(waiting, Class::Io), (kernel, Class::Kernel), (user, Class::Cpu)];
    kinds.sort_by(|one, other| other.0.total_cmp(&one.0));
    let [(most, leading), (second, _), _] = kinds;
    match leading {
        _ if most - second < MIXED_POINTS => Class::Mixed,
        Class::Io if most < HALF => Class::Mixed,
        leading => leading,
    }
}
