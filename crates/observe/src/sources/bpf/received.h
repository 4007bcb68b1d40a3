/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What comes in: which socket becomes ready, when what threads of the tree receive on TCP
 * connections came in, and who received it.
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
	u16 accepted; /* it was seen to be */
	u16 left_out; /* the request under way is not followed */
};

/* By the address of the socket: those on which the tree has received, and accepted ones. */
struct { MAP_UINT(type, BPF_MAP_TYPE_LRU_HASH); MAP_UINT(max_entries, 65536); MAP_TYPE(key, u64); MAP_TYPE(value, struct arrival); } arrivals SEC(".maps");

/* Something has come in, on any connection of the host. */
INLINE void has_arrived(u64 key)
{
	struct arrival *arrival = bpf_map_lookup_elem(&arrivals, &key);
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

enum role { ROLE_UNKNOWN, ROLE_SERVES, ROLE_ASKS };

int role_of(u64 key, u64 now);
int asks_on(u64 key);

INLINE bool has_lower_port(struct sock *sk)
{
	struct sock_common *common = __builtin_preserve_access_index(&sk->__sk_common);
	u16 remote = READ(common, skc_dport);
	return READ(common, skc_num) < (u16)(remote >> 8 | remote << 8);
}

/* What came in before and was not received is received now: when that came in, and whether it is
 * to be reported. */
__attribute__((noinline)) int is_received(struct thread *thread, u64 key, u32 bytes, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	if (!thread)
		return 0;
	struct received_record record = { .head = HEAD(K_RECEIVED, 0, TID(thread, task), now), .bytes = bytes };
	struct arrival *known = bpf_map_lookup_elem(&arrivals, &key);
	struct tcp_sock *tcp = (void *)key;
	bool more = READ(tcp, rcv_nxt) != READ(tcp, copied_seq), accepted = 0, begins = 1;
	if (known) {
		accepted = known->accepted;
		record.arrived = known->at;
		bool goes_on = bytes && known->receiver == record.head.tid && thread->received_on == key;
		begins = !known->receiver;
		/* What is left has come by then; and what comes while this is noted. */
		known->at = more ? known->last : 0;
		if (!more && READ(tcp, rcv_nxt) != READ(tcp, copied_seq))
			known->at = known->last;
		known->receiver = record.head.tid;
		if (goes_on)
			return 0;
	} else {
		struct arrival first = { .receiver = record.head.tid };
		bpf_map_update_elem(&arrivals, &key, &first, BPF_ANY);
	}
	thread->received_on = key;
	u32 role = role_of(key, now);
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
	thread->at_left_out = 0;
	record.cpu = bpf_get_smp_processor_id();
	record.head.a = role == ROLE_SERVES;
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
	if ((family == 2 || family == 10) && READ(sk, sk_protocol) == IPPROTO_TCP)
		is_received(thread, key, bytes, bpf_ktime_get_ns());
	return 0;
}
