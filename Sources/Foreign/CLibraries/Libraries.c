#include "CLibraries.h"

#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

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

enum { COUNT = sizeof directories / sizeof *directories };
typedef char library_path[256];

static bool name_path(library_path path, size_t index, const char *name) {
  int length = snprintf(path, sizeof(library_path), "%s/%s", directories[index], name);
  return length > 0 && (size_t)length < sizeof(library_path);
}

void *lanyard_open_library(const char *name) {
  library_path path;
  for (size_t index = 0; index < COUNT && name_path(path, index, name); index++) {
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (library) return library;
  }
  return NULL;
}

bool lanyard_library_is_there(const char *name) {
  library_path path;
  for (size_t index = 0; index < COUNT && name_path(path, index, name); index++) {
    if (access(path, R_OK) == 0) return true;
  }
  return false;
}
