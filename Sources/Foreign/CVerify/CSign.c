#include "CSign.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/obj_mac.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <string.h>

#define FUNCTIONS(X)                                                                                          \
  X(BIO_free) X(BIO_new_mem_buf) X(BN_CTX_free) X(BN_CTX_new) X(BN_bin2bn) X(BN_bn2binpad) X(BN_clear_free)   \
  X(BN_cmp) X(BN_free) X(BN_is_zero) X(BN_new) X(BN_set_flags) X(ECDSA_SIG_free) X(ECDSA_SIG_get0_r)          \
  X(ECDSA_SIG_get0_s) X(EC_GROUP_free) X(EC_GROUP_get0_order) X(EC_GROUP_new_by_curve_name) X(EC_POINT_free)  \
  X(EC_POINT_get_affine_coordinates) X(EC_POINT_mul) X(EC_POINT_new) X(ERR_clear_error) X(EVP_DigestSign)     \
  X(EVP_DigestSignInit_ex) X(EVP_MD_CTX_free) X(EVP_MD_CTX_new) X(EVP_PKEY_CTX_free)                          \
  X(EVP_PKEY_CTX_new_from_name) X(EVP_PKEY_CTX_new_from_pkey) X(EVP_PKEY_CTX_set_rsa_padding)                 \
  X(EVP_PKEY_CTX_set_rsa_pss_saltlen) X(EVP_PKEY_free) X(EVP_PKEY_fromdata) X(EVP_PKEY_fromdata_init)         \
  X(EVP_PKEY_get_bits) X(EVP_PKEY_get_group_name) X(EVP_PKEY_is_a) X(EVP_PKEY_new_raw_private_key)            \
  X(EVP_PKEY_pairwise_check) X(OPENSSL_cleanse) X(OSSL_PARAM_BLD_free) X(OSSL_PARAM_BLD_new)                  \
  X(OSSL_PARAM_BLD_push_BN) X(OSSL_PARAM_BLD_push_octet_string) X(OSSL_PARAM_BLD_push_utf8_string)            \
  X(OSSL_PARAM_BLD_to_param) X(OSSL_PARAM_free) X(PEM_read_bio_PrivateKey) X(d2i_ECDSA_SIG)

#include "CryptoLibrary.h"

static EVP_PKEY *inner(const csign_key *key) { return (EVP_PKEY *)key; }

static csign_key *outer(EVP_PKEY *key) {
  crypto.ERR_clear_error();
  return (csign_key *)key;
}

// A key under a passphrase is unusable: the agent asks for none.
static int no_passphrase(char *buffer, int size, int writing, void *context) {
  (void)buffer, (void)size, (void)writing, (void)context;
  return -1;
}

csign_key *csign_from_pem(csign_span pem) {
  if (pem.count == 0 || pem.count > 1 << 16 || !open_crypto()) return NULL;
  BIO *source = crypto.BIO_new_mem_buf(pem.bytes, (int)pem.count);
  EVP_PKEY *key = source ? crypto.PEM_read_bio_PrivateKey(source, NULL, no_passphrase, NULL) : NULL;
  crypto.BIO_free(source);
  return outer(key);
}

// Uses up the builder, and wipes its parts of the key.
static EVP_PKEY *pair_from(const char *type, OSSL_PARAM_BLD *builder) {
  EVP_PKEY *key = NULL;
  OSSL_PARAM *parameters = crypto.OSSL_PARAM_BLD_to_param(builder);
  EVP_PKEY_CTX *context = crypto.EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
  if (parameters && context && crypto.EVP_PKEY_fromdata_init(context) > 0)
    crypto.EVP_PKEY_fromdata(context, &key, EVP_PKEY_KEYPAIR, parameters);
  for (OSSL_PARAM *each = parameters; each && each->key; each++) crypto.OPENSSL_cleanse(each->data, each->data_size);
  crypto.EVP_PKEY_CTX_free(context);
  crypto.OSSL_PARAM_free(parameters);
  return key;
}

