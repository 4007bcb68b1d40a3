//! What the fuzzer runs on what a client may send, from its bytes to the calls of verbs.

use super::lines::LineBuffer;
use super::{Allowed, Call, Dialogue};
use serde_json::Value;

/// The bytes come in parts, as from a pipe. What is to be started is over at once.
pub(crate) fn mcp(bytes: &[u8]) {
    let allowed = || {
        let commands = ["make -j2", "python3 job.py ..."].map(str::to_owned);
        Allowed::of(&commands, &[":8080".to_owned()], true).expect("these are commands")
    };
    let mut dialogue = Dialogue::new(allowed(), "0", "/tmp");
    let (mut buffer, judge) = (LineBuffer::default(), allowed());
    // No message is answered twice, and none is done of which nobody was asked.
    let (mut taken, mut ended, mut questions, mut granted) = (0, 0, 0, 0);
    for part in bytes.chunks(100) {
        for line in buffer.lines(part) {
            taken += 1;
            let _ = dialogue.take(line);
            while let Some(call) = dialogue.next() {
                is_a_call(&call);
                ended += 1;
                let commands = call.job.starts.iter().all(|words| judge.command(words));
                let target = call.job.target.as_ref().is_none_or(|target| judge.target(target));
                granted += usize::from(!(commands && target));
            }
            for message in dialogue.said() {
                assert!(!message.to_string().contains('\n'), "a message is a line");
                match &message["method"] {
                    Value::Null => ended += 1,
                    method => questions += usize::from(method == "elicitation/create"),
                }
            }
            assert!(ended <= taken && granted <= questions);
        }
    }
    dialogue.forget(false);
    assert!(dialogue.next().is_none_or(|call| !call.job.measures()));
    dialogue.forget(true);
    assert!(dialogue.next().is_none());
}

/// Whatever the arguments are, the words of the call are options with their values, and the
/// commands that it starts are those that were looked at.
fn is_a_call(call: &Call) {
    let job = &call.job;
    assert!(!job.verb.is_empty() && job.options.iter().all(|option| option.starts_with("--")));
    match job.verb {
        "run" => assert_eq!(job.starts, std::slice::from_ref(&job.words)),
        "compare" => {
            let split = job.words.iter().map(|line| shlex::split(line));
            assert!(split.eq(job.starts.iter().cloned().map(Some)));
        }
        _ => assert!(job.starts.is_empty()),
    }
    assert!(job.starts.iter().flatten().all(|word| !word.contains('\0')));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clients_made_up_is_answered_or_left() {
        seeds::replay("mcp", mcp);
    }
}
