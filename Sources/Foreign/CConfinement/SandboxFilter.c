// The filter of system calls for the commands of `lanyard sandbox` (docs/sandbox.md). Namespaces keep them from files, processes
// and the network; it keeps them from the ways around these, and from typing into the terminal.
#define _GNU_SOURCE
#include "CConfinement.h"
#include "FilterProgram.h"

#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

static const int refused[] = {
  // Other processes.
  SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, 438 /* pidfd_getfd */, 440 /* process_madvise */,
  // What faults in the kernel are reached by, and few programs need.
  425 /* io_uring_setup */, 426 /* io_uring_enter */, 427 /* io_uring_register */, SYS_userfaultfd, SYS_bpf,
  SYS_perf_event_open,
  // Mounts, namespaces, files past their paths.
  SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, 428 /* open_tree */, 429 /* move_mount */, 430 /* fsopen */,
  431 /* fsconfig */, 432 /* fsmount */, 433 /* fspick */, 442 /* mount_setattr */, 467 /* open_tree_attr */,
  SYS_setns, SYS_unshare, SYS_open_by_handle_at, SYS_name_to_handle_at, SYS_fanotify_init,
  // The machine.
  SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load, 443 /* quotactl_fd */, SYS_quotactl, SYS_reboot,
  SYS_swapon, SYS_swapoff, SYS_acct, SYS_syslog, SYS_sethostname, SYS_setdomainname, SYS_settimeofday,
  SYS_clock_settime, SYS_adjtimex, SYS_clock_adjtime, SYS_vhangup,
  // The kernel's keyrings, which no namespace parts.
  SYS_add_key, SYS_request_key, SYS_keyctl,
#ifdef SYS_kexec_file_load
  SYS_kexec_file_load,
#endif
#ifdef __x86_64__
  SYS_ioperm, SYS_iopl, SYS_modify_ldt, SYS_uselib,
#endif
};

int lanyard_sandbox_filter(void) {
  struct program program;
  begin_program(&program, refused, sizeof refused / sizeof *refused);
  // Of clone3(2) the flags lie in memory, which a filter can't read; glibc then uses clone(2).
  give_if(&program, BPF_JEQ, clone3_call, unknown);
  unsigned short start = begin(&program, SYS_clone);
  load_argument(&program, 0);
  give_if(
      &program, BPF_JSET,
      CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP, refuse);
  end(&program, start, SECCOMP_RET_ALLOW);
  // No sockets of virtual machines, packets or devices, of which not all are parted by namespaces.
  only_with(
      &program, SYS_socket, 0, VALUES(AF_UNIX, AF_INET, AF_INET6, AF_NETLINK), SECCOMP_RET_ERRNO | EAFNOSUPPORT);
  // Typing into the terminal: TIOCSTI and TIOCLINUX.
  not_with(&program, SYS_ioctl, 1, VALUES(TIOCSTI, 0x541C));
  give(&program, SECCOMP_RET_ALLOW);
  if (program.count > most_instructions) return -E2BIG;
  int file = memfd_create("filter", MFD_CLOEXEC);
  if (file < 0) return -errno;
  size_t size = program.count * sizeof *program.code;
  if (pwrite(file, program.code, size, 0) == (ssize_t)size) return file;
  int error = errno;
  close(file);
  return error ? -error : -EIO;
}
