internal import Fuzzing
internal import Glibc

/// What the command line says.
struct Options {
    /// Into what odd input goes.
    enum Target {
        case core
        case rules
        case visits(VisitKind)
    }

    var target = Target.core
    var seconds = 10.0
    var seed: UInt64 = 1
    var rounds: UInt64 = 1 << 40
    var corpus: [[UInt8]] = []
    var isTracing = false
    /// The program whose tree is visited: beside this one.
    var program = beside(CommandLine.arguments[0], "firebridge")
    /// Further flags of its `tree`.
    var treeFlags: [String] = []

    init(_ arguments: some Sequence<String>) {
        var arguments = arguments.makeIterator()
        func number(_ name: String) -> Double {
            guard let value = arguments.next().flatMap(Double.init), value >= 0, value < 1e15 else {
                refuse("\(name) needs a number")
            }
            return value
        }
        while let name = arguments.next() {
            switch name {
            case "--target":
                let word = arguments.next() ?? ""
                guard let target = Target(word) else { refuse("--target '\(word)'?") }
                self.target = target
            case "--seconds": seconds = number(name)
            case "--seed": seed = UInt64(number(name))
            case "--rounds": rounds = UInt64(number(name))
            case "--trace": isTracing = true
            case "--program": program = arguments.next() ?? program
            case "--": while let flag = arguments.next() { treeFlags.append(flag) }
            default:
                guard !name.hasPrefix("-"), let file = read(name) else { refuse("'\(name)'?") }
                corpus.append(file)
            }
        }
    }
}

extension Options.Target {
    init?(_ word: String) {
        switch word {
        case "core": self = .core
        case "rules": self = .rules
        default:
            guard let kind = VisitKind(rawValue: word) else { return nil }
            self = .visits(kind)
        }
    }
}

private func beside(_ path: String, _ name: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return name }
    return path[...slash] + name
}

func refuse(_ what: String) -> Never {
    say(
        "fuzz: \(what); usage: fuzz [--target core|rules|rest|socket|poll] [--seconds N] [--seed S] "
            + "[--rounds N] [--trace] [--program FIREBRIDGE] [FILE ...] [-- TREE-FLAG ...]")
    exit(64)
}

/// Says a line at once, so that a trap does not swallow it.
func say(_ line: String) {
    print(line)
    fflush(nil)
}

/// Seconds of a clock that never goes back.
func seconds() -> Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// The memory that a process holds.
func residentMiB(_ process: String = "self") -> Int {
    let numbers = (read("/proc/\(process)/statm") ?? []).split(separator: UInt8(ascii: " "))
    guard numbers.count > 1 else { return 0 }
    return (Int(String(decoding: numbers[1], as: UTF8.self)) ?? 0) * 4096 / 1_048_576
}

/// The bytes of a file; nil where it cannot be read.
func read(_ path: String) -> [UInt8]? {
    guard let file = unsafe fopen(path, "r") else { return nil }
    defer { _ = unsafe fclose(file) }
    var out: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 1 << 16)
    while true {
        let count = unsafe fread(&part, 1, part.count, file)
        guard count > 0 else { return out }
        out += part[..<count]
    }
}
