#pragma once
#include <stdbool.h>

/// Opens a library of the system, for example "libcurl.so.4", by its absolute path: no variable and no RUNPATH decides
/// which file it is. NULL if no directory of the system has it.
void *lanyard_open_library(const char *name);

/// One of those directories has a file of this name, which may not open for want of another library.
bool lanyard_library_is_there(const char *name);
