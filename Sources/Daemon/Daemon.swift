internal import BridgeCore
public import Configuration
internal import EventLoop
internal import HTTPServer
public import Telemetry

/// Why a new configuration was refused.
public struct ReloadFailure: Error, Sendable {
    /// Everything that is wrong with it.
    public var lines: [String]

    /// Makes a failure.
    public init(lines: [String]) { self.lines = lines }
}

/// `firebridge run`: a mirror, its status pages and the signals, in one thread with one sleep.
public final class Daemon {
    /// Reads the configuration anew, for SIGHUP.
    public typealias Reader = () throws(ReloadFailure) -> Configuration

    /// How the process should exit (contract section 4).
    public enum Exit: Int32, Sendable {
        case clean = 0
        case unreachable = 69
        case internalError = 70
        case undelivered = 75
        case configuration = 78
    }

    private let readConfiguration: Reader
    private let log: Log
    private let signals: SignalDescriptor
    private let start = Clock.monotonic()
    private let pages = Pages()
    private var server: HTTPServer?
    private var configuration: Configuration
    private var pendingReload: Reload?
    private var isStopping = false

    /// How long Kafka's client may take to leave.
    private static let closeLimit = Duration.seconds(3)

    /// A configuration that takes over when what was read under the old one is delivered.
    private struct Reload {
        var configuration: Configuration
        /// The status server at its new port; nil where that has not changed.
        var server: HTTPServer?
    }

    /// What the status pages tell of, shared with the server's handler.
    private final class Pages {
        var mirror: Mirror?
    }

    /// Blocks the signals that it takes care of: make it before any thread starts.
    public init(_ configuration: Configuration, log: Log, reader: @escaping Reader) throws {
        self.configuration = configuration
        self.log = log
        readConfiguration = reader
        signals = try SignalDescriptor([.terminate, .interrupt, .hangUp])
        ThisProcess.limitMallocArenas()
    }

    /// Mirrors until a signal ends it.
    public func run() -> Exit {
        do {
            server = try listen(configuration)
            var mirror = try makeMirror(configuration)
            while true {
                let end = serve(mirror)
                let isFree = mirror.close(within: Self.closeLimit)
                pages.mirror = nil
                guard !isStopping, case .drained = end, let next = pendingReload else {
                    return finish(end, isFree: isFree)
                }
                pendingReload = nil
                mirror = try successor(next)
            }
        } catch let error as HTTPServerError {
            log.error("cannot_listen", ["reason": .text("\(error)")])
        } catch {
            log.error("cannot_start", ["reason": .text("\(error)")])
        }
        log.finish()
        return .configuration
    }

    private func listen(_ configuration: Configuration) throws(HTTPServerError) -> HTTPServer {
        let pages = pages
        let start = start
        return try HTTPServer(listen: configuration.server.listen) { request in
            StatusPages.answer(request, about: pages.mirror, since: start)
        }
    }

    /// A mirror with metrics of its own: its counters begin at 0, as after a restart.
    private func makeMirror(_ configuration: Configuration) throws -> Mirror {
        let mirror = try Mirror(
            configuration, log: log, metrics: FirebridgeMetrics(version: Mirror.version))
        pages.mirror = mirror
        log.info(
            "started",
            [
                "version": .text(Mirror.version),
                "group": .text(configuration.settings.group),
                "start": .text("\(configuration.settings.start)"),
                "config_hash": .text(configuration.hash),
                "status": .text("http://\(server?.address.description ?? "")"),
            ])
        return mirror
    }

    /// The mirror of a new configuration; of the old one where the new one turns out unusable only
    /// now: a file that Kafka's client does not find, for instance.
    private func successor(_ next: Reload) throws -> Mirror {
        var former = server
        do {
            if let fresh = next.server {
                server = fresh
            } else if next.configuration.server.listen != configuration.server.listen {
                // The port stays: its old socket has to go first.
                former = nil
                server = nil
                server = try listen(next.configuration)
            }
            let mirror = try makeMirror(next.configuration)
            configuration = next.configuration
            log.level = LogLevel(rawValue: configuration.log.level.rawValue) ?? .info
            return mirror
        } catch {
            log.error("reload_refused", ["reason": .text("\(error)")])
            server = try former ?? listen(configuration)
            return try makeMirror(configuration)
        }
    }

    private func serve(_ mirror: Mirror) -> Mirror.End {
        while true {
            mirror.turn()
            if let end = mirror.end { return end }
            guard let server else { return .failed("no status server") }
            let ready = mirror.wait(
                for: [signals.number, server.descriptor], timeout: server.nextTimeout)
            log.tick()
            if ready[0] { takeSignals(mirror) }
            server.run()
        }
    }

    private func takeSignals(_ mirror: Mirror) {
        while let signal = signals.next() {
            switch signal {
            case .hangUp: reload(mirror)
            default:
                guard !isStopping else {
                    log.warn("stopped_at_once", [:])
                    log.finish()
                    ThisProcess.exitNow(Exit.undelivered.rawValue)
                }
                isStopping = true
                log.info("stopping", ["signal": .text("\(signal)")])
                mirror.stop()
            }
        }
    }

    private func reload(_ mirror: Mirror) {
        guard !isStopping, pendingReload == nil else { return }
        do {
            let next = try readConfiguration()
            // Bound before the old configuration is given up: a taken address is a reason to keep it.
            let hasMoved = next.server.listen.port != configuration.server.listen.port
            pendingReload = Reload(
                configuration: next, server: hasMoved ? try listen(next) : nil)
            log.info("reloading", [:])
            mirror.stop()
        } catch let failure as ReloadFailure {
            for line in failure.lines { log.error("reload_refused", ["reason": .text(line)]) }
        } catch {
            log.error("reload_refused", ["reason": .text("\(error)")])
        }
    }

    private func finish(_ end: Mirror.End, isFree: Bool) -> Exit {
        let exit: Exit
        switch end {
        case .drained(0): exit = .clean
        case .drained(let undelivered):
            log.warn("stopped_undelivered", ["records": .integer(Int64(undelivered))])
            exit = .undelivered
        case .failed: exit = .undelivered
        }
        log.info("stopped", ["exit": .integer(Int64(exit.rawValue))])
        log.finish()
        // With a silent broker librdkafka's threads outlive the wait: exit handlers could hang on them.
        if !isFree { ThisProcess.exitNow(exit.rawValue) }
        return exit
    }
}
