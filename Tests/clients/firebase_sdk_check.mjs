// Runs the official Firebase SDK for JavaScript in Node against a firebridge tree: what a chat
// client does, with two clients that get in each other's way.
//
// usage: firebase_sdk_check.mjs HOST:PORT CLIENTS
//
// CLIENTS is the folder with node_modules/firebase. Prints `ok` and ends with 0 when every step
// went as the client expects of the hosted database; otherwise the failed step, and another code.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [address, clients] = process.argv.slice(2);
const need = createRequire(resolve(clients, "package.json"));
const { initializeApp, deleteApp } = need("firebase/app");
const database = need("firebase/database");
const {
  child, connectDatabaseEmulator, endAt, equalTo, get, getDatabase, goOffline, goOnline, increment,
  limitToFirst, limitToLast, off, onChildAdded, onChildChanged, onChildMoved, onChildRemoved,
  onDisconnect, onValue, orderByChild, orderByKey, orderByPriority, orderByValue, push, query, ref,
  remove, runTransaction, serverTimestamp, set, setPriority, setWithPriority, startAfter, startAt,
  endBefore, update,
} = database;

const colon = address.lastIndexOf(":");
const [host, port] = [address.slice(0, colon), Number(address.slice(colon + 1))];
const place = `check/sdk-${process.pid}`;

function client(name, options) {
  const app = initializeApp({ projectId: "demo", databaseURL: `http://${host}:${port}/?ns=demo` }, name);
  const db = getDatabase(app);
  connectDatabaseEmulator(db, host, port, options);
  return { app, db, at: (path) => ref(db, path ? `${place}/${path}` : place) };
}

let running = "start";
const fail = (reason) => {
  console.log(`${running}: FAILED: ${reason?.stack ?? reason}`);
  process.exit(1);
};
const deadline = setTimeout(() => fail("no answer within 50 s"), 50_000);
process.on("unhandledRejection", fail);

async function step(name, action) {
  running = name;
  try {
    await action();
  } catch (error) {
    fail(error);
  }
  console.log(name);
}

// What a listener saw, and a wait for what it shall see.
function journal() {
  const entries = [];
  let wake = () => {};
  return {
    entries,
    add: (...entry) => { entries.push(entry.length === 1 ? entry[0] : entry); wake(); },
    async until(holds) {
      while (!holds(entries)) await new Promise((done) => { wake = done; });
      return entries;
    },
  };
}

function watch(target) {
  const seen = journal();
  const stop = onValue(target, (snapshot) => {
    const keys = [];
    snapshot.forEach((child) => { keys.push(child.key); });
    seen.add({ val: snapshot.val(), keys });
  }, fail);
  return { ...seen, stop, last: () => seen.entries.at(-1) };
}

function watchChildren(target) {
  const seen = journal();
  const stops = [
    [onChildAdded, "added"], [onChildChanged, "changed"], [onChildMoved, "moved"],
    [onChildRemoved, "removed"],
  ].map(([listen, kind]) =>
    listen(target, (snapshot) => seen.add(`${kind} ${snapshot.key}`), fail));
  return { ...seen, stop: () => stops.forEach((stop) => stop()) };
}

const same = (a, b) => { try { assert.deepEqual(a, b); return true; } catch { return false; } };
const sees = (watched, value) => watched.until((all) => all.length > 0 && same(all.at(-1).val, value));

const ann = client("ann");
const bob = client("bob");

await step("set, update, push, remove", async () => {
  const seen = watch(bob.at("basic"));
  await sees(seen, null);
  await set(ann.at("basic"), { text: "é and e\u0301 and 🙂", n: 1.5, list: [1, null, 3] });
  await sees(seen, { text: "é and e\u0301 and 🙂", n: 1.5, list: [1, , 3] });
  await update(ann.at("basic"), { "deep/er": true, n: null, list: null });
  await sees(seen, { text: "é and e\u0301 and 🙂", deep: { er: true } });
  const added = await push(ann.at("basic/list"), "one");
  await sees(seen, { text: "é and e\u0301 and 🙂", deep: { er: true }, list: { [added.key]: "one" } });
  await remove(ann.at("basic"));
  await sees(seen, null);
  seen.stop();
});

await step("keys that Swift takes for one are two", async () => {
  await update(ann.at("keys"), { "\u00e9": 1, "e\u0301": 2 });
  const keys = Object.keys((await get(bob.at("keys"))).val());
  assert.deepEqual(keys.sort(), ["e\u0301", "\u00e9"].sort());
});

await step("an acknowledged write is with all listeners, once", async () => {
  const seen = watch(bob.at("once"));
  await sees(seen, null);
  for (let n = 1; n <= 50; n += 1) await set(ann.at("once"), n);
  await sees(seen, 50);
  assert.deepEqual(seen.entries.map((entry) => entry.val), [null, ...Array.from({ length: 50 }, (_, n) => n + 1)]);
  seen.stop();
});

