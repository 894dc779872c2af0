/// Metrics as text: the Prometheus text format 0.0.4.
public struct Exposition {
    /// The `Content-Type` of the text.
    public static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// The text so far.
    public private(set) var text: [UInt8] = []

    /// Begins an empty text.
    public init() {}

    /// Adds a metric.
    public mutating func add(_ family: Family<Counter>) {
        head(family.name, family.help, "counter")
        for (values, counter) in family.series {
            sample(family.name, family.labels, values, String(counter.value))
        }
    }

    /// Adds a metric.
    public mutating func add(_ family: Family<Gauge>) {
        head(family.name, family.help, "gauge")
        for (values, gauge) in family.series {
            sample(family.name, family.labels, values, Self.number(gauge.value))
        }
    }

    /// Adds a metric.
    public mutating func add(_ family: Family<Histogram>) {
        head(family.name, family.help, "histogram")
        for (values, histogram) in family.series {
            var total: Int64 = 0
            for (bound, count) in zip(histogram.bounds + [.infinity], histogram.counts) {
                total += count
                sample(
                    family.name + "_bucket", family.labels + ["le"],
                    values + [Self.number(bound)], String(total))
            }
            sample(family.name + "_sum", family.labels, values, Self.number(histogram.sum))
            sample(family.name + "_count", family.labels, values, String(total))
        }
    }

    private mutating func head(_ name: String, _ help: String, _ type: String) {
        text += "# HELP \(name) ".utf8
        escape(help, quotes: false)
        text += "\n# TYPE \(name) \(type)\n".utf8
    }

    private mutating func sample(
        _ name: String, _ labels: [String], _ values: [String], _ number: String
    ) {
        text += name.utf8
        for (index, (label, value)) in zip(labels, values).enumerated() {
            text += "\(index == 0 ? "{" : ",")\(label)=\"".utf8
            escape(value, quotes: true)
            text.append(UInt8(ascii: "\""))
        }
        if !labels.isEmpty { text.append(UInt8(ascii: "}")) }
        text += " \(number)\n".utf8
    }

    private mutating func escape(_ string: String, quotes: Bool) {
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\\"): text += "\\\\".utf8
            case UInt8(ascii: "\n"): text += "\\n".utf8
            case UInt8(ascii: "\"") where quotes: text += "\\\"".utf8
            default: text.append(byte)
            }
        }
    }

    private static func number(_ value: Double) -> String {
        guard value.isFinite else { return value.isNaN ? "NaN" : value < 0 ? "-Inf" : "+Inf" }
        guard value == value.rounded(), abs(value) < 1e15 else { return String(value) }
        return String(Int64(value))
    }
}
