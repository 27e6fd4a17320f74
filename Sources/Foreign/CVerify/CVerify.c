#include "CVerify.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>
#include <string.h>

#define FUNCTIONS(X)                                                                                          \
  X(BN_bin2bn) X(BN_free) X(CRYPTO_free) X(ECDSA_SIG_free) X(ECDSA_SIG_new) X(ECDSA_SIG_set0)                 \
  X(ERR_clear_error) X(EVP_Q_digest) X(EVP_DigestVerify) X(EVP_DigestVerifyInit_ex) X(EVP_MD_CTX_free) X(EVP_MD_CTX_new)      \
  X(EVP_PKEY_CTX_free) X(EVP_PKEY_CTX_new_from_name) X(EVP_PKEY_CTX_set_rsa_padding)                          \
  X(EVP_PKEY_CTX_set_rsa_pss_saltlen) X(EVP_PKEY_free) X(EVP_PKEY_fromdata) X(EVP_PKEY_fromdata_init)         \
  X(EVP_PKEY_get_bits) X(EVP_PKEY_new_raw_public_key) X(OSSL_PARAM_BLD_free) X(OSSL_PARAM_BLD_new)            \
  X(OSSL_PARAM_BLD_push_BN) X(OSSL_PARAM_BLD_push_octet_string) X(OSSL_PARAM_BLD_push_utf8_string)            \
  X(OSSL_PARAM_BLD_to_param) X(OSSL_PARAM_free) X(i2d_ECDSA_SIG)

#include "CryptoLibrary.h"

static const char *const digests[] = {"SHA256", "SHA384", "SHA512"};

size_t cverify_digest(cverify_hash hash, cverify_span message, uint8_t *digest) {
  size_t count = 0;
  if (!open_crypto()) return 0;
  return crypto.EVP_Q_digest(NULL, digests[hash], NULL, message.bytes, message.count, digest, &count) == 1 ? count : 0;
}

// Builds a public key. Frees the builder, which may be NULL.
static EVP_PKEY *key_from(const char *type, OSSL_PARAM_BLD *builder) {
  EVP_PKEY *key = NULL;
  OSSL_PARAM *parameters = builder ? crypto.OSSL_PARAM_BLD_to_param(builder) : NULL;
  EVP_PKEY_CTX *context = crypto.EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
  if (parameters && context && crypto.EVP_PKEY_fromdata_init(context) > 0)
    crypto.EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters);
  crypto.EVP_PKEY_CTX_free(context);
  crypto.OSSL_PARAM_free(parameters);
  crypto.OSSL_PARAM_BLD_free(builder);
  return key;
}

// Verifies a signature. Frees the key, which may be NULL, and nothing else.
static bool verify(
  EVP_PKEY *key, const char *digest, bool pss, cverify_span message, cverify_span signature) {
  EVP_MD_CTX *context = crypto.EVP_MD_CTX_new();
  EVP_PKEY_CTX *key_context = NULL;
  bool valid =
    key && context && crypto.EVP_DigestVerifyInit_ex(context, &key_context, digest, NULL, NULL, key, NULL) == 1
    && (!pss
        || (crypto.EVP_PKEY_CTX_set_rsa_padding(key_context, RSA_PKCS1_PSS_PADDING) == 1
            && crypto.EVP_PKEY_CTX_set_rsa_pss_saltlen(key_context, RSA_PSS_SALTLEN_DIGEST) == 1))
    && crypto.EVP_DigestVerify(context, signature.bytes, signature.count, message.bytes, message.count) == 1;
  crypto.EVP_MD_CTX_free(context);
  crypto.EVP_PKEY_free(key);
  crypto.ERR_clear_error();
  return valid;
}

static bool is_one(cverify_span number) {
  for (size_t index = 0; index + 1 < number.count; index++)
    if (number.bytes[index]) return false;
  return number.bytes[number.count - 1] == 1;
}

