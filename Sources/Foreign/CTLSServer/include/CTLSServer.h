// A certificate authority that lives in memory, and TLS connections that end at it (README.md).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// An authority: a key on P-256 and its certificate, which is constrained to the hosts that it was made for.
typedef struct ctls_authority ctls_authority;
/// A host's certificate and its key, ready to serve.
typedef struct ctls_leaf ctls_leaf;
/// One connection.
typedef struct ctls_session ctls_session;

/// Opens the system's libssl. False if OpenSSL 3 is missing; nothing can be made then.
bool ctls_open(void);

/// Makes an authority for `hosts`, each a DNS name or an IP address as text. NULL if there is no host, one is
/// neither, or `ctls_open` is false.
/// Its certificate permits these hosts and names below them, and no other name and address (RFC 5280 section 4.2.1.10).
ctls_authority *ctls_authority_make(const char *const *hosts, size_t count, long valid_seconds);
void ctls_authority_free(ctls_authority *authority);
/// Copies the certificate in PEM: the number of its bytes, also if `capacity` is too small for it. 0 for a failure.
size_t ctls_authority_certificate(const ctls_authority *authority, char *pem, size_t capacity);

/// Makes a certificate for one host. NULL for a failure. Does not check the authority's constraints: clients do.
ctls_leaf *ctls_leaf_make(const ctls_authority *authority, const char *host, long valid_seconds);
void ctls_leaf_free(ctls_leaf *leaf);
/// Copies the leaf's certificate in PEM, as `ctls_authority_certificate`.
size_t ctls_leaf_certificate(const ctls_leaf *leaf, char *pem, size_t capacity);

/// Results of the calls on a session that are no number of bytes.
enum {
  /// The peer ended the connection in order.
  CTLS_CLOSED = 0,
  /// Call again once the socket can be read.
  CTLS_WANTS_READ = -1,
  /// Call again once the socket can be written.
  CTLS_WANTS_WRITE = -2,
  /// The connection is of no use any more: also where the peer cut it off.
  CTLS_FAILED = -3,
};

/// A server's session over a non-blocking socket, which stays the caller's. It keeps `leaf` alive. NULL for a failure.
ctls_session *ctls_session_make(const ctls_leaf *leaf, int socket);
void ctls_session_free(ctls_session *session);
/// Goes on with the handshake: 1 once it is complete.
int ctls_session_accept(ctls_session *session);
/// The name that the client asked for (RFC 6066 section 3); NULL if it named none. Valid as long as the session.
const char *ctls_session_name(const ctls_session *session);
ssize_t ctls_session_read(ctls_session *session, void *bytes, size_t capacity);
ssize_t ctls_session_write(ctls_session *session, const void *bytes, size_t count);
/// Tells the peer that nothing follows.
void ctls_session_close(ctls_session *session);
