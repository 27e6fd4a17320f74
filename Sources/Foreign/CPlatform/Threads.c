#define _GNU_SOURCE
#include "CPlatform.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

// Enough for a TLS handshake of OpenSSL, for a JSON line of the deepest nesting and for a handler that signs a token.
// Only the pages that a thread touches cost memory.
enum { stack_bytes = 1 << 20 };

struct start {
  void (*body)(void *);
  void *context;
};

static void *run(void *argument) {
  struct start start = *(struct start *)argument;
  free(argument);
  start.body(start.context);
  // Last: a function that is called for the first time is bound by the dynamic linker, which saves the vector registers
  // on the stack, and they may hold the last bytes that were copied.
  lanyard_wipe_stack(LANYARD_STACK_OF_LIBRARIES);
  return NULL;
}

int lanyard_start_thread(void (*body)(void *), void *context) {
  struct start *start = malloc(sizeof *start);
  if (!start) return -ENOMEM;
  *start = (struct start){body, context};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  sigset_t all;
  sigfillset(&all);
  pthread_attr_setsigmask_np(&attributes, &all);
  pthread_t thread;
  int failure = pthread_create(&thread, &attributes, run, start);
  pthread_attr_destroy(&attributes);
  if (failure) free(start);
  return -failure;
}

__attribute__((noinline)) void lanyard_wipe_stack(size_t bytes) {
  char below[bytes];
  explicit_bzero(below, bytes);
  // Its address escapes, so that the compiler keeps the array.
  __asm__ volatile("" : : "r"(below) : "memory");
  lanyard_clear_registers();
}
