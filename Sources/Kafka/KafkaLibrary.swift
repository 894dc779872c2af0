import CRdKafka

/// The library that does the work.
public enum KafkaLibrary {
    /// librdkafka's version, as it was loaded.
    public static var version: String { unsafe String(cString: rd_kafka_version_str()) }
}
