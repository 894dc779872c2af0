// The recorded conversations that `firebridge demo` replays; see README.md.
#pragma once
#include <stddef.h>

/// recording.jsonl, not ended by a zero byte.
const unsigned char *fb_demo_recording(size_t *size);
