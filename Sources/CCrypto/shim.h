// The door to crypto: typed static-inline functions where C is variadic or a macro.
#pragma once
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
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
