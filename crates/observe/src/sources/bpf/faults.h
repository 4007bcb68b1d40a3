/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Which mapping page faults are in, and whose code they are of: a sample by their number.
 *
 * A software event of perf counts the page faults of each CPU and calls the program at one of many
 * (`fault_samples.rs`), so that all others cost an increment. It comes before the fault is served,
 * without any lock of the address space.
 *
 * The mapping is looked up at once, since user space hears of executable ones only. Where another
 * thread has the address space locked it stays unknown.
 */
#pragma once
#include "paths.h"
#include "threads.h"

/* A stack that grows is touched so close below its stack pointer. A thread's stack is touched so
 * close around it, or between it and the thread pointer, which the C library puts at its top: there
 * are languages whose stacks are among other data. */
#define NEAR_STACK 0x40000

struct mapping {
	u64 start, end;
	u64 file; /* 0 for anonymous memory */
};

static long found_mapping(struct task_struct *task, struct vm_area_struct *vma, struct mapping *mapping)
{
	mapping->start = READ(vma, vm_start);
	mapping->end = READ(vma, vm_end);
	mapping->file = (u64)READ(vma, vm_file);
	return 0;
}

INLINE u8 kind_of(struct mapping *mapping, struct task_struct *task, u64 address, u64 sp)
{
	struct mm_struct *mm = READ(task, mm);
	u64 top = READ(mm, start_stack), tls = THREAD_POINTER(task);
	bool near = address + NEAR_STACK >= sp && address < sp + NEAR_STACK;
	/* Nothing is there yet: the stack grows. */
	if (!mapping->end)
		return near && sp <= top ? MAPPING_STACK : MAPPING_UNKNOWN;
	if (mapping->file)
		return MAPPING_FILE;
	if (mapping->start <= READ(mm, brk) && mapping->end >= READ(mm, start_brk))
		return MAPPING_HEAP;
	if (mapping->start <= top && top < mapping->end)
		return MAPPING_STACK;
	if (sp <= address && address < tls && tls < mapping->end)
		near = 1;
	return near && mapping->start <= sp && sp < mapping->end ? MAPPING_STACK : MAPPING_ANONYMOUS;
}

/* The running thread is in a page fault of the sample, at this address. */
INLINE void tell_fault(struct task_struct *task, struct thread *thread, u64 address, u64 faults, u64 now)
{
	struct mapping mapping = {};
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct fault_record record = { .head = HEAD(K_FAULT, 0, TID(thread, task), now), .faults = faults };
	bpf_find_vma(task, address, found_mapping, &mapping, 0);
	record.head.a = kind_of(&mapping, task, address, REGS_SP(regs));
	if (mapping.file) {
		struct file *file = (void *)mapping.file;
		struct inode *inode = READ(file, f_inode);
		struct super_block *sb = READ(inode, i_sb);
		struct path *path = __builtin_preserve_access_index(&file->f_path);
		struct dentry *dentry = READ(path, dentry);
		struct qstr *name = __builtin_preserve_access_index(&dentry->d_name);
		record.ino = READ(inode, i_ino);
		record.dev = READ(sb, s_dev);
		bpf_probe_read_kernel_str(record.name, sizeof(record.name), READ(name, name));
		tell_path((u64)inode, (u64)dentry, (u64)READ(path, mnt), now, TID(thread, task));
	}
	EMIT(record);
	struct head head = record.head;
	head.kind = K_FAULT_SAMPLE_STACK;
	tell_python(&thread->python, 1, now);
	tell_wait_stack(&head, NO_CALL, 0);
}

/* Of the event that counts page faults: its address is the fault's. */
SEC("perf_event")
int fault(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *thread = thread_of(task);
	if (!thread)
		return 0;
	u64 now = bpf_ktime_get_ns();
	ON_CPU(thread, now);
	tell_fault(task, thread, ctx->addr, ctx->sample_period, now);
	return 0;
}
