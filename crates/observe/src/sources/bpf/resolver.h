/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Name lookups of threads of the tree through the C library, whatever answers them: a file, a
 * service, a name server.
 *
 * `resolver.rs` attaches both programs to `getaddrinfo` in the C libraries of the host. They run
 * when any program of the host calls it there.
 */
#pragma once
#include "threads.h"

struct asking { u64 at; char name[NAME_MAX]; u32 len; u32 pad; };

/* By thread. */
struct { MAP_UINT(type, BPF_MAP_TYPE_HASH); MAP_UINT(map_flags, BPF_F_NO_PREALLOC); MAP_UINT(max_entries, 4096); MAP_TYPE(key, u32); MAP_TYPE(value, struct asking); } asking SEC(".maps");

SEC("uprobe/resolver_asked")
int resolver_asked(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	if (!thread_of(task))
		return 0;
	struct asking now = { .at = bpf_ktime_get_ns() };
	long len = bpf_probe_read_user_str(now.name, NAME_MAX, (void *)PARAMETER0(ctx));
	/* Without a name, an address to listen on is requested. */
	if (len <= 1)
		return 0;
	now.len = len - 1;
	u32 tid = task->pid;
	bpf_map_update_elem(&asking, &tid, &now, BPF_ANY);
	return 0;
}

SEC("uretprobe/resolver_answered")
int resolver_answered(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 tid = task->pid;
	struct asking *asked = bpf_map_lookup_elem(&asking, &tid);
	if (!asked)
		return 0;
	struct resolved_record *record = reserve(sizeof(*record), NOT_ALONE);
	if (record) {
		struct head begin = HEAD(K_RESOLVED, 0, number_of(task), bpf_ktime_get_ns());
		record->head = begin;
		record->asked_at = asked->at;
		record->error = RETURNED(ctx);
		record->len = asked->len;
		__builtin_memcpy(record->name, asked->name, NAME_MAX);
		ready(record, sizeof(*record));
	}
	bpf_map_delete_elem(&asking, &tid);
	return 0;
}
