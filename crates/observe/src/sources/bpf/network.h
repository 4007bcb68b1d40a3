/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * TCP connections of the tree, and packets of its DNS queries and responses.
 *
 * A connection is noted when a thread of the tree opens it, when it is established on a port on
 * which one listens, or when one first sends on it (inherited). It is reported when it closes, with
 * TCP's own counters; `tell_open` reports those that are still open. All of this happens a few
 * times in a connection's life. The packet programs run for every program of the host, so they
 * return early.
 */
#pragma once
#include "received.h"

#define TCP_ESTABLISHED 1
#define TCP_SYN_SENT 2
#define TCP_SYN_RECV 3
#define TCP_FIN_WAIT1 4
#define TCP_FIN_WAIT2 5
#define TCP_CLOSE 7
#define TCP_LAST_ACK 9
#define TCP_LISTEN 10
#define TCP_CLOSING 11
#define SOCK_DONE 1 /* bit of skc_flags: the other end's FIN is in */
#define TCP_NAGLE_OFF 1

/* By the address of the socket. Those without room are counted. */
struct { MAP_UINT(type, BPF_MAP_TYPE_HASH); MAP_UINT(map_flags, BPF_F_NO_PREALLOC); MAP_UINT(max_entries, 16384); MAP_TYPE(key, u64); MAP_TYPE(value, struct connection); } connections SEC(".maps");
/* Sockets that user space requests at the end. */
struct { MAP_UINT(type, BPF_MAP_TYPE_ARRAY); MAP_UINT(max_entries, ASKED); MAP_TYPE(key, u32); MAP_TYPE(value, u64); } asked_sockets SEC(".maps");
/* Counters of dropped entries: connections, queries (see `network.rs`). */
struct { MAP_UINT(type, BPF_MAP_TYPE_ARRAY); MAP_UINT(max_entries, 1); MAP_TYPE(key, u32); MAP_TYPE(value, u64); } lost_connections SEC(".maps");

/* How many have ended. */
u64 connections_closed = 0;

/* Whether the tree has sent a query yet, and from which ports: one bit each. */
u32 has_asked = 0;
u64 asked_ports[1024] = {};

/* Until Linux 6.1 what a global function is given by pointer cannot be a key or a value of a map: a
 * copy can. */
__attribute__((noinline)) int note_connection(u64 key, struct connection *connection)
{
	u32 zero = 0;
	if (!connection)
		return 0;
	struct connection own = *connection;
	if (bpf_map_update_elem(&connections, &key, &own, BPF_ANY)) {
		u64 *lost = bpf_map_lookup_elem(&lost_connections, &zero);
		if (lost)
			__sync_fetch_and_add(lost, 1);
	}
	return 0;
}

/* Bytes sent and acknowledged. Bytes passed to the device are no measure: drops are not always
 * known. A SYN and a FIN count as a byte each; a FIN is acknowledged when nothing is outstanding.
 */
INLINE u64 payload_sent(struct tcp_sock *tcp, u8 how, u32 state)
{
	u64 acked = READ(tcp, bytes_acked);
	bool fin = state == TCP_FIN_WAIT1 || state == TCP_FIN_WAIT2 || state == TCP_LAST_ACK || state == TCP_CLOSING;
	if (acked && how == BEGAN_OPENED)
		acked--;
	return acked - (acked && fin && READ(tcp, snd_una) == READ(tcp, write_seq));
}

/* The other end's FIN counts as a byte. */
INLINE u64 payload_received(struct tcp_sock *tcp)
{
	struct sock_common *common = __builtin_preserve_access_index(&((struct sock *)tcp)->__sk_common);
	u64 received = READ(tcp, bytes_received);
	return received - (received && READ(common, skc_flags) >> SOCK_DONE & 1);
}

INLINE bool no_delay(struct tcp_sock *tcp)
{
	/* A bit field: CO-RE gives its byte offset, size and shifts. */
	u64 word = 0;
	bpf_probe_read_kernel(&word, __builtin_preserve_field_info(tcp->nonagle, 1),
			      (void *)tcp + __builtin_preserve_field_info(tcp->nonagle, 0));
	word <<= __builtin_preserve_field_info(tcp->nonagle, 4);
	return word >> __builtin_preserve_field_info(tcp->nonagle, 5) & TCP_NAGLE_OFF;
}

