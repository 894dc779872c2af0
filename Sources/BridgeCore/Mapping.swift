/// How one topic is mirrored: contract section 3, `mappings`.
public struct Mapping: Equatable, Sendable {
    /// The topic.
    public var topic: String
    /// What its records are.
    public var form: Form
    /// Inputs found elsewhere than under their own names, by field name.
    public var fields: [String: JSONPointer] = [:]
    /// Records that match none of the values at each pointer are passed over.
    public var when: [Condition] = []

    /// Makes a mapping.
    public init(
        topic: String, form: Form, fields: [String: JSONPointer] = [:], when: [Condition] = []
    ) {
        self.topic = topic
        self.form = form
        self.fields = fields
        self.when = when
    }

    /// What the records of a topic are.
    public enum Form: Equatable, Sendable {
        /// Token chunks, written below `node`.
        case chunk(node: Template, index: IndexRule)
        /// Activity changes and run markers.
        case run(status: Template?, marker: Template?, stream: Template?, eventName: String?)
        /// Finalized messages.
        case message(node: Template, eventName: String?)
        /// Anything else.
        case value(ValueMapping)
    }

    /// Where a chunk's index comes from.
    public enum IndexRule: Equatable, Sendable {
        /// From the record's `chunk_index`.
        case field
        /// From the order of the chunks in the topic.
        case arrival
    }

    /// A filter: the value at `pointer`, as text, is one of `values`.
    public struct Condition: Equatable, Sendable {
        /// Where to look.
        public var pointer: JSONPointer
        /// What passes: strings as they are, numbers and booleans as JSON writes them.
        public var values: [String]

        /// Makes a condition.
        public init(pointer: JSONPointer, values: [String]) {
            self.pointer = pointer
            self.values = values
        }
    }

    /// The general mapping, `as: value`.
    public struct ValueMapping: Equatable, Sendable {
        /// Where it is written.
        public var node: Template
        /// What is written; nil for the whole record value.
        public var value: JSONPointer?
        /// Whether it replaces the node or only the children that it names.
        public var write: Write = .set
        /// The fields whose values must rise, compared in this order.
        public var guardedBy: [JSONPointer] = []
        /// What a null value does.
        public var tombstone: Tombstone = .delete

        /// Makes a value mapping.
        public init(
            node: Template, value: JSONPointer? = nil, write: Write = .set,
            guardedBy: [JSONPointer] = [], tombstone: Tombstone = .delete
        ) {
            self.node = node
            self.value = value
            self.write = write
            self.guardedBy = guardedBy
            self.tombstone = tombstone
        }
    }

    /// How a value is written.
    public enum Write: String, Equatable, Sendable { case set, merge }

    /// What a record without value does.
    public enum Tombstone: String, Equatable, Sendable { case delete, ignore, reject }
}

extension Mapping {
    /// Whether chunks are numbered as they stand in the topic.
    var isByArrival: Bool {
        if case .chunk(_, .arrival) = form { true } else { false }
    }
}