csign_key *csign_from_rsa(const csign_span numbers[8]) {
  static const char *const names[] = {
    OSSL_PKEY_PARAM_RSA_N, OSSL_PKEY_PARAM_RSA_E, OSSL_PKEY_PARAM_RSA_D, OSSL_PKEY_PARAM_RSA_FACTOR1,
    OSSL_PKEY_PARAM_RSA_FACTOR2, OSSL_PKEY_PARAM_RSA_EXPONENT1, OSSL_PKEY_PARAM_RSA_EXPONENT2,
    OSSL_PKEY_PARAM_RSA_COEFFICIENT1,
  };
  enum { count = 8 };
  if (!open_crypto()) return NULL;
  OSSL_PARAM_BLD *builder = crypto.OSSL_PARAM_BLD_new();
  BIGNUM *held[count] = {NULL};
  bool whole = builder != NULL;
  for (size_t index = 0; whole && index < count; index++) {
    whole = numbers[index].count > 0 && numbers[index].count <= csign_most
            && (held[index] = crypto.BN_bin2bn(numbers[index].bytes, (int)numbers[index].count, NULL))
            && crypto.OSSL_PARAM_BLD_push_BN(builder, names[index], held[index]);
  }
  EVP_PKEY *key = whole ? pair_from("RSA", builder) : NULL;
  crypto.OSSL_PARAM_BLD_free(builder);
  for (size_t index = 0; index < count; index++) crypto.BN_clear_free(held[index]);
  return outer(key);
}

csign_key *csign_from_ec(csign_kind curve, csign_span x, csign_span y, csign_span scalar) {
  const size_t size = curve == csign_p256 ? 32 : 48;
  if (x.count != size || y.count != size || scalar.count != size || !open_crypto()) return NULL;
  uint8_t point[1 + 2 * 48] = {POINT_CONVERSION_UNCOMPRESSED};
  memcpy(point + 1, x.bytes, size);
  memcpy(point + 1 + size, y.bytes, size);
  OSSL_PARAM_BLD *builder = crypto.OSSL_PARAM_BLD_new();
  BIGNUM *number = crypto.BN_bin2bn(scalar.bytes, (int)scalar.count, NULL);
  EVP_PKEY *key = NULL;
  if (builder && number
      && crypto.OSSL_PARAM_BLD_push_utf8_string(
        builder, OSSL_PKEY_PARAM_GROUP_NAME, curve == csign_p256 ? "P-256" : "P-384", 0)
      && crypto.OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, 1 + 2 * size)
      && crypto.OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_PRIV_KEY, number))
    key = pair_from("EC", builder);
  crypto.OSSL_PARAM_BLD_free(builder);
  crypto.BN_clear_free(number);
  return outer(key);
}

csign_key *csign_from_ed25519(csign_span seed) {
  if (seed.count != 32 || !open_crypto()) return NULL;
  return outer(crypto.EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed.bytes, seed.count));
}

csign_kind csign_kind_of(const csign_key *key) {
  if (!key) return csign_unusable;
  EVP_PKEY_CTX *context = crypto.EVP_PKEY_CTX_new_from_pkey(NULL, inner(key), NULL);
  bool fits = context && crypto.EVP_PKEY_pairwise_check(context) == 1;
  crypto.EVP_PKEY_CTX_free(context);
  crypto.ERR_clear_error();
  if (!fits) return csign_unusable;
  if (crypto.EVP_PKEY_is_a(inner(key), "ED25519")) return csign_ed25519;
  if (crypto.EVP_PKEY_is_a(inner(key), "RSA")) {
    int bits = crypto.EVP_PKEY_get_bits(inner(key));
    return bits >= 2048 && bits <= 8 * csign_most ? csign_rsa : csign_unusable;
  }
  char group[32] = "";
  size_t length = 0;
  if (!crypto.EVP_PKEY_is_a(inner(key), "EC")
      || crypto.EVP_PKEY_get_group_name(inner(key), group, sizeof group, &length) != 1)
    return csign_unusable;
  if (!strcmp(group, "prime256v1") || !strcmp(group, "P-256")) return csign_p256;
  if (!strcmp(group, "secp384r1") || !strcmp(group, "P-384")) return csign_p384;
  return csign_unusable;
}

