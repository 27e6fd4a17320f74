#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The session algorithm dh-ietf1024-sha256-aes128-cbc-pkcs7 of the Secret Service API, by OpenSSL 3, which is opened by
// the first call. It keeps secrets from who listens on the bus; that the group is small matters little, for whoever
// could break it in the bus's memory could ask the service as well. Numbers are big-endian. What a function writes to
// memory of the caller's it leaves nowhere else.

enum { cagree_number = 128, cagree_key_bytes = 16, cagree_block = 16 };

// The public number to a private one, which should be random in all its bits. False: no libcrypto.
bool cagree_public(const uint8_t private_number[cagree_number], uint8_t public_number[cagree_number]);

// The key that both sides come to: HKDF-SHA256 without salt and info. False if their number lies outside 2 to p - 2 (it
// would make a key that everybody knows), or there is no libcrypto.
bool cagree_key(
  const uint8_t private_number[cagree_number], const uint8_t *theirs, size_t count, uint8_t key[cagree_key_bytes]);

// AES-128-CBC with the padding of PKCS #7. `sealed` has room for `count` and one block more. The length; 0: no libcrypto.
size_t cagree_seal(
  const uint8_t key[cagree_key_bytes], const uint8_t iv[cagree_block], const uint8_t *plain, size_t count,
  uint8_t *sealed);

// `plain` has room for `count`. False if the length or the padding is wrong. That says nothing of who sealed it.
bool cagree_open(
  const uint8_t key[cagree_key_bytes], const uint8_t iv[cagree_block], const uint8_t *sealed, size_t count,
  uint8_t *plain, size_t *plain_count);
