//! Texts of the measured program have a bound: an argument of 100 kB is no more of use than its
//! beginning.

use model::run::Run;
use model::wait::{Reason, StackFrame, WaitTarget};
use model::{Seen, State};

/// Bytes of one text. Names of functions are bounded to as many where they are read.
const TEXT_BYTES: usize = 2048;
/// The limit of a command with all of its arguments.
const COMMAND_BYTES: usize = 16 * 1024;

/// Cuts the texts of a run that are too long, but for those of its tables: their beginnings and
/// ends stay.
pub(crate) fn cut(run: &mut Run) {
    command(&mut run.command);
    for step in &mut run.path {
        text(&mut step.process);
        reason(&mut step.reason, step.state);
    }
    for thread in &mut run.threads {
        text(&mut thread.name);
        thread.command.iter_mut().for_each(text);
    }
    for wait in &mut run.waits {
        target(&mut wait.on);
        stack(&mut wait.stack);
        wait.places.iter_mut().flat_map(|place| &mut place.stack).for_each(frame);
        seen(&mut wait.device, text);
        for waker in &mut wait.by {
            text(&mut waker.name);
            stack(&mut waker.stack);
            seen(&mut waker.place, frame);
        }
        wait.threads.iter_mut().for_each(|thread| text(&mut thread.name));
    }
    seen(&mut run.limits, |limits| seen(&mut limits.group, text));
}

pub(crate) fn seen<T>(value: &mut Seen<T>, with: impl FnOnce(&mut T)) {
    if let Seen::Value(value) = value {
        with(value);
    }
}

/// All of the arguments where they are few, else the first, and how many more there were.
pub(crate) fn command(arguments: &mut Vec<String>) {
    arguments.iter_mut().for_each(text);
    let mut sum = 0;
    let fitting = arguments.iter().take_while(|argument| {
        sum += argument.len() + 1;
        sum <= COMMAND_BYTES
    });
    let (kept, all) = (fitting.count().max(1), arguments.len());
    if kept < all {
        arguments.truncate(kept);
        arguments.push(format!("… and {} more", all - kept));
    }
}

fn stack(frames: &mut Seen<Vec<StackFrame>>) {
    seen(frames, |frames| frames.iter_mut().for_each(frame));
}

pub(crate) fn frame(frame: &mut StackFrame) {
    text(&mut frame.function);
    frame.source.iter_mut().for_each(|(file, _)| text(file));
}

pub(crate) fn target(target: &mut WaitTarget) {
    if let Seen::Value(mut name) = target.name()
        && name.len() > TEXT_BYTES
    {
        text(&mut name);
        *target = WaitTarget::new(target.kind(), Seen::Value(name));
    }
}

fn reason(reason: &mut Reason, state: State) {
    match reason {
        Reason::Wait(_, on) => target(on),
        Reason::Preempted(name) | Reason::PreemptedByOwn(name) => text(name),
        // Of a result that was stored: its state decides how it is read again.
        Reason::Text(said) if said.len() > TEXT_BYTES => {
            text(said);
            *reason = Reason::read(state, said);
        }
        _ => {}
    }
}

/// Three quarters of what stays are the beginning.
pub(crate) fn text(text: &mut String) {
    const MARK: &str = "…";
    if text.len() <= TEXT_BYTES {
        return;
    }
    let room = TEXT_BYTES - MARK.len();
    let until = text.floor_char_boundary(room / 4 * 3);
    let from = text.ceil_char_boundary(text.len() - room / 4);
    text.replace_range(until..from, MARK);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end() {
        for unit in ["a", "ä", "…", "\u{1f41f}"] {
            let mut long = format!("/begin/{}/end", unit.repeat(100_000));
            text(&mut long);
            assert!(long.len() <= TEXT_BYTES && long.len() > TEXT_BYTES - 16, "{}", long.len());
            assert!(long.starts_with("/begin/") && long.ends_with("/end"), "{long}");
        }
        let mut short = "a".repeat(TEXT_BYTES);
        text(&mut short);
        assert_eq!(short, "a".repeat(TEXT_BYTES));
    }

    #[test]
    fn many_arguments_are_the_first_and_a_number() {
        let mut arguments: Vec<String> = (0..5000).map(|file| format!("file-{file:04}")).collect();
        command(&mut arguments);
        assert_eq!(arguments[1000], "file-1000");
        let last = arguments.last().unwrap();
        assert_eq!(*last, format!("… and {} more", 5000 - (arguments.len() - 1)));
        let mut long = vec!["x".repeat(1 << 20); 3];
        command(&mut long);
        assert_eq!((long.len(), long[0].len() <= TEXT_BYTES), (3, true));
    }
}
