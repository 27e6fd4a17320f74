// Writing a filter of system calls (seccomp(2)): for Filter.c and SandboxFilter.c.
#pragma once

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "Name the audit architecture, and check which calls it has."
#endif

enum {
  // Calls of the x32 interface have this bit set.
  first_x32_call = 0x40000000,
  // open_tree_attr of Linux 6.15. glibc takes ENOSYS for an older kernel and uses an older call.
  last_known_call = 467,
  clone3_call = 435,
};

// Bytes of a program that is being written.
enum { most_instructions = 400 };
struct program {
  struct sock_filter code[most_instructions];
  unsigned short count;
};

// A program that does not fit has one instruction more than there is room for, and is not installed.
static inline void emit(struct program *program, struct sock_filter instruction) {
  if (program->count < most_instructions) program->code[program->count] = instruction;
  if (program->count <= most_instructions) program->count++;
}

static inline void give(struct program *program, uint32_t verdict) {
  emit(program, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, verdict));
}

static inline void load(struct program *program, size_t offset) {
  emit(program, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

// The low half of an argument: the kernel reads these as int, or knows no flag in the upper half. Both architectures are
// little-endian.
static inline void load_argument(struct program *program, int number) {
  load(program, offsetof(struct seccomp_data, args) + 8 * (size_t)number);
}

// If the loaded word passes the test, `verdict`; else the program goes on.
static inline void give_if(struct program *program, unsigned short test, uint32_t operand, uint32_t verdict) {
  emit(program, (struct sock_filter)BPF_JUMP(BPF_JMP | test | BPF_K, operand, 0, 1));
  give(program, verdict);
}

enum { refuse = SECCOMP_RET_ERRNO | EPERM, unknown = SECCOMP_RET_ERRNO | ENOSYS };

// Begins what is asked of the arguments of a call; `end` ends it, and sets the length of the jump over it.
static inline unsigned short begin(struct program *program, int call) {
  emit(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 0));
  return program->count;
}

static inline void end(struct program *program, unsigned short start, uint32_t otherwise) {
  give(program, otherwise);
  if (start <= most_instructions) program->code[start - 1].jf = (uint8_t)(program->count - start);
}

// A call that is allowed only with one of these values of an argument.
static inline void only_with(
    struct program *program, int call, int argument, const uint32_t *values, size_t count, uint32_t otherwise) {
  unsigned short start = begin(program, call);
  load_argument(program, argument);
  for (size_t index = 0; index < count; index++) give_if(program, BPF_JEQ, values[index], SECCOMP_RET_ALLOW);
  end(program, start, otherwise);
}

// A call that is refused if all of `bits` are set in an argument.
static inline void not_with_all(struct program *program, int call, int argument, uint32_t bits) {
  unsigned short start = begin(program, call);
  load_argument(program, argument);
  emit(program, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, bits));
  give_if(program, BPF_JEQ, bits, refuse);
  end(program, start, SECCOMP_RET_ALLOW);
}

// A call that is refused with one of these values of an argument.
static inline void not_with(struct program *program, int call, int argument, const uint32_t *values, size_t count) {
  unsigned short start = begin(program, call);
  load_argument(program, argument);
  for (size_t index = 0; index < count; index++) give_if(program, BPF_JEQ, values[index], refuse);
  end(program, start, SECCOMP_RET_ALLOW);
}

#define VALUES(...) (const uint32_t[]){__VA_ARGS__}, sizeof(uint32_t[]){__VA_ARGS__} / sizeof(uint32_t)

// Begins a program: another architecture ends the process, x32 and calls of later kernels are refused, and so are those of the
// list.
static inline void begin_program(struct program *program, const int *refused, size_t count) {
  program->count = 0;
  load(program, offsetof(struct seccomp_data, arch));
  emit(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0));
  give(program, SECCOMP_RET_KILL_PROCESS);
  load(program, offsetof(struct seccomp_data, nr));
  give_if(program, BPF_JGE, first_x32_call, refuse);
  give_if(program, BPF_JGT, last_known_call, unknown);
  for (size_t index = 0; index < count; index++) give_if(program, BPF_JEQ, (uint32_t)refused[index], refuse);
}

// Puts a program in force for all threads. 0 or a negative errno.
static inline int install(struct program *program) {
  if (program->count > most_instructions) return -E2BIG;
  struct sock_fprog whole = {.len = program->count, .filter = program->code};
  // A positive result is the id of a thread that can't be filtered.
  long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &whole);
  return result < 0 ? -errno : result > 0 ? -ESRCH : 0;
}
