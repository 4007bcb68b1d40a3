//! What bounds a program: the classic test on real, user and system time, made on the wall account.
//!
//! D. Spinellis, "Code Quality" (2006), section 4.1: I/O-bound when real time is much more than user and system
//! time, kernel-bound when system time exceeds user time, CPU-bound when user time is about real time.

use model::run::{Bound, Class, Shares};
use model::{Account, State};

/// The leading kinds are as good as equal below this distance, in points.
const MIXED_POINTS: f64 = 10.0;

/// Decides the class.
///
/// `idle` when nine tenths are sleep; `mixed` when the two leading kinds are within 10 points, or when waiting leads
/// without being half of the wall; `io` when waiting is at least half; else `kernel` or `cpu`, whichever is more.
pub(crate) fn bound(account: &Account) -> Bound {
    let wall = account.wall_ns().max(1) as f64;
    let share = |states: &dyn Fn(State) -> bool| {
        account.parts().iter().filter(|part| states(part.state)).map(|part| part.ns).sum::<u64>() as f64
            / wall
    };
    let kernel_state = |state| matches!(state, State::Kernel | State::Fault);
    let shares = Shares {
        waiting: share(&|state: State| state.blocked()),
        kernel: share(&kernel_state),
        user: share(&|state| state == State::User),
    };
    let mut kinds = [(shares.waiting, Class::Io), (shares.kernel, Class::Kernel), (shares.user, Class::Cpu)];
    kinds.sort_by(|a, b| b.0.total_cmp(&a.0));
    let margin_points = (kinds[0].0 - kinds[1].0) * 100.0;
    let sleep = account.ns(State::Sleep) as f64 / wall;
    let class = if sleep >= 0.9 {
        Class::Idle
    } else if margin_points < MIXED_POINTS || (kinds[0].1 == Class::Io && shares.waiting < 0.5) {
        Class::Mixed
    } else {
        kinds[0].1
    };
    let of_class = |state: State| match class {
        Class::Io | Class::Idle => state.blocked(),
        Class::Kernel => kernel_state(state),
        Class::Cpu => !state.blocked() && !kernel_state(state),
        Class::Mixed => true,
    };
    let leading = account.parts().iter().filter(|part| of_class(part.state)).max_by_key(|part| part.ns);
    Bound { class, resource: leading.map_or(State::Unexplained, |part| part.state), margin_points, shares }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::run::measured;
    use model::{Reason, Step};

    fn class(parts: &[(State, u64)]) -> (Class, State) {
        let step = |(state, ns): &(State, u64)| Step {
            pid: 1,
            tid: 1,
            process: String::new(),
            state: *state,
            reason: Reason::None,
            ns: *ns,
            count: 1,
        };
        let wall = parts.iter().map(|(_, ns)| ns).sum();
        let account = Account::new(
            wall,
            parts.iter().map(|(state, ns)| measured(*state, *ns)).collect(),
            parts.iter().map(step).collect(),
        );
        let bound = bound(&account.unwrap());
        (bound.class, bound.resource)
    }

    #[test]
    fn the_textbook_cases() {
        assert_eq!(class(&[(State::User, 90), (State::Kernel, 10)]), (Class::Cpu, State::User));
        assert_eq!(
            class(&[(State::User, 30), (State::Kernel, 30), (State::Fault, 40)]),
            (Class::Kernel, State::Fault)
        );
        assert_eq!(
            class(&[(State::Disk, 60), (State::Network, 10), (State::User, 30)]),
            (Class::Io, State::Disk)
        );
        assert_eq!(class(&[(State::Sleep, 95), (State::User, 5)]), (Class::Idle, State::Sleep));
        assert_eq!(class(&[(State::User, 45), (State::Kernel, 40), (State::Disk, 15)]).0, Class::Mixed);
        assert_eq!(class(&[(State::Disk, 45), (State::Kernel, 30), (State::User, 25)]).0, Class::Mixed);
    }

    #[test]
    fn a_program_that_is_not_let_run_is_bound_by_the_run_queue() {
        assert_eq!(class(&[(State::Runqueue, 60), (State::User, 40)]), (Class::Cpu, State::Runqueue));
    }
}
