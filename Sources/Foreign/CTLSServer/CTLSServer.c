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

struct ctls_authority {
  EVP_PKEY *key;
  X509 *certificate;
};

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
  X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
  X509V3_set_ctx_nodb(&context);
  X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
  bool extended = extension && X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return extended;
}

/// A certificate with everything but its issuer and its extensions. The subject differs in each run.
static X509 *draft(EVP_PKEY *key, const char *role, long valid_seconds) {
  X509 *certificate = X509_new();
  unsigned char random[16];
  char name[64];
  if (!certificate || RAND_bytes(random, sizeof random) != 1) goto failed;
  // RFC 5280 section 4.1.2.2: positive, 20 octets at most.
  random[0] = (random[0] & 0x7F) | 0x40;
  BIGNUM *number = BN_bin2bn(random, sizeof random, NULL);
  bool numbered = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate));
  BN_free(number);
  // With blanks: no client takes it for the name of a host.
  int length = snprintf(
    name, sizeof name, "Lanyard proxy, %s %02x%02x%02x%02x", role, random[1], random[2], random[3], random[4]);
  if (!numbered || length < 0 || X509_set_version(certificate, X509_VERSION_3) != 1
      || !X509_gmtime_adj(X509_getm_notBefore(certificate), -backdated_seconds)
      || !X509_gmtime_adj(X509_getm_notAfter(certificate), valid_seconds) || X509_set_pubkey(certificate, key) != 1
      || X509_NAME_add_entry_by_txt(
           X509_get_subject_name(certificate), "CN", MBSTRING_UTF8, (const unsigned char *)name, -1, -1, 0) != 1) {
    goto failed;
  }
  return certificate;
failed:
  X509_free(certificate);
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
  X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
  X509V3_set_ctx_nodb(&context);
  X509_EXTENSION *parsed = X509V3_EXT_conf_nid(NULL, &context, NID_name_constraints, text);
  NAME_CONSTRAINTS *names = parsed ? X509V3_EXT_d2i(parsed) : NULL;
  bool done = names != NULL;
  for (int index = 0; done && index < sk_GENERAL_SUBTREE_num(names->excludedSubtrees); index++) {
    GENERAL_NAME *base = sk_GENERAL_SUBTREE_value(names->excludedSubtrees, index)->base;
    if (base->type == GEN_DNS) done = ASN1_STRING_set(base->d.dNSName, "", 0) == 1;
  }
  done = done && X509_add1_ext_i2d(certificate, NID_name_constraints, names, 1, X509V3_ADD_APPEND) == 1;
  NAME_CONSTRAINTS_free(names);
  X509_EXTENSION_free(parsed);
  return done;
}

