//! The command lines by which a user runs what the lab runs: a program one way by itself, and its
//! server.

use pairs::{Pair, Setting, Way};
use std::net::Ipv4Addr;

/// The words that do the work one way, by themselves.
pub(super) fn by_hand(pair: &Pair, way: &Way, setting: &Setting) -> Vec<String> {
    let mut words = ["dwell", "lab", pair.name, "--run", way.name, "--size"].map(str::to_owned).to_vec();
    words.push(setting.size.to_string());
    words.extend(options(setting));
    words.extend(setting.urls.iter().flat_map(|url| ["--url".to_owned(), url.clone()]));
    words
}

/// The words that are the server of these programs.
pub(super) fn server_by_hand(pair: &Pair, setting: &Setting) -> Option<Vec<String>> {
    let service = pair.service().filter(|_| setting.port > 0)?;
    let words = ["dwell", "lab", "--serve", service.name()].map(str::to_owned);
    Some(words.into_iter().chain(options(setting)).collect())
}

/// Where the server is, and how it is to be.
fn options(setting: &Setting) -> impl Iterator<Item = String> {
    let port = (setting.port > 0).then(|| setting.port.to_string());
    let host = (setting.host != Ipv4Addr::LOCALHOST).then(|| setting.host.to_string());
    let [latency, rate] =
        [setting.server.latency_ms, setting.server.rate].map(|value| value.map(|value| value.to_string()));
    [("--port", port), ("--host", host), ("--latency", latency), ("--rate", rate)]
        .into_iter()
        .flat_map(|(option, value)| value.into_iter().flat_map(move |value| [option.to_owned(), value]))
}
