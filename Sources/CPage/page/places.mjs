// Where a node of this database is, and with which credential it is asked for.

export class Places {
  /// `search` is the page's own query: `?ns=demo` names the database.
  constructor(search) {
    this.ns = new URLSearchParams(search).get("ns") ?? "";
    this.token = "";
  }

  /// The address of a node.
  url(path, parameters = {}) {
    const query = new URLSearchParams(parameters);
    if (this.ns) query.set("ns", this.ns);
    const text = query.toString();
    return `/${path.map(encodeURIComponent).join("/")}.json${text ? `?${text}` : ""}`;
  }

  get headers() {
    return this.token ? { Authorization: `Bearer ${this.token}` } : {};
  }
}