ctls_authority *ctls_authority_make(const char *const *hosts, size_t count, long valid_seconds) {
  if (count == 0) return NULL;
  char *names = constraints(hosts, count);
  ctls_authority *authority = calloc(1, sizeof *authority);
  if (!names || !authority) goto failed;
  authority->key = EVP_EC_gen("P-256");
  X509 *certificate = authority->certificate = authority->key ? draft(authority->key, "run", valid_seconds) : NULL;
  if (!certificate || X509_set_issuer_name(certificate, X509_get_subject_name(certificate)) != 1
      || !extend(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE,pathlen:0")
      || !extend(certificate, certificate, NID_key_usage, "critical,keyCertSign")
      || !extend(certificate, certificate, NID_subject_key_identifier, "hash")
      || !extend(certificate, certificate, NID_authority_key_identifier, "keyid:always")
      || !constrain(certificate, names) || X509_sign(certificate, authority->key, EVP_sha256()) == 0) {
    goto failed;
  }
  free(names);
  return authority;
failed:
  ERR_clear_error();
  free(names);
  ctls_authority_free(authority);
  return NULL;
}

void ctls_authority_free(ctls_authority *authority) {
  if (!authority) return;
  X509_free(authority->certificate);
  EVP_PKEY_free(authority->key);
  free(authority);
}

static size_t copy_pem(X509 *certificate, char *pem, size_t capacity) {
  BIO *memory = BIO_new(BIO_s_mem());
  char *bytes = NULL;
  size_t count = 0;
  if (memory && PEM_write_bio_X509(memory, certificate) == 1) {
    long length = BIO_get_mem_data(memory, &bytes);
    if (length > 0) count = (size_t)length;
    if (count <= capacity) memcpy(pem, bytes, count);
  }
  BIO_free(memory);
  ERR_clear_error();
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
  if (SSL_select_next_proto(&found, length, served, sizeof served - 1, offered, count) != OPENSSL_NPN_NEGOTIATED)
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
  if (certificate && X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1
      && extend(certificate, issuer, NID_basic_constraints, "critical,CA:FALSE")
      && extend(certificate, issuer, NID_key_usage, "critical,digitalSignature")
      && extend(certificate, issuer, NID_ext_key_usage, "serverAuth")
      && extend(certificate, issuer, NID_subject_key_identifier, "hash")
      && extend(certificate, issuer, NID_authority_key_identifier, "keyid:always")
      && extend(certificate, issuer, NID_subject_alt_name, name)
      && X509_sign(certificate, authority->key, EVP_sha256()) != 0) {
    return certificate;
  }
  X509_free(certificate);
  return NULL;
}

// A leaf is an SSL_CTX, which counts its references.
ctls_leaf *ctls_leaf_make(const ctls_authority *authority, const char *host, long valid_seconds) {
  EVP_PKEY *key = EVP_EC_gen("P-256");
  X509 *certificate = key ? certificate_for(authority, key, host, valid_seconds) : NULL;
  SSL_CTX *context = certificate ? SSL_CTX_new(TLS_server_method()) : NULL;
  bool made = context && SSL_CTX_use_certificate(context, certificate) == 1
              && SSL_CTX_use_PrivateKey(context, key) == 1
              && SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1
              && SSL_CTX_set_num_tickets(context, 0) == 1;
  X509_free(certificate);
  EVP_PKEY_free(key);
  if (!made) {
    ERR_clear_error();
    SSL_CTX_free(context);
    return NULL;
  }
  SSL_CTX_set_options(
    context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CLEANSE_PLAINTEXT);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(
    context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
  return (ctls_leaf *)context;
}

void ctls_leaf_free(ctls_leaf *leaf) { SSL_CTX_free((SSL_CTX *)leaf); }

size_t ctls_leaf_certificate(const ctls_leaf *leaf, char *pem, size_t capacity) {
  return copy_pem(SSL_CTX_get0_certificate((const SSL_CTX *)leaf), pem, capacity);
}

// ---- Sessions --------------------------------------------------------------------------------------------------

// A session is an SSL.
ctls_session *ctls_session_make(const ctls_leaf *leaf, int socket) {
  SSL *ssl = SSL_new((SSL_CTX *)leaf);
  if (ssl && SSL_set_fd(ssl, socket) == 1) {
    SSL_set_accept_state(ssl);
    return (ctls_session *)ssl;
  }
  SSL_free(ssl);
  ERR_clear_error();
  return NULL;
}

void ctls_session_free(ctls_session *session) { SSL_free((SSL *)session); }

static int failure(SSL *ssl, int result) {
  int error = SSL_get_error(ssl, result);
  ERR_clear_error();
  switch (error) {
  case SSL_ERROR_ZERO_RETURN: return CTLS_CLOSED;
  case SSL_ERROR_WANT_READ: return CTLS_WANTS_READ;
  case SSL_ERROR_WANT_WRITE: return CTLS_WANTS_WRITE;
  default: return CTLS_FAILED;
  }
}

int ctls_session_accept(ctls_session *session) {
  int result = SSL_do_handshake((SSL *)session);
  return result == 1 ? 1 : failure((SSL *)session, result);
}

const char *ctls_session_name(const ctls_session *session) {
  return SSL_get_servername((const SSL *)session, TLSEXT_NAMETYPE_host_name);
}

ssize_t ctls_session_read(ctls_session *session, void *bytes, size_t capacity) {
  size_t count = 0;
  int result = SSL_read_ex((SSL *)session, bytes, capacity, &count);
  return result == 1 ? (ssize_t)count : failure((SSL *)session, result);
}

ssize_t ctls_session_write(ctls_session *session, const void *bytes, size_t count) {
  size_t written = 0;
  int result = SSL_write_ex((SSL *)session, bytes, count, &written);
  return result == 1 ? (ssize_t)written : failure((SSL *)session, result);
}

bool ctls_session_has_pending(const ctls_session *session) { return SSL_pending((const SSL *)session) > 0; }

void ctls_session_close(ctls_session *session) {
  SSL_shutdown((SSL *)session);
  ERR_clear_error();
}
