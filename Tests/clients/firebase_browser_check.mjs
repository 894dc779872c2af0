// Runs the official Firebase SDK for JavaScript in headless Chromium against a firebridge tree: over
// WebSocket, by long polling alone, and changing from polls to a socket.
//
// usage: firebase_browser_check.mjs HOST:PORT CLIENTS [CHROMIUM]
//
// CLIENTS is the folder with browser/ and node_modules/playwright-core. Prints `ok` and ends with 0
// when every step went as the client expects of the hosted database; otherwise what failed, and
// another code.
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { basename, delimiter, join, resolve } from "node:path";

const [address, clients, program] = process.argv.slice(2);
const need = createRequire(resolve(clients, "package.json"));
const { chromium } = need("playwright-core");
const deadline = setTimeout(() => fail("no answer within 50 s"), 50_000);

function fail(reason) {
  console.log(`FAILED: ${reason?.stack ?? reason}`);
  process.exit(1);
}

const html = `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><body>
<script src="/firebase-app-compat.js"></script><script src="/firebase-database-compat.js"></script>`;

const files = createServer(async (request, response) => {
  const name = basename(request.url.split("?")[0]);
  if (!name.endsWith(".js")) return response.writeHead(200, { "content-type": "text/html" }).end(html);
  try {
    const body = await readFile(join(resolve(clients), "browser", name));
    response.writeHead(200, { "content-type": "text/javascript; charset=utf-8" }).end(body);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((done) => files.listen(0, "127.0.0.1", done));
const browser = await chromium.launch({
  executablePath: program ?? process.env.PATH.split(delimiter).map((folder) => join(folder, "chromium")).find(existsSync),
  args: ["--no-sandbox"], // Chromium refuses to run as root without it
});

// Opens a page whose client is made ready in a certain way; what its requests were.
async function open(prepare) {
  const tab = await browser.newPage();
  const asked = { sockets: 0, polls: 0 };
  tab.on("pageerror", (error) => fail(error));
  tab.on("websocket", () => { asked.sockets += 1; });
  tab.on("request", (request) => { if (new URL(request.url()).pathname === "/.lp") asked.polls += 1; });
  await tab.addInitScript(prepare);
  await tab.goto(`http://127.0.0.1:${files.address().port}/`);
  await tab.evaluate((address) => {
    const [host, port] = address.split(":");
    globalThis.prepare?.();
    firebase.initializeApp({ projectId: "demo", databaseURL: `http://${address}/?ns=demo` });
    globalThis.db = firebase.database();
    db.useEmulator(host, Number(port));
    globalThis.until = (ref, holds) => new Promise((done, failed) => {
      const listen = ref.on("value", (snapshot) => {
        if (!holds(snapshot.val(), snapshot)) return;
        ref.off("value", listen);
        done(snapshot.val());
      }, failed);
    });
  }, address);
  return { tab, asked };
}

// What every transport must carry.
async function exercise({ tab }, place) {
  await tab.evaluate(async (place) => {
    const check = (truth, what) => { if (!truth) throw new Error(what); };
    const root = db.ref(place);
    await root.set({ text: "é 🙂 \u2028 </script>", n: 1 });
    check((await root.child("text").get()).val() === "é 🙂 \u2028 </script>", "text");
    await root.update({ "deep/er": true, n: null });
    const pushed = await root.child("list").push("one");
    check(pushed.key.length === 20, "push id");
    const counts = await Promise.all(Array.from({ length: 10 }, () =>
      root.child("counter").transaction((count) => (count ?? 0) + 1)));
    check(counts.every((count) => count.committed), "committed");
    await until(root.child("counter"), (count) => count === 10);
    const window = root.child("scores").orderByValue().limitToLast(2);
    await root.child("scores").set({ a: 1, b: 2, c: 3 });
    const seen = until(window, (value) => JSON.stringify(value) === '{"a":9,"c":3}');
    await root.child("scores/a").set(9);
    await seen;
    // Clients cut messages between UTF-16 units; a cut through an emoji would lose it on its way.
    const long = "xé".repeat(40_000);
    await root.child("long").set(long);
    check((await root.child("long").get()).val() === long, "long");
    for (let index = 0; index < 40; index += 1) root.child(`chunks/${index}`).set({ content: `${index}` });
    await until(root.child("chunks"), (chunks) => Array.isArray(chunks) && chunks.length === 40);
  }, place);
}

const step = async (name, action) => {
  try {
    await action();
  } catch (error) {
    fail(`${name}: ${error.stack}`);
  }
  console.log(name);
};
const place = `check/browser-${process.pid}`;
const plain = await open(() => {});

await step("over a WebSocket", async () => {
  await exercise(plain, `${place}/socket`);
  if (plain.asked.polls > 0) throw new Error("it polled");
});

await step("by long polling alone", async () => {
  const polling = await open(() => {
    delete globalThis.WebSocket;
  });
  await exercise(polling, `${place}/polling`);
  if (polling.asked.sockets > 0) throw new Error("it opened a socket");
  await polling.tab.evaluate((place) => db.ref(`${place}/left`).onDisconnect().set(true), place);
  await polling.tab.goto("about:blank");
  await plain.tab.evaluate((place) => until(db.ref(`${place}/left`), (left) => left === true), place);
});

await step("from long polling to a WebSocket", async () => {
  const changing = await open(() => {
    // What the client finds there after a page that was left before its socket had proved itself.
    if (window === top) localStorage.setItem("firebase:previous_websocket_failure", "true");
  });
  await exercise(changing, `${place}/changing`);
  await changing.tab.waitForFunction(() =>
    localStorage.getItem("firebase:previous_websocket_failure") === null);
  if (changing.asked.polls === 0) throw new Error("it did not begin with polls");
  if (changing.asked.sockets !== 1) throw new Error(`it opened ${changing.asked.sockets} sockets`);
  const polls = changing.asked.polls;
  await exercise(changing, `${place}/changed`);
  if (changing.asked.polls > polls) throw new Error("it polled on");
  await changing.tab.evaluate((place) => db.ref(`${place}/closed`).onDisconnect().set(true), place);
  await changing.tab.close();
  await plain.tab.evaluate((place) => until(db.ref(`${place}/closed`), (closed) => closed === true), place);
});

await plain.tab.evaluate((place) => db.ref(place).remove(), place);
clearTimeout(deadline);
console.log("ok");
await browser.close();
files.close();
files.closeAllConnections();
