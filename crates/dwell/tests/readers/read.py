"""Reads an export with the library of its format, and prints what it holds as JSON.

read.py perfetto FILE | read.py otlp FILE | read.py hdr FILE
"""

import json
import sys
from collections import defaultdict


def unknown(message):
    """Fields that the schema does not have."""
    from google.protobuf.unknown_fields import UnknownFieldSet

    found = len(UnknownFieldSet(message))
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        found += sum(map(unknown, [value] if hasattr(value, "ListFields") else value))
    return found


def perfetto(data):
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos

    trace = protos.Trace()
    trace.ParseFromString(data)
    event = protos.TrackEvent
    names, tracks, threads, instants = {}, {}, {}, []
    begun, sums, gaps, last = {}, defaultdict(lambda: defaultdict(int)), 0, {}
    begins, ends = defaultdict(list), defaultdict(list)
    for packet in trace.packet:
        for name in packet.interned_data.event_names:
            names[name.iid] = name.name
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            if track.HasField("thread"):
                threads[track.uuid] = track.thread.tid
            tracks[track.uuid] = track.name or track.thread.thread_name or track.process.process_name
        if not packet.HasField("track_event"):
            continue
        at, of = packet.timestamp, packet.track_event
        assert of.track_uuid in tracks, "a track is described before its events"
        if of.type == event.TYPE_SLICE_BEGIN:
            assert of.name_iid in names, "each slice has a name"
            assert of.track_uuid not in begun, "slices of a track do not nest"
            begun[of.track_uuid] = (at, of.categories[0])
            if of.track_uuid in last and last[of.track_uuid] != at:
                gaps += 1
            for flow in of.flow_ids:
                begins[flow].append(at)
            for flow in of.terminating_flow_ids:
                ends[flow].append(at)
        elif of.type == event.TYPE_SLICE_END:
            start, state = begun.pop(of.track_uuid)
            assert at >= start, "no slice ends before it begins"
            sums[of.track_uuid][state] += at - start
            last[of.track_uuid] = at
        else:
            instants.append(names[of.name_iid])
    assert not begun, "each slice ends"
    assert begins.keys() == ends.keys(), "each flow has both ends"
    return {
        "unknown": unknown(trace),
        "gaps": gaps,
        "path": next((dict(of) for uuid, of in sums.items() if tracks[uuid].startswith("critical path of ")), {}),
        "threads": [[threads[uuid], dict(of)] for uuid, of in sums.items() if uuid in threads],
        "flows": len(begins),
        "backwards": sum(max(begins[flow]) > min(ends[flow]) for flow in begins),
        "instants": instants,
        "names": sorted({*names.values(), *tracks.values()}),
    }


def otlp(data):
    from google.protobuf import json_format
    from opentelemetry.proto.trace.v1 import trace_pb2

    # This JSON has IDs in hexadecimal, and that of protocol buffers has bytes in base64.
    import base64

    def rewritten(value):
        if isinstance(value, dict):
            return {key: base64.b64encode(bytes.fromhex(of)).decode()
                    if key in ("traceId", "spanId", "parentSpanId") else rewritten(of)
                    for key, of in value.items()}
        return [rewritten(item) for item in value] if isinstance(value, list) else value

    traces = json_format.ParseDict(rewritten(json.loads(data)), trace_pb2.TracesData())
    spans = traces.resource_spans[0].scope_spans[0].spans
    root, *parts = (span for span in spans if span.trace_id == spans[0].trace_id)
    found = defaultdict(list)
    for span in spans:
        assert len(span.trace_id) == 16
        found[span.trace_id].append(span)
    for whole, *its in found.values():
        assert len({span.span_id for span in its}) == len(its) and not whole.parent_span_id
        at = whole.start_time_unix_nano
        for span in its:
            assert span.parent_span_id == whole.span_id
            assert span.start_time_unix_nano == at, "no gap"
            at = span.end_time_unix_nano
        assert at == whole.end_time_unix_nano, "its parts fill it"
    return {
        "wall_ns": root.end_time_unix_nano - root.start_time_unix_nano,
        "path_ns": sum(span.end_time_unix_nano - span.start_time_unix_nano for span in parts),
        "traces": len(found),
        "spans": len(parts),
        "names": sorted({span.name for span in spans}),
    }


def hdr(data):
    from hdrh.histogram import HdrHistogram
    from hdrh.log import HistogramLogReader

    log = HistogramLogReader(sys.argv[2], HdrHistogram(1, 3_600_000_000_000, 3))
    histograms = []
    while histogram := log.get_next_interval_histogram():
        counts = [(of.value_iterated_to, of.count_added_in_this_iter_step)
                  for of in histogram.get_recorded_iterator()]
        histograms.append({
            "tag": histogram.get_tag(),
            "count": histogram.get_total_count(),
            "max": histogram.get_max_value(),
            "sum": sum(value * count for value, count in counts),
            "start_ms": histogram.get_start_time_stamp(),
            "end_ms": histogram.get_end_time_stamp(),
        })
    lines = [line for line in data.decode().splitlines() if not line.startswith(("#", '"'))]
    assert len(lines) == len(histograms), "each line is a histogram"
    return {"histograms": histograms, "start_s": log.get_start_time_sec()}


with open(sys.argv[2], "rb") as file:
    print(json.dumps({"perfetto": perfetto, "otlp": otlp, "hdr": hdr}[sys.argv[1]](file.read())))
