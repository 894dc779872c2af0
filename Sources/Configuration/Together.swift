import BridgeCore

/// The names of the environment that users of such databases know. They count where the file and
/// `--set` leave the key unset.
///
/// - `FIREBASE_DATABASE_EMULATOR_HOST=host:port` is `database.url: http://host:port/?ns=demo`, and
///   the credentials are then the emulator's, so that no key is ever sent to one.
/// - `GOOGLE_APPLICATION_CREDENTIALS=file` is the service account's key: its `file` where the type
///   is `service_account`, and also the type where the URL is an https one.
/// - `CREDENTIALS_DIRECTORY` (systemd's `LoadCredential=`) gives `file`, where a type needs one and
///   nothing else names it: `service-account`, `access-token` or `secret` in that directory.
struct EnvironmentNames {
    private let emulatorHost: String?
    private let serviceAccount: String?
    private let directory: String?

    init(_ environment: [String: String]) {
        func value(_ name: String) -> String? {
            environment[name].flatMap { $0.isEmpty ? nil : $0 }
        }
        emulatorHost = value("FIREBASE_DATABASE_EMULATOR_HOST")
        serviceAccount = value("GOOGLE_APPLICATION_CREDENTIALS")
        directory = value("CREDENTIALS_DIRECTORY")
    }

    func apply(to loader: inout Loader) {
        let hasType = loader.place(of: "database.credentials.type") != nil
        // The shipped file names the key, empty: that names no file.
        let hasFile = !loader.configuration.database.credentials.file.isEmpty
        if let emulatorHost, loader.place(of: "database.url") == nil {
            useEmulator(emulatorHost, &loader)
            if !hasType { loader.configuration.database.credentials.type = .emulator }
        }
        let isSecure = loader.configuration.database.url.utf8.starts(with: "https://".utf8)
        if serviceAccount != nil, !hasType, !hasFile, isSecure {
            loader.configuration.database.credentials.type = .serviceAccount
        }
        guard !hasFile else { return }
        loader.configuration.database.credentials.file =
            file(of: loader.configuration.database.credentials.type) ?? ""
    }

    private func useEmulator(_ host: String, _ loader: inout Loader) {
        let url = "http://\(host)/?ns=demo"
        guard splitHostAndPort(host) != nil, (try? DatabaseURL(url)) != nil else {
            loader.findings.add(
                .environment("FIREBASE_DATABASE_EMULATOR_HOST"), "database.url",
                "expected host:port, found \(quote(host))")
            return
        }
        loader.configuration.database.url = url
    }

    private func file(of type: Configuration.Credentials.Kind) -> String? {
        switch type {
        case .serviceAccount: serviceAccount ?? directory.map { $0 + "/service-account" }
        case .accessToken: directory.map { $0 + "/access-token" }
        case .secret: directory.map { $0 + "/secret" }
        case .none, .emulator, .metadataServer: nil
        }
    }
}

extension Loader {
    /// Checks keys against one another.
    mutating func checkTogether() {
        checkCredentials()
        checkRoot()
        checkMappings()
        let settings = configuration.settings
        expect(
            settings.inFlightBytesMax >= settings.batchBytesMax, "delivery.in_flight_bytes_max",
            orAt: "delivery.batch_bytes_max",
            "expected at least delivery.batch_bytes_max (\(SizeText.write(settings.batchBytesMax)))"
                + ", found \(SizeText.write(settings.inFlightBytesMax))")
        expect(
            settings.retryMax >= settings.retryInitial, "delivery.retry_max",
            orAt: "delivery.retry_initial",
            "expected at least delivery.retry_initial "
                + "(\(DurationText.write(settings.retryInitial))), found "
                + DurationText.write(settings.retryMax))
        let topic = configuration.delivery.deadLetterTopic
        expect(
            !configuration.mappings.contains { sameBytes($0.topic, topic) },
            "delivery.dead_letter_topic", orAt: "mappings",
            "expected a topic that no mapping reads, found \(quote(topic)) (its records would go "
                + "round for ever)")
    }

    /// Asks the database's client, through the caller, about a URL that is right so far.
    ///
    /// - Parameter problem: What is wrong with a URL; nil for nothing.
    mutating func checkURL(_ problem: (String) -> String?) {
        let key = "database.url"
        guard !findings.list.contains(where: { sameBytes($0.key, key) }),
            let text = problem(configuration.database.url)
        else { return }
        findings.add(
            place(of: key) ?? .environment("FIREBASE_DATABASE_EMULATOR_HOST"), key, text)
    }

    private mutating func checkRoot() {
        let depth = configuration.rootDepth
        expect(
            depth <= MirrorPlan.rootDepthMax, "database.url", orAt: "database.url",
            "expected a path of at most \(MirrorPlan.rootDepthMax) keys in the URL, which leaves "
                + "room for the bridge's own state below it, found \(depth)")
    }

    /// Checks the mappings against one another and against the root, also beside those that could
    /// not be read.
    private mutating func checkMappings() {
        var elements: [Node] = []
        if case .sequence(let list)? = nodes.first(where: { $0.key.path == "mappings" })?.node
            .content
        {
            elements = list
        }
        // What is wrong with each by itself has been told.
        var told = Findings()
        let numbers = elements.indices.filter {
            MappingReader.read(elements[$0], path: "", &told) != nil
        }
        let problems = MirrorPlan.problems(
            of: configuration.mappings, numbers: elements.isEmpty ? nil : numbers,
            below: min(configuration.rootDepth, MirrorPlan.rootDepthMax))
        for problem in problems {
            // The default mappings stand nowhere: with them only the root can be wrong.
            let place =
                elements.isEmpty
                ? place(of: "database.url")
                : MappingReader.place(of: problem.key, in: elements[problem.mapping])
            guard let place else { continue }
            findings.add(
                place, "mappings[\(problem.mapping)].\(problem.key)", problem.message)
        }
    }

    private mutating func checkCredentials() {
        let credentials = configuration.database.credentials
        expect(
            !credentials.type.needsFile || !credentials.file.isEmpty, "database.credentials.file",
            orAt: "database.credentials.type",
            "expected a file, which type \(credentials.type.rawValue) needs, found none")
        expect(
            credentials.type.needsFile || credentials.file.isEmpty, "database.credentials.file",
            orAt: "database.credentials.type",
            "expected no file with type \(credentials.type.rawValue), found one "
                + "(use type service_account, access_token or secret)")
        guard let url = try? DatabaseURL(configuration.database.url) else { return }
        let isSecret = credentials.type != .none && credentials.type != .emulator
        expect(
            url.isSecure || isLoopback(url.host) || !isSecret, "database.url",
            orAt: "database.credentials.type",
            "expected https:// where type \(credentials.type.rawValue) is sent to another "
                + "machine, found http://")
    }

    private mutating func expect(
        _ isRight: Bool, _ key: String, orAt other: String, _ message: String
    ) {
        guard !isRight, let place = place(of: key) ?? place(of: other) else { return }
        findings.add(place, key, message)
    }
}
