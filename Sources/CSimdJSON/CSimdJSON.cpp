#include "include/CSimdJSON.h"

#include <simdjson.h>

#include <cstring>
#include <memory>
#include <new>
#include <vector>

using simdjson::internal::dom_parser_implementation;

struct fb_json_parser {
    std::unique_ptr<dom_parser_implementation> stage1;
    size_t capacity = 0;
    std::vector<fb_json_token> tokens;  // as many as were ever needed; the first `tokenCount` count
    uint32_t tokenCount = 0;
    std::vector<uint32_t> open;  // indexes of the containers around the current token
};

namespace {

struct Failure {
    int status;
    const char *message;
    uint32_t offset;
};

int hexDigit(uint8_t c) {
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool endsScalar(uint8_t c) {
    return c == ',' || c == ']' || c == '}' || c == ':' || c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

class Walker {
  public:
    Walker(fb_json_parser &parser, const uint8_t *bytes, uint32_t length, uint32_t depthMax)
        : parser(parser), bytes(bytes), length(length), depthMax(depthMax),
          structure(parser.stage1->structural_indexes.get()),
          structureCount(parser.stage1->n_structural_indexes),
          hasEscapes(memchr(bytes, '\\', length) != nullptr) {}

    // False leaves the reason in `failure`.
    bool walk() {
        // Each structural character makes one token at most.
        if (parser.tokens.size() < structureCount) parser.tokens.resize(structureCount);
        auto *tokens = parser.tokens.data();
        auto &open = parser.open;
        parser.tokenCount = 0;
        open.clear();
        uint32_t at = 0;
        enum { value, firstKeyOrEnd, key, colon, commaOrEnd, firstValueOrEnd, done } expect = value;
        for (; at < structureCount; at++) {
            uint32_t offset = structure[at];
            uint8_t c = bytes[offset];
            switch (expect) {
            case firstKeyOrEnd:
                if (c == '}') { close(offset); expect = open.empty() ? done : commaOrEnd; continue; }
                [[fallthrough]];
            case key:
                if (c != '"') return fail(offset, "expected a member name in quotes");
                if (!string(offset)) return false;
                tokens[open.back()].count++;
                expect = colon;
                continue;
            case colon:
                if (c != ':') return fail(offset, "expected ':' after a member name");
                expect = value;
                continue;
            case commaOrEnd: {
                bool object = tokens[open.back()].kind == FB_JSON_OBJECT;
                if (c == ',') { expect = object ? key : value; if (!object) tokens[open.back()].count++; continue; }
                if (c != (object ? '}' : ']')) return fail(offset, object ? "expected ',' or '}'" : "expected ',' or ']'");
                close(offset);
                expect = open.empty() ? done : commaOrEnd;
                continue;
            }
            case firstValueOrEnd:
                if (c == ']') { close(offset); expect = open.empty() ? done : commaOrEnd; continue; }
                tokens[open.back()].count++;
                [[fallthrough]];
            case value:
                if (c == '{' || c == '[') {
                    if (open.size() >= depthMax) { failure = {FB_JSON_TOO_DEEP, "nested too deeply", offset}; return false; }
                    push(offset, 0, c == '{' ? FB_JSON_OBJECT : FB_JSON_ARRAY, 0);
                    open.push_back(parser.tokenCount - 1);
                    expect = c == '{' ? firstKeyOrEnd : firstValueOrEnd;
                    continue;
                }
                if (!scalar(offset, c)) return false;
                expect = open.empty() ? done : commaOrEnd;
                continue;
            case done:
                return fail(offset, "unexpected text after the value");
            }
        }
        return expect == done || fail(length, "the text ends inside a value");
    }

    Failure failure{FB_JSON_MALFORMED, "", 0};

  private:
    fb_json_parser &parser;
    const uint8_t *bytes;
    uint32_t length, depthMax;
    const uint32_t *structure;
    uint32_t structureCount;
    bool hasEscapes;

    bool fail(uint32_t offset, const char *message) {
        failure = {FB_JSON_MALFORMED, message, offset};
        return false;
    }

    void push(uint32_t start, uint32_t end, uint8_t kind, uint8_t flags) {
        uint32_t at = parser.tokenCount++;
        parser.tokens[at] = {start, end, at + 1, 0, kind, flags, uint16_t(parser.open.size())};
    }

    void close(uint32_t offset) {
        auto &container = parser.tokens[parser.open.back()];
        container.end = offset + 1;
        container.next = parser.tokenCount;
        parser.open.pop_back();
    }

    // simdjson has already refused unclosed strings, raw control characters and invalid UTF-8.
    bool string(uint32_t quote) {
        // Most strings have no escapes: two vectorised scans find that out.
        auto *begin = bytes + quote + 1;
        auto *closing = static_cast<const uint8_t *>(memchr(begin, '"', length - quote - 1));
        if (!closing) return fail(quote, "the text ends inside a string");
        auto *backslash = hasEscapes ? static_cast<const uint8_t *>(memchr(begin, '\\', size_t(closing - begin))) : nullptr;
        if (!backslash) {
            push(quote + 1, uint32_t(closing - bytes), FB_JSON_STRING, 0);
            return true;
        }
        return escapedString(quote, uint32_t(backslash - bytes));
    }

    // The rest of a string whose first escape is at `i`.
    bool escapedString(uint32_t quote, uint32_t i) {
        uint8_t flags = 0;
        int pendingHigh = 0;
        for (;;) {
            if (i >= length) return fail(quote, "the text ends inside a string");
            uint8_t c = bytes[i];
            if (c == '"') break;
            if (c != '\\') { if (pendingHigh) { flags |= FB_JSON_LONE_SURROGATE; pendingHigh = 0; } i++; continue; }
            flags |= FB_JSON_ESCAPED;
            if (i + 1 >= length) return fail(i, "the text ends inside a string");
            uint8_t e = bytes[i + 1];
            if (e != 'u') {
                if (e != '"' && e != '\\' && e != '/' && e != 'b' && e != 'f' && e != 'n' && e != 'r' && e != 't')
                    return fail(i, "unknown escape in a string");
                if (pendingHigh) { flags |= FB_JSON_LONE_SURROGATE; pendingHigh = 0; }
                i += 2;
                continue;
            }
            if (i + 6 > length) return fail(i, "the text ends inside a string");
            int unit = 0;
            for (uint32_t k = i + 2; k < i + 6; k++) {
                int digit = hexDigit(bytes[k]);
                if (digit < 0) return fail(i, "expected four hexadecimal digits after \\u");
                unit = unit << 4 | digit;
            }
            bool high = unit >= 0xD800 && unit < 0xDC00, low = unit >= 0xDC00 && unit < 0xE000;
            if (pendingHigh && !low) flags |= FB_JSON_LONE_SURROGATE;
            if (low && !pendingHigh) flags |= FB_JSON_LONE_SURROGATE;
            pendingHigh = high;
            i += 6;
        }
        if (pendingHigh) flags |= FB_JSON_LONE_SURROGATE;
        push(quote + 1, i, FB_JSON_STRING, flags);
        return true;
    }

    bool literal(uint32_t offset, const char *word, uint32_t size, uint8_t kind) {
        if (length - offset < size || memcmp(bytes + offset, word, size) != 0) return fail(offset, "unknown word");
        if (offset + size < length && !endsScalar(bytes[offset + size])) return fail(offset, "unknown word");
        push(offset, offset + size, kind, 0);
        return true;
    }

    bool number(uint32_t offset) {
        uint32_t i = offset;
        auto digits = [&] { uint32_t from = i; while (i < length && bytes[i] >= '0' && bytes[i] <= '9') i++; return i - from; };
        uint8_t flags = FB_JSON_INTEGER;
        if (bytes[i] == '-') i++;
        uint32_t first = i, count = digits();
        if (count == 0) return fail(offset, "expected a value");
        if (count > 1 && bytes[first] == '0') return fail(offset, "a number begins with a zero");
        if (i < length && bytes[i] == '.') { flags = 0; i++; if (!digits()) return fail(offset, "a number ends in '.'"); }
        if (i < length && (bytes[i] | 0x20) == 'e') {
            flags = 0;
            i++;
            if (i < length && (bytes[i] == '+' || bytes[i] == '-')) i++;
            if (!digits()) return fail(offset, "a number ends in its exponent");
        }
        if (i < length && !endsScalar(bytes[i])) return fail(offset, "unexpected character in a number");
        push(offset, i, FB_JSON_NUMBER, flags);
        return true;
    }

    bool scalar(uint32_t offset, uint8_t c) {
        switch (c) {
        case '"': return string(offset);
        case 't': return literal(offset, "true", 4, FB_JSON_TRUE);
        case 'f': return literal(offset, "false", 5, FB_JSON_FALSE);
        case 'n': return literal(offset, "null", 4, FB_JSON_NULL);
        default: return number(offset);
        }
    }
};

const char *describe(simdjson::error_code error) {
    switch (error) {
    case simdjson::UTF8_ERROR: return "invalid UTF-8";
    case simdjson::UNESCAPED_CHARS: return "a raw control character in a string";
    case simdjson::UNCLOSED_STRING: return "the text ends inside a string";
    case simdjson::EMPTY: return "the text is empty";
    default: return "not JSON";
    }
}

// Where the first sequence begins that RFC 3629 does not have.
uint32_t firstInvalidUTF8(const uint8_t *bytes, uint32_t length) {
    uint32_t i = 0;
    while (i < length) {
        uint8_t c = bytes[i];
        if (c >= 0x80 && (c < 0xC2 || c > 0xF4)) return i;
        uint32_t more = c < 0x80 ? 0 : c < 0xE0 ? 1 : c < 0xF0 ? 2 : 3;
        // The second byte rules out what is overlong, a surrogate or beyond U+10FFFF.
        uint8_t low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
        uint8_t high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
        for (uint32_t k = 1; k <= more; k++) {
            if (i + k >= length || bytes[i + k] < low || bytes[i + k] > high) return i;
            low = 0x80;
            high = 0xBF;
        }
        i += 1 + more;
    }
    return 0;
}

// Where a raw control character stands in a string, else where the string begins that does not end.
uint32_t stringFault(const uint8_t *bytes, uint32_t length) {
    uint32_t quote = 0;
    bool inside = false;
    for (uint32_t i = 0; i < length; i++) {
        if (inside && bytes[i] < 0x20) return i;
        if (bytes[i] == '\\' && i + 1 < length && bytes[i + 1] >= 0x20) {
            i++;
        } else if (bytes[i] == '"') {
            inside = !inside;
            if (inside) quote = i;
        }
    }
    return quote;
}

// simdjson says what is wrong, and not where.
uint32_t place(simdjson::error_code error, const uint8_t *bytes, uint32_t length) {
    switch (error) {
    case simdjson::UTF8_ERROR: return firstInvalidUTF8(bytes, length);
    case simdjson::UNESCAPED_CHARS:
    case simdjson::UNCLOSED_STRING: return stringFault(bytes, length);
    default: return 0;
    }
}

}  // namespace

extern "C" {

fb_json_parser *fb_json_parser_new(void) { return new (std::nothrow) fb_json_parser; }

void fb_json_parser_free(fb_json_parser *parser) { delete parser; }

fb_json_result fb_json_parse(fb_json_parser *parser, const uint8_t *bytes, size_t length, uint32_t depth_max) {
    fb_json_result result{FB_JSON_MALFORMED, "the text is empty", 0, nullptr, 0};
    if (length == 0) return result;
    if (length >= UINT32_MAX - 64) { result.message = "the text is too long"; return result; }
    if (!parser->stage1 || parser->capacity < length) {
        size_t capacity = length < 4096 ? 4096 : length * 2;
        std::unique_ptr<dom_parser_implementation> fresh;
        auto error = simdjson::get_active_implementation()->create_dom_parser_implementation(capacity, 1, fresh);
        if (error) { result.status = FB_JSON_MEMORY; result.message = "out of memory"; return result; }
        parser->stage1 = std::move(fresh);
        parser->capacity = capacity;
    }
    auto error = parser->stage1->stage1(bytes, length, simdjson::stage1_mode::regular);
    if (error) {
        result.message = describe(error);
        result.offset = place(error, bytes, uint32_t(length));
        return result;
    }
    Walker walker(*parser, bytes, uint32_t(length), depth_max);
    if (!walker.walk()) {
        result.status = walker.failure.status;
        result.message = walker.failure.message;
        result.offset = walker.failure.offset;
        return result;
    }
    result.status = FB_JSON_OK;
    result.tokens = parser->tokens.data();
    result.token_count = parser->tokenCount;
    return result;
}

}
