/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What comes in: which socket becomes ready, when what threads of the tree receive on connections
 * (TCP, and local ones) came in, and who received it.
 *
 * A thread that receives on one connection again and again is reported once, until somebody sends
 * on that connection: that begins another request, or another answer. Where the tree serves, the
 * first bytes of it go along: user space makes a kind of them ("GET /orders") and drops them.
 *
 * Where requests are so many that to follow each would cost too much, chance decides when its first
 * byte is received. The others are counted, and it is told when a thread turns to one.
 */
#pragma once
#include "objects.h"

/* What is looked at stays there; errors are no data. */
#define MSG_PEEK 2
#define MSG_ERRQUEUE 0x2000

/* A port on which the tree listens. `net`: the address of its network namespace. 0: user space
 * found it, in one of the tree's: which one is known when the tree first receives or sends on that
 * port. */
struct listener { u64 net; u32 port; u32 pad; };
struct { MAP_UINT(type, BPF_MAP_TYPE_HASH); MAP_UINT(map_flags, BPF_F_NO_PREALLOC); MAP_UINT(max_entries, 1024); MAP_TYPE(key, struct listener); MAP_TYPE(value, u32); } listeners SEC(".maps");

struct arrival {
	u64 at;       /* when the first byte came in that nobody has received yet; 0: not seen */
	u64 last;     /* when something came in last */
	u32 receiver; /* the thread whose receiving is reported; 0: somebody has sent since */
	u8 accepted;  /* it was seen to be */
	u8 named;     /* a local connection whose names were told */
	u16 left_out; /* the request under way is not followed */
	u64 number;   /* of a local connection; 0: it is none */
};

/* By the address of the socket: those on which the tree has received, and accepted ones. */
struct { MAP_UINT(type, BPF_MAP_TYPE_LRU_HASH); MAP_UINT(max_entries, 65536); MAP_TYPE(key, u64); MAP_TYPE(value, struct arrival); } arrivals SEC(".maps");

enum role { ROLE_UNKNOWN, ROLE_SERVES, ROLE_ASKS };

/* A local connection as one of its ends has it. Its number is the inode of who connected: who
 * serves has none before it accepts. */
struct local { u64 number; u32 role; u32 pad; };

/* What this end is: the one that serves has a name, and the other none. Of who has closed its end
 * nothing can be read any more but what was noted. Datagrams are no connection: a log's, say. */
INLINE struct local local_of(u64 key)
{
	struct local local = {};
	struct unix_sock *sk = (void *)key;
	struct sock *peer = READ(sk, peer);
	bool serves = READ(sk, addr) != 0;
	if (READ((struct sock *)key, sk_type) == SOCK_DGRAM)
		return local;
	if (!peer || serves == (READ((struct unix_sock *)peer, addr) != 0))
		return local;
	local.number = inode_of(serves ? peer : (struct sock *)key);
	if (!local.number) {
		struct arrival *known = bpf_map_lookup_elem(&arrivals, &key);
		local.number = known ? known->number : 0;
	}
	local.role = !local.number ? ROLE_UNKNOWN : serves ? ROLE_SERVES : ROLE_ASKS;
	return local;
}

/* Both ends have the number for an address, and for a port 1, which serves, or 2. */
INLINE void local_ends(struct local local, struct ends *ends)
{
	bool serves = local.role == ROLE_SERVES;
	ends->family = FAMILY_LOCAL;
	__builtin_memcpy(ends->local, &local.number, sizeof(local.number));
	__builtin_memcpy(ends->remote, &local.number, sizeof(local.number));
	ends->local_port = serves ? 1 : 2;
	ends->remote_port = serves ? 2 : 1;
}

/* What is noted of a local connection; nothing of another one that had its place. */
INLINE struct arrival *arrival_of(u64 key, u64 number)
{
	struct arrival *known = bpf_map_lookup_elem(&arrivals, &key);
	return known && known->number == number ? known : 0;
}

/* Names of local sockets on which the tree serves, by their address: accepted sockets share that of
 * the one that listens. */
struct { MAP_UINT(type, BPF_MAP_TYPE_LRU_HASH); MAP_UINT(max_entries, 1024); MAP_TYPE(key, u64); MAP_TYPE(value, u32); } local_names SEC(".maps");
u32 serves_locally = 0;

