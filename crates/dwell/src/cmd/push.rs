//! `dwell push`: results of the store to where they are not yet.
//!
//! `pusher` is the loop: what is sent next, how long to wait, when to end. `far` sends, `http` is
//! the network, `make` makes of a result what is sent. What was sent is known to the store
//! (`store::results`, the outbox), what an answer means to the crate `send`.

mod far;
mod http;
mod make;
mod pusher;

use super::named::{self, changed};
use crate::cli::{PushArgs, Signal, Temporality};
use crate::keep::ResultStore;
use crate::look::{OutputKind, look};
use crate::output;
use anyhow::{Context, bail};
use far::{Directory, OtlpEndpoint, WebServer};
use http::{Client, FILE_MAX};
use make::{Form, Maker};
use pusher::{Far, HostClock, Pusher};
use report::results::{self, RefusalFacts};
use send::{Environment, Url};
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::output_file::make_directories;

/// The exit status where something was refused, or is left for the next time.
const LEFT: u8 = 1;
/// How long a request may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Refusals of a destination that are shown.
const SHOWN: usize = 5;

/// Where results are sent.
enum Place {
    Directory(PathBuf),
    WebServer(Url),
    Otlp(Url),
}

/// Sends results, or shows what was sent; returns the exit status.
pub(crate) fn push(args: &PushArgs, keeper: &ResultStore) -> anyhow::Result<u8> {
    let variable = |name: &str| std::env::var(name).ok();
    let environment = match &args.otlp {
        Some(_) => Environment::read(variable).map_err(anyhow::Error::msg)?,
        None => Environment::default(),
    };
    let Some(place) = Place::of(args, &environment)? else {
        return status(args, keeper);
    };
    let traces = args.traces || args.only == Some(Signal::Traces);
    if args.otlp.is_none() && (traces || args.only.is_some() || args.temporality.is_some()) {
        bail!("--traces, --only and --temporality are of --otlp\ntry: dwell push --otlp URL");
    }
    if traces && args.redact {
        bail!("a trace is made of names, and --redact leaves them out\ntry: one of both");
    }
    if matches!(place, Place::Directory(_)) && (args.token_file.is_some() || args.ca.is_some()) {
        bail!("--token-file and --ca are of a URL, and a directory has none\ntry: leave them out");
    }
    let form = Form::of(args, &environment);
    let name = format!("{} ({})", place.name(), form.name());
    if args.forget || args.again {
        let wholly = args.forget;
        let known = changed(keeper, |store| Ok(store.forget(&name, wholly)?))?;
        if args.forget {
            if !known {
                bail!("nothing was sent to {name:?} yet\ntry: dwell push");
            }
            return Ok(0);
        }
    }
    let timeout = args.timeout.map(Duration::from_nanos).or(environment.timeout).unwrap_or(TIMEOUT);
    let mut far = place.far(args, &environment)?;
    let maker = Maker { keeper, form };
    let mut pusher = Pusher::new(keeper, &maker, far.as_mut(), &HostClock, timeout, name)?;
    let done = pusher.push(Duration::from_nanos(args.length_ns))?;
    let left = pusher.destination()?;
    output::to_stdout(results::pushed(&facts(&left, Vec::new()), done.sent, done.bytes))?;
    let clean = done.refused == 0 && done.rejected == 0 && left.unsent == 0;
    Ok(if clean { 0 } else { LEFT })
}

impl Place {
    /// The destination; none where none is asked for.
    fn of(args: &PushArgs, environment: &Environment) -> anyhow::Result<Option<Self>> {
        let url = |text: &str| Url::read(text).map_err(|why| anyhow::anyhow!("{text:?} {why}"));
        match (&args.otlp, &args.to) {
            (Some(text), _) if text.is_empty() => {
                let endpoint = environment.endpoint.as_deref();
                let text = endpoint.context("the endpoint is missing\ntry: --otlp http://localhost:4318")?;
                Ok(Some(Self::Otlp(url(text)?)))
            }
            (Some(text), _) => Ok(Some(Self::Otlp(url(text)?))),
            (None, Some(text)) if Url::is_meant(text) => Ok(Some(Self::WebServer(url(text)?))),
            (None, Some(text)) if text.contains("://") => bail!(
                "{text:?} is no URL that results are sent to\ntry: http:// or https://, or a directory where that is mounted"
            ),
            (None, Some(text)) => directory(Path::new(text)).map(|path| Some(Self::Directory(path))),
            (None, None) => Ok(None),
        }
    }

