//! The value of a column in a row, and what gives one.

use model::Seen;

/// The types that all engines have. Each is nullable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// UTF-8 without control characters.
    Text,
    /// 32 bits, signed.
    Int,
    /// 64 bits, signed.
    Long,
    /// IEEE 754, finite.
    Double,
    /// True or false.
    Flag,
    /// Microseconds since 1970, UTC.
    Time,
}

impl Type {
    /// As SQL of DuckDB, Trino and Spark has it.
    pub fn sql(self) -> &'static str {
        match self {
            Type::Text => "VARCHAR",
            Type::Int => "INT",
            Type::Long => "BIGINT",
            Type::Double => "DOUBLE",
            Type::Flag => "BOOLEAN",
            Type::Time => "TIMESTAMP",
        }
    }
}

/// A value that is written.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing is known, or there is nothing.
    Null,
    /// Of `Int`, `Long` and `Time`.
    Whole(i64),
    /// Of `Double`.
    Double(f64),
    /// Of `Flag`.
    Flag(bool),
    /// Of `Text`.
    Text(String),
}

/// A value of a column, or why there is none.
pub(crate) type Cell = Seen<Value>;

/// What a value of a result is as one of a column: `T` is the type of the column.
pub(crate) trait Gives<T> {
    fn given(self) -> Seen<T>;
}

/// A number that is too large is not cut to another one.
fn whole<T: TryFrom<V>, V>(value: V) -> Seen<T> {
    T::try_from(value).map_or_else(|_| Seen::unseen("the number is too large for the column"), Seen::Value)
}

macro_rules! whole {
    ($($from:ty => $to:ty),*) => {$(
        impl Gives<$to> for $from {
            fn given(self) -> Seen<$to> {
                whole(self)
            }
        }
    )*};
}

whole!(u32 => i32, u64 => i32, usize => i32, i32 => i32, u32 => i64, u64 => i64, i64 => i64);

impl Gives<f64> for f64 {
    fn given(self) -> Seen<f64> {
        if self.is_finite() { Seen::Value(self) } else { Seen::unseen("the number is not finite") }
    }
}

impl Gives<bool> for bool {
    fn given(self) -> Seen<bool> {
        Seen::Value(self)
    }
}

impl Gives<String> for &str {
    fn given(self) -> Seen<String> {
        Seen::Value(self.to_owned())
    }
}

impl Gives<String> for String {
    fn given(self) -> Seen<String> {
        Seen::Value(self)
    }
}

impl Gives<String> for &String {
    fn given(self) -> Seen<String> {
        Seen::Value(self.clone())
    }
}

impl<T, G: Gives<T>> Gives<T> for Option<G> {
    fn given(self) -> Seen<T> {
        self.map_or(Seen::Absent, Gives::given)
    }
}

impl<T, G: Gives<T>> Gives<T> for Seen<G> {
    fn given(self) -> Seen<T> {
        self.and_then(Gives::given)
    }
}

impl<T, G: Gives<T> + Clone> Gives<T> for &Seen<G> {
    fn given(self) -> Seen<T> {
        self.clone().given()
    }
}

pub(crate) fn text(from: impl Gives<String>) -> Cell {
    from.given().map(Value::Text)
}

pub(crate) fn int(from: impl Gives<i32>) -> Cell {
    from.given().map(|whole| Value::Whole(i64::from(whole)))
}

pub(crate) fn long(from: impl Gives<i64>) -> Cell {
    from.given().map(Value::Whole)
}

pub(crate) fn double(from: impl Gives<f64>) -> Cell {
    from.given().map(Value::Double)
}

pub(crate) fn flag(from: impl Gives<bool>) -> Cell {
    from.given().map(Value::Flag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_unseen_and_not_another_number() {
        assert_eq!(long(u64::MAX / 2), Seen::Value(Value::Whole(i64::MAX)));
        assert!(matches!(long(u64::MAX), Seen::Unseen(_)));
        assert!(matches!(int(u64::MAX), Seen::Unseen(_)));
        assert!(matches!(double(f64::NAN), Seen::Unseen(_)));
        assert_eq!(long(Some(0_u64)), Seen::Value(Value::Whole(0)));
        assert_eq!(long(None::<u64>), Seen::Absent);
        assert_eq!(text(Seen::<String>::unseen("why")), Seen::Unseen("why".to_owned()));
    }
}
