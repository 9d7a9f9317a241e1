// The page: its tabs, its address, and the state of Python.

import { onState } from "./ask.js";
import { find } from "./dom.js";
import * as model from "./model.js";
import * as recover from "./recover.js";
import * as step from "./step.js";
import * as worlds from "./worlds.js";

const TABS = ["worlds", "model", "step", "recover"];
const STATES = { loading: "Loading Python", ready: "Ready", busy: "Working", failed: "Python did not start" };

onState((state, detail) => {
  const status = find("status");
  status.textContent = STATES[state];
  status.dataset.state = state;
  status.title = detail ?? "";
});

for (const [at, name] of TABS.entries()) {
  const tab = find("tab-" + name);
  tab.addEventListener("click", () => go(name));
  tab.addEventListener("keydown", (event) => {
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: TABS.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = TABS[(to + TABS.length) % TABS.length];
    go(next);
    find("tab-" + next).focus();
  });
}

const last = Object.fromEntries(TABS.map((name) => [name, name]));

function go(name) {
  location.hash = last[name];
}

function select(name) {
  for (const one of TABS) {
    const tab = find("tab-" + one);
    tab.setAttribute("aria-selected", String(one === name));
    tab.tabIndex = one === name ? 0 : -1;
    find(one).hidden = one !== name;
  }
}

function follow() {
  const [path, query] = location.hash.slice(1).split("?");
  const [tab, name] = path.split("/");
  if (!TABS.includes(tab)) return;
  last[tab] = location.hash.slice(1);
  select(tab);
  if (tab === "model") model.shown();
  if (tab === "worlds") worlds.open(name || FIRST, Object.fromEntries(new URLSearchParams(query ?? "")));
}
const FIRST = "note-lone-restart";

const listing = await (await fetch("worlds.json")).json();

// Shows a world in the tab Step; returns the worker's answer.
async function walk(from, given, run) {
  const answer = await step.open(from, given, run);
  if (!answer.error) go("step");
  return answer;
}

worlds.fill(listing, {
  step: walk,
  edit(name) {
    go("model");
    model.edit(name);
  },
});
model.fill(listing, { isDark: matchMedia("(prefers-color-scheme: dark)").matches, step: walk });
recover.fill();
addEventListener("hashchange", follow);
if (!TABS.includes(location.hash.slice(1).split(/[/?]/)[0])) history.replaceState(null, "", "#worlds");
follow();
