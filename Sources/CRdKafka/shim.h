// The door to rdkafka: typed static-inline functions where C is variadic or a macro.
#pragma once
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
