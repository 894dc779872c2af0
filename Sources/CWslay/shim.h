// The door to wslay: the server's side of one WebSocket connection.
#pragma once
#include <stdlib.h>
#include <string.h>
#include <wslay/wslay.h>

struct fb_ws_callbacks {
    // Fills a buffer with what the peer has sent; -1 where there is nothing now.
    ssize_t (*_Nonnull receive)(void *_Nonnull context, unsigned char *_Nonnull buffer,
                                size_t size);
    // Takes all bytes that are to be sent.
    void (*_Nonnull send)(void *_Nonnull context, const unsigned char *_Nonnull bytes, size_t size);
    // A whole message: text (checked UTF-8), or else binary.
    void (*_Nonnull message)(void *_Nonnull context, int is_text,
                             const unsigned char *_Nullable bytes, size_t size);
};

struct fb_ws {
    wslay_event_context_ptr _Nullable event;
    struct fb_ws_callbacks callbacks;
    void *_Nonnull context;
};

static inline ssize_t fb_ws_receive(wslay_event_context_ptr event, uint8_t *buffer, size_t size,
                                    int flags, void *user) {
    struct fb_ws *ws = (struct fb_ws *)user;
    (void)flags;
    ssize_t count = ws->callbacks.receive(ws->context, buffer, size);
    if (count <= 0) {
        wslay_event_set_error(event, WSLAY_ERR_WOULDBLOCK);
        return -1;
    }
    return count;
}

static inline ssize_t fb_ws_send(wslay_event_context_ptr event, const uint8_t *bytes, size_t size,
                                 int flags, void *user) {
    struct fb_ws *ws = (struct fb_ws *)user;
    (void)event;
    (void)flags;
    ws->callbacks.send(ws->context, bytes, size);
    return (ssize_t)size;
}

static inline void fb_ws_message(wslay_event_context_ptr event,
                                 const struct wslay_event_on_msg_recv_arg *message, void *user) {
    struct fb_ws *ws = (struct fb_ws *)user;
    (void)event;
    if (message->opcode == WSLAY_TEXT_FRAME || message->opcode == WSLAY_BINARY_FRAME)
        ws->callbacks.message(ws->context, message->opcode == WSLAY_TEXT_FRAME, message->msg,
                              message->msg_length);
}

// The server's side of a connection; nil without memory.
static inline struct fb_ws *_Nullable fb_ws_new(struct fb_ws_callbacks callbacks,
                                                void *_Nonnull context, size_t message_max) {
    struct wslay_event_callbacks wslay;
    memset(&wslay, 0, sizeof wslay);
    wslay.recv_callback = fb_ws_receive;
    wslay.send_callback = fb_ws_send;
    wslay.on_msg_recv_callback = fb_ws_message;
    struct fb_ws *ws = (struct fb_ws *)malloc(sizeof *ws);
    if (!ws) return NULL;
    ws->callbacks = callbacks;
    ws->context = context;
    if (wslay_event_context_server_init(&ws->event, &wslay, ws) != 0) {
        free(ws);
        return NULL;
    }
    wslay_event_config_set_max_recv_msg_length(ws->event, message_max);
    return ws;
}

static inline void fb_ws_free(struct fb_ws *_Nonnull ws) {
    wslay_event_context_free(ws->event);
    free(ws);
}

// Takes in what has come and answers pings and the end; 0, or wslay's error.
static inline int fb_ws_read(struct fb_ws *_Nonnull ws) {
    int code = wslay_event_recv(ws->event);
    return code != 0 ? code : wslay_event_send(ws->event);
}

static inline int fb_ws_queue(struct fb_ws *_Nonnull ws, int opcode, const void *_Nullable bytes,
                              size_t size) {
    struct wslay_event_msg message = {(uint8_t)opcode, (const uint8_t *)bytes, size};
    int code = wslay_event_queue_msg(ws->event, &message);
    return code != 0 ? code : wslay_event_send(ws->event);
}

static inline int fb_ws_send_text(struct fb_ws *_Nonnull ws, const void *_Nullable bytes,
                                  size_t size) {
    return fb_ws_queue(ws, WSLAY_TEXT_FRAME, bytes, size);
}

static inline int fb_ws_send_ping(struct fb_ws *_Nonnull ws) {
    return fb_ws_queue(ws, WSLAY_PING, NULL, 0);
}

static inline int fb_ws_send_close(struct fb_ws *_Nonnull ws, unsigned code) {
    int failed = wslay_event_queue_close(ws->event, (uint16_t)code, NULL, 0);
    return failed != 0 ? failed : wslay_event_send(ws->event);
}

// Whether more is read: not after the peer's goodbye or an error of its.
static inline int fb_ws_wants_read(struct fb_ws *_Nonnull ws) {
    return wslay_event_want_read(ws->event);
}

// Whether both sides have said that they are done, or nothing more can be read.
static inline int fb_ws_is_over(struct fb_ws *_Nonnull ws) {
    return !wslay_event_want_read(ws->event) && !wslay_event_want_write(ws->event);
}