/* Whether anything that came in on a local connection is left. */
INLINE bool has_more_locally(u64 key)
{
	struct sk_buff_head *queue = __builtin_preserve_access_index(&((struct sock *)key)->sk_receive_queue);
	return READ(queue, qlen) != 0;
}

/* Something has come in on a local connection, which may not have been accepted yet. */
__attribute__((noinline)) int has_arrived_locally(u64 key)
{
	u64 name = (u64)READ((struct unix_sock *)key, addr), now = bpf_ktime_get_ns();
	bool is_noted = bpf_map_lookup_elem(&arrivals, &key) != 0;
	/* Most are of others. */
	if (!is_local(key) || (!is_noted && !bpf_map_lookup_elem(&local_names, &name)))
		return 0;
	struct local local = local_of(key);
	struct arrival *known = arrival_of(key, local.number);
	if (known) {
		known->last = now;
		/* It is told after it was queued: who waited for nothing has taken it by then. */
		if (!known->at && has_more_locally(key))
			known->at = now;
	} else if (local.role == ROLE_SERVES && bpf_map_lookup_elem(&local_names, &name)) {
		struct arrival first = { .at = now, .last = now, .accepted = 1, .number = local.number };
		bpf_map_update_elem(&arrivals, &key, &first, BPF_ANY);
	}
	return 0;
}

/* Something has come in, on any connection of the host. */
INLINE void has_arrived(u64 key)
{
	struct arrival *arrival = bpf_map_lookup_elem(&arrivals, &key);
	if (arrival ? arrival->number != 0 : unlikely(serves_locally)) {
		has_arrived_locally(key);
		return;
	}
	if (!arrival)
		return;
	arrival->last = bpf_ktime_get_ns();
	if (!arrival->at)
		arrival->at = arrival->last;
}

/* A thread of the tree has sent on this connection. It tells whether that answers a request that is
 * not followed. Of a thread that did not receive that request it is not known that it works for it.
 */
INLINE bool answers_left_out(struct thread *thread, u32 tid, u64 key)
{
	struct arrival *arrival = bpf_map_lookup_elem(&arrivals, &key);
	if (!arrival)
		return 0;
	u32 receiver = arrival->receiver;
	arrival->receiver = 0;
	if (!arrival->left_out || (receiver && receiver != tid))
		thread->at_left_out = 0;
	return arrival->left_out;
}

/* A thread works for a request that is not followed. It is told once until the thread blocks or
 * turns to another, and again where the connection's last request was followed. */
__attribute__((noinline)) int turns_to_left_out(struct thread *thread, u64 key, u32 is_news, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	if (!thread || (thread->at_left_out && !is_news))
		return 0;
	thread->at_left_out = 1;
	struct ends_record record = { .head = HEAD(K_LEFT_OUT, 0, TID(thread, task), now) };
	record.cpu = bpf_get_smp_processor_id();
	if (is_local(key))
		local_ends(local_of(key), &record.ends);
	else
		read_ends((struct sock *)key, &record.ends);
	settle(thread, now);
	EMIT_WITH_SLOTS(record, thread);
	return 0;
}

/* Whether a thread of the tree is known to be a client of another. Then all are followed: a request
 * has others in it, whose both ends matter. */
u32 asks_itself = 0;

/* Chance decides whether a request that begins is followed: one of 2^n. What stands for several is
 * told as that. */
__attribute__((noinline)) u32 is_left_out(struct thread *thread, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 *halvings = setting(SETTING_HALVINGS);
	struct cpu *cpu = this_cpu();
	if (!thread || !cpu || !halvings)
		return 0;
	u32 n = *halvings & 31;
	if (asks_itself)
		n = 0;
	if (bpf_get_prandom_u32() & ((1u << n) - 1)) {
		cpu->left_out++;
		return 1;
	}
	cpu->followed++;
	if (n) {
		struct head drawn = HEAD(K_DRAWN, n, TID(thread, task), now);
		EMIT(drawn);
	}
	return 0;
}

/* A connection is accepted: what comes in on it is new. */
INLINE void awaits_first(u64 key)
{
	struct arrival first = { .accepted = 1 };
	bpf_map_update_elem(&arrivals, &key, &first, BPF_ANY);
}

INLINE void arrives_no_more(u64 key)
{
	bpf_map_delete_elem(&arrivals, &key);
}

