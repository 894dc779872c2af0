import Glibc
import JSON
import Oracle
import TestSupport
import Testing

@Suite("The oracle on records with known trees")
struct SampleTests {
    @Test("A hundred hard and three recorded conversations give the tree that is written down")
    func fixtureTree() throws {
        let expected = try Node.parse(read(fixture("streams.expected.json")))
        let found = try expectedTree(of: records(fixture("streams.jsonl")))
        #expect(found != nil)
        #expect(differences(expected: expected, found: found) == [])
    }

    @Test(
        "The shared samples give the trees that come with them",
        arguments: ["hard-streams", "recorded-streams"])
    func sampleTree(_ name: String) throws {
        let file = "\(shared)/samples/\(name)"
        guard unsafe access("\(file).jsonl", R_OK) == 0 else {
            print("skipped: no \(file).jsonl")
            return
        }
        let expected = try Node.parse(read("\(file).expected.json.gz"))
        let found = try expectedTree(of: records("\(file).jsonl"))
        #expect(found != nil)
        #expect(differences(expected: expected, found: found) == [])
    }
}
