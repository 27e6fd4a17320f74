#include "CAgree.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#define FUNCTIONS(X)                                                                                          \
  X(BN_CTX_free) X(BN_CTX_new) X(BN_bin2bn) X(BN_bn2binpad) X(BN_clear_free) X(BN_cmp) X(BN_free)             \
  X(BN_get_rfc2409_prime_1024) X(BN_mod_exp_mont_consttime) X(BN_new) X(BN_set_flags) X(BN_set_word)          \
  X(BN_sub_word) X(ERR_clear_error) X(EVP_CIPHER_CTX_free) X(EVP_CIPHER_CTX_new) X(EVP_CIPHER_free)           \
  X(EVP_CIPHER_fetch) X(EVP_DecryptFinal_ex) X(EVP_DecryptInit_ex2) X(EVP_DecryptUpdate)                      \
  X(EVP_EncryptFinal_ex) X(EVP_EncryptInit_ex2) X(EVP_EncryptUpdate) X(EVP_KDF_CTX_free) X(EVP_KDF_CTX_new)   \
  X(EVP_KDF_derive) X(EVP_KDF_fetch) X(EVP_KDF_free) X(OPENSSL_cleanse)                                       \
  X(OSSL_PARAM_construct_end) X(OSSL_PARAM_construct_octet_string) X(OSSL_PARAM_construct_utf8_string)

#include "CryptoLibrary.h"

// base ^ private mod p, if base is between 2 and p - 2. Frees the base, which may be NULL.
static bool raise(BIGNUM *base, const uint8_t *private_number, uint8_t result[cagree_number]) {
  BN_CTX *context = crypto.BN_CTX_new();
  BIGNUM *prime = crypto.BN_get_rfc2409_prime_1024(NULL);
  BIGNUM *last = crypto.BN_get_rfc2409_prime_1024(NULL);
  BIGNUM *one = crypto.BN_new();
  BIGNUM *exponent = crypto.BN_bin2bn(private_number, cagree_number, NULL);
  BIGNUM *power = crypto.BN_new();
  bool raised = false;
  if (base && context && prime && last && one && exponent && power && crypto.BN_set_word(one, 1)
      && crypto.BN_sub_word(last, 1) && crypto.BN_cmp(base, one) > 0 && crypto.BN_cmp(base, last) < 0) {
    crypto.BN_set_flags(exponent, BN_FLG_CONSTTIME);
    raised = crypto.BN_mod_exp_mont_consttime(power, base, exponent, prime, context, NULL)
             && crypto.BN_bn2binpad(power, result, cagree_number) == cagree_number;
  }
  crypto.BN_clear_free(power);
  crypto.BN_clear_free(exponent);
  crypto.BN_free(one);
  crypto.BN_free(last);
  crypto.BN_free(prime);
  crypto.BN_free(base);
  crypto.BN_CTX_free(context);
  crypto.ERR_clear_error();
  return raised;
}

bool cagree_public(const uint8_t private_number[cagree_number], uint8_t public_number[cagree_number]) {
  if (!open_crypto()) return false;
  BIGNUM *two = crypto.BN_new();
  if (two) crypto.BN_set_word(two, 2);
  return raise(two, private_number, public_number);
}

bool cagree_key(
  const uint8_t private_number[cagree_number], const uint8_t *theirs, size_t count, uint8_t key[cagree_key_bytes]) {
  // Some services send a zero before a number whose first bit is set.
  if (count == 0 || count > cagree_number + 1 || !open_crypto()) return false;
  uint8_t shared[cagree_number];
  if (!raise(crypto.BN_bin2bn(theirs, (int)count, NULL), private_number, shared)) return false;
  EVP_KDF *kdf = crypto.EVP_KDF_fetch(NULL, "HKDF", NULL);
  EVP_KDF_CTX *context = kdf ? crypto.EVP_KDF_CTX_new(kdf) : NULL;
  // In full length: leading zeros belong to the shared number.
  const OSSL_PARAM parameters[] = {
    crypto.OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)"SHA256", 0),
    crypto.OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, shared, sizeof shared),
    crypto.OSSL_PARAM_construct_end(),
  };
  bool derived = context && crypto.EVP_KDF_derive(context, key, cagree_key_bytes, parameters) == 1;
  crypto.OPENSSL_cleanse(shared, sizeof shared);
  crypto.EVP_KDF_CTX_free(context);
  crypto.EVP_KDF_free(kdf);
  crypto.ERR_clear_error();
  return derived;
}

size_t cagree_seal(
  const uint8_t key[cagree_key_bytes], const uint8_t iv[cagree_block], const uint8_t *plain, size_t count,
  uint8_t *sealed) {
  if (count > 1 << 20 || !open_crypto()) return 0;
  EVP_CIPHER *cipher = crypto.EVP_CIPHER_fetch(NULL, "AES-128-CBC", NULL);
  EVP_CIPHER_CTX *context = crypto.EVP_CIPHER_CTX_new();
  int most = 0, last = 0;
  bool whole = cipher && context && crypto.EVP_EncryptInit_ex2(context, cipher, key, iv, NULL) == 1
               && crypto.EVP_EncryptUpdate(context, sealed, &most, plain, (int)count) == 1
               && crypto.EVP_EncryptFinal_ex(context, sealed + most, &last) == 1;
  crypto.EVP_CIPHER_CTX_free(context);
  crypto.EVP_CIPHER_free(cipher);
  crypto.ERR_clear_error();
  return whole ? (size_t)(most + last) : 0;
}

bool cagree_open(
  const uint8_t key[cagree_key_bytes], const uint8_t iv[cagree_block], const uint8_t *sealed, size_t count,
  uint8_t *plain, size_t *plain_count) {
  if (count == 0 || count % cagree_block || count > 1 << 20 || !open_crypto()) return false;
  EVP_CIPHER *cipher = crypto.EVP_CIPHER_fetch(NULL, "AES-128-CBC", NULL);
  EVP_CIPHER_CTX *context = crypto.EVP_CIPHER_CTX_new();
  int most = 0, last = 0;
  bool whole = cipher && context && crypto.EVP_DecryptInit_ex2(context, cipher, key, iv, NULL) == 1
               && crypto.EVP_DecryptUpdate(context, plain, &most, sealed, (int)count) == 1
               && crypto.EVP_DecryptFinal_ex(context, plain + most, &last) == 1;
  crypto.EVP_CIPHER_CTX_free(context);
  crypto.EVP_CIPHER_free(cipher);
  crypto.ERR_clear_error();
  if (whole) *plain_count = (size_t)(most + last);
  return whole;
}
