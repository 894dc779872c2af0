// The door to microhttpd: typed static-inline functions where C is variadic or a macro.
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

// A listening socket, close-on-exec and non-blocking; -1 with the reason in `error`.
static inline int fb_http_listen(const char *_Nonnull host, const char *_Nonnull port,
                                 const char *_Nonnull *_Nonnull error) {
    struct addrinfo hints;
    struct addrinfo *found = NULL;
    memset(&hints, 0, sizeof hints);
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    int code = getaddrinfo(host, port, &hints, &found);
    if (code != 0) { *error = gai_strerror(code); return -1; }
    // "localhost" may name ::1 first; clients mostly try 127.0.0.1.
    struct addrinfo *address = found;
    for (struct addrinfo *each = found; each; each = each->ai_next)
        if (each->ai_family == AF_INET) { address = each; break; }
    int one = 1;
    int fd = socket(address->ai_family, SOCK_STREAM, 0);
    int failed = fd < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 || fcntl(fd, F_SETFL, O_NONBLOCK) != 0
        || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0
        || (address->ai_family == AF_INET6
            && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one) != 0)
        || bind(fd, address->ai_addr, address->ai_addrlen) != 0 || listen(fd, SOMAXCONN) != 0;
    if (failed) {
        *error = strerror(errno);
        if (fd >= 0) close(fd);
        fd = -1;
    }
    freeaddrinfo(found);
    return fd;
}

// The port that a listening socket is bound to, 0 where it cannot be told.
static inline int fb_http_port(int fd) {
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &length) != 0) return 0;
    if (address.ss_family == AF_INET6) return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
    return ntohs(((struct sockaddr_in *)&address)->sin_port);
}

typedef size_t (*fb_http_unescape)(void *_Nullable context, struct MHD_Connection *_Nullable connection,
                                   char *_Nonnull text);

// Leaves paths and queries as they came.
static inline size_t fb_http_keep_escapes(void *_Nullable context,
                                          struct MHD_Connection *_Nullable connection,
                                          char *_Nonnull text) {
    (void)context;
    (void)connection;
    return strlen(text);
}

struct fb_http_options {
    int listen_socket;
    unsigned connections_max;
    unsigned timeout_seconds;
    size_t connection_memory;
};

typedef void *_Nullable (*fb_http_begun)(void *_Nullable context, const char *_Nonnull target,
                                         struct MHD_Connection *_Nonnull connection);

// A server without threads of its own, driven through its epoll descriptor. `context` goes to all
// callbacks.
static inline struct MHD_Daemon *_Nullable fb_http_start(
    struct fb_http_options options, fb_http_begun _Nonnull begun,
    MHD_AccessHandlerCallback _Nonnull handler, MHD_RequestCompletedCallback _Nonnull completed,
    MHD_NotifyConnectionCallback _Nonnull connection, void *_Nullable context) {
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_ALLOW_UPGRADE, 0, NULL, NULL, handler,
        context,
        MHD_OPTION_LISTEN_SOCKET, options.listen_socket,
        MHD_OPTION_CONNECTION_LIMIT, options.connections_max,
        MHD_OPTION_CONNECTION_TIMEOUT, options.timeout_seconds,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, options.connection_memory,
        MHD_OPTION_URI_LOG_CALLBACK, begun, context,
        MHD_OPTION_UNESCAPE_CALLBACK, (fb_http_unescape)fb_http_keep_escapes, NULL,
        MHD_OPTION_NOTIFY_COMPLETED, completed, context,
        MHD_OPTION_NOTIFY_CONNECTION, connection, context,
        MHD_OPTION_END);
}

static inline int fb_http_epoll(struct MHD_Daemon *_Nonnull daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    return info ? info->epoll_fd : -1;
}

static inline unsigned fb_http_connections(struct MHD_Daemon *_Nonnull daemon) {
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    return info ? info->num_connections : 0;
}

