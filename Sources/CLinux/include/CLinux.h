// What Swift cannot import from the C library: macros with casts, and calls with variadic
// arguments.
//
// No _GNU_SOURCE here: it changes the layout of system types, and Swift sees one definition of each
// only, whichever C module brings it.
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/// The last failed call's errno.
static inline int fb_errno(void) { return errno; }

/// environ(7).
char **fb_environment(void);

/// pipe2(2), close-on-exec; 0 or -1.
int fb_pipe(int ends[2]);

/// open(2) with a mode.
static inline int fb_open(const char *path, int flags, unsigned mode) {
    return open(path, flags, mode);
}

/// What stat(2) says of an open descriptor or, where `path` is not null, of a path.
struct fb_file {
    uint64_t device, inode, size;
    int64_t mtime_ns;
    uint32_t mode, owner;
    int is_regular;
};
int fb_stat(int descriptor, const char *path, struct fb_file *out);

/// Sets O_NONBLOCK; 0 or -1.
int fb_set_nonblocking(int descriptor);

/// Blocks these signals in the calling thread and returns a signalfd(2) for them, or -1.
int fb_signalfd(const int *signals, size_t count);

/// Gives a signal its ignoring handler.
void fb_ignore_signal(int number);

/// A clock in nanoseconds: CLOCK_MONOTONIC (0) or CLOCK_REALTIME (1).
int64_t fb_clock_ns(int realtime);

/// How many descriptors the process may have open, raised as far as it may raise that itself.
int64_t fb_descriptors_max(void);

/// How a process is started.
struct fb_spawn {
    char *const *argv;      // argv[0] is looked up in PATH
    char *const *envp;
    const char *directory;  // null: the caller's
    int descriptors[3];     // what becomes 0, 1 and 2
    int ends_with_parent;   // SIGKILL when the thread that started it ends
    int own_group;          // a process group of its own: the terminal's Ctrl-C does not reach it
};

/// Starts a process with a clean signal mask and default dispositions. Returns its pid, or -errno
/// of the step that failed, exec included.
int fb_spawn(const struct fb_spawn *how);

/// waitpid(2) without waiting: 0 while it runs, 1 when it has exited (`*code`), 2 when a signal
/// ended it (`*code`), -1 where there is no such child.
int fb_reap(int pid, int *code);

/// A file without a name, in memory, gone with its last descriptor: memfd_create(2); -1 on failure.
int fb_memory_file(const char *label);

/// The size of a terminal; -1 where the descriptor is none, 0 columns where it does not say.
int fb_terminal_size(int descriptor, int *columns, int *rows);

/// Bounds glibc's arenas: threads of curl and librdkafka free what others allocated.
void fb_limit_malloc_arenas(int count);

/// Sends one datagram to a Unix socket, a path or `@NAME` for an abstract one, without waiting; 0
/// or -1.
int fb_notify(const char *name, const void *bytes, size_t count);
