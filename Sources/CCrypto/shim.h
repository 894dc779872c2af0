// The door to crypto: typed static-inline functions where C is variadic or a macro.
#pragma once
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>

/// Never asks the terminal for a passphrase: an encrypted key is an error.
static inline int fb_no_passphrase(char *buffer, int size, int writing, void *context) {
    (void)buffer, (void)size, (void)writing, (void)context;
    return -1;
}

/// RS256: signs a text by an RSA private key in PEM (PKCS#8 or PKCS#1).
/// Returns the signature's length, -1 where the key is none, -2 where it is no RSA key, -3 where
/// signing fails or `room` is too small.
static inline int fb_rs256(const unsigned char *pem, int pem_length, const unsigned char *text,
                           size_t length, unsigned char *signature, size_t room) {
    int result = -1;
    BIO *bio = BIO_new_mem_buf(pem, pem_length);
    EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, 0, fb_no_passphrase, 0) : 0;
    if (key) result = EVP_PKEY_is_a(key, "RSA") ? -3 : -2;
    EVP_MD_CTX *context = result == -3 ? EVP_MD_CTX_new() : 0;
    if (context && EVP_DigestSignInit(context, 0, EVP_sha256(), 0, key) == 1 &&
        EVP_DigestSign(context, signature, &room, text, length) == 1)
        result = (int)room;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    BIO_free(bio);
    ERR_clear_error();
    return result;
}

/// Whether a signature by RS256 (RSASSA-PKCS1-v1_5 with SHA-256) over a text is that of the key
/// whose modulus and exponent these are, big-endian.
static inline int fb_rs256_verify(const unsigned char *modulus, size_t modulus_length,
                                  const unsigned char *exponent, size_t exponent_length,
                                  const unsigned char *text, size_t length,
                                  const unsigned char *signature, size_t signature_length) {
    int result = 0;
    BIGNUM *n = BN_bin2bn(modulus, (int)modulus_length, 0);
    BIGNUM *e = BN_bin2bn(exponent, (int)exponent_length, 0);
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    OSSL_PARAM *params = 0;
    if (n && e && builder && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n) &&
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e))
        params = OSSL_PARAM_BLD_to_param(builder);
    EVP_PKEY_CTX *maker = params ? EVP_PKEY_CTX_new_from_name(0, "RSA", 0) : 0;
    EVP_PKEY *key = 0;
    EVP_MD_CTX *context = 0;
    if (maker && EVP_PKEY_fromdata_init(maker) == 1 &&
        EVP_PKEY_fromdata(maker, &key, EVP_PKEY_PUBLIC_KEY, params) == 1)
        context = EVP_MD_CTX_new();
    if (context && EVP_DigestVerifyInit(context, 0, EVP_sha256(), 0, key) == 1)
        result = EVP_DigestVerify(context, signature, signature_length, text, length) == 1;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    EVP_PKEY_CTX_free(maker);
    OSSL_PARAM_free(params);
    OSSL_PARAM_BLD_free(builder);
    BN_free(e);
    BN_free(n);
    ERR_clear_error();
    return result;
}
