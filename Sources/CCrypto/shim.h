// The door to crypto: typed static-inline functions where C is variadic or a macro.
#pragma once
#include <openssl/evp.h>
