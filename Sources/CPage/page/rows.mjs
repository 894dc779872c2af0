// The rows of a tree that a pane shows: what is open, what a filter finds, and of long nodes the
// end.

import { child, childNames, isNode } from "./mirror.mjs";
import { grouped } from "./numbers.mjs";

/// A node of which only the name is known.
export class Unloaded {}

const foundMax = 300;
const previewMax = 160;
const leavesMax = 8;
const leafMax = 60;

/// How many children of a node are shown at first, and how many more at a time.
export const windowFirst = 16;
export const windowMore = 500;

export function key(path) {
  return path.join("/");
}

/// `open` has the keys of open nodes, `windows` how many children are shown of a key.
export function rows(value, root, open, windows) {
  const out = [];
  walk(value, root, 0);
  return out;

  function walk(node, path, depth) {
    const all = childNames(node);
    const place = key(path);
    const size = windows.get(place) ?? windowFirst;
    const left = all.length > size ? all.length - size : 0;
    if (left > 0) out.push({ key: `${place}\u0000`, more: place, depth, left });
    for (let i = left; i < all.length; i++) {
      const at = path.concat(all[i]);
      const value = child(node, all[i]);
      const row = describe(value, at, depth);
      row.position = i + 1;
      row.size = all.length;
      row.isOpen = row.kind === "node" && open.has(row.key);
      out.push(row);
      if (row.isOpen && !(value instanceof Unloaded)) walk(value, at, depth + 1);
    }
  }
}

/// The rows whose name or value has the text, with those above them.
export function found(value, root, text) {
  const needle = text.toLowerCase();
  const out = [];
  let count = 0;
  walk(value, root, 0);
  return out;

  function walk(node, path, depth) {
    let hasFound = false;
    for (const name of childNames(node)) {
      if (count >= foundMax) return hasFound;
      const value = child(node, name);
      const at = path.concat(name);
      const row = describe(value, at, depth);
      const isHere = name.toLowerCase().includes(needle)
        || row.kind !== "node" && String(value).toLowerCase().includes(needle);
      const index = out.length;
      const isBelow = row.kind === "node" && !(value instanceof Unloaded) && walk(value, at, depth + 1);
      if (!isHere && !isBelow) continue;
      if (isHere) count++;
      row.isOpen = isBelow;
      row.isFound = isHere;
      out.splice(index, 0, row);
      hasFound = true;
    }
    return hasFound;
  }
}

export function describe(value, path, depth) {
  const row = { key: key(path), path, depth, name: path.at(-1) ?? "/" };
  if (isNode(value)) {
    row.kind = "node";
    row.text = value instanceof Unloaded ? "" : summary(value);
  } else {
    row.kind = typeof value;
    const text = typeof value === "string" ? JSON.stringify(value.slice(0, previewMax)) : String(value);
    row.text = typeof value === "string" && value.length > previewMax ? `${text.slice(0, -1)}…"` : text;
  }
  return row;
}

/// A small node's leaves, as far as there is room; of a larger one how many children it has.
function summary(node) {
  const all = childNames(node);
  if (all.length > leavesMax || all.some((name) => isNode(child(node, name)))) return counted(all.length);
  return all.map((name) => {
    const value = child(node, name);
    const text = typeof value === "string" ? JSON.stringify(value.slice(0, leafMax)) : String(value);
    return `${name}: ${text}`;
  }).join(", ").slice(0, previewMax);
}

const counted = (count) => count === 1 ? "1 child" : `${grouped(count)} children`;