/* Notes a connection that was open before, with what TCP has counted of it by now. */
__attribute__((noinline)) int note_found(u64 key, u32 tid, u64 now)
{
	struct tcp_sock *tcp = (void *)key;
	struct connection found = { .began = now, .tid = tid, .how = BEGAN_FOUND };
	found.sent = payload_sent(tcp, BEGAN_FOUND, TCP_ESTABLISHED);
	found.received = payload_received(tcp);
	found.retransmits = READ(tcp, total_retrans);
	note_connection(key, &found);
	return 0;
}

/* `before`: the state in which it closed; 0 for an open one. */
__attribute__((noinline)) int tell_connection(u64 key, struct connection *connection, u64 now, u32 before)
{
	if (!connection)
		return 0;
	struct tcp_sock *tcp = (void *)key;
	struct sock_common *common = __builtin_preserve_access_index(&((struct sock *)key)->__sk_common);
	struct connection_record record = {
		.head = HEAD(K_CONNECTION, connection->how, connection->tid, now),
		.began = connection->began,
		.established = connection->established,
	};
	record.head.flags = (before ? F_CLOSED : 0) | (no_delay(tcp) ? F_NO_DELAY : 0);
	u64 sent = payload_sent(tcp, connection->how, before ? before : READ(common, skc_state));
	u64 received = payload_received(tcp);
	/* Fewer than before: another socket has its place. */
	record.sent = sent > connection->sent ? sent - connection->sent : 0;
	record.received = received > connection->received ? received - connection->received : 0;
	record.retransmits = READ(tcp, total_retrans) - connection->retransmits;
	record.round_trip_us = READ(tcp, srtt_us) >> 3;
	record.round_trip_us_min = READ(tcp, rtt_min.s[0].v);
	record.segment_bytes_max = READ(tcp, mss_cache);
	read_ends((struct sock *)tcp, &record.ends);
	/* A port assigned by the kernel has already been released. */
	u16 port = READ((struct inet_sock *)tcp, inet_sport);
	record.ends.local_port = port >> 8 | (u16)(port << 8);
	EMIT(record);
	return 0;
}

/* The tree asks on this connection: itself, if both ends have one address, and it listens there. */
__attribute__((noinline)) int asks_on(u64 key)
{
	struct ends ends = {};
	if (asks_itself)
		return 0;
	read_ends((struct sock *)key, &ends);
	u64 *local = (u64 *)ends.local, *remote = (u64 *)ends.remote;
	if (local[0] != remote[0] || local[1] != remote[1])
		return 0;
	struct sock_common *common = __builtin_preserve_access_index(&((struct sock *)key)->__sk_common);
	struct listener listener = { .port = ends.remote_port };
	bool is_found = bpf_map_lookup_elem(&listeners, &listener);
	listener.net = (u64)READ(common, skc_net.net);
	if (is_found || bpf_map_lookup_elem(&listeners, &listener))
		asks_itself = 1;
	return 0;
}

/* A thread of the tree opens a connection, or listens. */
__attribute__((noinline)) int begins(u64 key, u32 state)
{
	struct task_struct *task = bpf_get_current_task_btf();
	if (!thread_of(task))
		return 0;
	u32 tid = number_of(task);
	if (state == TCP_SYN_SENT) {
		/* What was received after another had closed may stand there. */
		arrives_no_more(key);
		struct connection begun = { .began = bpf_ktime_get_ns(), .tid = tid, .how = BEGAN_OPENED };
		note_connection(key, &begun);
		return asks_on(key);
	}
	struct sock_common *common = __builtin_preserve_access_index(&((struct sock *)key)->__sk_common);
	struct listener listener = { .net = (u64)READ(common, skc_net.net), .port = READ(common, skc_num) };
	bpf_map_update_elem(&listeners, &listener, &tid, BPF_ANY);
	return 0;
}

/* Of two ends the one with the lower port is taken for the service: where it is not, it is told. */
__attribute__((noinline)) int tell_established(u64 key, u32 how, u64 now)
{
	struct ends_record record = { .head = HEAD(K_ESTABLISHED, how, 0, now) };
	read_ends((struct sock *)key, &record.ends);
	if ((how == BEGAN_ACCEPTED) != (record.ends.local_port < record.ends.remote_port))
		EMIT(record);
	return 0;
}

