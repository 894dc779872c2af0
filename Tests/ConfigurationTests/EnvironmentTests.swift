import BridgeCore
import Configuration
import Testing

@Suite struct ExpansionTests {
    func group(_ text: String, _ environment: [String: String] = [:]) -> String? {
        try? configuration("kafka:\n  group: \(text)\n", environment: environment).settings.group
    }

    @Test(
        arguments: [
            ("${A}", "a"), ("x${A}y${B}z", "xay: #{}z"), ("\"${A}\"", "a"), ("'${A}'", "a"),
            ("${C:default}", "default"), ("${A:default}", "a"),
            ("${C:http://x:1/?a=b}", "http://x:1/?a=b"),
            ("x${C:}", "x"), ("x${E:default}", "x"), ("$${A}", "${A}"), ("$$${A}", "$${A}"),
            ("$A", "$A"), ("$", "$"), ("a$$b", "a$$b"), ("{A}", nil), ("\"{A}\"", "{A}"),
            ("${C:$${A}", "$${A"), ("${N}", "${A}"),
        ] as [(String, String?)])
    func variablesAreReplacedInValues(_ text: String, _ expected: String?) {
        let environment = ["A": "a", "B": ": #{}", "E": "", "N": "${A}"]
        #expect(group(text, environment) == expected)
    }

    @Test(arguments: [
        (
            "${MISSING}",
            "firebridge.yaml:2:10: kafka.group: expected the environment variable MISSING, found it "
                + "unset (set it, or write ${MISSING:default})"
        ),
        (
            "${A",
            "firebridge.yaml:2:10: kafka.group: expected a '}' after '${' (write $${ for a literal "
                + "'${')"
        ),
        (
            "${}",
            "firebridge.yaml:2:10: kafka.group: expected the name of an environment variable in "
                + "'${…}', found ''"
        ),
        (
            "${1A}",
            "firebridge.yaml:2:10: kafka.group: expected the name of an environment variable in "
                + "'${…}', found '1A'"
        ),
        (
            "${a-b:c}",
            "firebridge.yaml:2:10: kafka.group: expected the name of an environment variable in "
                + "'${…}', found 'a-b'"
        ),
    ])
    func whatCannotBeReplacedIsToldWithItsLine(_ text: String, _ error: String) {
        #expect(errors("kafka:\n  group: \(text)\n") == [error])
    }

    @Test func allMissingVariablesAreToldAtOnce() {
        let lines = errors(
            "kafka:\n  group: ${A}${B}\n  properties:\n    x: ${C}\nmappings: [{topic: \"${D}\"}]\n"
        )
        #expect(lines.count == 5)
        #expect(lines[2].hasPrefix("firebridge.yaml:4:8: kafka.properties.x: "))
        #expect(lines[3].hasPrefix("firebridge.yaml:5:12: mappings[0].as: "))
        #expect(lines[4].hasPrefix("firebridge.yaml:5:20: mappings[0].topic: "))
    }

    @Test func aMissingVariableOfAMappingIsToldOnce() {
        for key in ["topic", "as", "node"] {
            var mapping = ["topic": "t", "as": "value", "node": "n/x"]
            mapping[key] = "\"${D}\""
            let members = mapping.map { "\($0): \($1)" }.joined(separator: ", ")
            let lines = errors("mappings: [{\(members)}]\n")
            #expect(lines.count == 1 && lines.first?.contains("].\(key): ") == true, "\(lines)")
        }
    }

