// Drives the page in headless Chromium: the demo with all that one can do to it, and a tree with
// 10,000 conversations and an answer of 100,000 tokens.
//
//   node page_check.mjs FIREBRIDGE PLAYWRIGHT [SCREENSHOTS]
//
// FIREBRIDGE is the program, PLAYWRIGHT the folder whose node_modules have playwright-core,
// SCREENSHOTS where pictures are left. CHROMIUM names the browser's file. Prints a line a step and
// what was measured, then `ok`; ends with 1 where a step went otherwise.

import { spawn } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { createInterface } from "node:readline";

const [program, playwright, pictures] = process.argv.slice(2);
const { chromium } = createRequire(resolve(playwright, "package.json"))("playwright-core");
const conversations = 10_000;
const tokens = 100_000;
const patience = 40_000;
if (pictures) mkdirSync(pictures, { recursive: true });

let failures = 0;
async function step(name, work) {
  try {
    const result = await work();
    console.log(`${name}${result === undefined ? "" : `: ${result}`}`);
  } catch (error) {
    failures++;
    console.log(`${name}: FAILED: ${error.message.split("\n").slice(0, 3).join(" ")}`);
  }
}

function expect(condition, words) {
  if (!condition) throw new Error(words);
}

/// Starts the program; `line(beginning)` waits for what it says.
function start(...args) {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  const said = [];
  const waiting = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on("line", (line) => {
      said.push(line);
      for (const wake of waiting.splice(0)) wake();
    });
  }
  const exited = new Promise((done) => child.on("exit", (code) => {
    done(code);
    for (const wake of waiting.splice(0)) wake();
  }));
  return {
    child, said, exited,
    async address() {
      const deadline = Date.now() + patience;
      while (Date.now() < deadline) {
        const found = said.map((line) => line.match(/http:\/\/([^/]+)\/\?ns=demo/)).find(Boolean);
        if (found) return found[1];
        await new Promise((wake) => waiting.push(wake));
      }
      throw new Error(`no address among: ${said.join(" | ")}`);
    },
  };
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"], // Chromium refuses to run as root without it
});

/// A page whose complaints are kept.
async function open(url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => {
    if (message.type() !== "error" && message.type() !== "warning") return;
    // What the demo breaks, the browser reports.
    if (/status of 503|ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED/.test(message.text())) return;
    complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.stack));
  await page.exposeFunction("complain", (text) => complaints.push(text));
  await page.addInitScript(() => {
    globalThis.longTasks = [];
    document.addEventListener("securitypolicyviolation", (event) => {
      globalThis.complain(`policy: ${event.violatedDirective} ${event.blockedURI}`);
    });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) globalThis.longTasks.push(Math.round(entry.duration));
    }).observe({ type: "longtask", buffered: true });
  });
  page.setDefaultTimeout(patience);
  await page.goto(url);
  return { page, complaints };
}

async function picture(page, name) {
  if (pictures) await page.screenshot({ path: `${pictures}/${name}.png` });
}

const story = (page, words) => page.waitForFunction(
  (words) => document.getElementById("story").textContent.includes(words), words);
const shown = (page) => page.evaluate(
  () => [...document.querySelectorAll(".bubble .block, .bubble .size")].map((block) => block.textContent).join("").length);

// The demo.

const demo = start("demo", "--listen", "127.0.0.1:0");
const address = await demo.address();
const { page, complaints } = await open(`http://${address}/?ns=demo`);

await step("a bubble grows token by token", async () => {
  await page.waitForSelector('.bubble[data-status="streaming"]');
  const before = await shown(page);
  await page.waitForFunction((before) => {
    const bubble = document.querySelector('.bubble[data-status="streaming"]');
    return bubble && bubble.textContent.length > before + 40;
  }, before);
});

await step("the figures move", async () => {
  const paths = () => page.evaluate(
    () => [...document.querySelectorAll(".tile .line")].map((line) => line.getAttribute("d")));
  await page.waitForFunction(() => [...document.querySelectorAll(".tile strong")].every((value) => /\d/.test(value.textContent)));
  const before = await paths();
  await page.waitForFunction(
    (before) => [...document.querySelectorAll(".tile .line")].every((line, i) => line.getAttribute("d") !== before[i]), before);
  expect(before.length === 6, "six plots");
});

