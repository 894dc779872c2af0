// The door to fyaml: typed static-inline functions where C is variadic or a macro.
#pragma once
#include <libfyaml.h>
