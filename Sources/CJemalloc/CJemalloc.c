#include "CJemalloc.h"

// Read by jemalloc when the process starts; MALLOC_CONF in the environment goes over it. One thread
// does nearly all allocation, so two arenas are plenty, and what is free goes back to the system
// within half a second: an idle bridge is small again soon after a backlog.
const char *malloc_conf = "narenas:2,dirty_decay_ms:500,muzzy_decay_ms:0";