await step("what has just changed is marked in the tree", () => page.waitForFunction(
  () => document.querySelector("#node-scroll").getAnimations({ subtree: true }).length > 0));

await step("pictures: desktop, dark, phone", async () => {
  if (!pictures) return "not asked for";
  const dark = await open(`http://${address}/?ns=demo`, { colorScheme: "dark" });
  const phone = await open(`http://${address}/?ns=demo`, {
    viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true,
  });
  await page.waitForFunction(() => {
    const words = document.querySelector('.bubble[data-status="streaming"] .words.text');
    return words && words.textContent.length > 250;
  });
  await picture(page, "desktop");
  await picture(dark.page, "dark");
  await picture(phone.page, "phone-list");
  await phone.page.click('.row >> nth=2');
  await phone.page.waitForSelector(".bubble");
  await picture(phone.page, "phone-chat");
  await phone.page.click('[data-go="nodes"]');
  await phone.page.waitForSelector(".node");
  await picture(phone.page, "phone-nodes");
  const wide = await phone.page.evaluate(() => document.documentElement.scrollWidth);
  expect(wide <= 390, `the phone's page is ${wide} wide`);
  complaints.push(...dark.complaints, ...phone.complaints);
  await dark.page.context().close();
  await phone.page.context().close();
});

await step("a conversation is chosen by keyboard", async () => {
  await page.evaluate(() => document.activeElement?.blur());
  for (let i = 0; i < 20; i++) {
    await page.keyboard.press("Tab");
    if (await page.evaluate(() => document.activeElement.id === "list-scroll")) break;
  }
  expect(await page.evaluate(() => document.activeElement.id) === "list-scroll", "Tab does not reach the list");
  await page.waitForFunction(() => document.querySelectorAll(".row").length > 3);
  await page.keyboard.press("End");
  const before = await page.textContent("#chat-title");
  for (let i = 0; i < 2; i++) await page.keyboard.press("ArrowUp");
  const title = await page.textContent("#chat-title");
  expect(title !== before && title.startsWith("thread_"), `still ${title}`);
  await page.waitForFunction((id) => {
    const row = document.getElementById(document.getElementById("list-scroll").getAttribute("aria-activedescendant") ?? "");
    return row?.getAttribute("aria-selected") === "true" && row.textContent.includes(id);
  }, title);
  expect(await page.getAttribute("#follow", "aria-pressed") === "false", "it still follows");
  await page.waitForSelector(".bubble");
  await page.keyboard.press("Enter");
  expect(await page.evaluate(() => document.activeElement.id) === "chat-scroll", "Enter does not lead to the chat");
});

await step("an answer is regenerated, and the one before stays, folded", async () => {
  await page.waitForSelector('.bubble[data-status="complete"]');
  await page.click("#regenerate");
  await page.waitForFunction(() => document.querySelector(".bubble .label")?.textContent.includes("attempt 2"));
  expect(await page.isVisible(".bubble .before"), "the attempt before is gone");
  await page.waitForSelector('.bubble[data-status="complete"]');
  await picture(page, "regenerated");
});

await step("the database breaks, the page says so, and nothing is lost", async () => {
  await page.click("#break");
  await page.waitForSelector('#connection[data-state="waiting"]');
  await story(page, "503");
  await page.waitForFunction(() => document.querySelector(".ledger [data-many]"));
  await picture(page, "broken");
  await page.waitForSelector('#connection[data-state="open"]');
  await story(page, "Nothing is lost");
  const words = await page.textContent("#story");
  await picture(page, "recovered");
  return words;
});

await step("the bridge is killed, and nothing is lost", async () => {
  await page.click("#kill");
  await story(page, "being started again");
  await story(page, "Nothing is lost");
  return await page.textContent("#story");
});

await step("other sites cannot press the buttons", async () => {
  const press = (headers) => fetch(`http://${address}/.demo/kill`, { method: "POST", headers }).then((answer) => answer.status);
  expect(await press({}) === 403, "no origin");
  expect(await press({ Origin: "http://evil.example" }) === 403, "another origin");
});

