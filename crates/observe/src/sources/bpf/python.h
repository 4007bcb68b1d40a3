/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The frames of CPython, read by the program that takes a sample, in the context of the thread
 * itself: the frames do not change, and nothing is paused. User space provides the offsets of
 * fields, per process (`offsets.rs` of crate python), and translates (code object, instruction) to
 * names and lines (`record.rs` decodes the records).
 *
 * A code object is described once, when it is first found, so that its names remain after the
 * program's end. Reads do not fault pages in; a failed read ends the stack, with the reason.
 *
 * Descriptions go to the ring of `stacks.h`, before the first stack that refers to them, where
 * there is space.
 *
 * The body of a loop is a global function: the verifier checks it once, separately, and not in each
 * iteration. That reduces loading from seconds to a millisecond, and needs only Linux 5.12. So the
 * state of the loops is in the scratch, not in registers.
 */
#pragma once
#include "stacks.h"

/* The limit of frames of a stack, the innermost first. A power of two: indices are masked. */
#define PYTHON_FRAMES 128
/* The limit of steps along a stack (frames, and the interpreter's own between them), and of threads
 * searched for the current one (remembered once found), is the square of this. */
#define PYTHON_ROUNDS 16
/* After a long unsuccessful search (a thread of a C library, say), this many samples skip it. */
#define PYTHON_REST 16
/* The limit of code objects described per sample; the others follow with the next. */
#define PYTHON_FRESH 32
/* Space in a description. */
#define PYTHON_NAME 192
#define PYTHON_FILE 256
#define PYTHON_LINES 4096
/* Fingerprints of described code objects: sets of four. */
#define PYTHON_SETS 4096

/* Continues `enum kind`. */
enum { K_PYTHON = 32, K_PYTHON_CODE = 33 };

/* Why a stack ends. */
enum python_end {
	PYTHON_WHOLE,
	PYTHON_CUT,         /* more frames than fit; the outermost are missing */
	PYTHON_UNREADABLE,  /* a frame could not be read */
	PYTHON_NO_THREAD,   /* the interpreter has no such thread, or no frame for it */
	PYTHON_NOT_STARTED, /* there is no interpreter yet, or no longer */
};

/* Properties of a layout: `flags` of a target. */
#define PYTHON_CFRAME 1 /* the thread has a pointer to a pointer to its frame (3.11, 3.12) */
#define PYTHON_INDEX 2  /* a frame has the index of its instruction, not its address (to 3.10) */
#define PYTHON_UNITS 4  /* that index is in code units of two bytes (3.10) */
#define PYTHON_SHIMS 8  /* frames with an owner from `shim_owner` on are the interpreter's own (3.12) */
#define PYTHON_MARKED 16 /* `frame_owner`: the evaluation function was entered for the frame (3.11) */
#define PYTHON_COPIES 32 /* each thread has its own copy of the bytecode (free-threaded, from 3.14) */

/* An interpreter in a process: offsets of fields, in bytes from the start of their structure. */
struct python_target {
	u64 runtime; /* address of _PyRuntime */
	u16 interpreters; /* _PyRuntime: the newest interpreter */
	u16 interpreter_next, interpreter_threads;
	u16 thread_next, thread_id, thread_frame;
	u16 cframe_frame;
	u16 frame_size; /* the part of a frame with the following fields */
	u16 frame_previous, frame_code, frame_instruction, frame_owner, frame_copy;
	u16 code_line; /* the first field to read of a code object */
	u16 code_size; /* from there to the end of the last */
	u16 code_file, code_name, code_lines; /* from code_line */
	u16 code_start; /* the bytecode, from the start of the object */
	u16 code_copies;
	u16 text_length, text_state, text_ascii, text_wide;
	u16 bytes_length, bytes_data;
	u8 kind_shift; /* in the state of a text: three bits of kind, one compact, one ascii */
	u8 shim_owner;
	u8 flags;
	u8 pad;
};

/* State in task storage for the next sample. */
struct python_thread {
	u64 state; /* its PyThreadState, when last found */
	u64 rest;  /* samples left to skip the search */
};

#define PYTHON_NO_INSTRUCTION 0xffffffffu
#define PYTHON_ENTRY 1 /* the evaluation function was entered from C for this frame */

struct python_frame {
	u64 code;
	u32 instruction; /* in bytes of code, or PYTHON_NO_INSTRUCTION; negative: before the first */
	u32 what;        /* PYTHON_ENTRY; the upper 24 bits are the code object's check */
};