// A connection's socket, -1 where it has none.
static inline int fb_http_descriptor(struct MHD_Connection *_Nonnull connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

// Has microhttpd find the client gone; it closes the socket itself.
static inline void fb_http_hang_up(int fd) { shutdown(fd, SHUT_RDWR); }

// Milliseconds until `MHD_run` is due, -1 where it never is.
static inline long long fb_http_timeout(struct MHD_Daemon *_Nonnull daemon) {
    MHD_UNSIGNED_LONG_LONG timeout;
    return MHD_get_timeout(daemon, &timeout) == MHD_YES ? (long long)timeout : -1;
}

// An answer with this body, which is copied.
static inline struct MHD_Response *_Nullable fb_http_response(const void *_Nullable body, size_t size) {
    return MHD_create_response_from_buffer(size, (void *)(body ? body : ""), MHD_RESPMEM_MUST_COPY);
}

// An answer whose body `reader` gives piece by piece.
static inline struct MHD_Response *_Nullable fb_http_stream(MHD_ContentReaderCallback _Nonnull reader,
                                                            void *_Nullable context) {
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 8 * 1024, reader, context, NULL);
}

static inline ssize_t fb_http_end_of_stream(void) { return MHD_CONTENT_READER_END_OF_STREAM; }
static inline ssize_t fb_http_end_with_error(void) { return MHD_CONTENT_READER_END_WITH_ERROR; }

// An answer after which the connection belongs to `taken`.
static inline struct MHD_Response *_Nullable fb_http_upgrade(MHD_UpgradeHandler _Nonnull taken,
                                                             void *_Nullable context) {
    return MHD_create_response_for_upgrade(taken, context);
}

// Gives an upgraded connection back to microhttpd, which closes it.
static inline void fb_http_end_upgraded(struct MHD_UpgradeResponseHandle *_Nonnull upgraded) {
    MHD_upgrade_action(upgraded, MHD_UPGRADE_ACTION_CLOSE);
}

// Small frames are not held back.
static inline void fb_socket_no_delay(int fd) {
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

// Bytes read; 0 at the end, -1 where there is nothing now, -2 where the connection is broken.
static inline ssize_t fb_socket_read(int fd, void *_Nonnull buffer, size_t size) {
    ssize_t count;
    do count = recv(fd, buffer, size, 0);
    while (count < 0 && errno == EINTR);
    return count >= 0 ? count : errno == EAGAIN || errno == EWOULDBLOCK ? -1 : -2;
}

// Bytes written, 0 where none can be now, -1 where the connection is broken.
static inline ssize_t fb_socket_write(int fd, const void *_Nonnull bytes, size_t size) {
    ssize_t count;
    do count = send(fd, bytes, size, MSG_NOSIGNAL);
    while (count < 0 && errno == EINTR);
    return count >= 0 ? count : errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -1;
}

static inline int fb_epoll_new(void) { return epoll_create1(EPOLL_CLOEXEC); }

// Watches a descriptor, or changes what for; with neither it is watched for its end alone.
static inline int fb_epoll_set(int epoll, int fd, int is_new, int reads, int writes) {
    struct epoll_event event = {0};
    event.events = (reads ? EPOLLIN : 0) | (writes ? EPOLLOUT : 0);
    event.data.fd = fd;
    return epoll_ctl(epoll, is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event);
}

static inline void fb_epoll_remove(int epoll, int fd) { epoll_ctl(epoll, EPOLL_CTL_DEL, fd, NULL); }

struct fb_epoll_event {
    int fd;
    int can_read;
    int can_write;
};

enum { FB_EPOLL_MAX = 256 };

// The descriptors on which something can be done now, at most FB_EPOLL_MAX.
static inline int fb_epoll_ready(int epoll, struct fb_epoll_event *_Nonnull ready) {
    struct epoll_event events[FB_EPOLL_MAX];
    int count = epoll_wait(epoll, events, FB_EPOLL_MAX, 0);
    for (int index = 0; index < count; index += 1) {
        ready[index].fd = events[index].data.fd;
        ready[index].can_read = (events[index].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0;
        ready[index].can_write = (events[index].events & EPOLLOUT) != 0;
    }
    return count < 0 ? 0 : count;
}
