#define _GNU_SOURCE
#include "include/CLinux.h"
#include <malloc.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

char **fb_environment(void) { return environ; }

int fb_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

int fb_stat(int descriptor, const char *path, struct fb_file *out) {
    struct stat s;
    if ((path ? stat(path, &s) : fstat(descriptor, &s)) != 0) return -1;
    out->device = s.st_dev;
    out->inode = s.st_ino;
    out->size = (uint64_t)s.st_size;
    out->mtime_ns = (int64_t)s.st_mtim.tv_sec * 1000000000 + s.st_mtim.tv_nsec;
    out->mode = s.st_mode & 07777;
    out->owner = s.st_uid;
    out->is_regular = S_ISREG(s.st_mode);
    return 0;
}

int fb_set_nonblocking(int descriptor) {
    int flags = fcntl(descriptor, F_GETFL);
    return flags < 0 ? -1 : fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
}

int fb_signalfd(const int *signals, size_t count) {
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < count; i++) sigaddset(&set, signals[i]);
    int error = pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (error) return errno = error, -1;
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

void fb_ignore_signal(int number) { signal(number, SIG_IGN); }

int64_t fb_descriptors_max(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
    if (limit.rlim_cur < limit.rlim_max) {
        struct rlimit raised = {limit.rlim_max, limit.rlim_max};
        if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
    }
    return limit.rlim_cur > INT32_MAX ? INT32_MAX : (int64_t)limit.rlim_cur;
}

int64_t fb_clock_ns(int realtime) {
    struct timespec t;
    clock_gettime(realtime ? CLOCK_REALTIME : CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// Between fork and exec: async-signal-safe calls only.
static void become(const struct fb_spawn *how, pid_t parent) {
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (how->own_group) setpgid(0, 0);
    if (how->ends_with_parent) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(127);
    }
    // First out of the way of 0, 1 and 2, so that no dup2 below overwrites a later source.
    int moved[3];
    for (int i = 0; i < 3; i++) {
        moved[i] = fcntl(how->descriptors[i], F_DUPFD_CLOEXEC, 3);
        if (moved[i] < 0) return;
    }
    for (int i = 0; i < 3; i++)
        if (dup2(moved[i], i) < 0) return;
    if (how->directory && chdir(how->directory) != 0) return;
    execvpe(how->argv[0], how->argv, how->envp);
}

int fb_spawn(const struct fb_spawn *how) {
    int report[2];  // closed by a successful exec, else carries the errno
    if (pipe2(report, O_CLOEXEC) != 0) return -errno;
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        become(how, parent);
        int error = errno;
        (void)!write(report[1], &error, sizeof error);
        _exit(127);
    }
    int error = pid < 0 ? errno : 0;
    close(report[1]);
    if (pid > 0) {
        ssize_t got;
        do got = read(report[0], &error, sizeof error);
        while (got < 0 && errno == EINTR);
        if (got <= 0) error = 0;
        if (error) waitpid(pid, NULL, 0);
    }
    close(report[0]);
    return error ? -error : pid;
}

int fb_reap(int pid, int *code) {
    int status;
    pid_t done;
    do done = waitpid(pid, &status, WNOHANG);
    while (done < 0 && errno == EINTR);
    if (done == 0) return 0;
    if (done < 0) return -1;
    if (WIFEXITED(status)) return *code = WEXITSTATUS(status), 1;
    return *code = WTERMSIG(status), 2;
}

void fb_limit_malloc_arenas(int count) { mallopt(M_ARENA_MAX, count); }

int fb_memory_file(const char *label) { return memfd_create(label, MFD_CLOEXEC); }

int fb_terminal_size(int descriptor, int *columns, int *rows) {
    struct winsize size = {0};
    if (!isatty(descriptor)) return -1;
    ioctl(descriptor, TIOCGWINSZ, &size);
    *columns = size.ws_col;
    *rows = size.ws_row;
    return 0;
}

int fb_notify(const char *name, const void *bytes, size_t count) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t length = strlen(name);
    if (length >= sizeof to.sun_path) return errno = ENAMETOOLONG, -1;
    memcpy(to.sun_path, name, length);
    if (to.sun_path[0] == '@') to.sun_path[0] = 0;
    int number = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (number < 0) return -1;
    ssize_t sent = sendto(
        number, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *)&to,
        offsetof(struct sockaddr_un, sun_path) + length);
    close(number);
    return sent < 0 ? -1 : 0;
}
