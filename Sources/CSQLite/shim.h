// The door to SQLite: the database file below a durable tree.
#pragma once
#include <sqlite3.h>

// Leaves the write-ahead log as it is when the database is closed: damage stays to be seen.
static inline int fb_sqlite_keep_log(sqlite3 *_Nonnull database) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

// Binds bytes that stay where they are until the statement has been run.
static inline int fb_sqlite_bind(sqlite3_stmt *_Nonnull statement, int index,
                                 const void *_Nullable bytes, sqlite3_uint64 size) {
    return sqlite3_bind_blob64(statement, index, bytes ? bytes : "", size, SQLITE_STATIC);
}