struct python_record {
	struct head head; /* a: python_end */
	u32 pid;
	u32 count;
	struct python_frame frame[PYTHON_FRAMES]; /* the innermost first */
};
/* Masked rather than compared, which the compiler would do too late for the verifier; there is
 * space after it. */
#define PYTHON_SIZE(record)                                                                                    \
	(__builtin_offsetof(struct python_record, frame) +                                                     \
	 ((record)->count & (2 * PYTHON_FRAMES - 1)) * sizeof(struct python_frame))

struct python_text {
	u32 length; /* in characters */
	u16 held;   /* bytes of it that were copied */
	u8 kind;    /* bytes per character */
	u8 ascii;
};

struct python_code_record {
	struct head head;
	u64 code;
	u64 lines_at; /* address of its line table */
	u32 pid;
	u32 check;
	u32 first_line;
	u32 lines_length;
	u32 lines_held;
	u32 pad;
	struct python_text name, file;
	u8 name_bytes[PYTHON_NAME]; /* the first part */
	u8 file_bytes[PYTHON_FILE]; /* the last part, which matters more */
	u8 lines[PYTHON_LINES];
};

/* An executable with an interpreter, so that its processes are known from their exec on. */
struct python_file {
	u64 ino;
	u32 dev; /* in the kernel's form: major << 20 | minor */
	u32 pad;
};

/* The scratch of a sample: too large for the stack. One for each context that can interrupt
 * another. */
struct python_scratch {
	u64 pointer; /* the thread's */
	u64 interpreter, state, at; /* positions of search and walk */
	u32 looked;
	u32 pad2;
	u8 frame[144];
	u8 code[144];
	u64 fresh[PYTHON_FRESH][2]; /* code object, fingerprint */
	u32 fresh_count;
	u32 pad;
	struct python_record record;
	struct python_code_record told;
};

#define PYTHON_MAP_HASH 1
static long (*python_map_update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*python_map_delete)(void *map, const void *key) = (void *)3;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
/* Fields missing in kernel.h; the loader ignores the suffix after the underscores. */
struct mm_struct___python { unsigned long start_code; struct file *exe_file; };
struct task_struct___python { struct mm_struct___python *mm; };
#pragma clang attribute pop

/* Processes by PID: user space fills it when an interpreter is mapped. */
struct { MAP_UINT(type, PYTHON_MAP_HASH); MAP_UINT(max_entries, 1024); MAP_TYPE(key, u32); MAP_TYPE(value, struct python_target); } pythons SEC(".maps");
/* Executables; `runtime` is relative to the start of their code as mapped. */
struct { MAP_UINT(type, PYTHON_MAP_HASH); MAP_UINT(max_entries, 64); MAP_TYPE(key, struct python_file); MAP_TYPE(value, struct python_target); } python_files SEC(".maps");
struct { MAP_UINT(type, BPF_MAP_TYPE_PERCPU_ARRAY); MAP_UINT(max_entries, 2); MAP_TYPE(key, u32); MAP_TYPE(value, struct python_scratch); } python_scratches SEC(".maps");
struct python_set { u64 way[4]; };
struct { MAP_UINT(type, BPF_MAP_TYPE_ARRAY); MAP_UINT(max_entries, PYTHON_SETS); MAP_TYPE(key, u32); MAP_TYPE(value, struct python_set); } python_seen SEC(".maps");

INLINE u64 python_pointer(u64 at)
{
	u64 value = 0;
	bpf_probe_read_user(&value, sizeof(value), (void *)at);
	return value;
}

/* Fields of what was copied to the scratch. */
#define PYTHON_AT(bytes, offset, type) (*(type *)((bytes) + ((offset) & 127)))

/* ---- which thread ---------------------------------------------------------------------------- */

/* pthread_self is the thread pointer on x86-64; elsewhere it is below, by the size of libc's
 * struct. */
#if defined(__TARGET_ARCH_x86)
#define PYTHON_BELOW 1
#elif defined(__TARGET_ARCH_arm64)
#define PYTHON_BELOW 0x2000
#endif

INLINE u64 python_innermost(const struct python_target *target, u64 state)
{
	u64 frame = python_pointer(state + target->thread_frame);
	if (frame && target->flags & PYTHON_CFRAME)
		frame = python_pointer(frame + target->cframe_frame);
	return frame;
}