await step("children are added, changed, moved, removed", async () => {
  const seen = watchChildren(query(bob.at("scores"), orderByChild("n")));
  await set(ann.at("scores"), { a: { n: 1 }, b: { n: 2 }, c: { n: 3 } });
  await seen.until((all) => all.length === 3);
  await set(ann.at("scores/a/n"), 9);
  await seen.until((all) => all.includes("moved a") && all.includes("changed a"));
  await remove(ann.at("scores/b"));
  await seen.until((all) => all.at(-1) === "removed b");
  seen.stop();
});

await step("a window moves with its place", async () => {
  await set(ann.at("window"), Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`k${10 + n}`, n])));
  const last = watch(query(bob.at("window"), orderByValue(), limitToLast(3)));
  const children = watchChildren(query(bob.at("window"), orderByValue(), limitToLast(3)));
  const first = watch(query(bob.at("window"), orderByKey(), limitToFirst(2)));
  await sees(last, { k27: 17, k28: 18, k29: 19 });
  await children.until((all) => all.length === 3);
  await set(ann.at("window/k10"), 100);
  await sees(last, { k28: 18, k29: 19, k10: 100 });
  assert.deepEqual(last.last().keys, ["k28", "k29", "k10"]);
  await children.until((all) => same(all.slice(3).sort(), ["added k10", "removed k27"]));
  await update(ann.at("window"), { k10: null, k29: -1 });
  await sees(last, { k26: 16, k27: 17, k28: 18 });
  await sees(first, { k11: 1, k12: 2 });
  await set(ann.at("window/k10"), 0);
  await sees(first, { k10: 0, k11: 1 });
  await set(ann.at("window"), { z: 1 });
  await sees(last, { z: 1 });
  await sees(first, { z: 1 });
  await remove(ann.at("window"));
  await sees(last, null);
  [last, children, first].forEach((watched) => watched.stop());
});

await step("a window goes deep", async () => {
  await set(ann.at("deep"), { a: { n: 1, x: { y: 1 } }, b: { n: 2 }, c: { n: 3 } });
  const seen = watch(query(bob.at("deep"), orderByChild("n"), limitToFirst(2)));
  const whole = watch(bob.at("deep/a/x/y"));
  await sees(seen, { a: { n: 1, x: { y: 1 } }, b: { n: 2 } });
  await set(ann.at("deep/a/x/y"), 2);
  await sees(seen, { a: { n: 1, x: { y: 2 } }, b: { n: 2 } });
  await update(ann.at("deep"), { "a/x/y": 3, "a/x/z": 4, "c/n": 0, "b/m": 5 });
  await sees(seen, { a: { n: 1, x: { y: 3, z: 4 } }, c: { n: 0 } });
  await sees(whole, 3);
  [seen, whole].forEach((watched) => watched.stop());
});

await step("bounds", async () => {
  await set(ann.at("bounds"), { a: 1, b: 2, c: 2, d: 3, e: "x", f: true });
  const keys = async (...constraints) => {
    const found = [];
    (await get(query(bob.at("bounds"), ...constraints))).forEach((child) => { found.push(child.key); });
    return found.join("");
  };
  assert.equal(await keys(orderByValue()), "fabcde");
  assert.equal(await keys(orderByValue(), startAt(2)), "bcde");
  assert.equal(await keys(orderByValue(), startAfter(2)), "de");
  assert.equal(await keys(orderByValue(), endBefore(2)), "fa");
  assert.equal(await keys(orderByValue(), startAt(2, "c"), endAt("x")), "cde");
  assert.equal(await keys(orderByValue(), equalTo(2)), "bc");
  assert.equal(await keys(orderByKey(), startAfter("b"), limitToFirst(2)), "cd");
  assert.equal(await keys(orderByKey(), endAt("c"), limitToLast(2)), "bc");
});

await step("priorities", async () => {
  const seen = watch(query(bob.at("priorities"), orderByPriority(), limitToFirst(2)));
  await setWithPriority(ann.at("priorities/a"), "A", 3);
  await setWithPriority(ann.at("priorities/b"), { x: 1 }, "text");
  await setWithPriority(ann.at("priorities/c"), "C", 1);
  await sees(seen, { c: "C", a: "A" });
  assert.deepEqual(seen.last().keys, ["c", "a"]);
  await setPriority(ann.at("priorities/b"), 0);
  await sees(seen, { b: { x: 1 }, c: "C" });
  assert.equal((await get(bob.at("priorities/b"))).priority, 0);
  await set(ann.at("priorities/b"), { x: 1 });
  assert.equal((await get(bob.at("priorities/b"))).priority, null);
  seen.stop();
});

await step("transactions that get in each other's way", async () => {
  await set(ann.at("counter"), 0);
  const many = [];
  for (let n = 0; n < 20; n += 1) {
    for (const each of [ann, bob]) many.push(runTransaction(each.at("counter"), (count) => (count ?? 0) + 1));
  }
  const done = await Promise.all(many);
  assert.ok(done.every((result) => result.committed));
  assert.equal((await get(ann.at("counter"))).val(), 40);
  const aborted = await runTransaction(ann.at("counter"), () => undefined);
  assert.equal(aborted.committed, false);
  await setWithPriority(ann.at("counter"), 1, "p");
  const kept = await runTransaction(bob.at("counter"), (count) => (count ?? 0) + 1);
  assert.ok(kept.committed);
});