await step("all controls have names", async () => {
  const nameless = await page.evaluate(() => [...document.querySelectorAll("button, input, textarea, [role=listbox], [role=tree], dialog")]
    .filter((element) => !(element.textContent.trim() || element.ariaLabel || element.getAttribute("aria-labelledby")))
    .map((element) => element.outerHTML.slice(0, 80)));
  expect(nameless.length === 0, nameless.join(" "));
});

await step("no console error, no violation of the policy", async () => {
  expect(complaints.length === 0, complaints.join(" | "));
});

await step("the demo ends well", async () => {
  demo.child.kill("SIGINT");
  const code = await demo.exited;
  const last = demo.said.at(-1);
  expect(code === 0 && last.endsWith("the tree equals the log"), `exit code ${code}: ${last}`);
  return last;
});
await page.context().close();

// A large tree.

const tree = start("tree", "--listen", "127.0.0.1:0");
const place = await tree.address();
const write = async (method, path, value) => {
  const answer = await fetch(`http://${place}/${path}.json?ns=demo&print=silent`, { method, body: JSON.stringify(value) });
  expect(answer.ok, `${method} ${path}: ${answer.status}`);
};
const chunk = (index, content) => ({
  content, type: `STREAM_CHUNK_TYPE_${index < 400 ? "REASONING" : "TEXT"}`, timestamp: "2026-04-23T22:43:44.700Z", is_final: false,
});
const vocabulary = readFileSync(new URL(import.meta.url), "utf8").match(/[a-z]+/g);
const word = (index) => vocabulary[index * 7919 % vocabulary.length] + (index % 60 === 59 ? ".\n\n" : " ");
const status = (index, state) => ({
  state: `CONVERSATION_ACTIVITY_STATE_${state}`, seq: String(index), since: new Date(1_770_000_000_000 + index * 1000).toISOString(),
});
const idOf = (index) => `conversation-${String(index).padStart(5, "0")}`;

await step(`a tree with ${conversations} conversations and an answer of ${tokens} tokens`, async () => {
  const states = ["IDLE", "IDLE", "IDLE", "GENERATING", "QUEUED", "ERROR"];
  await write("PUT", "conversations", Object.fromEntries(Array.from(
    { length: conversations }, (_, i) => [idOf(i), { status: status(i, states[i % states.length]) }])));
  await write("PUT", "streaming/large/7", {
    meta: { run_id: "run-1", status: "streaming", started_at: "2026-04-23T22:43:44.700Z" },
    chunks: Object.fromEntries(Array.from({ length: tokens }, (_, i) => [i, chunk(i, word(i))])),
  });
});

const large = await open(`http://${place}/?ns=demo#large`);
await step("its page", async () => {
  const paint = await large.page.waitForFunction(
    () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime).then((value) => value.jsonValue());
  await large.page.waitForFunction((count) => document.getElementById("list-count").textContent === count, "10,001");
  const listed = await large.page.evaluate(() => performance.now());
  await large.page.waitForFunction((count) => document.querySelector(".bubble .tokens")?.textContent === count, "100,000 tokens");
  const told = await large.page.evaluate(() => performance.now());
  const tasks = await large.page.evaluate(() => longTasks);
  const { longest } = await large.page.evaluate(() => firebridgeTimings);
  expect(paint < 30_000, "no paint");
  return `first paint ${Math.round(paint)} ms, list ${Math.round(listed)} ms, whole answer ${Math.round(told)} ms; `
    + `longest handling of a message ${longest.toFixed(1)} ms, tasks over 50 ms: ${tasks.join(", ") || "none"}`;
});

await step("an event there", async () => {
  await large.page.evaluate(() => {
    firebridgeTimings.longest = 0;
    longTasks.length = 0;
  });
  const delays = [];
  for (let i = tokens; i < tokens + 50; i++) {
    const text = `token-${i}`;
    const seen = large.page.waitForFunction(
      (text) => document.querySelector(".words.text > .block:last-child")?.textContent.includes(text), text, { polling: "raf" });
    const begin = performance.now();
    await write("PATCH", "", {
      [`streaming/large/7/chunks/${i}`]: chunk(i, `${text} `),
      [`conversations/${idOf(i % conversations)}/status`]: status(conversations + i, "GENERATING"),
    });
    await seen;
    delays.push(performance.now() - begin);
  }
  delays.sort((a, b) => a - b);
  const tasks = await large.page.evaluate(() => longTasks);
  const { longest } = await large.page.evaluate(() => firebridgeTimings);
  return `from write to text p50 ${delays[25].toFixed(0)} ms, at most ${delays[49].toFixed(0)} ms; handled on the page's thread in at most `
    + `${longest.toFixed(1)} ms, tasks over 50 ms: ${tasks.join(", ") || "none"}`;
});
await picture(large.page, "large");

