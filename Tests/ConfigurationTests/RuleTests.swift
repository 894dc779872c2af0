import BridgeCore
import Testing

@testable import Configuration

@Suite struct MappingTests {
    func mappingErrors(_ mapping: String) -> [String] {
        errors("mappings:\n  - \(mapping.split(separator: "\n").joined(separator: "\n    "))\n")
    }

    func mapping(_ text: String) throws -> Mapping {
        let lines = text.split(separator: "\n").joined(separator: "\n    ")
        return try configuration("mappings:\n  - \(lines)\n").mappings[0]
    }

    @Test func theDefaultMappingsAreThoseOfTheContract() {
        #expect(Configuration().mappings == MirrorPlan.standard.mappings)
        #expect(
            Configuration().mappings.map(\.topic) == [
                "llm.token-chunks", "llm.run-lifecycle", "llm.finalized-messages",
            ])
    }

    @Test func aChunkMappingSaysWhereIndexesComeFrom() throws {
        let text = "topic: t\nas: chunk\nnode: s/{conversation_id}/{message_sequence}\n"
        guard case .chunk(let node, .field) = try mapping(text).form else {
            Issue.record("no chunk mapping by field")
            return
        }
        #expect(node.description == "s/{conversation_id}/{message_sequence}")
        guard case .chunk(_, .arrival) = try mapping(text + "index: arrival").form else {
            Issue.record("no chunk mapping by arrival")
            return
        }
        #expect(
            mappingErrors(text + "index: none") == [
                "firebridge.yaml:5:12: mappings[0].index: expected field or arrival, found 'none'"
            ])
    }

    @Test func aRunMappingWritesWhatItNames() throws {
        guard
            case .run(let status, let marker, let stream, let name) = try mapping(
                "topic: t\nas: run\nstatus: c/{conversation_id}/s\nevent_name: x.y"
            ).form
        else {
            Issue.record("no run mapping")
            return
        }
        #expect(status?.description == "c/{conversation_id}/s")
        #expect(marker == nil)
        #expect(stream == nil)
        #expect(name == "x.y")
    }

    @Test func aValueMappingHasItsDefaults() throws {
        guard case .value(let value) = try mapping("topic: t\nas: value\nnode: a/{key}").form else {
            Issue.record("no value mapping")
            return
        }
        #expect(value.value == nil)
        #expect(value.write == .set)
        #expect(value.guardedBy.isEmpty)
        #expect(value.tombstone == .delete)
    }

    @Test(arguments: [
        ("chunk", "event_name: x", "run or message"), ("chunk", "value: /x", "value"),
        ("chunk", "guard: [/x]", "value"), ("chunk", "status: x", "run"),
        ("message", "index: field", "chunk"), ("message", "stream: x", "run"),
        ("message", "write: set", "value"), ("run", "node: x", "chunk, message or value"),
        ("run", "tombstone: delete", "value"), ("value", "marker: x", "run"),
        ("value", "event_name: x", "run or message"),
    ])
    func eachKeyIsRefusedWhereItsFormDoesNotKnowIt(_ form: String, _ line: String, _ forms: String)
    {
        let key = line.prefix { $0 != ":" }
        #expect(
            mappingErrors("topic: t\nas: \(form)\n\(line)").contains(
                "firebridge.yaml:4:5: mappings[0].\(key): expected it only with as: \(forms), found "
                    + "it with as: \(form)"))
    }

    @Test(arguments: [
        (
            "as: value\nnode: n",
            ["firebridge.yaml:2:5: mappings[0].topic: expected a text, found nothing"]
        ),
        (
            "topic: t\nas: value",
            ["firebridge.yaml:2:5: mappings[0].node: expected a node's path, found nothing"]
        ),
        (
            "topic: t\nnode: n",
            [
                "firebridge.yaml:2:5: mappings[0].as: expected chunk, run, message or value, found "
                    + "nothing"
            ]
        ),
        (
            "topic: t\nas: value\nnode: a.b",
            [
                "firebridge.yaml:4:11: mappings[0].node: expected a node's path, found 'a.b': "
                    + "expected a path without '.', '$', '#', '[', ']' and control characters, "
                    + "found '.'"
            ]
        ),
        (
            "topic: t\nas: value\nnode: n/x\nvalue: info",
            [
                "firebridge.yaml:5:12: mappings[0].value: expected a JSON Pointer such as "
                    + "/conversation/id, found 'info'"
            ]
        ),
        (
            "topic: t\nas: value\nnode: n/x\nguard: /version",
            [
                "firebridge.yaml:5:12: mappings[0].guard: expected a list of JSON Pointers such as "
                    + "[/version], found '/version'"
            ]
        ),
        (
            "topic: t\nas: value\nnode: n/x\nnodee: n",
            [
                "firebridge.yaml:5:5: mappings[0].nodee: expected topic, as, node, value, write, "
                    + "guard, tombstone, fields or when, found 'nodee' (did you mean node?)"
            ]
        ),
        (
            "topic: t\nas: message\nnode: n/x\nfields: {conversationId: /c}",
            [
                "firebridge.yaml:5:14: mappings[0].fields.conversationId: expected conversation_id, "
                    + "message, event_context or event_name, found 'conversationId' (did you mean "
                    + "conversation_id?)"
            ]
        ),
        (
            "topic: t\nas: message\nnode: n/x\nfields: {message: message}",
            [
                "firebridge.yaml:5:23: mappings[0].fields.message: expected a JSON Pointer such as "
                    + "/conversation/id, found 'message'"
            ]
        ),
        (
            "topic: t\nas: message\nnode: n/x\nwhen: {type: [A]}",
            [
                "firebridge.yaml:5:12: mappings[0].when.type: expected a JSON Pointer such as "
                    + "/type, found 'type'"
            ]
        ),
        (
            "topic: t\nas: message\nnode: n/x\nwhen: {/type: A}",
            [
                "firebridge.yaml:5:19: mappings[0].when./type: expected a list of texts, numbers or "
                    + "booleans such as [A, B], found 'A'"
            ]
        ),
        (
            "topic: t\nas: message\nnode: n/x\nwhen: {/type: []}",
            [
                "firebridge.yaml:5:19: mappings[0].when./type: expected a list of texts, numbers or "
                    + "booleans such as [A, B], found a list"
            ]
        ),
        (
            "just text",
            [
                "firebridge.yaml:2:5: mappings[0]: expected a mapping with topic, as and "
                    + "node, found 'just text'"
            ]
        ),
    ])
    func eachMistakeIsToldInItsPlace(_ text: String, _ expected: [String]) {
        #expect(mappingErrors(text) == expected)
    }

    @Test(arguments: ["as: valeu", "as: [chunk]", "as:", "# none"])
    func withoutARightFormAllElseIsToldAllTheSame(_ form: String) {
        let lines = mappingErrors(
            """
            topic: a b
            \(form)
            node: x//y
            status: x/{
            stream: [x]
            index: first
            event_name: ""
            guard: /version
            write: append
            value: info
            tombstone: keep
            fields: {a: b, "c d": /c}
            when: {type: [A]}
            nodee: n
            """)
        let keys = [
            "topic", "node", "status", "stream", "index", "guard", "write", "value", "tombstone",
            "fields.a", "fields.c d", "when.type", "nodee", "event_name", "as",
        ]
        for key in keys {
            let told = lines.count { $0.contains(": mappings[0].\(key): expected ") }
            #expect(told == 1, "\(key): \(lines)")
        }
        #expect(lines.count == keys.count, "\(lines)")
        #expect(lines.contains { $0.hasSuffix("found 'nodee' (did you mean node?)") })
    }

    @Test func fieldsAndFiltersAreKept() throws {
        let mapping = try mapping(
            """
            topic: t
            as: chunk
            node: s/{conversation_id}/{message_sequence}
            fields: {conversation_id: /conversation/id, content: /delta/text}
            when: {/type: [A, 7, true], /a: [B]}
            """)
        #expect(mapping.fields["content"]?.description == "/delta/text")
        #expect(mapping.when.map(\.pointer.description) == ["/type", "/a"])
        #expect(mapping.when[0].values == ["A", "7", "true"])
    }

    @Test func theInputsAreThoseOfTheCore() throws {
        for mapping in Configuration().mappings {
            let form =
                switch mapping.form {
                case .chunk: MappingForm.chunk
                case .run: MappingForm.run
                case .message: MappingForm.message
                case .value: MappingForm.value
                }
            #expect(Mapping.inputs(of: mapping.form) == Set(form.inputs))
        }
    }

    @Test func mappingsThatCollideAreRefusedWhereTheyStand() {
        let text = """
            mappings:
              - {topic: a, as: value, node: n/x}
              - {topic: b, as: value, node: n/x/y}
              - {topic: a, as: value, node: m/x}
              - {topic: c, as: value, node: "{key}/x"}
              - {topic: d, as: value, node: _firebridge/x}
            """
        let lines = errors(text)
        #expect(lines.contains { $0.hasPrefix("firebridge.yaml:3:33: mappings[1].node: ") })
        #expect(lines.contains { $0.hasPrefix("firebridge.yaml:4:13: mappings[2].topic: ") })
        #expect(lines.contains { $0.hasPrefix("firebridge.yaml:5:33: mappings[3].node: ") })
        #expect(lines.contains { $0.hasPrefix("firebridge.yaml:6:33: mappings[4].node: ") })
    }

    @Test func mappingsWithOtherMistakesCollideAllTheSame() {
        let text = """
            mappings:
              - {topic: z, as: valeu, node: n/x}
              - {topic: a, as: value, node: n/x, nodee: n}
              - {topic: b, as: value, node: "n/x/{round}", fields: {round: round}}
              - {topic: c, as: value, node: n/x/y, write: append}
            """
        #expect(
            errors(text) == [
                "firebridge.yaml:2:20: mappings[0].as: expected chunk, run, message or value, found "
                    + "'valeu'",
                "firebridge.yaml:3:38: mappings[1].nodee: expected topic, as, node, value, write, "
                    + "guard, tombstone, fields or when, found 'nodee' (did you mean node?)",
                "firebridge.yaml:4:64: mappings[2].fields.round: expected a JSON Pointer such as "
                    + "/conversation/id, found 'round'",
                "firebridge.yaml:5:33: mappings[3].node: 'n/x/y' and 'n/x' (mappings[1].node) can "
                    + "be one node or one above the other: expected nodes apart",
                "firebridge.yaml:5:47: mappings[3].write: expected set or merge, found 'append'",
            ])
    }

    @Test func whatTheRootLeavesNoRoomForIsRefused() throws {
        func text(root: Int, mapping: String = "") -> String {
            let path = Array(repeating: "r", count: root).joined(separator: "/")
            return "database: {url: \"http://127.0.0.1:9000/\(path)/?ns=demo\"}\n\(mapping)"
        }
        #expect(try configuration(text(root: 24)).plan().rootDepth == 24)
        #expect(
            errors(text(root: 25)) == [
                "firebridge.yaml:1:17: database.url: expected a path of at most 24 keys in the "
                    + "URL, which leaves room for the bridge's own state below it, found 25"
            ])
        let mapping = "mappings: [{topic: t, as: run, status: a/b/c/d/e/f/g}]"
        #expect(errors(text(root: 23, mapping: mapping)) == [])
        #expect(
            errors(text(root: 24, mapping: mapping)) == [
                "firebridge.yaml:2:40: mappings[0].status: expected at most 32 levels, what is "
                    + "written below 'a/b/c/d/e/f/g' included, found 33 (24 of them in "
                    + "database.url): shorten the path"
            ])
    }
}

