//! Shapes of values in JSON that their types alone do not tell, for the schemas: `with = "…"`.

use crate::{Ns, RuledOut, Seen, State};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;

/// A shape that stands where it is used.
macro_rules! shape {
    ($(#[$about:meta])* $name:ident, $generator:pat => $schema:expr) => {
        $(#[$about])*
        pub struct $name;

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema($generator: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    };
}

shape! {
    /// A time: RFC 3339, UTC.
    Utc, _ => json_schema!({
        "type": "string",
        "format": "date-time",
        "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$",
    })
}

shape! {
    /// A part of a whole.
    Fraction, _ => json_schema!({"type": "number", "minimum": 0, "maximum": 1})
}

shape! {
    /// 0 or more.
    NotNegative, _ => json_schema!({"type": "number", "minimum": 0})
}

shape! {
    /// More than 0.
    Positive, _ => json_schema!({"type": "number", "exclusiveMinimum": 0})
}

shape! {
    /// Time by state: `{"user": 12, …}`. States that did not occur are left out.
    TimeByState, generator => json_schema!({
        "type": "object",
        "propertyNames": generator.subschema_for::<State>(),
        "additionalProperties": generator.subschema_for::<Ns>(),
    })
}

shape! {
    /// A state in which a thread waits. A block without a wake-up is a wait too, but nobody knows
    /// for what.
    WaitState, _ => {
        let waits = State::ALL.into_iter().filter(|state| state.blocked() || *state == State::Unexplained);
        json_schema!({"type": "string", "enum": waits.map(State::name).collect::<Vec<_>>()})
    }
}

shape! {
    /// A limit of real time in microseconds; -1: no limit.
    RealTime, _ => json_schema!({"type": "integer", "minimum": -1})
}

/// In place, since each value has a schema of its own; why it is unseen has one for all.
impl<T: JsonSchema> JsonSchema for Seen<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Seen{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<T>();
        json_schema!({"anyOf": [value, {"type": "null"}, generator.subschema_for::<Unseen>()]})
    }
}

/// It could not be observed.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "the shape of [`Plain::Unseen`], for the schema")]
struct Unseen {
    /// Why: a sentence without a full stop.
    unseen: String,
}

shape! {
    /// Why a cause is ruled out. Older results have the sentence alone.
    WhyNot, generator => json_schema!({
        "anyOf": [generator.subschema_for::<RuledOut>(), {"type": "string"}],
    })
}