__attribute__((noinline)) int is_established(u64 key)
{
	struct connection *connection = bpf_map_lookup_elem(&connections, &key);
	u64 now = bpf_ktime_get_ns();
	if (connection) {
		connection->established = now;
		tell_established(key, connection->how, now);
		return 0;
	}
	struct sock_common *common = __builtin_preserve_access_index(&((struct sock *)key)->__sk_common);
	struct listener listener = { .net = (u64)READ(common, skc_net.net), .port = READ(common, skc_num) };
	if (bpf_map_lookup_elem(&listeners, &listener)) {
		struct connection begun = { .began = now, .established = now, .how = BEGAN_ACCEPTED };
		note_connection(key, &begun);
		tell_established(key, BEGAN_ACCEPTED, now);
	}
	return 0;
}

__attribute__((noinline)) int is_closed(u64 key, u32 before)
{
	if (before == TCP_LISTEN) {
		struct sock_common *common = __builtin_preserve_access_index(&((struct sock *)key)->__sk_common);
		u16 port = READ((struct inet_sock *)key, inet_sport);
		struct listener listener = { .net = (u64)READ(common, skc_net.net), .port = port >> 8 | (u16)(port << 8) };
		bpf_map_delete_elem(&listeners, &listener);
		return 0;
	}
	struct connection *connection = bpf_map_lookup_elem(&connections, &key);
	if (!connection)
		return 0;
	tell_connection(key, connection, bpf_ktime_get_ns(), before);
	bpf_map_delete_elem(&connections, &key);
	__sync_fetch_and_add(&connections_closed, 1);
	return 0;
}

SEC("tp_btf/inet_sock_set_state")
int inet_sock_set_state(u64 *ctx)
{
	u32 before = ctx[1], state = ctx[2];
	if (state != TCP_ESTABLISHED && state != TCP_SYN_SENT && state != TCP_CLOSE && state != TCP_LISTEN)
		return 0;
	/* Read, not loaded: a load gives a typed pointer, which cannot be passed to a global
	 * function. */
	u64 key = 0;
	bpf_probe_read_kernel(&key, sizeof(key), ctx);
	if (READ((struct sock *)key, sk_protocol) != IPPROTO_TCP)
		return 0;
	if (state == TCP_CLOSE) {
		arrives_no_more(key);
		return is_closed(key, before);
	}
	if (before == TCP_SYN_RECV && state == TCP_ESTABLISHED)
		awaits_first(key);
	if (state == TCP_ESTABLISHED)
		return is_established(key);
	return begins(key, state);
}

/* What the tree's end of a connection is, for a thread of the tree that receives or sends on it.
 * One that is not noted, and whose port is one on which the tree listens, was accepted before that
 * was known. */
__attribute__((noinline)) int role_of(u64 key, u64 now)
{
	struct connection *connection = bpf_map_lookup_elem(&connections, &key);
	if (connection && connection->how != BEGAN_FOUND)
		return connection->how == BEGAN_OPENED ? ROLE_ASKS : ROLE_SERVES;
	struct sock_common *common = __builtin_preserve_access_index(&((struct sock *)key)->__sk_common);
	struct listener listener = { .port = READ(common, skc_num) };
	u32 *tid = bpf_map_lookup_elem(&listeners, &listener);
	if (!tid)
		return ROLE_UNKNOWN;
	if (connection)
		return ROLE_SERVES;
	u32 by = *tid;
	listener.net = (u64)READ(common, skc_net.net);
	bpf_map_update_elem(&listeners, &listener, &by, BPF_ANY);
	note_found(key, 0, now);
	tell_established(key, BEGAN_ACCEPTED, now);
	return ROLE_SERVES;
}

/* A thread of the tree has sent on this connection: the first event of an inherited or accepted
 * one. */