@Suite struct PropertyTests {
    @Test(arguments: [
        ("bootstrap.servers", "kafka.brokers"), ("metadata.broker.list", "kafka.brokers"),
        ("group.id", "kafka.group"), ("auto.offset.reset", "kafka.start"),
        ("enable.auto.commit", "commits"), ("enable.auto.offset.store", "commits"),
        ("partition.assignment.strategy", "range"), ("enable.partition.eof", "itself"),
        ("plugin.library.paths", "code"), ("sasl.kerberos.kinit.cmd", "command"),
        ("rebalance_cb", "callbacks"), ("error_cb", "callbacks"), ("opaque", "pointers"),
        ("ssl.certificate.verify_cb", "callbacks"), ("ssl_engine_callback_data", "pointers"),
        ("default_topic_conf", "pointers"), ("interceptors", "pointers"),
        ("GROUP.ID", "kafka.group"),
        ("ssl.engine.location", "code"), ("transactional.id", "idempotently"),
        ("enable.sasl.oauthbearer.unsecure.jwt", "OAUTHBEARER"),
    ])
    func reservedPropertiesAreRefusedWithWhatToUseInstead(_ name: String, _ hint: String) {
        let lines = errors("kafka:\n  properties:\n    \(name): canary\n")
        #expect(lines.count == 1)
        #expect(lines[0].hasPrefix("firebridge.yaml:3:5: kafka.properties.\(name): expected a "))
        #expect(lines[0].contains(hint))
        #expect(!lines[0].contains("canary"))
    }