bool cverify_rsa(
  cverify_hash hash, bool pss, cverify_span modulus, cverify_span exponent, cverify_span message,
  cverify_span signature) {
  // At least 2048 bits (RFC 7518 §3.3); over 8192 a key costs more time than it adds security. The exponent of a common
  // key has 24 bits; even exponents and 1 are no valid keys.
  const size_t least_bits = 2048, most_bits = 8192, most_exponent_bytes = 8;
  if (modulus.count == 0 || modulus.count > most_bits / 8 || exponent.count == 0
      || exponent.count > most_exponent_bytes)
    return false;
  if (!(modulus.bytes[modulus.count - 1] & exponent.bytes[exponent.count - 1] & 1)) return false;
  if (is_one(exponent) || !open_crypto()) return false;
  OSSL_PARAM_BLD *builder = crypto.OSSL_PARAM_BLD_new();
  BIGNUM *n = crypto.BN_bin2bn(modulus.bytes, (int)modulus.count, NULL);
  BIGNUM *e = crypto.BN_bin2bn(exponent.bytes, (int)exponent.count, NULL);
  EVP_PKEY *key = NULL;
  if (builder && n && e && crypto.OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n)
      && crypto.OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e))
    key = key_from("RSA", builder);
  else
    crypto.OSSL_PARAM_BLD_free(builder);
  crypto.BN_free(n);
  crypto.BN_free(e);
  // OpenSSL takes a PSS signature without its leading zeros; RFC 8017 §8.1.2 wants it as long as the modulus.
  const size_t bits = key ? (size_t)crypto.EVP_PKEY_get_bits(key) : 0;
  if (key && (bits < least_bits || signature.count != (bits + 7) / 8)) {
    crypto.EVP_PKEY_free(key);
    key = NULL;
  }
  return verify(key, digests[hash], pss, message, signature);
}

bool cverify_ecdsa(cverify_curve curve, cverify_span x, cverify_span y, cverify_span message, cverify_span signature) {
  static const struct { const char *name, *digest; size_t size; } curves[] = {
    [cverify_p256] = {"P-256", "SHA256", 32},
    [cverify_p384] = {"P-384", "SHA384", 48},
    [cverify_p521] = {"P-521", "SHA512", 66},
    [cverify_secp256k1] = {"secp256k1", "SHA256", 32},
  };
  const size_t size = curves[curve].size;
  if (x.count != size || y.count != size || signature.count != 2 * size || !open_crypto()) return false;
  uint8_t point[1 + 2 * 66] = {POINT_CONVERSION_UNCOMPRESSED};
  memcpy(point + 1, x.bytes, size);
  memcpy(point + 1 + size, y.bytes, size);
  OSSL_PARAM_BLD *builder = crypto.OSSL_PARAM_BLD_new();
  EVP_PKEY *key = NULL;
  // OpenSSL refuses a point that is not on the curve here.
  if (builder
      && crypto.OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, curves[curve].name, 0)
      && crypto.OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, 1 + 2 * size))
    key = key_from("EC", builder);
  else
    crypto.OSSL_PARAM_BLD_free(builder);

  // OpenSSL expects R and S in DER.
  ECDSA_SIG *pair = crypto.ECDSA_SIG_new();
  BIGNUM *r = crypto.BN_bin2bn(signature.bytes, (int)size, NULL);
  BIGNUM *s = crypto.BN_bin2bn(signature.bytes + size, (int)size, NULL);
  cverify_span der = {NULL, 0};
  unsigned char *encoded = NULL;
  if (pair && r && s && crypto.ECDSA_SIG_set0(pair, r, s)) {
    int length = crypto.i2d_ECDSA_SIG(pair, &encoded);
    if (length > 0) der = (cverify_span){encoded, (size_t)length};
  } else {
    crypto.BN_free(r);
    crypto.BN_free(s);
  }
  bool valid = verify(der.count ? key : NULL, curves[curve].digest, false, message, der);
  if (!der.count) crypto.EVP_PKEY_free(key);
  crypto.CRYPTO_free(encoded, __FILE__, __LINE__);
  crypto.ECDSA_SIG_free(pair);
  return valid;
}

static bool verify_eddsa(int type, size_t size, cverify_span x, cverify_span message, cverify_span signature) {
  if (x.count != size || !open_crypto()) return false;
  EVP_PKEY *key = crypto.EVP_PKEY_new_raw_public_key(type, NULL, x.bytes, x.count);
  return verify(key, NULL, false, message, signature);
}

bool cverify_ed25519(cverify_span x, cverify_span message, cverify_span signature) {
  return signature.count == 64 && verify_eddsa(EVP_PKEY_ED25519, 32, x, message, signature);
}

bool cverify_ed448(cverify_span x, cverify_span message, cverify_span signature) {
  return signature.count == 114 && verify_eddsa(EVP_PKEY_ED448, 57, x, message, signature);
}
