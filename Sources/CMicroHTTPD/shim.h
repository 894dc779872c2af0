// The door to microhttpd: typed static-inline functions where C is variadic or a macro.
#pragma once
#include <microhttpd.h>
