#include "CTLSServer.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Macros and inline functions of the headers would call what is not linked: what they call is called here.
#define FUNCTIONS(X) X(ASN1_STRING_set) X(BIO_ctrl) X(BIO_free) X(BIO_new) X(BIO_s_mem) X(BN_bin2bn) \
  X(BN_free) X(BN_to_ASN1_INTEGER) X(ERR_clear_error) X(EVP_PKEY_Q_keygen) X(EVP_PKEY_free) X(EVP_sha256) \
  X(NAME_CONSTRAINTS_free) X(OPENSSL_sk_num) X(OPENSSL_sk_value) X(PEM_write_bio_X509) X(RAND_bytes) \
  X(SSL_CTX_ctrl) X(SSL_CTX_free) X(SSL_CTX_get0_certificate) X(SSL_CTX_new) X(SSL_CTX_set_alpn_select_cb) \
  X(SSL_CTX_set_num_tickets) X(SSL_CTX_set_options) X(SSL_CTX_use_PrivateKey) X(SSL_CTX_use_certificate) \
  X(SSL_do_handshake) X(SSL_free) X(SSL_get_error) X(SSL_get_servername) X(SSL_new) \
  X(SSL_read_ex) X(SSL_select_next_proto) X(SSL_set_accept_state) X(SSL_set_fd) X(SSL_shutdown) \
  X(SSL_write_ex) X(TLS_server_method) X(X509V3_EXT_conf_nid) X(X509V3_EXT_d2i) X(X509V3_set_ctx) \
  X(X509_EXTENSION_free) X(X509_NAME_add_entry_by_txt) X(X509_add1_ext_i2d) X(X509_add_ext) X(X509_free) \
  X(X509_get_serialNumber) X(X509_get_subject_name) X(X509_getm_notAfter) X(X509_getm_notBefore) \
  X(X509_gmtime_adj) X(X509_new) X(X509_set_issuer_name) X(X509_set_pubkey) X(X509_set_version) X(X509_sign)
#include "TLSLibrary.h"

struct ctls_authority {
  EVP_PKEY *key;
  X509 *certificate;
};

bool ctls_open(void) { return open_tls(); }

// ---- Certificates ----------------------------------------------------------------------------------------------

enum { most_host_bytes = 253 };
// A certificate is good a while before it is made, for clients in a container whose clock is behind.
static const long backdated_seconds = 300;

