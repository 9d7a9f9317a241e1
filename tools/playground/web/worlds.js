// The tab of shipped worlds: a list with a search field, one world, and the findings of its search.

import { ask, stop } from "./ask.js";
import { find, make, plural } from "./dom.js";
import { failureIn, outcomeIn, progressIn } from "./outcome.js";

const SHOWN_MAX = 400;
let listed = { worlds: [], families: [], larger: 0 };
let current = null;
let turn = 0;

export async function fill(listing, { edit, step }) {
  listed = listing;
  find("find").addEventListener("input", () => show(find("find").value));
  find("find").addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") {
      event.preventDefault();
      buttons()[0]?.focus();
    }
  });
  find("world-list").addEventListener("keydown", moveInList);
  handlers = { edit, step };
  show("");
}
let handlers = {};

function buttons() {
  return [...find("world-list").querySelectorAll("button")];
}

function moveInList(event) {
  const all = buttons();
  const at = all.indexOf(document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  if (to < 0) find("find").focus();
  else all[Math.min(to, all.length - 1)].focus();
}

function show(wanted) {
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  const found = listed.worlds.filter((world) => words.every((word) => world.words.includes(word)));
  const parts = [];
  for (const { name, about } of listed.families) {
    const worlds = found.filter((world) => world.family === name);
    if (!worlds.length) continue;
    parts.push(make("h3", { title: about }, name));
    parts.push(make("ul", { "aria-label": name }, ...worlds.slice(0, SHOWN_MAX).map(item)));
  }
  find("world-list").replaceChildren(...parts);
  find("world-count").textContent = plural(found.length, "world") +
    (words.length ? "" : "; " + listed.larger + " larger worlds need joinproto on your machine");
}

function item(world) {
  const fails = world.expected === "violated";
  return make("li", {},
    make("button", { type: "button", "data-world": world.name, "aria-current": world.name === current?.name ? "true" : null, onclick: () => { location.hash = "worlds/" + world.name; } },
      make("span", { class: "name" }, world.name),
      make("span", { class: "mark " + (fails ? "warn" : "good"), title: fails ? "must be violated" : "must hold" }, fails ? "fails" : "holds"),
      make("span", { class: "about" }, world.about)));
}

// Shows one world; `options`: option to text.
export function open(name, options = {}) {
  const world = listed.worlds.find((one) => one.name === name);
  if (!world) {
    find("world").replaceChildren(make("h2", {}, "There is no world called " + name), make("p", {}, "Choose one from the list."));
    find("world-outcome").replaceChildren();
    return;
  }
  current = world;
  turn++;
  for (const button of buttons()) {
    if (button.dataset.world === name) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
  find("world-outcome").replaceChildren();
  find("world").replaceChildren(...described(world, options));
}

function described(world, options) {
  const fields = make("form", { class: "options", onsubmit: (event) => { event.preventDefault(); check(world, fields); } });
  const { least, most, usual } = world.members;
  if (least !== most) {
    fields.append(field("members", make("input", { type: "number", name: "members", min: least, max: most, value: options.members ?? usual, "data-usual": usual })));
  }
  if (world.mutants.length) {
    const choice = make("select", { name: "mutant" }, make("option", { value: "" }, "none: as it ships"),
      ...world.mutants.map(({ name, about }) => make("option", { value: name, selected: options.mutant === name }, name + ": " + about)));
    fields.append(field("mistake built in", choice));
  }
  const more = world.options.map(({ name, kind, usual: value }) =>
    field(name, make("input", { type: "text", name, value: options[name] ?? value, "data-usual": value, title: kind, autocomplete: "off", spellcheck: "false" })));
  if (more.length) fields.append(make("details", { open: world.options.some(({ name }) => name in options) }, make("summary", {}, "More options"), make("div", { class: "options" }, ...more)));
  fields.append(make("div", { class: "buttons" },
    make("button", { type: "submit", class: "primary" }, "Check"),
    make("button", { type: "button", onclick: () => step(world, given(fields)) }, "Step through it"),
    make("button", { type: "button", onclick: () => handlers.edit(world.name) }, "Edit a copy")));
  const must = world.expected === "violated"
    ? "It must be violated" + (world.steps === null ? "." : ", by a run of " + plural(world.steps, "step") + ".")
    : "It must hold.";
  return [
    make("h2", {}, world.name),
    make("p", { class: "lead" }, world.about[0].toUpperCase() + world.about.slice(1) + (/[.?!]$/.test(world.about) ? "" : ".")),
    world.happened ? make("p", {}, world.happened, " ", world.link ? make("a", { href: world.link, rel: "noreferrer" }, "Source") : null) : null,
    make("p", { class: "quiet" }, must + " Members: " + world.members.names.join(", ") + "."),
    make("ul", { class: "claims plain", "aria-label": "Claims" }, ...world.claims.map((claim) => make("li", {}, make("span", { class: "quiet kind" }, claim.kind), make("span", {}, claim.name)))),
    fields,
  ].filter(Boolean);
}

function field(label, input) {
  return make("label", {}, make("span", {}, label), input);
}

function given(fields) {
  const found = {};
  for (const input of fields.elements) {
    if (!input.name || input.value === "" || input.value === (input.dataset.usual ?? "")) continue;
    found[input.name] = input.value;
  }
  return found;
}

async function step(world, options, run) {
  const { error, printed } = await handlers.step("worlds/" + world.name, { name: world.name, options }, run);
  if (error) failureIn(find("world-outcome"), error, printed);
}

async function check(world, fields) {
  const options = given(fields);
  const place = find("world-outcome");
  const mine = ++turn;
  const query = new URLSearchParams(options).toString();
  history.replaceState(null, "", "#worlds/" + world.name + (query ? "?" + query : ""));
  const progress = progressIn(place, stop);
  const { value, error, printed } = await ask("check", { name: world.name, options }, { progress });
  if (mine !== turn) return;
  if (error) failureIn(place, error, printed);
  else outcomeIn(place, value, printed, () => step(world, options, value.run));
}
