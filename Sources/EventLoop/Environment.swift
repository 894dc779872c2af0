internal import CLinux

/// The process's environment variables.
public enum Environment {
    /// The value of one, nil where it is unset.
    public static func value(_ name: String) -> String? {
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }

    /// All of them.
    public static func all() -> [String: String] {
        var all: [String: String] = [:]
        guard var entry = unsafe fb_environment() else { return all }
        while let text = unsafe entry.pointee {
            let pair = unsafe String(cString: text).split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if pair.count == 2 { all[String(pair[0])] = String(pair[1]) }
            unsafe entry += 1
        }
        return all
    }
}