await step("the list stays small in the document, is filtered and scrolled by keyboard", async () => {
  const { page } = large;
  expect(await page.locator(".row").count() < 60, "too many rows");
  await page.focus("#list-scroll");
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowUp");
  await page.waitForFunction((id) => document.getElementById("chat-title").textContent === id, idOf(0));
  await page.keyboard.press("/");
  await page.keyboard.type("09999");
  await page.waitForFunction(() => document.querySelectorAll(".row").length === 1);
  await page.fill("#list-filter", "");
  await page.click('[data-show="error"]');
  await page.waitForFunction(() => document.querySelector(".row")?.dataset.state === "ERROR");
  await page.click('[data-show="all"]');
});

await step("what looks like markup stays text", async () => {
  const { page } = large;
  const evil = '<img src=x onerror="document.title=1"><script>document.title=2</script>';
  await write("PUT", `streaming/${encodeURIComponent(evil.replaceAll("/", "∕").replaceAll(".", "․"))}`, {
    3: { meta: { run_id: evil, status: "error", error_message: evil }, chunks: { 0: chunk(900, evil) } },
  });
  await write("PUT", "conversations/evil/status", { state: evil, seq: "1", error: { code: "x", message: evil } });
  await page.goto(`http://${place}/?ns=demo#${encodeURIComponent(evil.replaceAll("/", "∕").replaceAll(".", "․"))}`);
  await page.reload();
  await page.waitForFunction((evil) => document.querySelector(".words.text")?.textContent === evil, evil);
  expect(await page.isVisible(".failed"), "the error is not shown");
  expect(await page.locator("main img, main script").count() === 0, "markup from the tree");
  expect(await page.title() === "demo · firebridge", "it has run");
  await picture(page, "markup");
});

await step("a node is browsed, edited after a question, exported and deleted", async () => {
  const { page } = large;
  await page.fill("#path", "/");
  await page.keyboard.press("Enter");
  await page.click('.node:has-text("conversations")');
  await page.click('.node:has(.key:text-is("evil"))');
  await page.click('.node:has(.key:text-is("status"))');
  await page.click("#node-edit");
  await page.fill("#edit-text", '{"state": "CONVERSATION_ACTIVITY_STATE_IDLE", "seq": "2"');
  await page.click("#edit-save");
  await page.waitForSelector("#edit-wrong:not([hidden])");
  await picture(page, "edit");
  await page.fill("#edit-text", '{"state": "CONVERSATION_ACTIVITY_STATE_IDLE", "seq": "2"}');
  await page.click("#edit-save");
  await page.waitForFunction(() => !document.getElementById("edit").open);
  const read = () => fetch(`http://${place}/conversations/evil/status/seq.json?ns=demo`).then((answer) => answer.json());
  const deadline = Date.now() + patience;
  while (await read() !== "2") expect(Date.now() < deadline, "it was not written");
  await page.fill("#path", "/conversations/evil");
  await page.keyboard.press("Enter");
  const download = page.waitForEvent("download");
  await page.click("#export");
  const file = readFileSync(await (await download).path(), "utf8");
  expect(JSON.parse(file).status.seq === "2", file);
  await page.click('.node:has(.key:text-is("status"))');
  await page.click("#node-delete");
  await page.click("#edit-save");
  while (await read() !== null) expect(Date.now() < deadline, "it was not deleted");
});

await step("no console error, no violation of the policy", async () => {
  expect(large.complaints.length === 0, large.complaints.join(" | "));
});

await large.page.context().close();
await browser.close();
tree.child.kill("SIGTERM");
await tree.exited;
console.log(failures === 0 ? "ok" : `${failures} steps failed`);
process.exit(failures === 0 ? 0 : 1);
