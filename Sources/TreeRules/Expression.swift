/// A checked expression.
indirect enum Expression: Sendable {
    case literal(RuleValue)
    case auth, now, root, data, newData
    /// The name that the n-th `$` variable stands for.
    case wildcard(Int)
    case queryField(QueryField)
    case member(Expression, Expression)
    case length(Expression)
    case snapshot(SnapshotMethod, Expression)
    case child(Expression, Expression)
    case hasChildren(Expression, [Expression])
    case string(StringMethod, Expression, [Expression])
    case matches(Expression, RegularExpression)
    case not(Expression)
    case negative(Expression)
    case all([Expression])
    case any([Expression])
    case conditional(Expression, Expression, Expression)
    case equal(Expression, Expression, negated: Bool)
    case compare(Comparison, Expression, Expression)
    case arithmetic(Arithmetic, Expression, Expression)

    enum QueryField: String, Sendable {
        case orderByKey, orderByValue, orderByPriority, orderByChild, startAt, endAt, equalTo
        case limitToFirst, limitToLast

        var type: TypeSet {
            switch self {
            case .orderByKey, .orderByValue, .orderByPriority: .bool
            case .orderByChild: [.string, .null]
            case .startAt, .endAt, .equalTo: [.string, .number, .bool, .null]
            case .limitToFirst, .limitToLast: [.number, .null]
            }
        }
    }

    /// The methods of a snapshot that take nothing.
    enum SnapshotMethod: String, Sendable {
        case val, parent, exists, getPriority, isNumber, isString, isBoolean

        var type: TypeSet {
            switch self {
            case .val: .value
            case .parent: .snapshot
            case .exists, .isNumber, .isString, .isBoolean: .bool
            case .getPriority: [.string, .number, .null]
            }
        }
    }

    enum StringMethod: String, Sendable {
        case contains, beginsWith, endsWith, replace, toLowerCase, toUpperCase

        var argumentCount: Int {
            switch self {
            case .contains, .beginsWith, .endsWith: 1
            case .replace: 2
            case .toLowerCase, .toUpperCase: 0
            }
        }

        var type: TypeSet {
            switch self {
            case .contains, .beginsWith, .endsWith: .bool
            case .replace, .toLowerCase, .toUpperCase: .string
            }
        }
    }

    enum Comparison: String, Sendable {
        case less = "<"
        case lessOrEqual = "<="
        case greater = ">"
        case greaterOrEqual = ">="
    }

    enum Arithmetic: String, Sendable {
        case add = "+"
        case subtract = "-"
        case multiply = "*"
        case divide = "/"
        case remainder = "%"
    }
}