__attribute__((noinline)) int sent_on(struct thread *thread, u64 key, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct sock_common *common = __builtin_preserve_access_index(&((struct sock *)key)->__sk_common);
	/* Of one that has been closed nothing more is heard. */
	if (!thread || READ(common, skc_state) == TCP_CLOSE)
		return 0;
	u32 tid = TID(thread, task);
	thread->sent_on = key;
	thread->sent_when = connections_closed;
	struct connection *connection = bpf_map_lookup_elem(&connections, &key);
	if (!connection && role_of(key, now) == ROLE_SERVES)
		connection = bpf_map_lookup_elem(&connections, &key);
	if (connection) {
		if (!connection->tid)
			connection->tid = tid;
		return 0;
	}
	note_found(key, tid, now);
	return asks_on(key);
}

__attribute__((noinline)) int tell_one_open(u32 index)
{
	u64 *key = bpf_map_lookup_elem(&asked_sockets, &index);
	if (!key || !*key)
		return 0;
	u64 address = *key;
	tell_connection(address, bpf_map_lookup_elem(&connections, &address), bpf_ktime_get_ns(), 0);
	return 1;
}

/* Not attached: user space fills `asked_sockets` with keys of `connections` and runs it. One that
 * closes in the meantime has no entry any more. */
SEC("raw_tp/tell_open")
int tell_open(u64 *ctx)
{
	for (u32 i = 0; i < ASKED; i++) {
		if (!tell_one_open(i))
			break;
	}
	return 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Reports a packet if it is a DNS query or response over UDP. User space parses it. */
__attribute__((noinline)) int tell_packet(u64 skb_, u32 tid, u32 asks)
{
	struct sk_buff *skb = (void *)skb_;
	u16 protocol = READ(skb, protocol); /* in network byte order, like all of this */
	u64 data = (u64)READ(skb, data);
	/* An outgoing one may begin with its link-layer header. */
	u64 at = asks ? (u64)READ(skb, head) + READ(skb, network_header) : data;
	u8 ip[12];
	u16 ports[2];
	u64 udp = at + 40;
	if (bpf_probe_read_kernel(ip, sizeof(ip), (void *)at))
		return 0;
	if (protocol == 0x0008) {
		if (ip[9] != IPPROTO_UDP || ip[6] & 0x1f || ip[7]) /* or not its first fragment */
			return 0;
		udp = at + (ip[0] & 15) * 4;
	} else if (protocol != 0xdd86 || ip[6] != IPPROTO_UDP)
		return 0;
	if (bpf_probe_read_kernel(ports, sizeof(ports), (void *)udp))
		return 0;
	if ((asks ? ports[1] : ports[0]) != 0x3500)
		return 0;
	u16 port = asks ? ports[0] : ports[1];
	u64 *word = &asked_ports[port >> 6], bit = 1ull << (port & 63);
	if (asks) {
		__sync_fetch_and_or(word, bit);
		has_asked = 1;
	} else if (!(*word & bit))
		return 0;
	/* Data in page fragments is not read. */
	u64 len = data + READ(skb, len) - READ(skb, data_len) - at;
	if (len > PACKET_MAX)
		len = PACKET_MAX;
	struct packet_record *record = reserve(sizeof(*record), NOT_ALONE);
	if (!record)
		return 0;
	struct head begin = HEAD(K_PACKET, asks, tid, bpf_ktime_get_ns());
	record->head = begin;
	record->len = len;
	record->pad = 0;
	bpf_probe_read_kernel(record->bytes, len, (void *)at);
	ready(record, sizeof(*record));
	return 0;
}

SEC("tp_btf/net_dev_queue")
int net_dev_queue(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct cpu *cpu = this_cpu();
	/* Most packets are of TCP. A socket that is not whole yet has something else where the
	 * protocol would be, but none of those asks. */
	struct sk_buff *queued = (void *)ctx[0];
	struct sock *sk = queued->sk;
	if (sk && sk->sk_protocol == IPPROTO_TCP)
		return 0;
	/* Packets forwarded or sent in a softirq are not of the running thread. */
	if (!cpu || cpu->softirq || !place_of_running(cpu, task))
		return 0;
	u64 skb = 0;
	bpf_probe_read_kernel(&skb, sizeof(skb), ctx);
	tell_packet(skb, number_of(task), 1);
	return 0;
}

SEC("tp_btf/netif_receive_skb")
int netif_receive_skb(u64 *ctx)
{
	u64 skb = 0;
	if (likely(!has_asked))
		return 0;
	bpf_probe_read_kernel(&skb, sizeof(skb), ctx);
	tell_packet(skb, 0, 0);
	return 0;
}
