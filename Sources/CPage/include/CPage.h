// The files of the tree's page, in the binary; see README.md.
#pragma once
#include <stddef.h>

/// A file of the page.
struct fb_page_file {
    const char *name;
    const unsigned char *bytes;
    size_t size;
};

/// All of them.
const struct fb_page_file *fb_page_files(size_t *count);
