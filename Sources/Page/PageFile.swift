internal import CPage

/// A file of the page, as the binary carries it.
struct PageFile: Sendable {
    /// `style.css`.
    var name: String
    var bytes: [UInt8]
    /// Changes with the bytes.
    var tag: String

    init(name: String, bytes: [UInt8]) {
        self.name = name
        self.bytes = bytes
        tag = "\"\(String(Self.hash(bytes), radix: 16))\""
    }

    /// All files of the page.
    static let embedded: [PageFile] = {
        var count = 0
        let files = unsafe UnsafeBufferPointer(start: fb_page_files(&count), count: count)
        return unsafe files.map { file in
            let bytes = unsafe UnsafeBufferPointer(start: file.bytes, count: file.size)
            return unsafe PageFile(name: String(cString: file.name), bytes: Array(bytes))
        }
    }()

    /// By the ending of its name, as browsers want to be told.
    var type: String {
        switch name.split(separator: ".").last {
        case "html": "text/html; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "mjs": "text/javascript; charset=utf-8"
        case "svg": "image/svg+xml"
        default: "application/octet-stream"
        }
    }

    /// FNV-1a: a file that changes gets another tag; nobody has a reason to forge one.
    private static func hash(_ bytes: [UInt8]) -> UInt64 {
        bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}