/* One iteration of the search for the thread among those of all interpreters: 0 to continue. */
__attribute__((noinline)) int python_look(struct python_scratch *scratch, const struct python_target *target)
{
	if (!scratch || !target)
		return 1;
	u64 state = scratch->state;
	if (!state) {
		u64 next = scratch->looked ? scratch->interpreter + target->interpreter_next : target->runtime + target->interpreters;
		next = python_pointer(next);
		if (!next)
			return 1;
		scratch->interpreter = next;
		scratch->state = python_pointer(next + target->interpreter_threads);
		scratch->looked++;
		return 0;
	}
	scratch->looked++;
	u64 pointer = scratch->pointer;
	/* A pointer of 0 is that of a main thread that the kernel has not switched yet: the
	 * list is short. */
	if (pointer - python_pointer(state + target->thread_id) < PYTHON_BELOW || !pointer) {
		scratch->at = python_innermost(target, state);
		if (scratch->at)
			return 1;
	}
	scratch->state = python_pointer(state + target->thread_next);
	return 0;
}

/* Nested loops: the verifier follows each iteration, so two short ones are checked faster than a
 * long one. */
#define PYTHON_REPEAT(name, step)                                                                              \
	__attribute__((noinline)) int name(struct python_scratch *scratch, const struct python_target *target) \
	{                                                                                                      \
		if (!scratch || !target)                                                                       \
			return 1;                                                                              \
		_Pragma("clang loop unroll(disable)") for (u32 i = 0; i < PYTHON_ROUNDS; i++)                  \
			if (step(scratch, target))                                                             \
				return 1;                                                                      \
		return 0;                                                                                      \
	}
PYTHON_REPEAT(python_look_on, python_look)
PYTHON_REPEAT(python_search, python_look_on)

/* The innermost frame of the thread, or 0. */
INLINE u64 python_start(struct python_scratch *scratch, const struct python_target *target, struct python_thread *known)
{
	u64 pointer = scratch->pointer;
	if (known->state && pointer && pointer - python_pointer(known->state + target->thread_id) < PYTHON_BELOW) {
		u64 frame = python_innermost(target, known->state);
		if (frame)
			return frame;
	}
	if (known->rest) {
		known->rest--;
		return 0;
	}
	scratch->state = scratch->at = scratch->interpreter = 0;
	scratch->looked = 0;
	python_search(scratch, target);
	u64 frame = scratch->at;
	if (frame)
		known->state = scratch->state;
	else if (scratch->looked > PYTHON_REST)
		known->rest = PYTHON_REST;
	return frame;
}

/* ---- its frames ------------------------------------------------------------------------------ */

