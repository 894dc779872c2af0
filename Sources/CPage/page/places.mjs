// Where a node of this database is, and with which credential it is asked for.

export class Places {
  /// `search` is the page's own query: `?ns=demo` names the database.
  constructor(search) {
    this.ns = new URLSearchParams(search).get("ns") ?? "";
    this.token = "";
  }

  /// Whether the token is a signed ID token (a JWT): the database wants those as a parameter.
  get #isSigned() {
    return /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/.test(this.token);
  }

  /// The address of a node.
  url(path, parameters = {}) {
    const query = new URLSearchParams(parameters);
    if (this.#isSigned) query.set("auth", this.token);
    if (this.ns) query.set("ns", this.ns);
    const text = query.toString();
    return `/${path.map(encodeURIComponent).join("/")}.json${text ? `?${text}` : ""}`;
  }

  get headers() {
    return this.token && !this.#isSigned ? { Authorization: `Bearer ${this.token}` } : {};
  }
}
