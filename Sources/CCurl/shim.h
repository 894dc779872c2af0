// The door to curl: typed static-inline functions where C is variadic or a macro.
#pragma once
#include <curl/curl.h>

static inline const curl_version_info_data *fb_curl_version_info(void) {
    return curl_version_info(CURLVERSION_NOW);
}

static inline CURLcode fb_curl_init(void) { return curl_global_init(CURL_GLOBAL_DEFAULT); }

static inline CURLcode fb_curl_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode fb_curl_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

/// curl copies the text, except CURLOPT_POSTFIELDS.
static inline CURLcode fb_curl_set_text(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode fb_curl_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode fb_curl_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(easy, option, value);
}

typedef size_t (*fb_curl_writer)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode fb_curl_set_writer(CURL *easy, CURLoption option, fb_curl_writer value) {
    return curl_easy_setopt(easy, option, value);
}

static inline long fb_curl_get_long(CURL *easy, CURLINFO info) {
    long value = 0;
    curl_easy_getinfo(easy, info, &value);
    return value;
}

static inline curl_off_t fb_curl_get_offset(CURL *easy, CURLINFO info) {
    curl_off_t value = 0;
    curl_easy_getinfo(easy, info, &value);
    return value;
}

static inline void *fb_curl_get_private(CURL *easy) {
    void *value = 0;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&value);
    return value;
}

static inline CURLMcode fb_curlm_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

/// The next finished transfer, or null.
static inline CURL *fb_curlm_next_done(CURLM *multi, CURLcode *result) {
    int left;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left))) {
        if (message->msg != CURLMSG_DONE) continue;
        *result = message->data.result;
        return message->easy_handle;
    }
    return 0;
}
