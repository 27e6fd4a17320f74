#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The session algorithm dh-ietf1024-sha256-aes128-cbc-pkcs7 of the Secret Service API, by OpenSSL 3, which the first
// call opens. It hides secrets from programs that listen on the bus. The group is small, but an attacker who is able to
// break it from the bus's memory could also ask the service. Numbers are big-endian. Results are written to the
// caller's memory and kept nowhere else.

enum { cagree_number = 128, cagree_key_bytes = 16, cagree_block = 16 };

// The public number of a private one, all of whose bits should be random. False without libcrypto.
bool cagree_public(const uint8_t private_number[cagree_number], uint8_t public_number[cagree_number]);

// The key that both sides derive: HKDF-SHA256 without salt and info. False if the other side's number is outside 2 to p
// - 2 (its key could be predicted), or without libcrypto.
bool cagree_key(
  const uint8_t private_number[cagree_number], const uint8_t *theirs, size_t count, uint8_t key[cagree_key_bytes]);

// AES-128-CBC with the padding of PKCS #7. `sealed` has room for `count` and one block more. Returns the length; 0
// without libcrypto.
size_t cagree_seal(
  const uint8_t key[cagree_key_bytes], const uint8_t iv[cagree_block], const uint8_t *plain, size_t count,
  uint8_t *sealed);

// `plain` has room for `count`. False if the length or the padding is wrong. Success does not authenticate the sender.
bool cagree_open(
  const uint8_t key[cagree_key_bytes], const uint8_t iv[cagree_block], const uint8_t *sealed, size_t count,
  uint8_t *plain, size_t *plain_count);