static bool is_name(const char *host) {
  size_t count = strlen(host);
  return count > 0 && count <= most_host_bytes
         && strspn(host, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.") == count;
}

/// 4 or 16 for an address, 0 for a name, -1 for neither.
static int family_of(const char *host) {
  unsigned char address[16];
  if (inet_pton(AF_INET, host, address) == 1) return 4;
  if (inet_pton(AF_INET6, host, address) == 1) return 16;
  return is_name(host) ? 0 : -1;
}

static bool extend(X509 *certificate, X509 *issuer, int kind, const char *value) {
  X509V3_CTX context;
  tls.X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
  X509V3_set_ctx_nodb(&context);
  X509_EXTENSION *extension = tls.X509V3_EXT_conf_nid(NULL, &context, kind, value);
  bool extended = extension && tls.X509_add_ext(certificate, extension, -1) == 1;
  tls.X509_EXTENSION_free(extension);
  return extended;
}

/// A certificate with everything but its issuer and its extensions. The subject differs in each run.
static X509 *draft(EVP_PKEY *key, const char *role, long valid_seconds) {
  X509 *certificate = tls.X509_new();
  unsigned char random[16];
  char name[64];
  if (!certificate || tls.RAND_bytes(random, sizeof random) != 1) goto failed;
  // RFC 5280 section 4.1.2.2: positive, 20 octets at most.
  random[0] = (random[0] & 0x7F) | 0x40;
  BIGNUM *number = tls.BN_bin2bn(random, sizeof random, NULL);
  bool numbered = number && tls.BN_to_ASN1_INTEGER(number, tls.X509_get_serialNumber(certificate));
  tls.BN_free(number);
  // With blanks: no client takes it for the name of a host.
  int length = snprintf(
    name, sizeof name, "Lanyard proxy, %s %02x%02x%02x%02x", role, random[1], random[2], random[3], random[4]);
  if (!numbered || length < 0 || tls.X509_set_version(certificate, X509_VERSION_3) != 1
      || !tls.X509_gmtime_adj(tls.X509_getm_notBefore(certificate), -backdated_seconds)
      || !tls.X509_gmtime_adj(tls.X509_getm_notAfter(certificate), valid_seconds)
      || tls.X509_set_pubkey(certificate, key) != 1
      || tls.X509_NAME_add_entry_by_txt(
           tls.X509_get_subject_name(certificate), "CN", MBSTRING_UTF8, (const unsigned char *)name, -1, -1, 0) != 1) {
    goto failed;
  }
  return certificate;
failed:
  tls.X509_free(certificate);
  return NULL;
}

/// Permits the hosts. A kind of name without a permitted one is excluded whole, since a list for one kind says nothing
/// of another (RFC 5280 section 4.2.1.10).
static char *constraints(const char *const *hosts, size_t count) {
  size_t capacity = 256;
  for (size_t index = 0; index < count; index++) capacity += strlen(hosts[index]) + 80;
  char *text = calloc(1, capacity);
  if (!text) return NULL;
  bool has_name = false, has_ipv4 = false, has_ipv6 = false;
  size_t used = (size_t)snprintf(text, capacity, "critical");
  for (size_t index = 0; index < count; index++) {
    const char *host = hosts[index];
    switch (family_of(host)) {
    case 0:
      used += (size_t)snprintf(text + used, capacity - used, ",permitted;DNS:%s", host);
      has_name = true;
      break;
    case 4:
      used += (size_t)snprintf(text + used, capacity - used, ",permitted;IP:%s/255.255.255.255", host);
      has_ipv4 = true;
      break;
    case 16:
      used += (size_t)snprintf(
        text + used, capacity - used, ",permitted;IP:%s/ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", host);
      has_ipv6 = true;
      break;
    default: free(text); return NULL;
    }
  }
  if (!has_name) used += (size_t)snprintf(text + used, capacity - used, ",excluded;DNS:.");
  if (!has_ipv4) used += (size_t)snprintf(text + used, capacity - used, ",excluded;IP:0.0.0.0/0.0.0.0");
  if (!has_ipv6) used += (size_t)snprintf(text + used, capacity - used, ",excluded;IP:::/::");
  return text;
}

/// `DNS:.` in a text stands for all names, which are an empty name in the certificate; no text can say that.
static bool constrain(X509 *certificate, const char *text) {
  X509V3_CTX context;
  tls.X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
  X509V3_set_ctx_nodb(&context);
  X509_EXTENSION *parsed = tls.X509V3_EXT_conf_nid(NULL, &context, NID_name_constraints, text);
  NAME_CONSTRAINTS *names = parsed ? tls.X509V3_EXT_d2i(parsed) : NULL;
  bool done = names != NULL;
  const OPENSSL_STACK *excluded = done ? (const OPENSSL_STACK *)names->excludedSubtrees : NULL;
  for (int index = 0; done && index < tls.OPENSSL_sk_num(excluded); index++) {
    GENERAL_NAME *base = ((GENERAL_SUBTREE *)tls.OPENSSL_sk_value(excluded, index))->base;
    if (base->type == GEN_DNS) done = tls.ASN1_STRING_set(base->d.dNSName, "", 0) == 1;
  }
  done = done && tls.X509_add1_ext_i2d(certificate, NID_name_constraints, names, 1, X509V3_ADD_APPEND) == 1;
  tls.NAME_CONSTRAINTS_free(names);
  tls.X509_EXTENSION_free(parsed);
  return done;
}

ctls_authority *ctls_authority_make(const char *const *hosts, size_t count, long valid_seconds) {
  if (count == 0 || !open_tls()) return NULL;
  char *names = constraints(hosts, count);
  ctls_authority *authority = calloc(1, sizeof *authority);
  if (!names || !authority) goto failed;
  authority->key = tls.EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
  X509 *certificate = authority->certificate = authority->key ? draft(authority->key, "run", valid_seconds) : NULL;
  if (!certificate || tls.X509_set_issuer_name(certificate, tls.X509_get_subject_name(certificate)) != 1
      || !extend(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE,pathlen:0")
      || !extend(certificate, certificate, NID_key_usage, "critical,keyCertSign")
      || !extend(certificate, certificate, NID_subject_key_identifier, "hash")
      || !extend(certificate, certificate, NID_authority_key_identifier, "keyid:always")
      || !constrain(certificate, names) || tls.X509_sign(certificate, authority->key, tls.EVP_sha256()) == 0) {
    goto failed;
  }
  free(names);
  return authority;
failed:
  tls.ERR_clear_error();
  free(names);
  ctls_authority_free(authority);
  return NULL;
}

void ctls_authority_free(ctls_authority *authority) {
  if (!authority) return;
  tls.X509_free(authority->certificate);
  tls.EVP_PKEY_free(authority->key);
  free(authority);
}

static size_t copy_pem(X509 *certificate, char *pem, size_t capacity) {
  BIO *memory = tls.BIO_new(tls.BIO_s_mem());
  char *bytes = NULL;
  size_t count = 0;
  if (memory && tls.PEM_write_bio_X509(memory, certificate) == 1) {
    long length = tls.BIO_ctrl(memory, BIO_CTRL_INFO, 0, &bytes);
    if (length > 0) count = (size_t)length;
    if (count <= capacity) memcpy(pem, bytes, count);
  }
  tls.BIO_free(memory);
  tls.ERR_clear_error();
  return count;
}

size_t ctls_authority_certificate(const ctls_authority *authority, char *pem, size_t capacity) {
  return copy_pem(authority->certificate, pem, capacity);
}

// ---- Leaves ----------------------------------------------------------------------------------------------------

/// RFC 7301 section 3.2: a client that offers protocols and not HTTP/1.1 is refused.
static int choose_protocol(
  SSL *ssl, const unsigned char **chosen, unsigned char *length, const unsigned char *offered, unsigned int count,
  void *context) {
  (void)ssl;
  (void)context;
  static const unsigned char served[] = "\x08http/1.1";
  unsigned char *found;
  if (tls.SSL_select_next_proto(&found, length, served, sizeof served - 1, offered, count) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

static X509 *certificate_for(const ctls_authority *authority, EVP_PKEY *key, const char *host, long valid_seconds) {
  int family = family_of(host);
  char name[most_host_bytes + 8];
  int length = snprintf(name, sizeof name, "%s:%s", family == 0 ? "DNS" : "IP", host);
  if (family < 0 || length < 0 || (size_t)length >= sizeof name) return NULL;
  X509 *issuer = authority->certificate;
  X509 *certificate = draft(key, "host", valid_seconds);
  if (certificate && tls.X509_set_issuer_name(certificate, tls.X509_get_subject_name(issuer)) == 1
      && extend(certificate, issuer, NID_basic_constraints, "critical,CA:FALSE")
      && extend(certificate, issuer, NID_key_usage, "critical,digitalSignature")
      && extend(certificate, issuer, NID_ext_key_usage, "serverAuth")
      && extend(certificate, issuer, NID_subject_key_identifier, "hash")
      && extend(certificate, issuer, NID_authority_key_identifier, "keyid:always")
      && extend(certificate, issuer, NID_subject_alt_name, name)
      && tls.X509_sign(certificate, authority->key, tls.EVP_sha256()) != 0) {
    return certificate;
  }
  tls.X509_free(certificate);
  return NULL;
}

// A leaf is an SSL_CTX, which counts its references.
ctls_leaf *ctls_leaf_make(const ctls_authority *authority, const char *host, long valid_seconds) {
  EVP_PKEY *key = tls.EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
  X509 *certificate = key ? certificate_for(authority, key, host, valid_seconds) : NULL;
  SSL_CTX *context = certificate ? tls.SSL_CTX_new(tls.TLS_server_method()) : NULL;
  bool made = context && tls.SSL_CTX_use_certificate(context, certificate) == 1
              && tls.SSL_CTX_use_PrivateKey(context, key) == 1
              && tls.SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL) == 1
              && tls.SSL_CTX_set_num_tickets(context, 0) == 1;
  tls.X509_free(certificate);
  tls.EVP_PKEY_free(key);
  if (!made) {
    tls.ERR_clear_error();
    tls.SSL_CTX_free(context);
    return NULL;
  }
  tls.SSL_CTX_set_options(
    context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CLEANSE_PLAINTEXT);
  tls.SSL_CTX_ctrl(context, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, NULL);
  tls.SSL_CTX_ctrl(
    context, SSL_CTRL_MODE,
    SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS, NULL);
  tls.SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
  return (ctls_leaf *)context;
}

void ctls_leaf_free(ctls_leaf *leaf) { tls.SSL_CTX_free((SSL_CTX *)leaf); }

size_t ctls_leaf_certificate(const ctls_leaf *leaf, char *pem, size_t capacity) {
  return copy_pem(tls.SSL_CTX_get0_certificate((const SSL_CTX *)leaf), pem, capacity);
}

// ---- Sessions --------------------------------------------------------------------------------------------------

// A session is an SSL.
ctls_session *ctls_session_make(const ctls_leaf *leaf, int socket) {
  SSL *ssl = tls.SSL_new((SSL_CTX *)leaf);
  if (ssl && tls.SSL_set_fd(ssl, socket) == 1) {
    tls.SSL_set_accept_state(ssl);
    return (ctls_session *)ssl;
  }
  tls.SSL_free(ssl);
  tls.ERR_clear_error();
  return NULL;
}

void ctls_session_free(ctls_session *session) { tls.SSL_free((SSL *)session); }

static int failure(SSL *ssl, int result) {
  int error = tls.SSL_get_error(ssl, result);
  tls.ERR_clear_error();
  switch (error) {
  case SSL_ERROR_ZERO_RETURN: return CTLS_CLOSED;
  case SSL_ERROR_WANT_READ: return CTLS_WANTS_READ;
  case SSL_ERROR_WANT_WRITE: return CTLS_WANTS_WRITE;
  default: return CTLS_FAILED;
  }
}

int ctls_session_accept(ctls_session *session) {
  int result = tls.SSL_do_handshake((SSL *)session);
  return result == 1 ? 1 : failure((SSL *)session, result);
}

const char *ctls_session_name(const ctls_session *session) {
  return tls.SSL_get_servername((const SSL *)session, TLSEXT_NAMETYPE_host_name);
}

ssize_t ctls_session_read(ctls_session *session, void *bytes, size_t capacity) {
  size_t count = 0;
  int result = tls.SSL_read_ex((SSL *)session, bytes, capacity, &count);
  return result == 1 ? (ssize_t)count : failure((SSL *)session, result);
}

ssize_t ctls_session_write(ctls_session *session, const void *bytes, size_t count) {
  size_t written = 0;
  int result = tls.SSL_write_ex((SSL *)session, bytes, count, &written);
  return result == 1 ? (ssize_t)written : failure((SSL *)session, result);
}

void ctls_session_close(ctls_session *session) {
  tls.SSL_shutdown((SSL *)session);
  tls.ERR_clear_error();
}
