// libcrypto, opened when it is first needed. A file that includes this defines FUNCTIONS(X) before, the list of the
// functions it calls; `crypto` holds them once `open_crypto` has returned true.
#include "CLibraries.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>

static struct {
#define DECLARE(name) typeof(&name) name;
  FUNCTIONS(DECLARE)
} crypto;
static bool is_open;

static void open_once(void) {
  void *library = lanyard_open_library("libcrypto.so.3");
  if (!library) return;
#define RESOLVE(name) if (!(crypto.name = (typeof(crypto.name))dlsym(library, #name))) return;
  FUNCTIONS(RESOLVE)
  is_open = true;
}

static bool open_crypto(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, open_once);
  return is_open;
}