    @Test(arguments: [
        ("enable.ssl.certificate.verification", "false", "certificates"),
        ("enable.ssl.certificate.verification", "F", "certificates"),
        ("enable.ssl.certificate.verification", "\"0\"", "certificates"),
        ("ssl.endpoint.identification.algorithm", "none", "certificates"),
        ("test.mock.num.brokers", "1", "cluster"), ("ssl.providers", "x", "code"),
    ])
    func whatLetsAnybodyBeTheBrokerIsRefused(_ name: String, _ value: String, _ hint: String) {
        let lines = errors("kafka:\n  properties:\n    \(name): \(value)\n")
        #expect(lines.count == 1 && lines.first?.contains(hint) == true, "\(lines)")
    }

    @Test(arguments: ["sasl.mechanism", "sasl.mechanisms"], ["OAUTHBEARER", "oauthbearer"])
    func tokensThatNobodyFetchesAreRefusedWithTheOtherMechanisms(_ name: String, _ value: String) {
        let lines = errors("kafka:\n  properties:\n    \(name): \(value)\n")
        #expect(
            lines == [
                "firebridge.yaml:3:5: kafka.properties.\(name): expected PLAIN, SCRAM-SHA-256, "
                    + "SCRAM-SHA-512 or GSSAPI, found OAUTHBEARER: nothing here can fetch its "
                    + "tokens, and Kafka's client would wait for one for ever; have the brokers "
                    + "offer one of the others"
            ])
    }

    @Test(
        arguments: [
            "sasl.kerberos.keytab", "sasl.kerberos.principal", "sasl.kerberos.service.name",
            "SASL.Kerberos.Principal",
        ], ["canary; id", "canary$@R", "`canary`", "canary\"x", "canary\nx", "canaryé", "\u{212A}"])
    func whatAShellWouldTakeForItsOwnIsRefused(_ name: String, _ value: String) {
        let quoted = value.flatMap { character -> String in
            switch character {
            case "\"": "\\\""
            case "\n": "\\n"
            default: String(character)
            }
        }
        let lines = errors("kafka:\n  properties:\n    \(name): \"\(String(quoted))\"\n")
        #expect(
            lines == [
                "firebridge.yaml:3:5: kafka.properties.\(name): expected letters of ASCII, digits "
                    + "and any of . _ - / @ : + , =, found another character: Kafka's client puts "
                    + "it into a shell command, kinit, which would take the character for its own"
            ])
    }

    @Test func principalsAndKeytabsArePassedOn() throws {
        let properties = [
            ("sasl.kerberos.keytab", "FILE:/etc/krb5/bridge_1.keytab"),
            ("sasl.kerberos.principal", "bridge/host-1.example@EXAMPLE.ORG"),
            ("sasl.kerberos.service.name", "kafka"),
        ]
        let lines = properties.map { "    \($0): \"\($1)\"\n" }.joined()
        let given = try configuration("kafka:\n  properties:\n\(lines)").kafka.properties
        #expect(given.map(\.value) == properties.map(\.1))
    }

    @Test(arguments: ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI"])
    func mechanismsThatNeedNoCallbackArePassedOn(_ value: String) throws {
        let text = "kafka: {properties: {sasl.mechanism: \(value), sasl.mechanisms: \(value)}}"
        #expect(try configuration(text).kafka.properties.map(\.value) == [value, value])
    }

    @Test func theCheckOfCertificatesMayBeSpeltOut() throws {
        let text = """
            kafka:
              properties:
                enable.ssl.certificate.verification: true
                ssl.endpoint.identification.algorithm: https
            """
        #expect(try configuration(text).kafka.properties.count == 2)
    }

    @Test func otherPropertiesArePassedOnInTheirOrder() throws {
        let text = """
            kafka:
              properties:
                security.protocol: SASL_SSL
                session.timeout.ms: 45000
                check.crcs: true
                ssl.key.pem: |
                  line 1
                  line 2
                client.rack: ""
            """
        let properties = try configuration(text).kafka.properties
        #expect(
            properties == [
                .init(name: "security.protocol", value: "SASL_SSL"),
                .init(name: "session.timeout.ms", value: "45000"),
                .init(name: "check.crcs", value: "true"),
                .init(name: "ssl.key.pem", value: "line 1\nline 2\n"),
                .init(name: "client.rack", value: ""),
            ])
    }

    @Test func whatLibrdkafkaSaysIsToldWhereThePropertyStandsWithoutSecretsAndVariables() {
        let text = """
            kafka:
              properties:
                good: canary
                bad: x
                group.id: x
                sasl.password: canary
                other: ${V}
            delivery: {lanes: 0}
            """
        do throws(ConfigurationError) {
            _ = try Configuration(
                Array(text.utf8), file: "f", overrides: ["kafka.properties.worse=y"],
                environment: ["V": "canary"]
            ) { name, value in
                name == "good" ? nil : "Invalid value \"\(value)\" for \"\(name)\"\n"
            }
            Issue.record("no error")
        } catch {
            #expect(
                error.lines == [
                    "f:4:5: kafka.properties.bad: Invalid value \"x\" for \"bad\"",
                    "f:5:5: kafka.properties.group.id: expected a property that is not reserved, "
                        + "found 'group.id': use kafka.group instead",
                    "f:6:5: kafka.properties.sasl.password: Invalid value \"<secret>\" for "
                        + "\"sasl.password\"",
                    "f:7:5: kafka.properties.other: Invalid value \"${V}\" for \"other\"",
                    "f:8:19: delivery.lanes: expected a whole number from 1 to 256, found '0'",
                    "--set: kafka.properties.worse: Invalid value \"y\" for \"worse\"",
                ])
        }
    }

    @Test(arguments: ["a b: c", "\"\": c", "a: ~", "a: [x]", "a: {b: c}", "a: \"x\\0y\"", "é: x"])
    func whatIsNoPropertyIsRefused(_ line: String) {
        #expect(errors("kafka:\n  properties:\n    \(line)\n").count == 1)
    }
}

