import EventLoop
import Glibc
import Testing

/// The repository's files as git sees them: tracked, or new and not ignored.
struct Repository {
    /// A file by its path from the root.
    struct TextFile {
        var path: String
        var text: String
        var lines: [String]

        /// The directory's second part: the target of a source file.
        var target: String { String(path.split(separator: "/").dropFirst().first ?? "") }

        /// Whether the text is in the file: what makes it worth looking at every line.
        func mentions(_ needle: String) -> Bool { unsafe strstr(text, needle) != nil }

        /// The lines, with their places, of a file that mentions one of the needles.
        func lines(mentioning needles: String...) -> [(place: String, line: String)] {
            guard needles.contains(where: mentions) else { return [] }
            return lines.enumerated().map { ("\(path):\($0 + 1)", $1) }
        }
    }

    let root: String
    /// All of them, those that are no text left out.
    let files: [TextFile]
    /// The paths of all, pictures and data too.
    let paths: Set<String>

    static let shared = Result { try Repository() }

    private init() throws {
        root = try Self.findRoot()
        var files: [TextFile] = []
        let paths = try Self.list(root)
        for path in paths {
            // Data, and what git lists although it was removed.
            guard !path.hasSuffix(".jsonl"), !path.hasSuffix(".expected.json"),
                let bytes = try? File.read("\(root)/\(path)", bytesMax: 1 << 24),
                let text = String(validating: bytes, as: UTF8.self)
            else { continue }
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            files.append(TextFile(path: path, text: text, lines: lines.map(String.init)))
        }
        self.files = files
        self.paths = Set(paths)
    }

    /// The Swift sources.
    var sources: [TextFile] { swift.filter { $0.path.hasPrefix("Sources/") } }
    /// All Swift files but `Package.swift`.
    var swift: [TextFile] { files.filter { $0.path.hasSuffix(".swift") && $0.path.contains("/") } }
    /// The documents.
    var documents: [TextFile] { files.filter { $0.path.hasSuffix(".md") } }

    func file(_ path: String) throws -> TextFile {
        try #require(files.first { $0.path == path }, "there is no \(path)")
    }

    /// The paths of all files: git's, or where there is no git what lies there.
    private static func list(_ root: String) throws -> [String] {
        let git = ["git", "-c", "safe.directory=*", "ls-files"]
        let known = try run(git + ["--cached", "--others", "--exclude-standard"], in: root)
        if known.code == 0 { return known.output.split(separator: "\n").map(String.init) }
        let found = try run(
            ["sh", "-c", #"find . \( -name .git -o -name .build \) -prune -o -type f -print"#],
            in: root)
        try #require(found.code == 0, "neither git nor find: \(found.output)")
        return found.output.split(separator: "\n").map { String($0.dropFirst(2)) }.sorted()
    }

    private static func findRoot() throws -> String {
        // The tests may have been built from links to the files.
        let parts = try resolved(#filePath).split(separator: "/").dropLast(3)
        return "/" + parts.joined(separator: "/")
    }
}

extension String {
    /// What the first group of a pattern finds, each time.
    func all(_ pattern: Regex<(Substring, Substring)>) -> [String] {
        matches(of: pattern).map { String($0.output.1) }
    }

    /// The line without a comment at its end and without what stands in quotes.
    var code: String {
        var out = ""
        var isQuoted = false
        var before: Character = " "
        for character in self {
            if character == "\"", before != "\\" { isQuoted.toggle() }
            if !isQuoted, character == "/", before == "/" { return String(out.dropLast()) }
            if !isQuoted { out.append(character) }
            before = character
        }
        return out
    }
}

/// A path without links in it.
func resolved(_ path: String) throws -> String {
    guard let real = unsafe realpath(path, nil) else { throw Missing(path: path) }
    defer { unsafe free(real) }
    return unsafe String(cString: real)
}

/// A path that leads nowhere.
struct Missing: Error { var path: String }

/// Runs a program to its end; what it prints on standard output and error, as it comes.
func run(
    _ arguments: [String], in directory: String, environment: [String: String]? = nil
) throws -> (code: Int32, output: String) {
    let process = try Subprocess(
        ["sh", "-c", "exec \"$@\" 2>&1", "sh"] + arguments, environment: environment,
        directory: directory, output: .pipe)
    let output = try #require(process.output)
    var bytes: [UInt8] = []
    let deadline = ContinuousClock.now + .seconds(60)
    while ContinuousClock.now < deadline {
        _ = Poll.wait(for: [output.number], timeout: .seconds(1))
        guard let more = try output.read(max: 65_536) else { continue }
        if more.isEmpty { break }
        bytes += more
    }
    let exit = process.wait(timeout: .seconds(5))
    guard case .code(let code)? = exit else { throw Unfinished(arguments: arguments) }
    return (code, String(decoding: bytes, as: UTF8.self))
}

/// A program that did not exit by itself.
struct Unfinished: Error { var arguments: [String] }
