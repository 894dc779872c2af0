// A C door to simdjson. simdjson finds the structure of a text and checks its UTF-8 with vector
// instructions; the shim checks the grammar of what lies between and leaves a flat list of tokens
// that point into the text. Nothing is copied or converted, so numbers keep every digit.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

enum fb_json_kind {
    FB_JSON_OBJECT = 1,
    FB_JSON_ARRAY = 2,
    FB_JSON_STRING = 3,
    FB_JSON_NUMBER = 4,
    FB_JSON_TRUE = 5,
    FB_JSON_FALSE = 6,
    FB_JSON_NULL = 7
};

enum fb_json_flag {
    FB_JSON_ESCAPED = 1,         // a string with at least one escape
    FB_JSON_LONE_SURROGATE = 2,  // a string with an unpaired surrogate escape
    FB_JSON_INTEGER = 4          // a number without fraction and exponent
};

enum fb_json_status { FB_JSON_OK = 0, FB_JSON_MALFORMED = 1, FB_JSON_TOO_DEEP = 2, FB_JSON_MEMORY = 3 };

// `start` and `end` bound the token's bytes: a string's lie between its quotes, a container's
// include its brackets. `next` is the index of the token after the whole value. `count` is the
// number of members or elements. An object's members are key, value, key, value, ...
typedef struct fb_json_token {
    uint32_t start, end, next, count;
    uint8_t kind, flags;
    uint16_t depth;
} fb_json_token;

typedef struct fb_json_parser fb_json_parser;

typedef struct fb_json_result {
    int status;
    const char *_Nullable message;  // static text: what is wrong
    uint32_t offset;                // where, in bytes
    const fb_json_token *_Nullable tokens;
    uint32_t token_count;
} fb_json_result;

fb_json_parser *_Nullable fb_json_parser_new(void);
void fb_json_parser_free(fb_json_parser *_Nullable parser);

// The result's tokens stay valid until the next call on the same parser. A text of 4 GiB or more
// is refused as malformed; `depth_max` bounds nesting.
fb_json_result fb_json_parse(fb_json_parser *_Nonnull parser, const uint8_t *_Nullable bytes, size_t length,
                             uint32_t depth_max);

// Whether two runs of bytes are the same.
static inline int fb_json_equal(const uint8_t *_Nonnull a, const uint8_t *_Nonnull b, size_t length) {
    return memcmp(a, b, length) == 0;
}

#ifdef __cplusplus
}
#endif
