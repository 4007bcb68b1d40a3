//! Runtimes that have tasks of their own, which change threads: what such a task waits for is no
//! wait of a thread, and the tables have those of threads. Requests go from task to task where
//! these could be followed.

use model::run::WaitRow;
use model::wait::{StackFrame, WaitTarget};

/// Functions in which threads of Go's scheduler wait.
const GO: &[&str] = &["findRunnable", "mPark", "mstart", "notesleep", "schedule", "stopm", "sysmon"];

/// What is not seen of the tasks of such a runtime, where the program has one. `answers`: it
/// answers requests. `follows`: these were followed from task to task.
pub(crate) fn note(waits: &[WaitRow], answers: bool, follows: bool) -> Option<String> {
    let is_in =
        |wait: &WaitRow, is: fn(&StackFrame) -> bool| wait.stack.value().into_iter().flatten().any(is);
    if waits.iter().any(|wait| is_in(wait, is_go)) {
        let waits = "waits of goroutines (locks, channels, timers) are";
        return Some(match (answers, follows) {
            (true, true) => format!("{waits} in the time of requests only, not in that of threads"),
            (true, false) => {
                "goroutines' waits and hand-overs are not seen: a request's time may stand with another one"
                    .to_owned()
            }
            (false, _) => format!("{waits} not seen, only those of threads"),
        });
    }
    // A program may have such a loop for something else, as gunicorn has.
    let serves = |wait: &&WaitRow| matches!(wait.on, WaitTarget::Tcp(_));
    (answers && waits.iter().filter(serves).any(|wait| is_in(wait, is_asyncio))).then(|| {
        "asyncio's tasks are not followed: with several under way, a request's time may stand with another one"
            .to_owned()
    })
}

fn is_go(frame: &StackFrame) -> bool {
    frame.function.strip_prefix("runtime.").is_some_and(|function| GO.contains(&function))
}

fn is_asyncio(frame: &StackFrame) -> bool {
    let in_loop = frame.source.as_ref().is_some_and(|(file, _)| file == "base_events.py");
    in_loop && frame.is_script() && frame.function.ends_with("_run_once")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::samples::{wait, waiting};
    use model::network::Endpoint;
    use model::recording::Language;
    use model::wait::FrameKind;
    use model::{Seen, State};

    fn waits(language: Language, function: &str, file: &str) -> Vec<WaitRow> {
        let mut row = wait(State::Idle, WaitTarget::TimeLimit, &[waiting(1, 1)]);
        row.stack = Seen::Value(vec![StackFrame {
            function: function.to_owned(),
            source: Some((file.to_owned(), 7)),
            language,
            kind: FrameKind::Function,
        }]);
        vec![row]
    }

    #[test]
    fn goroutines_are_said_to_be_unseen_and_tasks_of_asyncio_where_requests_are() {
        let go = waits(Language::Native, "runtime.findRunnable", "proc.go");
        assert!(note(&go, false, false).unwrap().contains("goroutines"));
        assert!(note(&go, true, false).unwrap().contains("with another one"));
        assert!(note(&go, true, true).unwrap().contains("in the time of requests only"));
        let mut asyncio = waits(Language::Python, "BaseEventLoop._run_once", "base_events.py");
        assert_eq!(note(&asyncio, true, false), None, "it serves nothing");
        asyncio[0].on = WaitTarget::Tcp(Endpoint::read("127.0.0.1:80").unwrap());
        assert!(note(&asyncio, true, false).unwrap().contains("asyncio"));
        assert_eq!(note(&asyncio, false, false), None);
        assert_eq!(note(&waits(Language::Native, "runtime.mine", "a.c"), true, false), None);
    }
}
