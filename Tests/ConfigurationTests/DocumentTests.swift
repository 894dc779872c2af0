import Configuration
import EventLoop
import Testing

/// A file of the repository, by its path from the root.
func repositoryPath(_ path: String) -> String {
    let parts = #filePath.split(separator: "/").dropLast(3)
    return "/" + parts.joined(separator: "/") + "/" + path
}

func repositoryFile(_ path: String) throws -> String {
    String(decoding: try File.read(repositoryPath(path), bytesMax: 1 << 20), as: UTF8.self)
}

/// The commented file, the editor's schema and the manual say what the code does.
@Suite struct DocumentTests {
    @Test func theCommentedFileIsTheDefaults() throws {
        let text = try repositoryFile("Config/firebridge.yaml")
        #expect(try configuration(text) == Configuration())
    }

    @Test(arguments: ConfigurationKey.all.map(\.path))
    func theCommentedFileHasTheKeyAndItsDefault(_ path: String) throws {
        let text = try repositoryFile("Config/firebridge.yaml")
        let kept = withoutOthers(text, than: path)
        #expect(kept != nil, "\(path) is not in the file")
        let key = try #require(ConfigurationKey.all.first { $0.path == path })
        guard let value = kept, !value.isEmpty else { return }
        #expect(value == key.defaultValue)
    }

    /// The value that stands in the file's line of a key, found by its section's indentation: no
    /// YAML parser, so that nothing is taken from the code under test. Empty for a block.
    private func withoutOthers(_ text: String, than path: String) -> String? {
        var depth = 0
        let parts = path.split(separator: ".")
        for line in text.split(separator: "\n") {
            let indent = line.prefix { $0 == " " }.count
            let start = String(repeating: " ", count: depth * 2) + parts[depth] + ":"
            guard line.hasPrefix(start), indent == depth * 2 else { continue }
            depth += 1
            guard depth == parts.count else { continue }
            let value = line.dropFirst(start.count).drop { $0 == " " }
            return String(value.prefix { $0 != "#" }).trimmedRight
        }
        return nil
    }

    @Test func theCommentedFileExplainsEveryKeyOfAMapping() throws {
        let text = try repositoryFile("Config/firebridge.yaml")
        for key in ConfigurationKey.ofMapping {
            #expect(
                text.split(separator: "\n").contains { line in
                    line.drop { $0 == " " || $0 == "#" || $0 == "-" }.hasPrefix(key.name + ":")
                }, "\(key.name)")
        }
    }

    @Test func theEditorsSchemaIsWhatTheCodeKnows() throws {
        if Environment.value("SNAP_UPDATE") != nil {
            try File.write(
                repositoryPath("Config/firebridge.schema.json"), Array(Schema.text.utf8))
        }
        let text = try repositoryFile("Config/firebridge.schema.json")
        #expect(text == Schema.text, "SNAP_UPDATE=1 swift test --filter DocumentTests rewrites it")
    }

    @Test(arguments: ConfigurationKey.all.map(\.path))
    func theManualHasTheKeyAndItsDefault(_ path: String) throws {
        let key = try #require(ConfigurationKey.all.first { $0.path == path })
        let text = try repositoryFile("man/firebridge.yaml.5")
        let heads = text.split(separator: "\n").filter { $0.hasPrefix(".It Ic ") }
        let value = key.defaultValue == "\"\"" ? "\\(dq\\(dq" : key.defaultValue
        let expected =
            path == "mappings" ? ".It Ic mappings" : ".It Ic \(path) Pq default: Li \(value)"
        #expect(heads.filter { String($0) == expected }.count == 1, "\(expected)")
    }

    @Test func theManualKnowsNoOtherKeyAndEachOfAMapping() throws {
        let text = try repositoryFile("man/firebridge.yaml.5")
        let names = text.split(separator: "\n").filter { $0.hasPrefix(".It Ic ") }
            .map { String($0.split(separator: " ")[2]) }
        let expected = ConfigurationKey.all.map(\.path) + ConfigurationKey.ofMapping.map(\.name)
        #expect(names.sorted() == expected.sorted())
        for key in ConfigurationKey.ofMapping {
            guard let value = key.defaultValue else { continue }
            let line = ".Pq with \(key.forms.joined(separator: ", ")); default: Li \(value)"
            #expect(text.contains(".It Ic \(key.name)\n\(line)\n"), "\(line)")
        }
    }

    @Test func theManualsDefaultMappingsAreTheDefaults() throws {
        let text = try repositoryFile("man/firebridge.yaml.5")
        let block = try #require(
            text.split(separator: ".Bd -literal -offset indent\n").first {
                $0.hasPrefix("- topic: llm.token-chunks")
            })
        let lines = block.split(separator: "\n").prefix { $0 != ".Ed" }.map { "  " + $0 }
        #expect(
            try configuration("mappings:\n" + lines.joined(separator: "\n")).mappings
                == Configuration().mappings)
    }

    @Test func theManualsExampleIsAConfiguration() throws {
        let text = try repositoryFile("man/firebridge.yaml.5")
        let block = try #require(
            text.split(separator: ".Bd -literal -offset indent\n").first {
                $0.hasPrefix("kafka:\n")
            })
        let example = block.split(separator: "\n").prefix { $0 != ".Ed" }.joined(separator: "\n")
        let configuration = try configuration(
            example, environment: ["KAFKA_PASSWORD": "x", "CREDENTIALS_DIRECTORY": "/run/c"])
        #expect(configuration.database.credentials.file == "/run/c/service-account")
    }
}

extension String {
    fileprivate var trimmedRight: String {
        var text = self[...]
        while text.last == " " { text = text.dropLast() }
        return String(text)
    }
}
