// The door to libyaml: small, long fuzzed, a mark (line and column) on every event.
#pragma once
#include <yaml.h>
