#include "CLibraries.h"

#include <dlfcn.h>
#include <stdio.h>

#if defined(__x86_64__)
#define MULTIARCH "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define MULTIARCH "aarch64-linux-gnu"
#else
#error "Name Debian's directory of this architecture."
#endif

// The directories of Debian and its kin, then those of Fedora and others. A library of another architecture does not
// open, and the search goes on.
static const char *const directories[] = {
  "/usr/lib/" MULTIARCH, "/lib/" MULTIARCH, "/usr/lib64", "/lib64", "/usr/lib", "/lib",
};

void *lanyard_open_library(const char *name) {
  for (size_t index = 0; index < sizeof directories / sizeof *directories; index++) {
    char path[256];
    int length = snprintf(path, sizeof path, "%s/%s", directories[index], name);
    if (length < 0 || (size_t)length >= sizeof path) return NULL;
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (library) return library;
  }
  return NULL;
}