    @Test func variablesInCommentsAndKeysAreNothing() throws {
        #expect(
            try configuration("# ${MISSING}\nlog: {level: warn} # ${MISSING}\n").log.level == .warn)
        #expect(errors("${A}: x")[0].contains("found '${A}'"))
    }

    @Test func aVariableCannotChangeTheFilesStructure() throws {
        let environment = ["A": "x\nlog: {level: debug}"]
        #expect(errors("kafka:\n  group: ${A}", environment: environment).isEmpty == false)
        let properties = try configuration(
            "kafka: {properties: {a: \"${B}\"}}", environment: ["B": "x, b: y"]
        ).kafka.properties
        #expect(properties == [.init(name: "a", value: "x, b: y")])
    }

    @Test func numbersAndBooleansMayComeFromTheEnvironmentInQuotesToo() throws {
        let text = "delivery: {lanes: \"${N}\"}\nstreams: {stall_status: \"${B}\"}"
        let settings = try configuration(text, environment: ["N": "8", "B": "true"]).settings
        #expect(settings.lanes == 8)
        #expect(settings.stallStatus)
    }

    @Test func anErrorQuotesTheVariableAndNeverItsValue() {
        let lines = errors("delivery:\n  lanes: ${N}\n", environment: ["N": "canary"])
        #expect(
            lines == [
                "firebridge.yaml:2:10: delivery.lanes: expected a whole number from 1 to 256, found "
                    + "the value of '${N}'"
            ])
    }
}

@Suite struct OverrideTests {
    @Test func anOverrideWinsOverTheFileAndTheFileOverTheDefault() throws {
        let text = "delivery: {lanes: 2, drain: 1s}"
        let settings = try configuration(text, set: ["delivery.lanes=8"]).settings
        #expect(settings.lanes == 8)
        #expect(settings.drain == .seconds(1))
        #expect(settings.retryMax == .seconds(30))
    }

    @Test func overridesAreYAMLInOneLine() throws {
        let configuration = try configuration(
            "kafka: {properties: {a: 1, b: 2}}",
            set: [
                "kafka.brokers=[a:1, b:2]", "kafka.properties.b=x=y", "kafka.properties.c.d=${V}",
                "database.ca_file=", "kafka.group='a b'",
                "mappings=[{topic: t, as: value, node: n/x}]",
            ], environment: ["V": "v"])
        #expect(configuration.kafka.brokers == ["a:1", "b:2"])
        #expect(
            configuration.kafka.properties == [
                .init(name: "a", value: "1"), .init(name: "b", value: "x=y"),
                .init(name: "c.d", value: "v"),
            ])
        #expect(configuration.database.caFile == "")
        #expect(configuration.settings.group == "a b")
        #expect(configuration.mappings.map(\.topic) == ["t"])
    }

    @Test(arguments: [
        (
            ["delivery.lanes=0"],
            ["--set: delivery.lanes: expected a whole number from 1 to 256, found '0'"]
        ),
        (["delivery.lanes"], ["--set: expected KEY=VALUE, found no '='"]),
        (["=1"], ["--set: expected KEY=VALUE, found no '='"]),
        (
            ["delivery.lane=1"],
            [
                "--set: delivery.lane: expected a key of the configuration, found 'delivery.lane' "
                    + "(did you mean delivery.lanes?)"
            ]
        ),
        (
            ["delivery={}"],
            ["--set: delivery: expected a key of the configuration, found 'delivery'"]
        ),
        (
            ["delivery.lanes=1", "delivery.lanes=2"],
            ["--set: delivery.lanes: expected each key once, found it again"]
        ),
        (
            ["kafka.properties.group.id=x"],
            [
                "--set: kafka.properties.group.id: expected a property that is not reserved, found "
                    + "'group.id': use kafka.group instead"
            ]
        ),
        (
            ["kafka.group=${X}"],
            [
                "--set: kafka.group: expected the environment variable X, found it unset (set it, or "
                    + "write ${X:default})"
            ]
        ),
        (
            ["log.level=[", "log.format=xml"],
            [
                "--set: log.level: did not find expected node content, while parsing a flow node",
                "--set: log.format: expected auto, logfmt or json, found 'xml'",
            ]
        ),
    ])
    func errorsNameTheFlag(_ overrides: [String], _ expected: [String]) {
        #expect(errors("", set: overrides) == expected)
    }

    @Test func errorsOfTheFileComeFirst() {
        let lines = errors("delivery:\n  drain: x\n", set: ["delivery.lanes=0"])
        #expect(lines.count == 2)
        #expect(lines[0].hasPrefix("firebridge.yaml:2:10: delivery.drain: "))
        #expect(lines[1].hasPrefix("--set: delivery.lanes: "))
    }

    @Test func aWrongValueInTheFileDoesNotMatterWhereItIsOverridden() throws {
        #expect(
            try configuration("delivery: {lanes: x}", set: ["delivery.lanes=3"]).settings.lanes == 3
        )
    }
}

