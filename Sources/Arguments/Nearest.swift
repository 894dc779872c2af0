/// The name that was probably meant: the one that the fewest edits make of what was written, if
/// they are few enough. Of equals the first.
public func nearest(_ text: String, among names: [String]) -> String? {
    let written = Array(text.utf8.prefix(64))
    let limit = max(1, written.count / 3)
    var best: (name: String, distance: Int)?
    for name in names {
        let distance = editDistance(written, Array(name.utf8))
        if distance <= limit, distance < best?.distance ?? .max { best = (name, distance) }
    }
    return best?.name
}

/// How many bytes are inserted, removed, replaced or swapped with their neighbour.
private func editDistance(_ a: [UInt8], _ b: [UInt8]) -> Int {
    var older: [Int] = []
    var previous = Array(0...b.count)
    for i in 0..<a.count {
        var row = [i + 1]
        for j in 0..<b.count {
            var cost = min(previous[j] + (a[i] == b[j] ? 0 : 1), previous[j + 1] + 1, row[j] + 1)
            if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
                cost = min(cost, older[j - 1] + 1)
            }
            row.append(cost)
        }
        older = previous
        previous = row
    }
    return previous[b.count]
}