@Suite struct SecretArgumentTests {
    private let environment = ["PW": "canary"]

    @Test(arguments: [
        "kafka.properties.sasl.password=canary", "kafka.properties.sasl.password=${PW:canary}",
        "kafka.properties.sasl.password=${PW}canary", "kafka.properties={sasl.password: canary}",
        "kafka.properties.SSL.Key.Password='canary'",
    ])
    func aSecretIsNoArgument(_ override: String) {
        let lines = errors("", set: [override], environment: environment)
        #expect(lines.count == 1, "\(lines)")
        #expect(lines.first?.lowercased().contains("--set: kafka.properties.s") == true)
        #expect(lines.first?.contains("expected ${NAME}") == true, "\(lines)")
        #expect(lines.first?.contains("canary") == false)
    }

    @Test(arguments: [
        "kafka.properties.sasl.password=${PW}", "kafka.properties={sasl.password: '${PW}'}",
        "kafka.properties.sasl.password=", "kafka.properties.sasl.username=me",
    ])
    func theVariableThatHoldsItIs(_ override: String) {
        #expect(errors("", set: [override], environment: environment).isEmpty)
    }

    @Test func inTheFileASecretMayStand() {
        #expect(errors("kafka: {properties: {sasl.password: x}}").isEmpty)
        let other = ["kafka.properties.client.id=a"]
        #expect(errors("kafka: {properties: {sasl.password: x}}", set: other).isEmpty)
    }
}