/* Whether kinds of requests are asked for. */
volatile const u32 tells_kinds = 0;
/* Calls that give a buffer, or buffers; others tell nothing of what was received. */
volatile const u32 nr_read = 0, nr_recvfrom = 0, nr_readv = 0, nr_recvmsg = 0;

struct user_vector { u64 base, length; };
struct user_message { u64 name; u64 name_length; u64 vectors; };

/* Where the running thread's call has put what it received, in the native layout of structures. */
INLINE u64 received_into(struct task_struct *task, u32 *room)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	u32 call = call_in(task, regs);
	u64 at = call & COMPAT ? 0 : ARG1(regs, 0);
	if (call == nr_read || call == nr_recvfrom)
		return at;
	if (call == nr_recvmsg) {
		struct user_message message = {};
		bpf_probe_read_user(&message, sizeof(message), (void *)at);
		at = message.vectors;
	} else if (call != nr_readv)
		return 0;
	struct user_vector first = {};
	bpf_probe_read_user(&first, sizeof(first), (void *)at);
	if (first.length < *room)
		*room = first.length;
	return first.base;
}

__attribute__((noinline)) int tell_text(u32 tid, u32 bytes, u64 now)
{
	u32 len = bytes < REQUEST_TEXT_MAX ? bytes : REQUEST_TEXT_MAX;
	u64 from = received_into(bpf_get_current_task_btf(), &len);
	if (!from || !len || len > REQUEST_TEXT_MAX)
		return 0;
	struct request_text_record *record = reserve(sizeof(*record), NOT_ALONE);
	if (!record)
		return 0;
	struct head head = HEAD(K_REQUEST_TEXT, 0, tid, now);
	record->head = head;
	record->pad = 0;
	record->len = bpf_probe_read_user(record->bytes, len, (void *)from) ? 0 : len;
	ready(record, sizeof(*record));
	return 0;
}

int role_of(u64 key, u64 now);
int asks_on(u64 key);

INLINE bool has_lower_port(struct sock *sk)
{
	struct sock_common *common = __builtin_preserve_access_index(&sk->__sk_common);
	u16 remote = READ(common, skc_dport);
	return READ(common, skc_num) < (u16)(remote >> 8 | remote << 8);
}

/* The names of a local connection are told once, and who serves there is noted. */
__attribute__((noinline)) int tell_local(u64 key, u64 number, u32 serves, u32 tid, u64 now)
{
	struct arrival *known = arrival_of(key, number);
	if (!known || known->named)
		return 0;
	u64 name = (u64)READ((struct unix_sock *)key, addr), client = key;
	if (serves) {
		bpf_map_update_elem(&local_names, &name, &tid, BPF_ANY);
		serves_locally = 1;
		client = (u64)READ((struct unix_sock *)key, peer);
	}
	known->named = 1;
	return tell_socket_names(client, number, now, tid);
}

/* Whether bytes are left of those that came in. */
INLINE bool has_more(u64 key, u32 local)
{
	struct tcp_sock *tcp = (void *)key;
	return local ? has_more_locally(key) : READ(tcp, rcv_nxt) != READ(tcp, copied_seq);
}

/* What came in before and was not received is received now: when that came in, and whether it is
 * to be reported. */
