// The tab Step: the page of `joinproto explore` in a frame, whose questions the worker answers.

import { ask } from "./ask.js";
import { find, make } from "./dom.js";

// The frame calls these functions, because it has no other way to Python.
window.playground = {
  world: null,
  async ask(verb, args = {}) {
    const { value, error } = await ask("explore", { verb, arguments: args });
    return error ? { error } : value;
  },
};

// The world and options that the frame shows, with its run, which fits only these.
let last = { of: "", fragment: "" };

// Opens a world in the frame.  `given`: the arguments of the worker's `open`.  `run`: the run to
// show; without it, the present run stays if it still fits.
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