@Suite struct DatabaseTests {
    @Test(arguments: [
        "https://a.firebaseio.com", "https://a.europe-west1.firebasedatabase.app/",
        "https://a.firebaseio.com/try/it", "http://127.0.0.1:9000/?ns=demo",
        "http://localhost:9000",
        "http://[::1]:9000/x?ns=a-b_c", "http://tree:9000/",
    ])
    func urlsOfDatabasesAreAccepted(_ url: String) throws {
        #expect(try configuration("database: {url: \"\(url)\"}").database.url == url)
    }

    @Test(arguments: [
        "", "a.firebaseio.com", "ftp://a", "file:///etc/passwd", "HTTPS://a", "https://",
        "https://user:canary@a.firebaseio.com", "https://a.firebaseio.com/?auth=canary",
        "https://a.firebaseio.com/?ns=a&auth=canary", "https://a.firebaseio.com/#canary",
        "https://a.firebaseio.com/x.json", "https://a/x y", "https://a:0", "https://a:99999",
        "https://a/\\u0001", "https://é.example", "https://a/$x", "https://a?ns=",
    ])
    func otherURLsAreRefusedAndNeverQuoted(_ url: String) {
        let lines = errors("database: {url: \"\(url)\"}")
        #expect(lines.count == 1)
        #expect(lines.first?.contains("database.url: expected ") == true)
        #expect(lines.first?.contains("canary") == false)
    }

