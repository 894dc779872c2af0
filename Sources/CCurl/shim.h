// The door to curl: typed static-inline functions where C is variadic or a macro.
#pragma once
#include <curl/curl.h>
