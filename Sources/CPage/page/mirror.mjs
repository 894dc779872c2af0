// A local copy of a node, kept in step by the events of a stream.
//
// The database sends a node whose names are small integers as an array. Names are data: one may be
// `__proto__`, so members are read as own properties and that one is defined, not assigned.

/// The names of a path: `/a/b` is ["a", "b"].
export function names(path) {
  return path.split("/").filter((name) => name !== "");
}

export function isNode(value) {
  return typeof value === "object" && value !== null;
}

export function child(node, name) {
  return isNode(node) && Object.hasOwn(node, name) ? node[name] : null;
}

/// The names of a node's children. The order is the database's: integers first, in order.
export function childNames(node) {
  if (!isNode(node)) return [];
  if (Array.isArray(node)) return Object.keys(node).filter((name) => node[name] !== null);
  const found = Object.keys(node);
  // JavaScript keeps integers in order and other names as they came.
  const first = found.findIndex((name) => !isIndex(name));
  if (first < 0) return found;
  const rest = found.slice(first);
  for (let i = 1; i < rest.length; i++) {
    if (rest[i - 1] > rest[i]) return found.slice(0, first).concat(rest.sort());
  }
  return found;
}

const isIndex = (name) => /^(0|[1-9]\d{0,8})$/.test(name);

export class Mirror {
  value = null;

  get(path) {
    let node = this.value;
    for (const name of path) node = child(node, name);
    return node;
  }

  /// Applies an event's data at a path; the paths that it names, as lists of names.
  apply(event, path, data) {
    if (event === "put") {
      this.set(path, data);
      return [path];
    }
    return Object.entries(data ?? {}).map(([relative, value]) => {
      const place = path.concat(names(relative));
      this.set(place, value);
      return place;
    });
  }

  set(path, value) {
    if (path.length === 0) {
      this.value = value;
    } else if (value === null) {
      this.#remove(path);
    } else {
      this.value = grown(this.value, path, 0, value);
    }
  }

  /// Removes a node, and those above it that are empty then.
  #remove(path) {
    const above = [];
    let node = this.value;
    for (const name of path) {
      if (!isNode(node) || !Object.hasOwn(node, name)) return;
      above.push([node, name]);
      node = node[name];
    }
    for (const [parent, name] of above.reverse()) {
      if (Array.isArray(parent)) parent[name] = null;
      else delete parent[name];
      if (hasChildren(parent)) return;
    }
    this.value = null;
  }
}

function hasChildren(node) {
  for (const name in node) if (node[name] !== null) return true;
  return false;
}

/// The node with a value below it; the node itself where it can take it.
function grown(node, path, depth, value) {
  if (depth === path.length) return value;
  const name = path[depth];
  let parent = isNode(node) ? node : {};
  if (Array.isArray(parent) && !isIndex(name)) {
    const entries = Object.entries(parent).filter(([, value]) => value !== null);
    parent = Object.fromEntries(entries);
  }
  const fresh = grown(child(parent, name), path, depth + 1, value);
  if (name === "__proto__") {
    Object.defineProperty(parent, name, { value: fresh, enumerable: true, configurable: true, writable: true });
  } else {
    parent[name] = fresh;
  }
  return parent;
}
