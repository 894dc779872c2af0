"""A library to be preloaded: turns the wall clock, and flips bytes of what comes from Kafka."""
import atexit, shutil, subprocess, tempfile
from pathlib import Path

from .parts import Skipped

SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static long number(const char *name) {
    const char *path = getenv(name);
    char text[32] = {0};
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return 0;
    ssize_t count = read(file, text, sizeof text - 1);
    close(file);
    return count > 0 ? atol(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int code = real(clock, time);
    if (clock == CLOCK_REALTIME) time->tv_sec += number("CHAOS_CLOCK");
    return code;
}

/* librdkafka reads with recvmsg, nobody else here does. Of large pieces one byte in the middle is flipped. */
ssize_t recvmsg(int socket, struct msghdr *message, int flags) {
    static ssize_t (*real)(int, struct msghdr *, int);
    if (!real) real = (ssize_t (*)(int, struct msghdr *, int))dlsym(RTLD_NEXT, "recvmsg");
    ssize_t count = real(socket, message, flags);
    if (count > 1500 && number("CHAOS_FLIP")) {
        size_t place = (size_t)count / 2;
        for (size_t index = 0; index < (size_t)message->msg_iovlen; index++) {
            struct iovec *part = &message->msg_iov[index];
            if (place < part->iov_len) {
                ((unsigned char *)part->iov_base)[place] ^= 0x20;
                const char *path = getenv("CHAOS_FLIPPED");
                int file = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
                if (file >= 0) { if (write(file, "x", 1)) {} close(file); }
                break;
            }
            place -= part->iov_len;
        }
    }
    return count;
}
"""
built = []


def shim():
    if built:
        return built[0]
    compiler = shutil.which("cc") or shutil.which("clang") or shutil.which("gcc")
    if compiler is None:
        raise Skipped("there is no C compiler")
    directory = Path(tempfile.mkdtemp(prefix="chaos-shim-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    (directory / "shim.c").write_text(SOURCE)
    done = subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", directory / "shim.so", directory / "shim.c", "-ldl"],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise Skipped(f"the shim does not compile: {done.stderr[-200:]}")
    built.append(str(directory / "shim.so"))
    return built[0]
