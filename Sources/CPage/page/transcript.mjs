// Turns what a stream node holds into what a chat shows: per answer its texts by kind, appended as
// they grow, and begun anew when another run takes its place.

import { child, childNames, isNode } from "./mirror.mjs";

const kinds = { STREAM_CHUNK_TYPE_REASONING: "reasoning", STREAM_CHUNK_TYPE_TOOL_CALL: "tool" };
const fields = ["run_id", "status", "started_at", "finished_at", "error_message"];

/// The steps of a chat, for one conversation's node `streaming/ID`.
///
/// A step is `{answer, begin: true}`, `{answer, kind, text}`, `{answer, gap}`, `{answer, meta,
/// tokens}` or `{answer, gone: true}`.
export class Transcript {
  #answers = new Map();

  /// The steps that follow from the event that changed these places of the node.
  update(node, places) {
    const touched = this.#touched(node, places);
    const steps = [];
    for (const [answer, isWhole] of touched) this.#updateAnswer(answer, child(node, answer), isWhole, steps);
    return steps;
  }

  /// By answer: whether more than later chunks and meta has changed.
  #touched(node, places) {
    const touched = new Map();
    for (const place of places) {
      const [answer, part, index] = place;
      if (answer === undefined) {
        for (const name of new Set([...this.#answers.keys(), ...childNames(node)])) touched.set(name, true);
      } else if (part === "chunks" && index !== undefined) {
        const known = this.#answers.get(answer);
        // A bridge that begins again writes what is there already.
        const isLater = Number(index) >= (known?.contents.length ?? 0);
        const isSame = known?.contents[index] === contentOf(child(child(child(node, answer), "chunks"), index));
        touched.set(answer, (touched.get(answer) ?? false) || !isLater && !isSame);
      } else {
        touched.set(answer, (touched.get(answer) ?? false) || part !== "meta");
      }
    }
    return touched;
  }

  #updateAnswer(answer, node, isWhole, steps) {
    if (!isNode(node)) {
      if (this.#answers.delete(answer)) steps.push({ answer, gone: true });
      return;
    }
    const meta = child(node, "meta");
    const chunks = child(node, "chunks");
    const run = child(meta, "run_id");
    let known = this.#answers.get(answer);
    const isOther = known && known.run !== run && known.run !== null;
    // After a lost connection the whole comes again; what has not changed is not shown anew.
    if (!known || isOther || isWhole && !continues(known, chunks)) {
      steps.push({ answer, begin: true, isRegenerated: Boolean(isOther) });
      known = { run, next: 0, contents: [], meta: "" };
      this.#answers.set(answer, known);
    }
    known.run = run;
    const status = child(meta, "status");
    append(answer, known, chunks, status !== null && status !== "streaming", steps);
    const shown = Object.fromEntries(fields.map((name) => [name, child(meta, name)]));
    const text = JSON.stringify([shown, known.next]);
    if (text !== known.meta) steps.push({ answer, meta: shown, tokens: known.contents.length });
    known.meta = text;
  }
}

/// Whether all that has been shown still stands there.
function continues(known, chunks) {
  for (let index = 0; index < known.contents.length; index++) {
    if (known.contents[index] !== contentOf(child(chunks, index))) return false;
  }
  return true;
}

/// The text of a chunk; undefined where there is none.
function contentOf(chunk) {
  if (!isNode(chunk)) return undefined;
  return typeof chunk.content === "string" ? chunk.content : "";
}

/// The chunks from `next` on, as far as there is no gap; of a finished answer all.
function append(answer, known, chunks, isFinished, steps) {
  const take = (index) => {
    const chunk = child(chunks, index);
    const content = contentOf(chunk) ?? "";
    known.contents[index] = content;
    const kind = kinds[chunk?.type] ?? "text";
    const last = steps.at(-1);
    if (last?.answer === answer && last.kind === kind) last.text += content;
    else if (content !== "") steps.push({ answer, kind, text: content });
  };
  while (isNode(child(chunks, known.next))) take(known.next++);
  if (!isFinished || known.contents.length > known.next) return;
  const rest = childNames(chunks).map(Number).filter((index) => index > known.next).sort((a, b) => a - b);
  let expected = known.next;
  for (const index of rest) {
    if (index > expected) steps.push({ answer, gap: index - expected });
    take(index);
    expected = index + 1;
  }
}
