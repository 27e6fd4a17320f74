#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Private keys of a client (RFC 7523) and of DPoP proofs (RFC 9449), and their signatures, by OpenSSL 3, which the first
// call opens. Numbers are big-endian. NULL, 0 or false for an invalid key or algorithm, and without libcrypto.

typedef struct csign_key csign_key;
typedef struct {
  const uint8_t *bytes;
  size_t count;
} csign_span;

typedef enum { csign_unusable, csign_rsa, csign_p256, csign_p384, csign_ed25519 } csign_kind;
typedef enum { csign_rs256, csign_rs384, csign_rs512, csign_ps256, csign_es256, csign_es384, csign_eddsa } csign_algorithm;

// Reads PEM: PKCS #8, PKCS #1 or SEC 1, without a passphrase.
csign_key *csign_from_pem(csign_span pem);

// The numbers in the order of RFC 7518 §6.3: n, e, d, p, q, dp, dq, qi.
csign_key *csign_from_rsa(const csign_span numbers[8]);

// `curve` is csign_p256 or csign_p384; coordinates and scalar have the curve's full length.
csign_key *csign_from_ec(csign_kind curve, csign_span x, csign_span y, csign_span scalar);
csign_key *csign_from_ed25519(csign_span seed);

// The kind of the key, if its two halves match and it is strong enough (RFC 7518 §3.3: RSA of 2048 bits).
csign_kind csign_kind_of(const csign_key *key);

// Writes the signature in its JOSE form and returns its length. Never more than `csign_most` bytes.
enum { csign_most = 1024 };
size_t csign_sign(const csign_key *key, csign_algorithm algorithm, csign_span message, uint8_t *signature);

void csign_free(csign_key *key);

// The public half of a private number on P-256, in constant time. False if the number is 0 or not below the order of the
// curve: the caller draws another one (FIPS 186-5, appendix A.2.2).
enum { csign_p256_bytes = 32 };
bool csign_p256_public(csign_span scalar, uint8_t x[csign_p256_bytes], uint8_t y[csign_p256_bytes]);
