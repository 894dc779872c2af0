internal import Arguments
internal import EventLoop
internal import JSON
internal import Tree
internal import TreeServerCore

/// `firebridge tree --data DIR --export FILE` and `--import FILE`: one database of the directory
/// as JSON, in the form of `format=export`.
enum TreeTransfer {
    private static let bytesMax = 2 * 1024 * 1024 * 1024

    /// Does what the flags ask for.
    ///
    /// - Returns: the exit code; nil where the tree is to be served.
    static func run(
        _ arguments: Arguments, _ tree: TreeServer, _ data: TreeData?
    ) throws(TreeGuard.Failure) -> Int32? {
        let source = arguments.value("import")
        let target = arguments.value("export")
        for flag in ["fsync", "export", "import"] where arguments.has(flag) && data == nil {
            throw TreeGuard.Failure(
                lines: ["--\(flag) needs --data DIR, the directory of the tree"],
                code: ExitCode.usage)
        }
        guard source != nil || target != nil else {
            guard !arguments.has("ns") else {
                throw TreeGuard.Failure(
                    lines: ["--ns goes with --export and --import"], code: ExitCode.usage)
            }
            return nil
        }
        if let target { try export(arguments.value("ns"), of: tree, to: target) }
        if let source {
            tree.replace(
                Array((arguments.value("ns") ?? tree.options.defaultNamespace).utf8),
                with: try read(source, tree.options.limits))
            data?.rewrite()
            data?.close()
        }
        return ExitCode.ok
    }

    private static func export(
        _ name: String?, of tree: TreeServer, to file: String
    ) throws(TreeGuard.Failure) {
        let filled = tree.namespaceNames.filter { !tree.root(of: $0).isNull }
        let database = name.map { Array($0.utf8) } ?? filled.first
        let isChosen = name == nil ? filled.count <= 1 : filled.contains { $0 == database }
        guard isChosen else {
            let names = filled.map { String(decoding: $0, as: UTF8.self) }.joined(separator: ", ")
            let line =
                if let name {
                    filled.isEmpty
                        ? "--ns: found '\(name)', but all databases are empty"
                        : "--ns: expected one of \(names), found '\(name)'"
                } else {
                    "there are several databases; choose one by --ns: \(names)"
                }
            throw TreeGuard.Failure(lines: ["--export: \(line)"], code: ExitCode.usage)
        }
        let root = database.map { tree.root(of: $0) } ?? .null
        do {
            try File.write(file, root.json(.export) + [UInt8(ascii: "\n")], mode: 0o600)
        } catch {
            throw TreeGuard.Failure(lines: ["--export: \(error)"], code: ExitCode.unreachable)
        }
    }

    private static func read(
        _ file: String, _ limits: TreeLimits
    ) throws(TreeGuard.Failure) -> Value {
        let text: [UInt8]
        do {
            text = try File.read(file, bytesMax: bytesMax)
        } catch {
            throw TreeGuard.Failure(lines: ["--import: \(error)"])
        }
        let tape: JSONTape
        do {
            tape = try JSONParser().parse(text)
        } catch {
            throw TreeGuard.Failure(lines: ["--import: \(file): \(error)"])
        }
        do {
            var decoder = ValueDecoder(limits: limits)
            return try decoder.decode(tape)
        } catch {
            throw TreeGuard.Failure(
                lines: ["--import: \(file): byte \(error.offset): \(error.kind)"])
        }
    }
}
