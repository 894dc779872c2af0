internal import BridgeCore
public import Configuration
internal import EventLoop
internal import HTTPClient
internal import HTTPServer
internal import Kafka
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
    private let metrics = FirebridgeMetrics(version: Mirror.version)
    private let signals: SignalDescriptor
    private let start = Clock.monotonic()
    private let pages = Pages()
    private var server: HTTPServer?
    private var configuration: Configuration
    private var kafkaFiles: KafkaFiles
    private var pendingReload: Reload?
    private var isStopping = false
    private var notices = ServiceNotices(ServiceManager(Environment.all()))
    private var isWedged = false

    /// What SIGHUP has brought. It takes effect as a whole once the mirror has ended.
    private struct Reload {
        var configuration: Configuration
        /// Listens already where the new configuration says, so that nobody takes the place, and
        /// answers there once it is in effect; nil where the address stays.
        var server: HTTPServer?
    }

    /// How long Kafka's client may take to leave.
    private static let closeLimit = Duration.seconds(3)

    /// What the status pages bear: whoever dawdles is hung up on, so that a probe gets its answer.
    private static var limits: HTTPServerLimits {
        var limits = HTTPServerLimits()
        limits.connectionsMax = 16
        limits.requestTimeMax = .seconds(2)
        limits.headBytesMax = 4096
        limits.idleSeconds = 10
        return limits
    }

    /// What the status pages tell of, shared with the server's handler.
    private final class Pages {
        var mirror: Mirror?
    }

    /// Blocks the signals that it takes care of: make it before any thread starts.
    public init(_ configuration: Configuration, log: Log, reader: @escaping Reader) throws {
        self.configuration = configuration
        self.log = log
        kafkaFiles = KafkaFiles(configuration.properties)
        readConfiguration = reader
        signals = try SignalDescriptor([.terminate, .interrupt, .hangUp])
        ThisProcess.limitMallocArenas()
    }

    /// Mirrors until a signal ends it.
    public func run() -> Exit {
        var mirror: Mirror
        do {
            server = try listen(on: configuration.server.listen)
            mirror = try begin(configuration, after: nil)
        } catch {
            if error is HTTPServerError {
                log.error("cannot_listen", ["reason": .text("\(error)")])
            } else {
                log.error("cannot_start", ["reason": .text("\(error)")])
            }
            notices.ended("cannot start: \(error)")
            log.finish()
            return .configuration
        }
        while true {
            notices.ready(mirror.statusLine(at: mirror.moment()), at: mirror.moment())
            let end = serve(mirror)
            let isFree = mirror.close(within: Self.closeLimit)
            pages.mirror = nil
            guard !isStopping, case .drained = end, let next = pendingReload else {
                return finish(end, isFree: isFree)
            }
            pendingReload = nil
            if case .drained(let undelivered) = end, undelivered > 0 {
                // The new mirror reads them again.
                log.warn("stopped_undelivered", ["records": .integer(Int64(undelivered))])
            }
            do {
                mirror = try swap(mirror, for: next)
            } catch {
                log.error("cannot_start", ["reason": .text("\(error)")])
                notices.ended("cannot start: \(error)")
                log.finish()
                // Not `configuration`, after which nobody would start it again: it has worked with
                // this one, and what is missing may come back.
                return .undelivered
            }
        }
    }

    private func begin(_ configuration: Configuration, after previous: Mirror?) throws -> Mirror {
        let mirror = try Mirror(configuration, log: log, metrics: metrics, after: previous)
        pages.mirror = mirror
        let libraries = HTTPClient.loadedVersions
        log.info(
            "started",
            [
                "version": .text(Mirror.version), "group": .text(configuration.settings.group),
                "start": .text("\(configuration.settings.start)"),
                "config_hash": .text(configuration.hash),
                "status": .text("http://\(server?.address.description ?? "")"),
                "librdkafka": .text(KafkaLibrary.version), "curl": .text(libraries.curl),
                "openssl": .text(libraries.openSSL),
            ])
        return mirror
    }

    /// Goes on with a new configuration, or with the old one where the new one cannot begin.
    private func swap(_ mirror: Mirror, for reload: Reload) throws -> Mirror {
        let next = reload.configuration
        let previous = server
        // Looked at before the client reads them: a change in between is seen the next time.
        let files = KafkaFiles(next.properties)
        do {
            server = reload.server ?? previous
            let fresh = try begin(next, after: mirror)
            configuration = next
            kafkaFiles = files
            log.level = LogLevel(rawValue: next.log.level.rawValue) ?? .info
            if let format = LogStyle.Format(rawValue: next.log.format.rawValue) {
                log.style = StandardError.style(format)
            }
            return fresh
        } catch {
            log.error("reload_refused", ["reason": .text("\(error)")])
            server = previous
            kafkaFiles = KafkaFiles(configuration.properties)
            return try begin(configuration, after: mirror)
        }
    }

    private func listen(on address: ListenAddress) throws -> HTTPServer {
        let pages = pages
        let start = start
        return try HTTPServer(listen: address, limits: Self.limits) { request in
            var answer = StatusPages.answer(request, about: pages.mirror, since: start)
            // Nobody keeps one of the few connections.
            answer.headers.append((name: "Connection", value: "close"))
            return answer
        }
    }

    private func serve(_ mirror: Mirror) -> Mirror.End {
        while true {
            mirror.turn()
            if let end = mirror.end { return end }
            signOfLife(mirror)
            guard let server else { return .failed("no status server") }
            let ready = mirror.wait(
                for: [signals.number, server.descriptor], timeout: server.nextTimeout,
                until: [notices.nextTick, looksAtFiles ? kafkaFiles.deadline : nil])
            log.tick()
            if ready[0] { takeSignals(mirror) }
            if looksAtFiles, kafkaFiles.haveChanged(at: mirror.moment()) {
                log.info("kafka_files_changed", [:])
                reload(mirror)
            }
            server.run()
        }
    }

    /// A mirror that comes to its end reads nothing anew.
    private var looksAtFiles: Bool { !isStopping && pendingReload == nil }

    /// Tells the service manager how things are; the watchdog only where all parts move.
    private func signOfLife(_ mirror: Mirror) {
        let now = mirror.moment()
        let wedged = mirror.wedged(at: now)
        if let wedged, !isWedged { log.error("wedged", ["reason": .text(wedged)]) }
        isWedged = wedged != nil
        notices.tick(at: now, isAlive: { wedged == nil }) {
            if let wedged { return "wedged: \(wedged)" }
            let line = mirror.statusLine(at: now)
            return isStopping ? "stopping; \(line)" : line
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
                notices.stopping(within: configuration.settings.drain + Self.closeLimit * 3)
                mirror.stop()
            }
        }
    }

    /// What is read while an earlier reload drains takes that one's place.
    private func reload(_ mirror: Mirror) {
        guard !isStopping else { return }
        notices.reloading(at: mirror.moment())
        do throws(ReloadFailure) {
            let next = try readConfiguration()
            for property in next.kafka.properties where property.isSecret {
                log.hide(property.value.utf8)
            }
            let isDraining = pendingReload != nil
            pendingReload = Reload(
                configuration: next, server: try newServer(for: next.server.listen))
            log.info("reloading", [:])
            if !isDraining { mirror.stop() }
        } catch {
            for line in error.lines { log.error("reload_refused", ["reason": .text(line)]) }
            let reason = error.lines.first ?? ""
            notices.ready("reload refused: \(reason)", at: mirror.moment())
        }
    }

    /// Listens at another address than now, before anything changes; nil where it is the same.
    private func newServer(for address: ListenAddress) throws(ReloadFailure) -> HTTPServer? {
        guard address != configuration.server.listen else { return nil }
        if let pendingReload, pendingReload.configuration.server.listen == address {
            return pendingReload.server
        }
        do {
            return try listen(on: address)
        } catch {
            throw ReloadFailure(lines: ["server.listen: \(error)"])
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
        notices.ended("stopped with \(exit.rawValue)")
        log.info("stopped", ["exit": .integer(Int64(exit.rawValue))])
        log.finish()
        // With a silent broker librdkafka's threads outlive the wait: exit handlers could hang on
        // them.
        if !isFree { ThisProcess.exitNow(exit.rawValue) }
        return exit
    }
}
