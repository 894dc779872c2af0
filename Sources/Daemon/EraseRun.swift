internal import BridgeCore
public import Configuration
internal import EventLoop

/// `firebridge erase`: the shell around `Erasure`.
public struct EraseRun {
    private let configuration: Configuration
    private let plan: MirrorPlan
    private let tree: PatientTree
    private var erasure: Erasure

    private static let advice = "run the same again to erase the rest"

    /// Prepares to erase a conversation.
    public init(_ configuration: Configuration, conversation: String) throws(OneShotFailure) {
        let key = Key.escape(Array(conversation.utf8))
        guard !key.isEmpty, key.count <= Key.bytesMax else {
            throw OneShotFailure(
                .usage,
                "--conversation: expected an id of 1 to \(Key.bytesMax) bytes once encoded, "
                    + "found \(key.count)")
        }
        self.configuration = configuration
        do {
            plan = try configuration.plan()
            tree = try PatientTree(configuration)
        } catch {
            throw OneShotFailure(.configuration, "\(error)")
        }
        erasure = Erasure(
            of: Array(conversation.utf8), plan: plan, settings: configuration.settings,
            owner: Database.randomOwner())
    }

    /// What would be removed, line by line.
    public func look() throws(OneShotFailure) -> [String] {
        do throws(Erasure.Failure) {
            let findings = try erasure.find(tree.ask)
            var lines = findings.nodes.map { "would remove \(printable($0))" }
            lines += findings.guards.map { "would remove \(printable($0))" }
            if findings.entries > 0 {
                lines.append("would remove streams of the ledger: \(findings.entries)")
            }
            if findings.isEmpty { lines.append("nothing is there to remove") }
            lines.append("would leave the erase mark: records up to now would be dropped")
            return lines + remarks(on: findings)
        } catch {
            throw OneShotFailure(error, advice: Self.advice)
        }
    }

    /// Erases the conversation, and tells what was done.
    public mutating func run() throws(OneShotFailure) -> [String] {
        do throws(Erasure.Failure) {
            let (findings, mark) = try erasure.run(wall: Clock.now().wall, tree.ask)
            var lines: [String] = []
            if findings.isEmpty {
                lines.append(
                    findings.erased == nil
                        ? "nothing was there to remove; records may still be in the log"
                        : "nothing was there to remove: it was erased before")
            } else {
                lines.append(
                    "removed nodes: \(findings.nodes.count), streams of the ledger: "
                        + "\(findings.entries), guards: \(findings.guards.count)")
            }
            let time = String(decoding: Timestamp.text(milliseconds: mark), as: UTF8.self)
            lines.append("records up to \(time) are dropped from now on, in every set")
            return lines + remarks(on: findings)
        } catch {
            throw OneShotFailure(error, advice: Self.advice)
        }
    }

    private func remarks(on findings: Erasure.Findings) -> [String] {
        findings.unnamed.map {
            "not looked for, as the conversation's id does not tell its nodes: \($0)"
        }
    }

    private func printable(_ path: [UInt8]) -> String { String(decoding: path, as: UTF8.self) }
}

extension OneShotFailure {
    /// What kept a command from a tree that it must have for itself.
    ///
    /// - Parameter advice: what to do once the database answers.
    init(_ failure: Erasure.Failure, advice: String) {
        let text =
            switch failure {
            case .live(let fence): fence.description
            case .tooNew(let version):
                "_firebridge/version is \(version): a newer firebridge wrote this state, use that"
            case .overtaken:
                "a bridge was started meanwhile and has taken the fence: stop it, then \(advice)"
            case .database(let text): "the database: \(text); \(advice)"
            }
        self.init(.unreachable, text)
    }
}