    /// What is wrong where the database's client does not like that.
    private func errorsOfClient(_ text: String, environment: [String: String] = [:]) -> [String] {
        do {
            _ = try Configuration(
                Array(text.utf8), file: "f", environment: environment,
                urlProblem: { $0.contains("public") ? "expected another" : nil })
            return []
        } catch {
            return error.lines
        }
    }

    @Test func whatTheClientOfTheDatabaseHasAgainstItsURLIsTold() {
        #expect(
            errorsOfClient("database: {url: \"http://public\"}") == [
                "f:1:17: database.url: expected another"
            ])
        #expect(
            errorsOfClient("", environment: ["FIREBASE_DATABASE_EMULATOR_HOST": "public:80"]) == [
                "FIREBASE_DATABASE_EMULATOR_HOST: database.url: expected another"
            ])
        #expect(errorsOfClient("database: {url: \"http://tree\"}").isEmpty)
        #expect(
            errorsOfClient("database: {url: \"http://public/?x\"}").count == 1)
    }

    @Test(arguments: [
        ("service_account", ", file: /k"), ("access_token", ", file: /k"), ("secret", ", file: /k"),
        ("metadata_server", ""),
    ])
    func credentialsAreSentOverHTTPSOrToThisMachine(_ type: String, _ file: String) {
        let credentials = "credentials: {type: \(type)\(file)}"
        #expect(
            errors("database: {url: \"http://tree:9000\", \(credentials)}") == [
                "firebridge.yaml:1:17: database.url: expected https:// where type \(type) is sent to "
                    + "another machine, found http://"
            ])
        #expect(errors("database: {url: \"http://127.0.0.1:9000\", \(credentials)}").isEmpty)
        #expect(errors("database: {url: \"https://tree\", \(credentials)}").isEmpty)
    }

    @Test func aFileWithoutATypeThatReadsItIsRefused() {
        #expect(
            errors("database: {credentials: {file: /k}}") == [
                "firebridge.yaml:1:32: database.credentials.file: expected no file with type none, "
                    + "found one (use type service_account, access_token or secret)"
            ])
    }

    @Test func aKeyPastedWhereItsFileBelongsIsRefusedAndNotQuoted() {
        for text in [
            "{type: service_account, private_key: canary}", "'{\"private_key\":\"canary\"}'",
        ] {
            let lines = errors("database: {credentials: {type: service_account, file: \(text)}}")
            #expect(!lines.isEmpty)
            #expect(!lines.joined().contains("canary"))
        }
    }
}