INLINE u64 python_mix(u64 hash, u64 with)
{
	hash = (hash ^ with) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/* Distinguishes a code object from a later one at the same address. */
INLINE u64 python_fingerprint(const struct python_target *target, const u8 *bytes, u64 code, u32 pid)
{
	u64 hash = python_mix(code, (u64)pid << 32 | PYTHON_AT(bytes, 0, u32));
	hash = python_mix(hash, PYTHON_AT(bytes, target->code_name, u64));
	return python_mix(hash, PYTHON_AT(bytes, target->code_lines, u64)) | 1;
}

INLINE bool python_is_seen(u64 fingerprint)
{
	u32 index = fingerprint >> 4 & (PYTHON_SETS - 1);
	struct python_set *set = bpf_map_lookup_elem(&python_seen, &index);
	return !set || set->way[0] == fingerprint || set->way[1] == fingerprint || set->way[2] == fingerprint ||
	       set->way[3] == fingerprint;
}

INLINE u32 python_instruction(const struct python_target *target, const u8 *frame, u64 code)
{
	u64 at = PYTHON_AT(frame, target->frame_instruction, u64);
	if (target->flags & PYTHON_INDEX) {
		u32 index = at;
		if ((s32)index < 0)
			return -2;
		return target->flags & PYTHON_UNITS ? index * 2 : index;
	}
	u64 start = code + target->code_start;
	if (target->flags & PYTHON_COPIES) {
		/* An array: its length, then pointers. The first is the code object's own. */
		u32 copy = PYTHON_AT(frame, target->frame_copy, u32);
		if (copy) {
			u64 copies = python_pointer(code + target->code_copies);
			start = python_pointer(copies + 8 + 8 * (u64)copy);
		}
	}
	u64 offset = at - start + 2;
	return offset < 1 << 28 ? offset - 2 : PYTHON_NO_INSTRUCTION;
}

/* Writes the current frame to the record and goes to the next outer one: 0 to continue. */
__attribute__((noinline)) int python_step(struct python_scratch *scratch, const struct python_target *target)
{
	if (!scratch || !target)
		return 1;
	struct python_record *record = &scratch->record;
	u64 at = scratch->at;
	if (!at) {
		record->head.a = PYTHON_WHOLE;
		return 1;
	}
	record->head.a = PYTHON_UNREADABLE;
	if (bpf_probe_read_user(scratch->frame, target->frame_size & 127, (void *)at))
		return 1;
	u32 count = record->count;
	u32 flags = target->flags;
	u64 code = PYTHON_AT(scratch->frame, target->frame_code, u64) & ~7ull;
	u8 owner = PYTHON_AT(scratch->frame, target->frame_owner, u8);
	scratch->at = PYTHON_AT(scratch->frame, target->frame_previous, u64);
	if (flags & PYTHON_SHIMS && owner >= target->shim_owner) {
		/* It marks the entry from C to the frames before it. */
		if (count)
			record->frame[(count - 1) & (PYTHON_FRAMES - 1)].what |= PYTHON_ENTRY;
		record->head.a = PYTHON_CUT;
		return 0;
	}
	if (count < PYTHON_FRAMES && bpf_probe_read_user(scratch->code, target->code_size & 127, (void *)(code + target->code_line)))
		return 1;
	record->head.a = PYTHON_CUT;
	if (count >= PYTHON_FRAMES)
		return 1;
	struct python_frame *to = &record->frame[count & (PYTHON_FRAMES - 1)];
	u64 fingerprint = python_fingerprint(target, scratch->code, code, record->pid);
	u32 entry = flags & PYTHON_INDEX ? 1 : flags & PYTHON_MARKED ? owner & 1 : 0;
	to->code = code;
	to->instruction = python_instruction(target, scratch->frame, code);
	to->what = (u32)(fingerprint >> 40) << 8 | entry;
	record->count = count + 1;
	u32 fresh = scratch->fresh_count;
	if (fresh < PYTHON_FRESH && !python_is_seen(fingerprint)) {
		fresh &= PYTHON_FRESH - 1;
		scratch->fresh[fresh][0] = code;
		scratch->fresh[fresh][1] = fingerprint;
		scratch->fresh_count = fresh + 1;
	}
	return 0;
}

PYTHON_REPEAT(python_step_on, python_step)
PYTHON_REPEAT(python_walk, python_step_on)

/* ---- names of a code object ------------------------------------------------------------------ */

/* Copies the first part of a text, or the last; of compact strings, as names and paths always are.
 */
INLINE void python_text(const struct python_target *target, u64 object, struct python_text *text, u8 *to, u32 room, bool end)
{
	u32 state = 0;
	u64 length = python_pointer(object + target->text_length);
	text->length = length;
	text->held = 0;
	text->kind = 0;
	if (bpf_probe_read_user(&state, sizeof(state), (void *)(object + target->text_state)))
		return;
	state >>= target->kind_shift & 31;
	text->kind = state & 7;
	text->ascii = state >> 4 & 1;
	if (!(state >> 3 & 1))
		return;
	u64 at = object + (text->ascii ? target->text_ascii : target->text_wide);
	u64 size = (u64)text->length * text->kind;
	if (size > room) {
		if (end)
			at += size - room;
		size = room;
	}
	barrier_var(size);
	if (size <= room && !bpf_probe_read_user(to, size, (void *)at))
		text->held = size;
}

__attribute__((noinline)) int python_describe(struct python_scratch *scratch, const struct python_target *target, u32 which)
{
	if (!scratch || !target)
		return 0;
	u64 code = scratch->fresh[which & (PYTHON_FRESH - 1)][0];
	u64 fingerprint = scratch->fresh[which & (PYTHON_FRESH - 1)][1];
	struct python_code_record *told = &scratch->told;
	u32 index = fingerprint >> 4 & (PYTHON_SETS - 1);
	struct python_set *set = bpf_map_lookup_elem(&python_seen, &index);
	/* Twice on one stack, when it is recursive. */
	if (!set || python_is_seen(fingerprint))
		return 0;
	if (bpf_probe_read_user(scratch->code, target->code_size & 127, (void *)(code + target->code_line)))
		return 0;
	told->head = scratch->record.head;
	told->head.kind = K_PYTHON_CODE;
	told->head.a = 0;
	told->code = code;
	told->pid = scratch->record.pid;
	told->check = fingerprint >> 40;
	told->first_line = PYTHON_AT(scratch->code, 0, u32);
	python_text(target, PYTHON_AT(scratch->code, target->code_name, u64), &told->name, told->name_bytes, PYTHON_NAME, 0);
	python_text(target, PYTHON_AT(scratch->code, target->code_file, u64), &told->file, told->file_bytes, PYTHON_FILE, 1);
	u64 lines = PYTHON_AT(scratch->code, target->code_lines, u64);
	told->lines_at = lines + target->bytes_data;
	told->lines_length = python_pointer(lines + target->bytes_length);
	u64 held = told->lines_length;
	if (held > PYTHON_LINES)
		held = PYTHON_LINES;
	barrier_var(held);
	if (held > PYTHON_LINES || bpf_probe_read_user(told->lines, held, (void *)told->lines_at))
		held = 0;
	told->lines_held = held;
	if (bpf_ringbuf_output(&stacks, told, __builtin_offsetof(struct python_code_record, lines) + held, BPF_RB_NO_WAKEUP))
		return 0; /* it is described the next time */
	set->way[fingerprint >> 17 & 3] = fingerprint;
	return 0;
}

/* ---- interface to the rest of the kernel half ------------------------------------------------ */

/*
 * Emits the Python stack of the running thread, when its process runs a known Python. `slot` is 0
 * in the sampling clock's program and 1 in those that it can interrupt.
 */
__attribute__((noinline)) int tell_python(struct python_thread *known, u32 slot, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 pid = process_of(task);
	if (!known)
		return 0;
	struct python_target *target = bpf_map_lookup_elem(&pythons, &pid);
	if (likely(!target))
		return 0;
	struct python_scratch *scratch = bpf_map_lookup_elem(&python_scratches, &slot);
	if (!scratch)
		return 0;
	struct python_record *record = &scratch->record;
	record->head.at = now;
	record->head.kind = K_PYTHON;
	record->head.flags = record->head.calls = 0;
	record->head.tid = number_of(task);
	record->head.a = PYTHON_NO_THREAD;
	record->pid = pid;
	record->count = 0;
	scratch->fresh_count = 0;
	scratch->pointer = THREAD_POINTER(task);
	scratch->at = python_start(scratch, target, known);
	if (scratch->at)
		python_walk(scratch, target);
	else if (!python_pointer(target->runtime + target->interpreters))
		record->head.a = PYTHON_NOT_STARTED;
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < PYTHON_FRESH; i++) {
		if (i >= scratch->fresh_count)
			break;
		python_describe(scratch, target, i);
	}
	if (bpf_ringbuf_output(&stacks, record, PYTHON_SIZE(record), BPF_RB_NO_WAKEUP))
		lose_stack();
	return 0;
}

/* A process is forked: it has the interpreter at the same addresses. */
INLINE void python_fork(u32 parent, u32 child)
{
	struct python_target *target = bpf_map_lookup_elem(&pythons, &parent);
	if (target)
		python_map_update(&pythons, &child, target, 0);
}

/* A process has ended. */
INLINE void python_exit(u32 pid)
{
	python_map_delete(&pythons, &pid);
}

/* A process has executed another program. */
static __attribute__((noinline)) int python_exec(struct task_struct *task)
{
	struct python_file file = {};
	struct python_target target;
	if (!task)
		return 0;
	u32 pid = process_of(task);
	struct mm_struct___python *mm = READ((struct task_struct___python *)task, mm);
	struct file *exe = READ(mm, exe_file);
	struct inode *inode = READ(exe, f_inode);
	struct super_block *sb = READ(inode, i_sb);
	file.ino = READ(inode, i_ino);
	file.dev = READ(sb, s_dev);
	struct python_target *known = bpf_map_lookup_elem(&python_files, &file);
	if (!known) {
		python_map_delete(&pythons, &pid);
		return 0;
	}
	target = *known;
	target.runtime += READ(mm, start_code);
	python_map_update(&pythons, &pid, &target, 0);
	return 0;
}
