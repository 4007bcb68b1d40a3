//! Messages of the protocol: JSON-RPC 2.0, one in a line.

use serde_json::{Value, json};

/// Versions of the protocol that are spoken, the newest first. What this server uses of them is the
/// same in all, but for questions to the user, which only the first has.
const VERSIONS: [&str; 3] = ["2025-06-18", "2025-03-26", "2024-11-05"];

/// Codes of errors of JSON-RPC.
pub(crate) const PARSE_ERROR: i64 = -32700;
pub(crate) const INVALID_REQUEST: i64 = -32600;
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
pub(crate) const INVALID_PARAMS: i64 = -32602;
/// The code of this server: it has too much to do.
pub(crate) const BUSY: i64 = -32000;

/// What a client sent.
#[derive(Debug, PartialEq)]
pub(crate) enum Message {
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// An answer to a question of the server; without a result it is an error.
    Response {
        id: Value,
        result: Option<Value>,
    },
    /// No message; the answer to it.
    Wrong(Value),
}

/// Reads one message.
pub(crate) fn read(line: &[u8]) -> Message {
    let wrong = |code, said: &str| Message::Wrong(error(Value::Null, code, said));
    // Its depth is bounded by serde_json, its length by whoever read the line.
    let Ok(value) = serde_json::from_slice::<Value>(line) else {
        return wrong(PARSE_ERROR, "this is no JSON, or it is nested too deeply");
    };
    let Value::Object(mut fields) = value else {
        return wrong(INVALID_REQUEST, "a message is an object; several at once are not taken");
    };
    if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return wrong(INVALID_REQUEST, "a message has \"jsonrpc\": \"2.0\"");
    }
    let id = fields.remove("id");
    if id.as_ref().is_some_and(|id| !id.is_string() && !id.is_number()) {
        return wrong(INVALID_REQUEST, "an id is a string or a number");
    }
    let params = fields.remove("params").unwrap_or(Value::Null);
    match (fields.remove("method"), id) {
        (Some(Value::String(method)), Some(id)) => Message::Request { id, method, params },
        (Some(Value::String(method)), None) => Message::Notification { method, params },
        (None, Some(id)) => Message::Response { id, result: fields.remove("result") },
        _ => wrong(INVALID_REQUEST, "a message has a method, or answers one"),
    }
}

/// The answer to a request.
pub(crate) fn answer(id: Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// The answer to what cannot be answered.
pub(crate) fn error(id: Value, code: i64, said: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": said}})
}

/// The result of a tool that did not do what it was asked for.
pub(crate) fn refusal(said: &str) -> Value {
    json!({"content": [text(report::clean_lines(said))], "isError": true})
}

/// A text of a result.
pub(crate) fn text(text: String) -> Value {
    json!({"type": "text", "text": text})
}

/// What is told without being asked.
pub(crate) fn notification(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// The version to speak with a client that asked for this one.
pub(crate) fn version(asked: &str) -> &'static str {
    VERSIONS.into_iter().find(|version| *version == asked).unwrap_or(VERSIONS[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(line: &str) -> Option<i64> {
        match read(line.as_bytes()) {
            Message::Wrong(error) => error["error"]["code"].as_i64(),
            _ => None,
        }
    }

    #[test]
    fn messages_are_told_apart() {
        let line = br#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#;
        assert_eq!(
            read(line),
            Message::Request { id: json!("a"), method: "ping".into(), params: Value::Null }
        );
        let line = br#"{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}"#;
        assert!(matches!(read(line), Message::Notification { .. }));
        let line = br#"{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}"#;
        assert_eq!(
            read(line),
            Message::Response { id: json!(1), result: Some(json!({"action": "decline"})) }
        );
        let line = br#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}"#;
        assert_eq!(read(line), Message::Response { id: json!(1), result: None });
    }

    #[test]
    fn what_is_no_message_is_answered_by_its_error() {
        let deep = "[".repeat(100_000);
        for line in ["", "{", "nonsense", "\u{0}", &deep, "{\"a\":1e999}", "[1,]"] {
            assert_eq!(code(line), Some(PARSE_ERROR), "{line:.20}");
        }
        for line in [
            "[]",
            "7",
            "{}",
            r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
            r#"{"jsonrpc":"2.0"}"#,
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
        ] {
            assert_eq!(code(line), Some(INVALID_REQUEST), "{line}");
        }
    }

    #[test]
    fn an_unknown_version_is_answered_by_the_newest() {
        assert_eq!(version("2024-11-05"), "2024-11-05");
        assert_eq!(version("2031-01-01"), VERSIONS[0]);
        assert_eq!(version(""), VERSIONS[0]);
    }
}
