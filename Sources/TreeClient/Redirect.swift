/// Which redirects a request follows with method, body and authorization: contract section 6.
struct RedirectPolicy {
    /// More hops than that are a loop.
    static let hopsMax = 5

    let database: URLParts

    /// The URL to go to, nil where the redirect is not to be followed.
    ///
    /// - Parameter url: the URL that answered.
    func target(status: Int, location: String?, from url: String) -> String? {
        guard status == 307 || status == 308, let location, !location.isEmpty,
            let base = try? URLParts(url)
        else { return nil }
        let absolute =
            if location.hasPrefix("//") {
                base.scheme + ":" + location
            } else if location.hasPrefix(
                "/")
            { base.origin + location } else { location }
        guard let next = try? URLParts(absolute, allowsFragment: true), isTrusted(next) else {
            return nil
        }
        return next.origin + next.target
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