__attribute__((noinline)) int is_received(struct thread *thread, u64 key, u32 bytes, u64 now, u32 local)
{
	struct task_struct *task = bpf_get_current_task_btf();
	if (!thread)
		return 0;
	struct received_record record = { .head = HEAD(K_RECEIVED, 0, TID(thread, task), now), .bytes = bytes };
	struct local of = {};
	if (local) {
		of = local_of(key);
		local_ends(of, &record.ends);
		if (of.role == ROLE_UNKNOWN)
			return 0;
	}
	u32 role = of.role;
	struct arrival *known = arrival_of(key, of.number);
	bool more = has_more(key, local), accepted = 0, begins = 1;
	if (known) {
		accepted = known->accepted;
		record.arrived = known->at;
		bool goes_on = bytes && known->receiver == record.head.tid && thread->received_on == key;
		begins = !known->receiver;
		/* What is left has come by then; and what comes while this is noted. */
		known->at = more ? known->last : 0;
		if (!more && has_more(key, local))
			known->at = known->last;
		known->receiver = record.head.tid;
		if (goes_on)
			return 0;
	} else {
		struct arrival first = { .receiver = record.head.tid, .number = of.number };
		bpf_map_update_elem(&arrivals, &key, &first, BPF_ANY);
	}
	thread->received_on = key;
	if (local)
		tell_local(key, of.number, of.role == ROLE_SERVES, record.head.tid, now);
	else
		role = role_of(key, now);
	/* Of two ends the lower port serves, as a rule. */
	if (role == ROLE_UNKNOWN && (accepted || has_lower_port((struct sock *)key)))
		role = ROLE_SERVES;
	if (role == ROLE_UNKNOWN)
		asks_on(key);
	/* Its place may be another's by now. */
	known = bpf_map_lookup_elem(&arrivals, &key);
	if (known) {
		bool was_left_out = known->left_out;
		if (role != ROLE_SERVES)
			known->left_out = 0;
		else if (begins && bytes)
			known->left_out = is_left_out(thread, now);
		if (known->left_out)
			return turns_to_left_out(thread, key, !was_left_out, now);
	}
	/* That it closes is not heard: another socket may have its place then. */
	if (local && !bytes)
		arrives_no_more(key);
	thread->at_left_out = 0;
	record.cpu = bpf_get_smp_processor_id();
	record.head.a = role == ROLE_SERVES;
	if (!local)
		read_ends((struct sock *)key, &record.ends);
	settle(thread, now);
	if (tells_kinds && bytes && role == ROLE_SERVES)
		tell_text(record.head.tid, bytes, now);
	EMIT_WITH_SLOTS(record, thread);
	return 0;
}

/* Since 6.2: the socket that becomes ready, just before it wakes its waiters. */
SEC("tp_btf/sk_data_ready")
int sk_data_ready(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	struct cpu *cpu = this_cpu();
	u64 key = 0;
	bpf_probe_read_kernel(&key, sizeof(key), ctx);
	/* Also outside of a softirq: a thread that has the socket takes in what came meanwhile. */
	has_arrived(key);
	if (!cpu || !cpu->softirq)
		return 0;
	struct ends ends = {};
	load_ends(sk, &ends);
	cpu->ready = ends.family == 2 || ends.family == 10;
	cpu->ends = ends;
	return 0;
}

/* Since 6.3: a thread received on a socket. */
SEC("tp_btf/sock_recv_length")
int sock_recv_length(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct cpu *cpu = this_cpu();
	struct thread *thread = cpu ? thread_at(place_of_running(cpu, task)) : 0;
	s32 bytes = ctx[1];
	u32 flags = ctx[2];
	if (!thread || bytes < 0 || flags & (MSG_PEEK | MSG_ERRQUEUE))
		return 0;
	u64 key = 0;
	bpf_probe_read_kernel(&key, sizeof(key), ctx);
	struct sock *sk = (void *)key;
	struct sock_common *common = __builtin_preserve_access_index(&sk->__sk_common);
	u16 family = READ(common, skc_family);
	if (family == FAMILY_LOCAL || ((family == 2 || family == 10) && READ(sk, sk_protocol) == IPPROTO_TCP))
		is_received(thread, key, bytes, bpf_ktime_get_ns(), family == FAMILY_LOCAL);
	return 0;
}

/* A thread of the tree has sent on a local connection. */
__attribute__((noinline)) int is_sent_locally(struct thread *thread, u64 key, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	if (!thread)
		return 0;
	struct ends_record record = { .head = HEAD(K_SEND, 0, TID(thread, task), now) };
	u32 tid = record.head.tid;
	struct local of = local_of(key);
	if (of.role == ROLE_UNKNOWN)
		return 0;
	if (!arrival_of(key, of.number)) {
		struct arrival first = { .number = of.number };
		bpf_map_update_elem(&arrivals, &key, &first, BPF_ANY);
	}
	if (unlikely(answers_left_out(thread, tid, key)))
		return turns_to_left_out(thread, key, 0, now);
	if (of.role == ROLE_ASKS) {
		u64 peer = (u64)READ((struct unix_sock *)key, peer);
		if (arrival_of(peer, of.number))
			asks_itself = 1;
	}
	tell_local(key, of.number, of.role == ROLE_SERVES, tid, now);
	local_ends(of, &record.ends);
	record.cpu = bpf_get_smp_processor_id();
	settle(thread, now);
	EMIT_WITH_SLOTS(record, thread);
	return 0;
}
