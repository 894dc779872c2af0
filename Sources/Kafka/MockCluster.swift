import CRdKafka

/// librdkafka's own imitation of a Kafka cluster on loopback ports, for demos and tests.
///
/// Run it in a process of its own (`serve`): its assertions would end ours, and a process can be
/// frozen. What it lacks against Kafka: transactions, retention by time, offsets by time, static
/// membership.
@safe
public final class MockCluster {
    private let handle: OpaquePointer
    private let cluster: OpaquePointer

    /// Starts so many brokers, numbered from 1.
    public init(brokers: Int) throws(KafkaError) {
        let list = try PropertyList(
            user: [], over: [],
            under: [("bootstrap.servers", "127.0.0.1:1"), ("log_level", "0")])
        unsafe handle = try list.makeHandle(RD_KAFKA_PRODUCER, user: [])
        guard let cluster = unsafe rd_kafka_mock_cluster_new(handle, Int32(brokers)) else {
            unsafe rd_kafka_destroy(handle)
            throw KafkaError(
                code: "_FAIL", text: "no mock cluster of \(brokers) brokers could be started",
                action: .fatal)
        }
        unsafe self.cluster = cluster
    }

    deinit {
        unsafe rd_kafka_mock_cluster_destroy(cluster)
        unsafe rd_kafka_destroy(handle)
    }

    /// `host:port` of every broker.
    public var bootstrap: [String] {
        unsafe String(cString: rd_kafka_mock_cluster_bootstraps(cluster)!).split(separator: ",")
            .map(String.init)
    }

    /// Creates a topic; a topic that is asked for without this gets four partitions.
    public func createTopic(_ name: String, partitions: Int) throws(KafkaError) {
        try KafkaError.check(
            unsafe rd_kafka_mock_topic_create(cluster, name, Int32(partitions), 1))
    }

    /// The next requests of this kind are answered with these error codes, one each.
    public func pushErrors(apiKey: Int16, codes: [Int32]) {
        let errors = codes.map(rd_kafka_resp_err_t.init(rawValue:))
        unsafe rd_kafka_mock_push_request_errors_array(cluster, apiKey, errors.count, errors)
    }

    /// The next request of this kind to this broker is answered with this error, 0 for none, so
    /// many milliseconds late.
    public func pushError(
        broker: Int32, apiKey: Int16, code: Int32, milliseconds: Int32
    ) throws(KafkaError) {
        try KafkaError.check(
            unsafe firebridge_mock_push_error(
                cluster, broker, apiKey, rd_kafka_resp_err_t(rawValue: code), milliseconds))
    }

    /// Takes back errors that no request has met.
    public func clearErrors(apiKey: Int16) {
        unsafe rd_kafka_mock_clear_request_errors(cluster, apiKey)
    }

    /// Metadata answers for this topic carry this error; 0 ends that.
    public func setTopicError(_ topic: String, code: Int32) {
        unsafe rd_kafka_mock_topic_set_error(cluster, topic, rd_kafka_resp_err_t(rawValue: code))
    }

    /// A broker (-1: all) drops its connections and takes none.
    public func setDown(broker: Int32) throws(KafkaError) {
        try KafkaError.check(unsafe rd_kafka_mock_broker_set_down(cluster, broker))
    }

    /// A broker (-1: all) takes connections again.
    public func setUp(broker: Int32) throws(KafkaError) {
        try KafkaError.check(unsafe rd_kafka_mock_broker_set_up(cluster, broker))
    }

    /// A broker (-1: all) answers so many milliseconds late.
    public func setRTT(broker: Int32, milliseconds: Int32) throws(KafkaError) {
        try KafkaError.check(unsafe rd_kafka_mock_broker_set_rtt(cluster, broker, milliseconds))
    }

    /// Moves a partition's leader; -1 for none.
    public func setLeader(topic: String, partition: Int32, broker: Int32) throws(KafkaError) {
        try KafkaError.check(
            unsafe rd_kafka_mock_partition_set_leader(cluster, topic, partition, broker))
    }

    /// Moves a group's coordinator.
    public func setCoordinator(group: String, broker: Int32) throws(KafkaError) {
        try KafkaError.check(
            unsafe rd_kafka_mock_coordinator_set(cluster, "group", group, broker))
    }
}