    /// Its name in the store.
    fn name(&self) -> String {
        match self {
            Self::Directory(path) => path.display().to_string(),
            Self::WebServer(url) | Self::Otlp(url) => url.to_string(),
        }
    }

    fn far(self, args: &PushArgs, environment: &Environment) -> anyhow::Result<Box<dyn Far>> {
        let client = |url: &Url| {
            let mut headers = environment.headers.clone();
            if let Some(path) = &args.token_file {
                headers.retain(|(name, _)| !name.eq_ignore_ascii_case("authorization"));
                headers.push(("authorization".to_owned(), format!("Bearer {}", token(path)?)));
            }
            let ca = args.ca.clone().or(environment.certificate.clone().map(PathBuf::from));
            Client::new(url, ca.as_deref(), headers)
        };
        Ok(match self {
            Self::Directory(path) => Box::new(Directory(path)),
            Self::WebServer(url) => Box::new(WebServer { client: client(&url)?, url }),
            Self::Otlp(url) => Box::new(OtlpEndpoint { client: client(&url)?, url }),
        })
    }
}

/// The directory by a name that it has from everywhere; it is made if it is missing.
fn directory(path: &Path) -> anyhow::Result<PathBuf> {
    make_directories(path).with_context(|| {
        format!("cannot make the directory {path:?}\ntry: one below a directory that you may write to")
    })?;
    let path = path.canonicalize().with_context(|| format!("cannot use the directory {path:?}"))?;
    if path.to_str().is_none() {
        bail!("the name of {path:?} is no UTF-8, so what was sent there cannot be noted\ntry: another name");
    }
    Ok(path)
}

/// The token in a file: a word, which no message quotes.
fn token(path: &Path) -> anyhow::Result<String> {
    let bytes = store::read(path, FILE_MAX).with_context(|| format!("cannot read {path:?}"))?;
    let text = String::from_utf8(bytes).ok().map(|text| text.trim().to_owned()).unwrap_or_default();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        bail!("{path:?} holds no token\ntry: a file with one word");
    }
    Ok(text)
}

/// Shows all destinations.
fn status(args: &PushArgs, keeper: &ResultStore) -> anyhow::Result<u8> {
    let look = look(&args.look, OutputKind::Stdout);
    let all = destinations(keeper)?;
    if all.is_empty() {
        bail!("nothing was sent yet\ntry: dwell push DIR, or dwell push URL");
    }
    output::to_stdout(results::destinations(&all, look))?;
    Ok(0)
}

/// What the store knows of each destination.
fn destinations(keeper: &ResultStore) -> anyhow::Result<Vec<results::Destination>> {
    keeper.at_length(|place| {
        let store = named::read(place)?;
        let all = store.destinations()?.into_iter().map(|one| {
            let refusals = store.refusals(one.id, SHOWN)?;
            Ok(facts(&one, refusals))
        });
        all.collect()
    })
}

pub(super) fn facts(
    of: &store::results::Destination,
    refusals: Vec<store::results::Refusal>,
) -> results::Destination {
    let now_ms = pusher::now_ms();
    let refusal = |one: store::results::Refusal| RefusalFacts {
        at: sys::clock::rfc3339(one.at_ms / 1000),
        result: one.result,
        part: one.part,
        why: one.why,
    };
    results::Destination {
        name: of.name.clone(),
        unsent: of.unsent,
        sent: of.sent,
        refused: of.refused,
        rejected: of.rejected,
        evicted: of.evicted,
        said: of.said.clone(),
        again_in_ns: of.due_ms.saturating_sub(now_ms).saturating_mul(1_000_000),
        refusals: refusals.into_iter().map(refusal).collect(),
    }
}

impl Form {
    fn of(args: &PushArgs, environment: &Environment) -> Self {
        let options = tables::Options { detail: args.detail, redact: args.redact };
        if args.otlp.is_none() {
            return Self::Rows(options);
        }
        let delta = args.temporality.map_or(environment.delta, |kind| kind == Temporality::Delta);
        let parts = match args.only {
            None if args.traces => vec!["logs", "shares", "lengths", "traces"],
            None => vec!["logs", "shares", "lengths"],
            Some(Signal::Logs) => vec!["logs"],
            Some(Signal::Metrics) => vec!["shares", "lengths"],
            Some(Signal::Traces) => vec!["traces"],
        };
        let (service, resource) = (environment.service.clone(), environment.resource.clone());
        Self::Otlp { options, settings: send::otlp::Settings { delta, service, resource }, parts }
    }
}
