// The page's modules that need no browser: `node --test Tests/clients`.

import assert from "node:assert/strict";
import { test } from "node:test";

const page = (name) => import(new URL(`../../Sources/CPage/page/${name}.mjs`, import.meta.url));
const { Mirror, childNames, names } = await page("mirror");
const { EventParser, pause } = await page("stream");
const { Places } = await page("places");
const { grouped } = await page("numbers");
const { Transcript } = await page("transcript");
const { found, rows, windowFirst } = await page("rows");

test("a mirror follows puts and patches", () => {
  const mirror = new Mirror();
  mirror.apply("put", [], { a: { b: 1 } });
  assert.deepEqual(mirror.apply("patch", ["a"], { "c/d": 2, b: null }), [["a", "c", "d"], ["a", "b"]]);
  assert.deepEqual(mirror.value, { a: { c: { d: 2 } } });
  mirror.apply("put", ["a", "c", "d"], null);
  assert.equal(mirror.value, null);
});

test("a node that came as an array takes names of all kinds", () => {
  const mirror = new Mirror();
  mirror.apply("put", [], { list: ["x", null, "y"] });
  mirror.apply("patch", [], { "list/3": "z" });
  assert.deepEqual(childNames(mirror.get(["list"])), ["0", "2", "3"]);
  mirror.apply("put", ["list", "name"], true);
  assert.deepEqual(childNames(mirror.get(["list"])), ["0", "2", "3", "name"]);
});

test("names are data: __proto__, constructor, toString", () => {
  const mirror = new Mirror();
  for (const name of ["__proto__", "constructor", "toString"]) mirror.apply("put", ["n", name, "x"], name);
  assert.deepEqual(childNames(mirror.get(["n"])).sort(), ["__proto__", "constructor", "toString"]);
  assert.equal(mirror.get(["n", "__proto__", "x"]), "__proto__");
  assert.equal(mirror.get(["n", "hasOwnProperty"]), null);
  assert.equal({}.x, undefined);
});

test("names are in the database's order", () => {
  assert.deepEqual(childNames({ b: 1, 10: 1, a: 1, 9: 1 }), ["9", "10", "a", "b"]);
  assert.deepEqual(names("/a//b/"), ["a", "b"]);
});

test("events are found wherever the stream is cut", () => {
  const text = 'event: put\ndata: {"path":"/","data":"é\\n"}\n\nevent: keep-alive\r\ndata: null\r\n\r\n';
  for (let size = 1; size < text.length; size++) {
    const events = [];
    const parser = new EventParser((name, data) => events.push([name, data]));
    for (let i = 0; i < text.length; i += size) parser.feed(text.slice(i, i + size));
    assert.deepEqual(events, [["put", '{"path":"/","data":"é\\n"}'], ["keep-alive", "null"]]);
  }
});

test("numbers are grouped, and have a decimal only where it says something", () => {
  assert.deepEqual([0, 999, 1000, 1234567].map((number) => grouped(number)), ["0", "999", "1,000", "1,234,567"]);
  assert.deepEqual([1.25, 2, 0.04].map((number) => grouped(number, 1)), ["1.3", "2", "0"]);
});

test("waits grow and stay short", () => {
  assert.equal(pause(0), 250);
  assert.equal(pause(100), 4000);
});

test("an address names node, database and parameters; an access token is a header, an ID token a parameter", () => {
  const places = new Places("?ns=a%26b");
  assert.equal(places.url(["x/y", "ä?"], { shallow: true }), "/x%2Fy/%C3%A4%3F.json?shallow=true&ns=a%26b");
  assert.equal(new Places("").url([]), "/.json");
  places.token = "t";
  assert.deepEqual(places.headers, { Authorization: "Bearer t" });
  places.token = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.";
  assert.deepEqual(places.headers, {});
  assert.equal(places.url(["x"]), "/x.json?auth=eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.&ns=a%26b");
});

const chunk = (content, kind = "TEXT") => ({ content, type: `STREAM_CHUNK_TYPE_${kind}` });

function follow() {
  const mirror = new Mirror();
  const transcript = new Transcript();
  const update = (places) => transcript.update(mirror.value, places);
  return (event, path, data) => update(mirror.apply(event, names(path), data))
    .map((step) => step.meta ? "meta" : step.begin ? `begin${step.isRegenerated ? " again" : ""}` : step.gone ? "gone"
      : step.gap ? `gap ${step.gap}` : `${step.kind} ${step.text}`)
    .filter((step) => step !== "meta");
}

test("an answer is told by kind, then token by token", () => {
  const take = follow();
  assert.deepEqual(take("put", "/", { 7: { meta: { run_id: "r", status: "streaming" }, chunks: [chunk("a", "REASONING"), chunk("b"), chunk("c")] } }),
    ["begin", "reasoning a", "text bc"]);
  assert.deepEqual(take("patch", "/", { "7/chunks/3": chunk("d"), "7/chunks/4": chunk("{", "TOOL_CALL") }), ["text d", "tool {"]);
});

test("a chunk that comes early waits for those before it", () => {
  const take = follow();
  take("put", "/", { 7: { meta: { run_id: "r", status: "streaming" } } });
  assert.deepEqual(take("put", "/7/chunks/1", chunk("b")), []);
  assert.deepEqual(take("put", "/7/chunks/0", chunk("a")), ["text ab"]);
});

test("what is missing of a finished answer is said", () => {
  const take = follow();
  assert.deepEqual(take("put", "/", { 7: { meta: { run_id: "r", status: "complete" }, chunks: { 0: chunk("a"), 4: chunk("b") } } }),
    ["begin", "text a", "gap 3", "text b"]);
  assert.deepEqual(take("patch", "/7/chunks", { 1: chunk("x"), 2: chunk("y"), 3: chunk("z") }), ["begin", "text axyzb"]);
});

test("another run begins the answer again; the same run written again changes nothing", () => {
  const take = follow();
  const first = { meta: { run_id: "r1", status: "streaming" }, chunks: { 0: chunk("old") } };
  take("put", "/", { 7: first });
  assert.deepEqual(take("put", "/", { 7: structuredClone(first) }), []);
  assert.deepEqual(take("put", "/7/chunks/0", chunk("old")), []);
  assert.deepEqual(take("patch", "/7", { meta: { run_id: "r2", status: "streaming" }, chunks: { 0: chunk("new") } }), ["begin again", "text new"]);
  assert.deepEqual(take("put", "/7", null), ["gone"]);
});

test("of a long node the end is shown, of a small one its leaves", () => {
  const value = { chunks: Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [i, { content: `${i}`, n: 1 }])) };
  const shown = rows(value, ["s"], new Set(["s/chunks"]), new Map());
  assert.equal(shown.length, 2 + windowFirst);
  assert.equal(shown[1].left, 1000 - windowFirst);
  assert.equal(shown.at(-1).key, "s/chunks/999");
  assert.equal(shown.at(-1).text, 'content: "999", n: 1');
});

test("a filter finds names and values, with what is above them", () => {
  const shown = found({ a: { b: { c: "needle" } }, needles: 1, other: { x: 2 } }, [], "Needle");
  assert.deepEqual(shown.map((row) => row.key), ["a", "a/b", "a/b/c", "needles"]);
});
