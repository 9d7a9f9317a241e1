// The tab of the user's model: an editor, and the findings of its search.

import { ask, stop } from "./ask.js";
import { find, make } from "./dom.js";
import { failureIn, outcomeIn, progressIn } from "./outcome.js";

const KEPT = "joinproto-model";
let editor = null;
let world = "";
let turn = 0;
let firstText = "";
let isDark = false;
let walk = null;

export function fill(listing, { isDark: dark, step }) {
  isDark = dark;
  const starts = find("starts");
  for (const { name, about } of listing.examples) {
    starts.append(make("option", { value: name }, about));
  }
  starts.append(make("option", { value: "", hidden: true }, "a copy of a world"));
  const kept = read();
  firstText = kept?.text ?? listing.examples[0].text;
  world = kept?.world ?? "";
  find("model-options").value = kept?.options ?? "";
  starts.value = kept?.start ?? listing.examples[0].name;
  about();
  starts.addEventListener("change", () => {
    const example = listing.examples.find(({ name }) => name === starts.value);
    if (example) begin(example.text, "", example.name);
  });
  find("model-options").addEventListener("change", keep);
  find("model-check").addEventListener("click", check);
  walk = async (wanted, run) => {
    const { error, printed } = await step("model", wanted, run);
    if (error) failed(error, printed);
  };
  find("model-step").addEventListener("click", async () => {
    await shown();
    walk(given());
  });
}

// The editor is loaded when its tab is first seen.
let editing = null;
export function shown() {
  editing ??= import("./editor.js").then(({ makeEditor }) => {
    editor = makeEditor(find("editor"), { text: firstText, isDark, onRun: check, onChange: keep });
  });
  return editing;
}

function begin(text, copied, start) {
  world = copied;
  find("model-options").value = "";
  find("starts").value = start;
  editor.set(text);
  editor.mark(null);
  find("model-outcome").replaceChildren();
  turn++;
  about();
  keep();
}

function about() {
  find("model-about").textContent = world
    ? "A copy of the file that builds " + world + ". Change it, and check it again."
    : "A world of your own: its members, its faults and its claims.";
}

// Opens the source of a shipped world.
export async function edit(name) {
  const [{ value, error }] = await Promise.all([ask("copy", { name }), shown()]);
  if (error) failureIn(find("model-outcome"), error);
  else begin(value.text, name, "");
}

function given() {
  const options = {};
  for (const word of find("model-options").value.split(/[\s,]+/).filter(Boolean)) {
    const [name, ...rest] = word.replace(/^--/, "").split("=");
    options[name.replaceAll("-", "_")] = rest.join("=");
  }
  return { text: editor.text(), world, options };
}

async function check() {
  const place = find("model-outcome");
  const mine = ++turn;
  await shown();
  editor.mark(null);
  keep();
  const progress = progressIn(place, stop);
  const asked = given();
  const { value, error, printed } = await ask("model", asked, { progress });
  if (mine !== turn) return;
  if (error) failed(error, printed);
  else outcomeIn(place, value, printed, () => walk(asked, value.run));
}

function failed(error, printed) {
  if (error.line !== null) editor.mark(error.line, error.message);
  failureIn(find("model-outcome"), error, printed);
}

function keep() {
  if (!editor) return;
  try {
    localStorage.setItem(KEPT, JSON.stringify({ text: editor.text(), world, options: find("model-options").value, start: find("starts").value }));
  } catch {
    // If the browser stores nothing, the text is lost with the page.
  }
}

function read() {
  try {
    return JSON.parse(localStorage.getItem(KEPT));
  } catch {
    return null;
  }
}
