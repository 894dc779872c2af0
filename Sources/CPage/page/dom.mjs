// Elements without markup: what comes from the tree is only ever text.

export const byId = (id) => document.getElementById(id);

/// An element with properties, attributes (names with a dash or `role`) and children.
export function el(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "role" || key.includes("-")) element.setAttribute(key, value);
    else element[key] = value;
  }
  element.append(...children);
  return element;
}

const svgNamespace = "http://www.w3.org/2000/svg";

export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS(svgNamespace, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/// `now`, `12 s`, `4 min`, `3 h`, `2 d`
export function ago(since, now = Date.now()) {
  if (!since) return "";
  const seconds = Math.max(0, Math.round((now - since) / 1000));
  if (seconds < 2) return "now";
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/// The words for a conversation's activity.
export const stateWords = {
  IDLE: "Idle", QUEUED: "Queued", GENERATING: "Generating", EXECUTING_TOOLS: "Running tools",
  COMPACTING: "Compacting", ERROR: "Error", "": "No state",
};

export const isActive = (state) => state !== "IDLE" && state !== "ERROR" && state !== "";

/// Calls at most once a frame.
export function everyFrame(work) {
  let isDue = false;
  return () => {
    if (isDue) return;
    isDue = true;
    // A tab in the background has no frames.
    const run = () => {
      if (!isDue) return;
      isDue = false;
      work();
    };
    requestAnimationFrame(run);
    if (document.hidden) setTimeout(run, 250);
  };
}
