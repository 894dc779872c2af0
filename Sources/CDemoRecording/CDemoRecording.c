#include "include/CDemoRecording.h"

// clang has C23's #embed in every mode and says so.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char recording[] = {
#embed "recording.jsonl"
};

const unsigned char *fb_demo_recording(size_t *size) {
    *size = sizeof recording;
    return recording;
}