/// The names of the environment that users know count where the key is unset.
@Suite struct EnvironmentNameTests {
    let secure = "database: {url: \"https://a.firebaseio.com\"}\n"

    @Test func theEmulatorsHostIsTheURLAndItsCredentials() throws {
        let environment = ["FIREBASE_DATABASE_EMULATOR_HOST": "localhost:9999"]
        let database = try configuration("", environment: environment).database
        #expect(database.url == "http://localhost:9999/?ns=demo")
        #expect(database.credentials.type == .emulator)
        #expect(
            try configuration(secure, environment: environment).database.url.hasPrefix("https://a.")
        )
        let typed = "database: {credentials: {type: none}}"
        #expect(
            try configuration(typed, environment: environment).database.credentials.type == .none)
        #expect(
            errors("", environment: ["FIREBASE_DATABASE_EMULATOR_HOST": "http://x/"]) == [
                "FIREBASE_DATABASE_EMULATOR_HOST: database.url: expected host:port, found "
                    + "'http://x/'"
            ])
    }

    @Test func googlesCredentialsAreTheServiceAccountOfAnHTTPSDatabase() throws {
        let environment = ["GOOGLE_APPLICATION_CREDENTIALS": "/k.json"]
        let used = try configuration(secure, environment: environment).database.credentials
        #expect(used.type == .serviceAccount)
        #expect(used.file == "/k.json")
        #expect(try configuration("", environment: environment).database.credentials.type == .none)
        let both = environment.merging(["FIREBASE_DATABASE_EMULATOR_HOST": "127.0.0.1:1"]) { $1 }
        #expect(try configuration("", environment: both).database.credentials.type == .emulator)
        let typed = "database: {credentials: {type: service_account}}"
        #expect(
            try configuration(typed, environment: environment).database.credentials.file
                == "/k.json")
        let filed = "database: {credentials: {type: service_account, file: /own.json}}"
        #expect(
            try configuration(filed, environment: environment).database.credentials.file
                == "/own.json")
        #expect(
            try configuration(secure, environment: ["GOOGLE_APPLICATION_CREDENTIALS": ""])
                .database.credentials.type == .none)
    }

    @Test(arguments: [
        ("service_account", "/run/c/service-account"), ("access_token", "/run/c/access-token"),
        ("secret", "/run/c/secret"),
    ])
    func systemdsDirectoryGivesTheFileThatNothingElseNames(_ type: String, _ file: String) throws {
        let environment = ["CREDENTIALS_DIRECTORY": "/run/c"]
        let text = "database: {credentials: {type: \(type)}}"
        #expect(try configuration(text, environment: environment).database.credentials.file == file)
        let empty = "database: {credentials: {type: \(type), file: \"\"}}"
        #expect(
            try configuration(empty, environment: environment).database.credentials.file == file)
        let own = "database: {credentials: {type: \(type), file: \"${CREDENTIALS_DIRECTORY}/own\"}}"
        #expect(
            try configuration(own, environment: environment).database.credentials.file
                == "/run/c/own")
    }

    @Test(arguments: ["service_account", "access_token", "secret"])
    func credentialsThatNeedAFileAreRefusedWithoutOne(_ type: String) {
        #expect(
            errors("database:\n  credentials:\n    type: \(type)\n") == [
                "firebridge.yaml:3:11: database.credentials.file: expected a file, which type "
                    + "\(type) needs, found none"
            ])
    }
}
