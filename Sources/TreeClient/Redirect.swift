/// Which redirects a request follows with method, body and authorization: contract section 6.
struct RedirectPolicy {
    /// More hops than that are a loop.
    static let hopsMax = 5

    let database: URLParts

    /// The URL to go to, nil where the redirect is not to be followed.
    ///
    /// - Parameter url: the URL that answered.
    func target(status: Int, location: String?, from url: String) -> String? {
        guard status == 307 || status == 308, let next = Self.place(location, from: url),
            isTrusted(next)
        else { return nil }
        return next.origin + next.target
    }

    /// What is told of an answer that is a redirect and was not followed, nil of any other. It
    /// names scheme and host alone: query, path and body of a redirect may hold secrets.
    static func objection(status: Int, location: String?, from url: String) -> String? {
        guard [301, 302, 303, 307, 308].contains(status), location != nil else { return nil }
        let place = place(location, from: url)?.origin
        return "HTTP \(status): a redirect to \(place ?? "what is no URL") is not followed"
    }

    private static func place(_ location: String?, from url: String) -> URLParts? {
        guard let location, !location.isEmpty, let base = try? URLParts(url) else { return nil }
        let absolute =
            if location.hasPrefix("//") {
                base.scheme + ":" + location
            } else if location.hasPrefix("/") {
                base.origin + location
            } else {
                location
            }
        return try? URLParts(absolute, allowsFragment: true)
    }

    private func isTrusted(_ next: URLParts) -> Bool {
        if next.scheme == "https" {
            return next.host == database.host
                || [".firebaseio.com", ".firebasedatabase.app"].contains(where: next.host.hasSuffix)
        }
        // An emulator or tree on this machine, which speaks plain HTTP anyway.
        return next.scheme == "http" && database.scheme == "http" && database.isLoopback
            && next.host == database.host && next.effectivePort == database.effectivePort
    }
}
