import BridgeCore
import Testing

/// Contract section 1.
@Suite struct RecordTests {
    @Test func fieldsAreFoundByEitherSpellingAndSnakeCaseWins() {
        let camel = explain(
            chunks,
            #"""
            {"conversationId":"c","messageSequence":"8","runId":"r","chunkIndex":2,"content":"x",
            "isFinal":true,"finishReason":"error","errorMessage":"m",
            "timestamp":"2026-01-01T00:00:00Z"}
            """#)
        let snake = explain(
            chunks,
            #"""
            {"conversation_id":"c","message_sequence":8,"run_id":"r","chunk_index":"2",
            "content":"x","is_final":true,"finish_reason":"error","error_message":"m",
            "timestamp":"2026-01-01T00:00:00Z"}
            """#)
        #expect(camel == snake)
        #expect(snake.nodes?["streaming/c/8/meta"]?.contains(#""error_message":"m""#) == true)
        let both = explain(chunks, chunkValue(#""runId":"other","messageSequence":9"#)).nodes
        #expect(both?["streaming/c/8/meta"]?.contains(#""run_id":"r""#) == true)
        let nulled = explain(
            chunks,
            #"{"conversation_id":"c","messageSequence":9,"message_sequence":null,"run_id":"r"}"#
        ).nodes
        #expect(nulled?["streaming/c/9/meta"] != nil)
    }

    @Test func anEscapedMemberNameIsTheNameThatItSpells() {
        let nodes = explain(chunks, chunkValue(#""\u0063ontent":"x""#)).nodes
        #expect(nodes?["streaming/c/8/chunks"]?.contains(#""content":"x""#) == true)
    }

    @Test func aChunkHasItsDefaults() {
        #expect(
            explain(chunks, chunkValue()).nodes == [
                "streaming/c/8/chunks":
                    #"{"0":{"content":"","type":"STREAM_CHUNK_TYPE_TEXT","timestamp":"2026-04-23T22:43:44.700Z","is_final":false}}"#,
                "streaming/c/8/meta":
                    #"{"run_id":"r","status":"streaming","started_at":"2026-04-23T22:43:44.700Z"}"#,
            ])
    }

    @Test func aNullIsAsGoodAsAbsent() {
        let nulls = chunkValue(
            #"""
            "chunk_index":null,"content":null,"type":null,"timestamp":null,"is_final":null,
            "finish_reason":null,"error_message":null
            """#)
        #expect(explain(chunks, nulls) == explain(chunks, chunkValue()))
    }

    @Test func aFinalChunkEndsItsRunByItsReason() {
        func meta(_ more: String) -> String? {
            let time = #""timestamp":"2026-01-01T00:00:00Z","is_final":true"#
            return explain(chunks, chunkValue(time + more)).nodes?["streaming/c/8/meta"]
        }
        let head = #"{"run_id":"r","status":""#
        let tail = #"","started_at":"2026-01-01T00:00:00Z","finished_at":"2026-01-01T00:00:00Z""#
        for reason in ["stop", "tool_calls", "length", "anything"] {
            #expect(
                meta(#","finish_reason":"\#(reason)","error_message":"no""#)
                    == head + "complete" + tail + "}")
        }
        #expect(meta("") == head + "complete" + tail + "}")
        #expect(
            meta(#","finish_reason":"error""#)
                == head + "error" + tail + #","error_message":"failed"}"#)
        #expect(
            meta(#","finish_reason":"error","error_message":"gone""#)
                == head + "error" + tail + #","error_message":"gone"}"#)
    }

    @Test func aFinishReasonBeforeTheEndEndsNothing() {
        let nodes = explain(chunks, chunkValue(#""finish_reason":"error""#)).nodes
        #expect(nodes?["streaming/c/8/meta"]?.contains(#""status":"streaming""#) == true)
        #expect(nodes?["streaming/c/8/chunks"]?.contains(#""finish_reason":"error""#) == true)
    }

    @Test func anUnknownEnumNamePassesThroughAndANumberIsInvalid() {
        let nodes = explain(chunks, chunkValue(#""type":"STREAM_CHUNK_TYPE_IMAGE""#)).nodes
        #expect(nodes?["streaming/c/8/chunks"]?.contains("STREAM_CHUNK_TYPE_IMAGE") == true)
        #expect(
            explain(runs, activityValue("DREAMING")).nodes?["conversations/c/status"]?
                .contains("CONVERSATION_ACTIVITY_STATE_DREAMING") == true)
        #expect(explain(chunks, chunkValue(#""type":1"#)).reason == .invalidField)
    }

    @Test func aMarkersStatusIsOneOfFour() {
        for status in ["started", "completed", "failed", "cancelled"] {
            #expect(explain(runs, markerValue(status)).nodes != nil)
        }
        for status in ["", "begun", "Started", "STARTED"] {
            #expect(explain(runs, markerValue(status)).reason == .invalidField)
        }
    }

    @Test func theConversationFallsBackToTheRecordsKey() {
        let value = #"{"message_sequence":8,"run_id":"r"}"#
        #expect(explain(chunks, value, key: "k.1").nodes?["streaming/k%2E1/8/meta"] != nil)
        #expect(explain(chunks, value, key: nil).reason == .missingField)
        #expect(explain(chunks, value, key: "").reason == .invalidPath)
        #expect(explain(chunks, Array(value.utf8), key: [0xFF]).reason == .invalidField)
    }

    @Test func anAbsentTimeIsKafkas() {
        #expect(
            explain(runs, activityValue("IDLE")).nodes == [
                "conversations/c/status":
                    #"{"state":"CONVERSATION_ACTIVITY_STATE_IDLE","seq":"1","since":"2026-04-23T22:43:44.700Z"}"#
            ])
        let marker = runValue(
            #""run_id":"r","message_sequence":8,"status":"completed","event_context":{"event_name":"E"}"#
        )
        #expect(
            explain(runs, marker).nodes?["streaming/c/8/meta"]
                == #"{"run_id":"r","status":"complete","finished_at":"2026-04-23T22:43:44.700Z"}"#)
        #expect(explain(chunks, chunkValue(), time: nil).reason == .missingField)
    }

    @Test(arguments: [Int64.min, -62_167_219_200_001, 253_402_300_800_000, .max])
    func aKafkaTimeThatRFC3339CannotWriteIsNone(_ time: Int64) {
        #expect(explain(chunks, chunkValue(), time: time).reason == .missingField)
        let timed = chunkValue(#""timestamp":"2026-01-01T00:00:00Z""#)
        #expect(explain(chunks, timed, time: time) == explain(chunks, timed))
    }

    @Test func activityAndMarkerMayShareARecordAndWhatIsWrongWithEitherRejectsBoth() {
        let nodes = explain(runs, OddInputTests.both).nodes
        #expect(
            nodes.map { Set($0.keys) }
                == [
                    "conversations/c/status", "events/e/c/runs", "streaming/c/8/meta",
                    "streaming/c/8/chunks",
                ])
        #expect(explain(runs, markerValue("started", #""state":"X""#)).reason == .missingField)
        #expect(
            explain(runs, activityValue("IDLE", #""seq":1,"status":"completed""#)).reason
                == .missingField)
    }

    @Test func aMarkerWithoutSequenceTouchesNoStream() {
        let marker = runValue(
            #""run_id":"r","status":"completed","event_context":{"event_name":"A b.É"}"#)
        #expect(
            explain(runs, marker).nodes
                == ["events/a_b__/c/runs": #"{"runId":"r","status":"completed"}"#])
    }

    @Test func cancelledAndFailedAreOneStatusOfAStreamAndTwoOfTheRunsNode() throws {
        for status in ["failed", "cancelled"] {
            let nodes = try #require(explain(runs, markerValue(status)).nodes)
            #expect(nodes["streaming/c/8/meta"]?.contains(#""status":"error""#) == true)
            #expect(nodes["events/e/c/runs"] == #"{"runId":"r","status":"\#(status)"}"#)
        }
    }

    @Test func aFailureSaysWhy() {
        func message(_ status: String, _ more: String) -> String? {
            let meta = explain(runs, markerValue(status, more)).nodes?["streaming/c/8/meta"]
            return meta?.split(separator: #""error_message":"#).last.map(String.init)
        }
        #expect(message("failed", #""error":{"code":"e","message":"why"}"#) == #""why"}"#)
        #expect(
            message("failed", #""error":{"code":"e","message":"why"},"error_message":"x""#)
                == #""why"}"#)
        #expect(message("failed", #""error":{"code":"e"},"error_message":"x""#) == #""x"}"#)
        #expect(message("failed", #""error":null,"error_message":"x""#) == #""x"}"#)
        #expect(message("failed", #""error":{"message":""}"#) == #""failed"}"#)
        #expect(message("cancelled", #""error_message":"""#) == #""cancelled"}"#)
    }

    @Test func anActivityKeepsItsErrorAndTheSequenceIsAText() {
        let value = activityValue(
            "ERROR",
            #""run_id":"r","seq":"9007199254740993","since":"2026-01-01T02:00:00+02:00","error":{"code":"c","message":"m","x":1}"#
        )
        #expect(
            explain(runs, value).nodes?["conversations/c/status"]
                == #"{"state":"CONVERSATION_ACTIVITY_STATE_ERROR","run_id":"r","seq":"9007199254740993","since":"2026-01-01T02:00:00+02:00","error":{"code":"c","message":"m"}}"#
        )
    }