@Suite struct TogetherTests {
    @Test(arguments: [
        (
            "delivery: {in_flight_bytes_max: 512KiB}",
            "firebridge.yaml:1:33: delivery.in_flight_bytes_max: expected at least "
                + "delivery.batch_bytes_max (1MiB), found 512KiB"
        ),
        (
            "delivery: {retry_initial: 1m}",
            "firebridge.yaml:1:27: delivery.retry_max: expected at least delivery.retry_initial "
                + "(1m), found 30s"
        ),
        (
            "delivery: {dead_letter_topic: llm.token-chunks}",
            "firebridge.yaml:1:31: delivery.dead_letter_topic: expected a topic that no mapping "
                + "reads, found 'llm.token-chunks' (its records would go round for ever)"
        ),
    ])
    func keysThatContradictEachOtherAreRefused(_ text: String, _ error: String) {
        #expect(errors(text) == [error])
    }
}

/// No secret appears in anything that the configuration prints.
@Suite struct SecretTests {
    static let names = [
        "sasl.password", "ssl.key.password", "ssl.keystore.password", "ssl.key.pem",
        "sasl.oauthbearer.client.secret", "sasl.oauthbearer.config", "sasl.jaas.config",
        "SASL.PASSWORD", "x.token", "x.credentials", "aws.secret.key",
    ]

    @Test func secretsAreHiddenInTheEffectiveSettings() throws {
        var text = "kafka:\n  properties:\n"
        for name in Self.names { text += "    \(name): canary-${V}\n" }
        text += "    some.url: http://user:canary@host/x, https://canary@b\n"
        text += "    other.pem: \"-----BEGIN PRIVATE KEY-----canary\"\n"
        let effective = try configuration(text, environment: ["V": "canary"]).effective
        #expect(!effective.contains("canary"))
        #expect(effective.contains("    sasl.password: <secret>\n"))
        #expect(effective.contains("some.url: \"http://host/x, https://b\"\n"))
    }

    @Test func noErrorQuotesAPropertyOrAVariable() {
        let places = [
            "kafka: {properties: {sasl.password: [canary]}}", "kafka: {properties: canary}",
            "kafka: {properties: [canary]}", "kafka: {properties: {group.id: canary}}",
            "kafka: {properties: {sasl.password: canary, sasl.password: canary}}",
            "kafka: {properties: {sasl.password: canary", "kafka: {properties: {\"a b\": canary}}",
            "database: {url: canary}", "database: {credentials: {file: [canary]}}",
        ]
        for text in places {
            let lines = errors(text)
            #expect(!lines.isEmpty, "\(text)")
            #expect(!lines.joined().contains("canary"), "\(lines)")
        }
        for key in ConfigurationKey.all {
            for value in ["${V}", "[${V}]", "\"${V}\"", "{a: \"${V}\"}", "[{as: \"${V}\"}]"] {
                let lines = errors(
                    "", set: ["\(key.path)=\(value)"], environment: ["V": "canary \u{1}"])
                #expect(!lines.joined().contains("canary"), "\(lines)")
            }
        }
    }

    @Test func noErrorCarriesControlCharacters() {
        for text in [
            "\"a\\nb\\e[31m\": 1", "log: {level: \"a\\nb\\e[31m\"}", "mappings: [{as: \"\\n\"}]",
            "mappings: [{topic: t, as: value, node: \"a/\\e[31m\"}]",
            "mappings: [{topic: t, as: value, node: \"a/{\\e[31m}\"}]",
        ] {
            let lines = errors(text)
            #expect(!lines.isEmpty)
            #expect(lines.joined().utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "\(lines)")
        }
    }
}
