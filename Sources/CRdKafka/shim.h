// The door to rdkafka: typed static-inline functions where C is variadic or a macro.
#pragma once
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

// A counter that a queue writes to when it gets something; never blocks and is not inherited.
static inline int firebridge_eventfd(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

// A pipe that no child inherits, whatever another thread spawns meanwhile.
static inline int firebridge_pipe(int ends[2]) {
    return pipe2(ends, O_CLOEXEC);
}

// rd_kafka_producev is variadic. The bytes are copied; the headers belong to librdkafka when this
// succeeds, and stay the caller's when it fails. A key or value that is NULL is Kafka's null.
static inline rd_kafka_resp_err_t firebridge_produce(
    rd_kafka_t *handle, const char *topic, int32_t partition, const void *key, size_t key_size,
    const void *value, size_t value_size, rd_kafka_headers_t *headers, int64_t timestamp,
    void *token) {
    return rd_kafka_producev(
        handle, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(partition),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_KEY(key, key_size),
        RD_KAFKA_V_VALUE((void *)value, value_size), RD_KAFKA_V_HEADERS(headers),
        RD_KAFKA_V_TIMESTAMP(timestamp), RD_KAFKA_V_OPAQUE(token), RD_KAFKA_V_END);
}

// rd_kafka_mock_broker_push_request_error_rtts is variadic: one error, answered so much later.
static inline rd_kafka_resp_err_t firebridge_mock_push_error(
    rd_kafka_mock_cluster_t *cluster, int32_t broker, int16_t api_key, rd_kafka_resp_err_t error,
    int milliseconds) {
    return rd_kafka_mock_broker_push_request_error_rtts(
        cluster, broker, api_key, 1, error, milliseconds);
}
