// libssl, and libcrypto that it brings, opened when they are first needed. The file that includes this defines
// FUNCTIONS(X) before, the list of the functions it calls; `tls` holds them once `open_tls` has returned true.
#include "CLibraries.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>

static struct {
#define DECLARE(name) typeof(&name) name;
  FUNCTIONS(DECLARE)
} tls;
static bool is_open;

static void open_once(void) {
  void *library = lanyard_open_library("libssl.so.3");
  if (!library) return;
  // The search goes on in the libraries that libssl depends on.
#define RESOLVE(name) if (!(tls.name = (typeof(tls.name))dlsym(library, #name))) return;
  FUNCTIONS(RESOLVE)
  is_open = true;
}

static bool open_tls(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, open_once);
  return is_open;
}
