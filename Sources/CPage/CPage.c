#include "include/CPage.h"

// clang has C23's #embed in every mode and says so.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char chat[] = {
#embed "page/chat.mjs"
};
static const unsigned char controls[] = {
#embed "page/controls.mjs"
};
static const unsigned char dom[] = {
#embed "page/dom.mjs"
};
static const unsigned char icon[] = {
#embed "page/icon.svg"
};
static const unsigned char index_page[] = {
#embed "page/index.html"
};
static const unsigned char list[] = {
#embed "page/list.mjs"
};
static const unsigned char main_module[] = {
#embed "page/main.mjs"
};
static const unsigned char mirror[] = {
#embed "page/mirror.mjs"
};
static const unsigned char nodes[] = {
#embed "page/nodes.mjs"
};
static const unsigned char numbers[] = {
#embed "page/numbers.mjs"
};
static const unsigned char pane[] = {
#embed "page/pane.mjs"
};
static const unsigned char places[] = {
#embed "page/places.mjs"
};
static const unsigned char plots[] = {
#embed "page/plots.mjs"
};
static const unsigned char rows[] = {
#embed "page/rows.mjs"
};
static const unsigned char stream[] = {
#embed "page/stream.mjs"
};
static const unsigned char style[] = {
#embed "page/style.css"
};
static const unsigned char transcript[] = {
#embed "page/transcript.mjs"
};
static const unsigned char worker[] = {
#embed "page/worker.mjs"
};

#define FILE_OF_PAGE(name, bytes) {name, bytes, sizeof bytes}

static const struct fb_page_file files[] = {
    FILE_OF_PAGE("chat.mjs", chat),
    FILE_OF_PAGE("controls.mjs", controls),
    FILE_OF_PAGE("dom.mjs", dom),
    FILE_OF_PAGE("icon.svg", icon),
    FILE_OF_PAGE("index.html", index_page),
    FILE_OF_PAGE("list.mjs", list),
    FILE_OF_PAGE("main.mjs", main_module),
    FILE_OF_PAGE("mirror.mjs", mirror),
    FILE_OF_PAGE("nodes.mjs", nodes),
    FILE_OF_PAGE("numbers.mjs", numbers),
    FILE_OF_PAGE("pane.mjs", pane),
    FILE_OF_PAGE("places.mjs", places),
    FILE_OF_PAGE("plots.mjs", plots),
    FILE_OF_PAGE("rows.mjs", rows),
    FILE_OF_PAGE("stream.mjs", stream),
    FILE_OF_PAGE("style.css", style),
    FILE_OF_PAGE("transcript.mjs", transcript),
    FILE_OF_PAGE("worker.mjs", worker),
};

const struct fb_page_file *fb_page_files(size_t *count) {
    *count = sizeof files / sizeof files[0];
    return files;
}
