//! Where caches end: rises in latency against size.

use model::ladder::{Cache, LatencyEdge, Point};

/// The least ratio from one size to the next that counts as a rise.
const RISING: f64 = 1.06;
/// The least ratio of a whole rise. Just beyond an edge half of the loads still hit, so a rise has
/// several steps.
const EDGE: f64 = 1.35;
/// An edge belongs to a cache whose size is within this factor.
const NEAR: f64 = 2.0;

/// The edges of a curve whose points are in order.
pub(super) fn find(points: &[Point], caches: &[Cache]) -> Vec<LatencyEdge> {
    let mut edges = Vec::new();
    let mut begin = None;
    for at in 1..=points.len() {
        let rising = at < points.len() && points[at].ns.median > points[at - 1].ns.median * RISING;
        // A single flat step may be noise within a rise.
        let pause =
            at + 1 < points.len() && points[at + 1].ns.median > points[at - 1].ns.median * RISING * RISING;
        match begin {
            None if rising => begin = Some(at - 1),
            Some(from) if !rising && !pause => {
                edges.extend(edge(&points[from..at], caches));
                begin = None;
            }
            _ => {}
        }
    }
    edges
}

/// The edge of a rise that is high enough: the size at half its height, on a logarithmic scale.
fn edge(rise: &[Point], caches: &[Cache]) -> Option<LatencyEdge> {
    let (first, last) = (rise.first()?, rise.last()?);
    let (below_ns, above_ns) = (first.ns.median, last.ns.median);
    if below_ns <= 0.0 || above_ns < below_ns * EDGE {
        return None;
    }
    let half = (below_ns * above_ns).sqrt();
    let pair = rise.windows(2).find(|pair| pair[1].ns.median >= half)?;
    let bytes = (pair[0].bytes as f64 * pair[1].bytes as f64).sqrt();
    let distance = |cache: &Cache| (cache.bytes as f64 / bytes).ln().abs();
    let nearest = caches.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
    let cache = nearest.filter(|cache| distance(cache) <= NEAR.ln());
    Some(LatencyEdge {
        bytes: bytes.round() as u64,
        below_ns,
        above_ns,
        level: cache.map(|cache| format!("l{}", cache.level)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ladder::MedianInterval;

    fn points(of: impl Fn(f64) -> f64) -> Vec<Point> {
        let sizes = (0..48).map(|step| 4096.0 * 2_f64.powf(f64::from(step) / 3.0));
        let point = |bytes: f64| {
            let median = of(bytes);
            Point { bytes: bytes as u64, ns: MedianInterval { median, lo: median, hi: median } }
        };
        sizes.map(point).collect()
    }

    fn cache(level: u32, bytes: u64) -> Cache {
        Cache { level, bytes, line_bytes: 64, shared_by: 1 }
    }

    /// Latency of a random chase through `bytes` where each level keeps as much as it holds.
    fn ideal(bytes: f64) -> f64 {
        let levels = [(32e3 * 1.024, 1.2), (1.048e6, 3.9), (33.5e6, 14.0)];
        let mut latency = 0.0;
        let mut before = 0.0;
        for (holds, ns) in levels {
            let hit = (holds / bytes).min(1.0);
            latency += (hit - before) * ns;
            before = hit;
        }
        latency + (1.0 - before) * 110.0
    }

    #[test]
    fn three_caches_have_three_edges_at_their_sizes() {
        let caches = [cache(1, 32 << 10), cache(2, 1 << 20), cache(3, 32 << 20)];
        let edges = find(&points(ideal), &caches);
        let levels: Vec<_> = edges.iter().map(|edge| edge.level.as_deref()).collect();
        assert_eq!(levels, [Some("l1"), Some("l2"), Some("l3")], "{edges:#?}");
        for (edge, cache) in edges.iter().zip(&caches) {
            let ratio = edge.bytes as f64 / cache.bytes as f64;
            assert!((0.7..2.0).contains(&ratio), "{edge:?}");
        }
    }

    #[test]
    fn a_flat_or_gently_rising_curve_has_none() {
        assert_eq!(find(&points(|_| 5.0), &[]), []);
        assert_eq!(find(&points(|bytes| bytes.powf(0.02)), &[]), []);
        assert_eq!(find(&[], &[]), []);
    }

    #[test]
    fn an_edge_where_the_kernel_knows_no_cache_has_no_name() {
        let edges = find(&points(|bytes| if bytes < 3e5 { 2.0 } else { 9.0 }), &[cache(2, 4 << 20)]);
        assert_eq!(edges.len(), 1);
        assert_eq!((edges[0].level.as_deref(), edges[0].below_ns, edges[0].above_ns), (None, 2.0, 9.0));
    }
}
