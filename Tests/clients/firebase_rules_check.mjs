// Runs the official Firebase SDK for JavaScript in Node against a firebridge tree that is guarded
// by the shipped rules: what members, strangers and nobody see, and that access which is lost is
// told.
//
// usage: firebase_rules_check.mjs HOST:PORT CLIENTS
//
// CLIENTS is the folder with node_modules/firebase; the tree runs with --rules
// Config/database.rules.json. Prints `ok` and ends with 0 when every step went as it should.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [address, clients] = process.argv.slice(2);
const need = createRequire(resolve(clients, "package.json"));
const { initializeApp, deleteApp } = need("firebase/app");
const { connectDatabaseEmulator, get, getDatabase, onValue, ref, set } = need("firebase/database");

const colon = address.lastIndexOf(":");
const [host, port] = [address.slice(0, colon), Number(address.slice(colon + 1))];
const rest = `http://${host}:${port}`;

const fail = (reason) => {
  console.log(`FAILED: ${reason?.stack ?? reason}`);
  process.exit(1);
};
const deadline = setTimeout(() => fail("no answer within 50 s"), 50_000);
process.on("unhandledRejection", fail);

async function put(path, value) {
  const answer = await fetch(`${rest}/${path}.json?ns=demo`, {
    method: "PUT", body: JSON.stringify(value), headers: { Authorization: "Bearer owner" },
  });
  assert.equal(answer.status, 200, path);
}

function client(name, options) {
  const app = initializeApp({ projectId: "demo", databaseURL: `${rest}/?ns=demo` }, name);
  const db = getDatabase(app);
  connectDatabaseEmulator(db, host, port, options);
  return { app, at: (path) => ref(db, path) };
}

const denied = (action) =>
  assert.rejects(action, (error) => /permission.denied/i.test(`${error.code} ${error.message}`));

await put("conversations/c1", { info: { members: { ann: true } }, status: { state: "IDLE" } });
await put("streaming/c1/8/chunks/0", { content: "lo" });
await put("_firebridge/version", 1);

const ann = client("ann", { mockUserToken: { user_id: "ann" } });
const bob = client("bob", { mockUserToken: { user_id: "bob" } });
const nobody = client("nobody");
const bridge = client("bridge", { mockUserToken: { user_id: "firebridge" } });

assert.equal((await get(ann.at("streaming/c1/8/chunks/0/content"))).val(), "lo");
assert.equal((await get(ann.at("conversations/c1/status/state"))).val(), "IDLE");
for (const who of [bob, nobody, bridge]) {
  for (const path of ["streaming/c1", "conversations/c1", "_firebridge", "/", "conversations"]) {
    await denied(get(who.at(path)));
  }
  await denied(set(who.at("streaming/c1/9"), 1));
  await denied(set(who.at("_firebridge/version"), 2));
}
await denied(get(ann.at("conversations")));
await denied(set(ann.at("conversations/c1/info/members/bob"), true));

// A member listens; then he is none, and is told so.
const values = [];
const cancelled = new Promise((done) => {
  onValue(ann.at("streaming/c1/8/chunks"), (snapshot) => values.push(snapshot.val()), done);
});
while (values.length < 1) await new Promise((done) => setTimeout(done, 10));
await put("streaming/c1/8/chunks/1", { content: "ng" });
while (values.length < 2) await new Promise((done) => setTimeout(done, 10));
await put("conversations/c1/info/members", { bob: true });
assert.match(`${(await cancelled).code}`, /permission.denied/i);
await put("streaming/c1/8/chunks/2", { content: "secret" });
await denied(get(ann.at("streaming/c1/8/chunks")));
assert.equal((await get(bob.at("streaming/c1/8/chunks/2/content"))).val(), "secret");
assert.ok(!JSON.stringify(values).includes("secret"));

clearTimeout(deadline);
for (const { app } of [ann, bob, nobody, bridge]) await deleteApp(app);
console.log("ok");
process.exit(0);
