// The door to SQLite: the database file below a durable tree.
#pragma once
#include <sqlite3.h>

// Binds bytes that stay where they are until the statement has been run.
static inline int fb_sqlite_bind(sqlite3_stmt *_Nonnull statement, int index,
                                 const void *_Nullable bytes, sqlite3_uint64 size) {
    return sqlite3_bind_blob64(statement, index, bytes ? bytes : "", size, SQLITE_STATIC);
}
