#pragma once

#include <sqlite3.h>

// Calls that Swift cannot make: variadic functions, and macros with casts.

/// sqlite3_db_config for the options that are on or off.
static inline int lanyard_sqlite3_switch(sqlite3 *database, int option, int on) {
  return sqlite3_db_config(database, option, on, (int *)0);
}

/// sqlite3_bind_blob64 with a copy; 0 bytes are an empty blob, not NULL.
static inline int lanyard_sqlite3_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
  return count == 0 ? sqlite3_bind_zeroblob(statement, index, 0)
                    : sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_TRANSIENT);
}

/// sqlite3_bind_text64 in UTF-8 with a copy.
static inline int lanyard_sqlite3_bind_text(sqlite3_stmt *statement, int index, const char *text, sqlite3_uint64 count) {
  return sqlite3_bind_text64(statement, index, text ? text : "", count, SQLITE_TRANSIENT, SQLITE_UTF8);
}
