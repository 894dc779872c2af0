// Wires the page's parts together.

import { Chat } from "./chat.mjs";
import { Demo } from "./controls.mjs";
import { byId, isActive, stateWords } from "./dom.mjs";
import { ConversationList } from "./list.mjs";
import { Nodes } from "./nodes.mjs";
import { Places } from "./places.mjs";

const isDemo = document.documentElement.dataset.mode === "demo";
const places = new Places(location.search);
const worker = new Worker(workerAddress(), { type: "module" });
const post = (message) => worker.postMessage(message);

const chat = new Chat();
const nodes = new Nodes(places, post);
const list = new ConversationList(choose);
const demo = isDemo ? new Demo() : null;

/// How long the page's thread was busy with a message, in milliseconds: for whoever measures.
const timings = { count: 0, longest: 0 };
globalThis.firebridgeTimings = timings;

let isFollowing = isDemo && location.hash === "";
let followedUntil = 0;

const take = {
  connection: ({ state, reason }) => showConnection(state, reason),
  conversations(message) {
    list.take(message);
    if (isFollowing) follow();
    showState();
  },
  chat({ id, state, reason }) {
    if (id === chat.id && state !== "open") chat.say(`Waiting: ${reason}`);
  },
  steps({ id, steps }) {
    if (id === chat.id) chat.take(steps);
  },
  rows: (message) => nodes.take(message),
};

worker.onmessage = ({ data }) => {
  const begin = performance.now();
  take[data.type](data);
  timings.count++;
  timings.longest = Math.max(timings.longest, performance.now() - begin);
};
post({ type: "start", search: location.search, token: "" });

byId("database").textContent = places.ns || "demo";
document.title = `${places.ns || "demo"} · firebridge`;

// A browser that enforces trusted types wants to know who made the worker's address.
function workerAddress() {
  const address = "/.page/worker.mjs";
  const policy = globalThis.trustedTypes?.createPolicy("firebridge-worker", { createScriptURL: () => address });
  return policy?.createScriptURL("") ?? address;
}

function choose(id, isByHand = true) {
  if (isByHand) {
    setFollowing(false);
    history.replaceState(null, "", `#${encodeURIComponent(id)}`);
    if (!matchMedia("(min-width: 60rem)").matches && !byId("list").contains(document.activeElement)) view("chat");
  }
  if (id === chat.id) return;
  chat.show(id);
  byId("chat-title").textContent = id;
  byId("chat-title").title = id;
  byId("regenerate").hidden = !isDemo;
  showState();
  post({ type: "choose", id });
}

/// The state of the chosen conversation, above its answers.
function showState() {
  const entry = chat.id === null ? null : list.get(chat.id);
  const badge = byId("chat-state");
  badge.hidden = !entry;
  if (!entry) return;
  badge.textContent = stateWords[entry.state] ?? entry.state;
  badge.dataset.state = entry.state || "NONE";
}

/// Shows the answer that is being written, and when it has ended the next one.
function follow() {
  const now = Date.now();
  const current = list.get(chat.id);
  if (current && isActive(current.state)) {
    followedUntil = now + 2500;
    return;
  }
  if (now < followedUntil) return;
  const next = list.newestActive();
  if (next) list.choose(next, false);
}

function setFollowing(value) {
  isFollowing = value;
  byId("follow").setAttribute("aria-pressed", String(value));
  if (value) {
    followedUntil = 0;
    history.replaceState(null, "", location.pathname + location.search);
    follow();
  }
}

function showConnection(state, reason) {
  const pill = byId("connection");
  pill.dataset.state = state;
  pill.textContent = { open: "Live", waiting: "Database unreachable", refused: "Not allowed" }[state];
  pill.title = reason;
}

function view(name) {
  document.body.dataset.view = name;
  for (const button of document.querySelectorAll("[data-go]")) {
    if (button.dataset.go === name) button.setAttribute("aria-current", "page");
    else button.removeAttribute("aria-current");
  }
}

byId("list-scroll").addEventListener("click", () => {
  if (!matchMedia("(min-width: 60rem)").matches) view("chat");
});
for (const button of document.querySelectorAll("[data-go]")) button.addEventListener("click", () => view(button.dataset.go));
document.querySelector(".skip").addEventListener("click", (event) => {
  // An address that ends in #… names a conversation.
  event.preventDefault();
  view("chat");
  byId("chat-scroll").focus();
});
byId("back").addEventListener("click", () => view("list"));
byId("follow").addEventListener("click", () => setFollowing(!isFollowing));
byId("regenerate").addEventListener("click", () => demo?.regenerate(chat.id));
byId("token-open").addEventListener("click", () => byId("token").showModal());
byId("token").addEventListener("close", ({ target }) => {
  if (target.returnValue !== "save") return;
  places.token = byId("token-text").value.trim();
  byId("token-text").value = "";
  byId("token-open").textContent = places.token ? "Token ✓" : "Token";
  post({ type: "token", token: places.token });
});
for (const button of document.querySelectorAll("[data-close]")) {
  button.addEventListener("click", () => button.closest("dialog").close(""));
}
// Ctrl+K or a slash: to the filter; Escape there: back to the list.
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.matches("input, textarea");
  if (event.key === "/" && !isTyping || event.key === "k" && (event.metaKey || event.ctrlKey)) {
    event.preventDefault();
    view("list");
    byId("list-filter").focus();
  } else if (event.key === "Escape" && event.target === byId("list-filter")) {
    byId("list-scroll").focus();
  }
});
addEventListener("hashchange", () => chooseByHash());

function chooseByHash() {
  let id = location.hash.slice(1);
  try {
    id = decodeURIComponent(id);
  } catch {
    // Typed by hand: as it stands.
  }
  if (id === "") return;
  list.choose(id);
  view("chat");
}

setFollowing(isFollowing);
chooseByHash();
if (isDemo) setInterval(() => isFollowing && follow(), 500);
