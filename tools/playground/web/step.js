// The tab that steps: the page of `joinproto explore` in a frame, whose questions the worker answers.

import { ask } from "./ask.js";
import { find, make } from "./dom.js";

// What the frame calls, for it has no other way to Python.
window.playground = {
  world: null,
  async ask(verb, args = {}) {
    const { value, error } = await ask("explore", { verb, arguments: args });
    return error ? { error } : value;
  },
};

// What the frame shows, and its run: of another world, or with other options, it would not fit.
let last = { of: "", fragment: "" };

// Opens a world in the frame; `given`: what the worker's `open` takes.  `run`: where to begin;
// without it, a run that still fits goes on.
export async function open(from, given, run) {
  const place = find("step-place");
  const answer = await ask("open", given);
  if (answer.error) return answer;
  window.playground.world = answer.value;
  const before = place.querySelector("iframe");
  if (before) last.fragment = before.contentWindow.location.hash;
  const of = JSON.stringify([from, given.world, given.options]);
  const kept = last.of === of ? last.fragment : "";
  const fragment = run ? "#" + new URLSearchParams({ from: run.from, run: run.keys.join("") }) : kept;
  last = { of, fragment };
  place.replaceChildren(make("iframe", { class: "explorer", src: "step.html" + fragment, title: "Step through " + answer.value.name }));
  return answer;
}
