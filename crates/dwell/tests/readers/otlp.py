"""Reads requests of OTLP, a line each (`PATH HEX`), and prints what they hold as JSON."""

import json
import sys
from collections import defaultdict

from google.protobuf.unknown_fields import UnknownFieldSet
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


def unknown(message):
    found = len(UnknownFieldSet(message))
    for field, value in message.ListFields():
        if field.message_type is not None:
            found += sum(map(unknown, value if hasattr(value, "__len__") else [value]))
    return found


def plain(attributes):
    values = {}
    for one in attributes:
        assert one.key not in values, one.key
        values[one.key] = getattr(one.value, one.value.WhichOneof("value"))
    return values


def middle(point):
    """The median, from the histogram alone."""
    base, seen = 2 ** 2**-point.scale, point.zero_count
    for at, count in enumerate(point.positive.bucket_counts, point.positive.offset):
        seen += count
        if 2 * seen >= point.count:
            return base ** (at + 0.5)


said = defaultdict(list)
counts, medians, keys = defaultdict(int), {}, set()
resources, temporality, found = {}, set(), 0
for line in sys.stdin:
    path, body = line.split()
    kind = {
        "/v1/logs": ExportLogsServiceRequest,
        "/v1/metrics": ExportMetricsServiceRequest,
        "/v1/traces": ExportTraceServiceRequest,
    }[path]
    request = kind()
    request.ParseFromString(bytes.fromhex(body))
    found += unknown(request)
    names = set()
    for of in getattr(request, request.ListFields()[0][0].name):
        about = plain(of.resource.attributes)
        resources[json.dumps(about, sort_keys=True)] = about
        for scope in getattr(of, of.ListFields()[1][0].name):
            assert scope.scope.name == "dwell" and scope.scope.version
            for record in getattr(scope, "log_records", ()):
                assert plain(record.attributes)["dwell.result.id"] and record.time_unix_nano
                said["events"].append(record.event_name)
            for span in getattr(scope, "spans", ()):
                said["spans"].append([span.name, span.end_time_unix_nano - span.start_time_unix_nano])
            for metric in getattr(scope, "metrics", ()):
                names.add(metric.name)
                if metric.HasField("gauge"):
                    said["shares"].append(sum(point.as_double for point in metric.gauge.data_points))
                    points = metric.gauge.data_points
                else:
                    points = metric.exponential_histogram.data_points
                    temporality.add(metric.exponential_histogram.aggregation_temporality)
                for point in points:
                    assert point.start_time_unix_nano <= point.time_unix_nano
                    keys |= plain(point.attributes).keys()
                    if metric.HasField("gauge"):
                        continue
                    assert sum(point.positive.bucket_counts) + point.zero_count == point.count
                    counts[metric.name] += point.count
                    medians[metric.name] = middle(point)
    if names:
        said["metrics"].append(sorted(names))
said |= {
    "resources": list(resources.values()),
    "temporality": sorted(temporality),
    "counts": counts,
    "medians": medians,
    "metric_keys": sorted(keys),
    "unknown": found,
}
json.dump(said, sys.stdout)