await step("server values", async () => {
  await set(ann.at("stamp"), { at: serverTimestamp(), n: increment(2) });
  await update(bob.at("stamp"), { n: increment(3), "m/x": increment(1.5) });
  const { at, n, m } = (await get(ann.at("stamp"))).val();
  assert.ok(Math.abs(at - Date.now()) < 60_000);
  assert.deepEqual([n, m], [5, { x: 1.5 }]);
});

await step("messages beyond one frame, both ways", async () => {
  // Clients cut messages between UTF-16 units; a cut through an emoji would lose it on its way.
  const long = "a€é".repeat(60_000);
  const seen = watch(bob.at("long"));
  await set(ann.at("long"), long);
  await sees(seen, long);
  // The server cuts between characters.
  const wide = "a🙂é".repeat(60_000);
  await fetch(`http://${address}/${place}/long.json?ns=demo`, { method: "PUT", body: JSON.stringify(wide) });
  await sees(seen, wide);
  seen.stop();
  assert.equal((await get(bob.at("long"))).val(), wide);
});

await step("an answer as it grows", async () => {
  const stream = ann.at("streaming/c-1/8");
  const seen = watch(bob.at("streaming/c-1/8"));
  const meta = { run_id: "r", status: "streaming" };
  await update(stream, { meta, chunks: { 0: { content: "He" } } });
  for (const [index, content] of ["l", "lo", "!"].entries()) {
    await update(stream, { [`chunks/${index + 1}`]: { content } });
  }
  await update(stream, { "meta/status": "complete" });
  await seen.until((all) => all.at(-1)?.val?.meta.status === "complete");
  const states = seen.entries.map((entry) => entry.val).filter(Boolean);
  assert.ok(states.every((state) => Array.isArray(state.chunks)), "chunks are an array each time");
  assert.deepEqual(states.map((state) => state.chunks.length), [1, 2, 3, 4, 4]);
  assert.equal(states.at(-1).chunks.map((chunk) => chunk.content).join(""), "Hello!");
  seen.stop();
});

await step("onDisconnect, goOffline and goOnline", async () => {
  const cid = client("cid");
  const seen = watch(bob.at("presence"));
  await set(cid.at("presence"), { online: true, gone: 1, kept: 1 });
  await onDisconnect(cid.at("presence/online")).set(false);
  await onDisconnect(cid.at("presence")).update({ "last/at": serverTimestamp(), kept: null });
  await onDisconnect(cid.at("presence/kept")).cancel();
  await onDisconnect(cid.at("presence/gone")).remove();
  goOffline(cid.db);
  await seen.until((all) => {
    const now = all.at(-1)?.val;
    return now && now.online === false && now.gone === undefined && now.last?.at > 0 && now.kept === 1;
  });
  const connected = journal();
  onValue(ref(cid.db, ".info/connected"), (snapshot) => connected.add(snapshot.val()));
  const waiting = set(cid.at("presence/online"), "again");
  goOnline(cid.db);
  await waiting;
  await connected.until((all) => all.at(-1) === true);
  await seen.until((all) => all.at(-1).val.online === "again");
  seen.stop();
  goOffline(cid.db);
  await deleteApp(cid.app);
});

await step("listens are resumed after an interruption", async () => {
  const seen = watch(bob.at("resumed"));
  const window = watch(query(bob.at("resumed"), limitToLast(1)));
  await set(ann.at("resumed"), { a: 1, b: 2 });
  await sees(seen, { a: 1, b: 2 });
  goOffline(bob.db);
  await set(ann.at("resumed/b"), 3);
  goOnline(bob.db);
  await sees(seen, { a: 1, b: 3 });
  await sees(window, { b: 3 });
  await set(ann.at("resumed/c"), 4);
  await sees(window, { c: 4 });
  [seen, window].forEach((watched) => watched.stop());
});

await step("signed in by an unsigned token", async () => {
  const dan = client("dan", { mockUserToken: { sub: "dan", iat: Math.floor(Date.now() / 1000), exp: Math.floor(Date.now() / 1000) + 3600 } });
  const authenticated = journal();
  onValue(ref(dan.db, ".info/authenticated"), (snapshot) => authenticated.add(snapshot.val()));
  await set(dan.at("user"), { name: "dan" });
  assert.deepEqual((await get(ann.at("user"))).val(), { name: "dan" });
  goOffline(dan.db);
  await deleteApp(dan.app);
});

await step("remove all", async () => {
  off(bob.at());
  await remove(ann.at());
  assert.equal((await get(bob.at())).exists(), false);
});

for (const each of [ann, bob]) {
  goOffline(each.db);
  await deleteApp(each.app);
}
clearTimeout(deadline);
console.log("ok");
