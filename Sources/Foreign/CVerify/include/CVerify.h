#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "CAgree.h"
#include "CSign.h"

// Signatures by OpenSSL 3. The first call opens libcrypto, which is not linked: most starts of the agent verify
// nothing. All numbers are big-endian. False for an invalid key or signature, and without libcrypto.

typedef struct {
  const uint8_t *bytes;
  size_t count;
} cverify_span;

typedef enum { cverify_sha256, cverify_sha384, cverify_sha512 } cverify_hash;
typedef enum { cverify_p256, cverify_p384, cverify_p521, cverify_secp256k1 } cverify_curve;

// Writes the digest and returns its length.
enum { cverify_most_digest = 64 };
size_t cverify_digest(cverify_hash hash, cverify_span message, uint8_t *digest);

// RSASSA-PKCS1-v1_5, or RSASSA-PSS with a salt as long as the hash (RFC 7518 §3.3 and §3.5).
bool cverify_rsa(
  cverify_hash hash, bool pss, cverify_span modulus, cverify_span exponent, cverify_span message,
  cverify_span signature);

// ECDSA with SHA-256 on P-256 and secp256k1, SHA-384 on P-384, SHA-512 on P-521; the signature is R and S of full
// length (RFC 7518 §3.4, RFC 8812 §3.2).
bool cverify_ecdsa(cverify_curve curve, cverify_span x, cverify_span y, cverify_span message, cverify_span signature);

// EdDSA with Ed25519 and with Ed448 (RFC 8037 §3.1).
bool cverify_ed25519(cverify_span x, cverify_span message, cverify_span signature);
bool cverify_ed448(cverify_span x, cverify_span message, cverify_span signature);
