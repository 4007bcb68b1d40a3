//! What the environment says to every program that sends to OpenTelemetry
//! (`https://opentelemetry.io/docs/specs/otel/protocol/exporter/`).

use std::time::Duration;

/// The variables that count, as far as they are set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// `OTEL_EXPORTER_OTLP_ENDPOINT`.
    pub endpoint: Option<String>,
    /// `OTEL_EXPORTER_OTLP_HEADERS`, in their order.
    pub headers: Vec<(String, String)>,
    /// `OTEL_EXPORTER_OTLP_TIMEOUT`.
    pub timeout: Option<Duration>,
    /// `OTEL_EXPORTER_OTLP_CERTIFICATE`: a file.
    pub certificate: Option<String>,
    /// Whether `OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE` asks for differences.
    pub delta: bool,
    /// `OTEL_RESOURCE_ATTRIBUTES`, in their order.
    pub resource: Vec<(String, String)>,
    /// `OTEL_SERVICE_NAME`.
    pub service: Option<String>,
}

impl Environment {
    /// Reads the variables. One that is empty is not set.
    ///
    /// # Errors
    /// The variable, and what is wrong with it.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let set =
            |name: &str| variable(name).map(|value| value.trim().to_owned()).filter(|it| !it.is_empty());
        let pairs = |name: &str| {
            let text = set(name).unwrap_or_default();
            let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
            // Headers hold secrets: what is wrong is not quoted.
            let wrong = || format!("{name} is no list of NAME=VALUE, separated by commas");
            pairs.map(|pair| read_pair(pair).ok_or_else(wrong)).collect::<Result<Vec<_>, _>>()
        };
        let timeout = set("OTEL_EXPORTER_OTLP_TIMEOUT").map(|text| match text.parse::<u64>() {
            Ok(ms) if ms > 0 => Ok(Duration::from_millis(ms)),
            _ => Err(format!("OTEL_EXPORTER_OTLP_TIMEOUT is {text:?}, which is no number of milliseconds")),
        });
        let preference = set("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE").unwrap_or_default();
        Ok(Self {
            endpoint: set("OTEL_EXPORTER_OTLP_ENDPOINT"),
            headers: pairs("OTEL_EXPORTER_OTLP_HEADERS")?,
            timeout: timeout.transpose()?,
            certificate: set("OTEL_EXPORTER_OTLP_CERTIFICATE"),
            // Of histograms, `lowmemory` wants differences as well.
            delta: ["delta", "lowmemory"].iter().any(|word| preference.eq_ignore_ascii_case(word)),
            resource: pairs("OTEL_RESOURCE_ATTRIBUTES")?,
            service: set("OTEL_SERVICE_NAME"),
        })
    }
}

/// `NAME=VALUE`, with escapes as in a URL.
fn read_pair(pair: &str) -> Option<(String, String)> {
    let (name, value) = pair.split_once('=')?;
    let (name, value) = (unescaped(name.trim())?, unescaped(value.trim())?);
    (!name.is_empty()).then_some((name, value))
}

fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let plain = if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
        } else {
            byte
        };
        bytes.push(plain);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(set: &[(&str, &str)]) -> Result<Environment, String> {
        Environment::read(|name| set.iter().find(|(of, _)| *of == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn variables_are_read_as_the_specification_has_them() {
        assert_eq!(read(&[("OTEL_SERVICE_NAME", " ")]), Ok(Environment::default()));
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let all = read(&[
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20eDp5, x-scope=a=b,"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "2500"),
            ("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "Delta"),
            ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=caf%C3%A9"),
        ])
        .unwrap();
        assert_eq!(all.headers, [pair("authorization", "Basic eDp5"), pair("x-scope", "a=b")]);
        assert_eq!((all.timeout, all.delta), (Some(Duration::from_millis(2500)), true));
        assert_eq!(all.resource, [pair("deployment.environment.name", "café")]);
    }

    #[test]
    fn what_is_wrong_is_named_and_secrets_are_not() {
        for wrong in ["secret", "=secret", "a=%zz", "a=%2", "a=%ff"] {
            let said = read(&[("OTEL_EXPORTER_OTLP_HEADERS", wrong)]).unwrap_err();
            assert!(said.starts_with("OTEL_EXPORTER_OTLP_HEADERS") && !said.contains("secret"), "{said}");
        }
        assert!(read(&[("OTEL_EXPORTER_OTLP_TIMEOUT", "10s")]).is_err());
    }
}