// RFC 7518 §3.4: R and S side by side in full length; OpenSSL produces DER.
static size_t jose_from_der(const uint8_t *der, size_t count, size_t half, uint8_t *signature) {
  ECDSA_SIG *pair = crypto.d2i_ECDSA_SIG(NULL, &der, (long)count);
  bool whole = pair && crypto.BN_bn2binpad(crypto.ECDSA_SIG_get0_r(pair), signature, (int)half) == (int)half
               && crypto.BN_bn2binpad(crypto.ECDSA_SIG_get0_s(pair), signature + half, (int)half) == (int)half;
  crypto.ECDSA_SIG_free(pair);
  return whole ? 2 * half : 0;
}

size_t csign_sign(const csign_key *key, csign_algorithm algorithm, csign_span message, uint8_t *signature) {
  static const char *const digests[] = {"SHA256", "SHA384", "SHA512", "SHA256", "SHA256", "SHA384", NULL};
  if (!key) return 0;
  uint8_t made[csign_most];
  size_t count = sizeof made;
  EVP_MD_CTX *context = crypto.EVP_MD_CTX_new();
  EVP_PKEY_CTX *key_context = NULL;
  bool signed_ =
    context
    && crypto.EVP_DigestSignInit_ex(context, &key_context, digests[algorithm], NULL, NULL, inner(key), NULL) == 1
    && (algorithm != csign_ps256
        || (crypto.EVP_PKEY_CTX_set_rsa_padding(key_context, RSA_PKCS1_PSS_PADDING) == 1
            && crypto.EVP_PKEY_CTX_set_rsa_pss_saltlen(key_context, RSA_PSS_SALTLEN_DIGEST) == 1))
    && crypto.EVP_DigestSign(context, made, &count, message.bytes, message.count) == 1;
  crypto.EVP_MD_CTX_free(context);
  if (signed_ && (algorithm == csign_es256 || algorithm == csign_es384)) {
    count = jose_from_der(made, count, algorithm == csign_es256 ? 32 : 48, signature);
  } else if (signed_) {
    memcpy(signature, made, count);
  }
  crypto.ERR_clear_error();
  return signed_ ? count : 0;
}

void csign_free(csign_key *key) {
  if (key) crypto.EVP_PKEY_free(inner(key));
}

bool csign_p256_public(csign_span scalar, uint8_t x[csign_p256_bytes], uint8_t y[csign_p256_bytes]) {
  if (scalar.count != csign_p256_bytes || !open_crypto()) return false;
  BN_CTX *context = crypto.BN_CTX_new();
  EC_GROUP *group = crypto.EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
  EC_POINT *point = group ? crypto.EC_POINT_new(group) : NULL;
  BIGNUM *number = crypto.BN_bin2bn(scalar.bytes, (int)scalar.count, NULL);
  BIGNUM *px = crypto.BN_new(), *py = crypto.BN_new();
  bool made = false;
  if (context && point && number && px && py && !crypto.BN_is_zero(number)
      && crypto.BN_cmp(number, crypto.EC_GROUP_get0_order(group)) < 0) {
    crypto.BN_set_flags(number, BN_FLG_CONSTTIME);
    made = crypto.EC_POINT_mul(group, point, number, NULL, NULL, context)
           && crypto.EC_POINT_get_affine_coordinates(group, point, px, py, context)
           && crypto.BN_bn2binpad(px, x, csign_p256_bytes) == csign_p256_bytes
           && crypto.BN_bn2binpad(py, y, csign_p256_bytes) == csign_p256_bytes;
  }
  crypto.BN_free(py);
  crypto.BN_free(px);
  crypto.BN_clear_free(number);
  crypto.EC_POINT_free(point);
  crypto.EC_GROUP_free(group);
  crypto.BN_CTX_free(context);
  crypto.ERR_clear_error();
  return made;
}
