@main
struct Main {
    static func main() {
        let arguments = CommandLine.arguments
        let count = arguments.count > 2 ? Int(arguments[2]) ?? 0 : 300_000
        CoreBenchmark.run(records: count, conversations: 1000)
    }
}
