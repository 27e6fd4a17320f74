#pragma once

#include <stddef.h>

/// A program that links this module answers `lanyard token NAME` before Swift's runtime starts, if it can (README.md).

/// A request for a token that was sent, and whose answer the program has to read.
struct lanyard_begun_request {
  /// The connection to the agent; -1 if no request was sent. The caller closes it.
  int connection;
  /// The beginning of the answer, which the caller wipes.
  const void *received;
  size_t count;
  /// The milliseconds for which no byte of an answer came.
  int waited;
};

/// The id of that request, and the milliseconds after which the program waits for its answer itself.
enum { lanyard_begun_request_id = 1, lanyard_begun_request_patience = 2000 };

/// Returns the request that was begun, once.
struct lanyard_begun_request lanyard_take_begun_request(void);
/// Wipes the beginning of its answer.
void lanyard_wipe_begun_request(void);