    @Test func aMessagePassesThroughDigitByDigitWithItsKeysEncoded() {
        let message =
            #"{"n":1.10,"big":123456789012345678901234567890,"":{"a.b":[1,{"$x":null}]},"\u00e9":1E+2}"#
        #expect(
            explain(messages, messageValue(message)).nodes == [
                "events/a_b/c/messages":
                    #"{"message":{"n":1.10,"big":123456789012345678901234567890,"%":{"a%2Eb":[1,{"%24x":null}]},"é":1E+2},"eventContext":{"event_name":"A.B"}}"#
            ])
    }

    @Test func serverValuesInAValueAreDataNeverCommands() {
        let message = #"{"at":{".sv":"timestamp"},".value":1,".priority":2}"#
        #expect(
            explain(messages, messageValue(message)).nodes?["events/a_b/c/messages"]
                == #"{"message":{"at":{"%2Esv":"timestamp"},"%2Evalue":1,"%2Epriority":2},"eventContext":{"event_name":"A.B"}}"#
        )
    }

    @Test func theEventContextIsFoundByEitherSpelling() {
        let snake = #"{"conversation_id":"c","message":{},"event_context":{"eventName":"A.B"}}"#
        #expect(
            explain(messages, snake).nodes?["events/a_b/c/messages"]
                == #"{"message":{},"eventContext":{"eventName":"A.B"}}"#)
    }

    @Test(arguments: [
        (
            "llm.v1.common.v1.ConversationMessagePublishedEvent",
            "llm_v1_common_v1_conversationmessagepublishedevent"
        ),
        ("a-b c", "a_b_c"), ("ÀÉ🙂", "___"), ("e\u{301}", "e_"), ("A_1", "a_1"), ("/", "_"),
        ("\\u0000", "_"),
    ])
    func anEventNameIsLowerCaseAndAUnderscoreForEveryOtherScalar(_ name: String, _ key: String) {
        let value = messageValue("{}", #"{"event_name":"\#(name)"}"#)
        #expect(explain(messages, value).nodes?.keys.first == "events/\(key)/c/messages")
    }

    @Test func aDefaultEventNameStandsInForAnAbsentOne() throws {
        let plan = try MirrorPlan(mappings: [
            Mapping(
                topic: messages,
                form: .message(
                    node: try Template("e/{event_name}/{conversation_id}"), eventName: "D.E"))
        ])
        let value = #"{"conversation_id":"c","message":{}}"#
        #expect(explain(messages, value, plan: plan).nodes?["e/d_e/c"] == #"{"message":{}}"#)
        let named = messageValue("{}")
        #expect(explain(messages, named, plan: plan).nodes?["e/a_b/c"] != nil)
    }

    @Test func anIdIsOneToSevenHundredSixtyEightBytesOnceEncoded() {
        func reason(_ id: String) -> Rejection.Reason? {
            explain(chunks, #"{"conversation_id":"\#(id)","message_sequence":8,"run_id":"r"}"#)
                .reason
        }
        #expect(reason(String(repeating: "k", count: 768)) == nil)
        #expect(reason(String(repeating: "k", count: 769)) == .invalidPath)
        #expect(reason(String(repeating: "/", count: 256)) == nil)
        #expect(reason(String(repeating: "/", count: 257)) == .invalidPath)
        #expect(reason(String(repeating: "é", count: 385)) == .invalidPath)
        #expect(reason("") == .invalidPath)
    }

    @Test func aRunIdMustBeAbleToBecomeAKeyOfTheLedger() {
        func reason(_ topic: String, _ run: String) -> Rejection.Reason? {
            let marker = markerValue("started").replacing(#""r""#, with: #""\#(run)""#)
            let chunk = chunkValue().replacing(#""r""#, with: #""\#(run)""#)
            return explain(topic, topic == runs ? marker : chunk).reason
        }
        for topic in [chunks, runs] {
            #expect(reason(topic, String(repeating: "k", count: 768)) == nil)
            #expect(reason(topic, String(repeating: "k", count: 769)) == .invalidPath)
            #expect(reason(topic, String(repeating: ".", count: 257)) == .invalidPath)
        }
    }

    @Test("An empty run id is none, but where no run is needed")
    func emptyRun() {
        let empty = #""run_id":"""#
        for (topic, value) in [(chunks, chunkValue()), (runs, markerValue("started"))] {
            let found = explain(topic, value.replacing(#""run_id":"r""#, with: empty))
            #expect(found.reason == .missingField)
        }
        let activity = explain(runs, runValue(#"\#(empty),"state":"S","seq":1"#))
        #expect(activity.nodes?["conversations/c/status"] != nil)
    }

    @Test("Fields of other records are a message's unknown ones, but where its template has them")
    func strangersInAMessage() throws {
        let value = messageValue("{}").dropLast() + #","run_id":7,"message_sequence":"m-1"}"#
        #expect(explain(messages, String(value)).nodes?.keys.first == "events/a_b/c/messages")
        for field in ["run_id", "message_sequence"] {
            let node = try Template("e/{conversation_id}/{\(field)}")
            let plan = try MirrorPlan(mappings: [
                Mapping(topic: messages, form: .message(node: node, eventName: nil))
            ])
            #expect(explain(messages, String(value), plan: plan).reason == .invalidField)
        }
    }

    @Test func aMemberNameThatIsTooLongIsRejected() {
        let long = String(repeating: "k", count: 769)
        #expect(explain(messages, messageValue(#"{"a":[{"\#(long)":1}]}"#)).reason == .invalidPath)
        let encoded = String(repeating: ".", count: 257)
        #expect(explain(messages, messageValue(#"{"\#(encoded)":1}"#)).reason == .invalidPath)
    }

    @Test func aWriteBeyondTenMebibytesIsTooLarge() {
        let text = String(repeating: "x", count: 10 << 20)
        #expect(explain(messages, messageValue(#"{"a":"\#(text)"}"#)).reason == .tooLarge)
        #expect(explain(chunks, chunkValue(#""content":"\#(text)x""#)).reason == .tooLarge)
    }

    @Test func aMessageNamesTheFieldAndNeverTheContent() {
        let secret = "s3cret-content"
        let values = [
            (chunks, chunkValue(#""timestamp":"\#(secret)""#)),
            (chunks, chunkValue(#""chunk_index":"\#(secret)""#)),
            (chunks, chunkValue(#""is_final":"\#(secret)""#)),
            (chunks, chunkValue(#""type":["\#(secret)"]"#)),
            (chunks, chunkValue(#""content":{"a":"\#(secret)"}"#)),
            (chunks, #"{"content":"\#(secret)""#), (chunks, #"["\#(secret)"]"#),
            (chunks, "\"\(secret)"), (chunks, chunkValue(#""x":\#(secret)"#)),
            (runs, markerValue(secret)), (runs, runValue(#""error":"\#(secret)""#)),
            (messages, messageValue(#""\#(secret)""#)),
            (messages, messageValue("{}", #"["\#(secret)"]"#)),
        ]
        for (topic, value) in values {
            let rejection = explain(topic, value).rejection
            #expect(rejection != nil, "\(value)")
            #expect(rejection?.message.contains(secret) == false)
            #expect(rejection?.message.isEmpty == false)
        }
    }

    @Test func aValueFramedByASchemaRegistryIsNamedAsSuch() {
        let framed: [UInt8] = [0, 0, 0, 0, 7] + Array(chunkValue().utf8)
        #expect(explain(chunks, framed).rejection?.message.contains("schema registry") == true)
    }
}
