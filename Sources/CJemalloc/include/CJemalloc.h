// jemalloc in place of the C library's allocator: to link this target is to use it (docs/decisions/
// 0016-jemalloc.md).
#pragma once
