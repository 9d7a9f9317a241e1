// The page: a frame with tabs, and the view that walks.  Its only channel is ask(verb, args).

import { button, fill, h, plural, problem } from "./dom.js";
import { Run } from "./run.js";
import { diagram, saying } from "./diagram.js";
import { claimRows, memberCards, networkCard, partsTree, whyTables } from "./stateview.js";
import { read, sameWorld, written } from "./share.js";
import { faultDialog, helpDialog } from "./dialogs.js";
import { askTab } from "./asktab.js";
import { seeTab } from "./seetab.js";
import { compareTab } from "./comparetab.js";
import { logsTab } from "./logstab.js";

const KINDS = [
  ["deliver", "Deliver a message"],
  ["own", "A member acts by itself"],
  ["operator", "Operators and clients"],
  ["fault", "Faults and repairs"],
];

const TABS = [["walk", "Walk"], ["ask", "Ask"], ["see", "See"], ["compare", "Compare"], ["logs", "Logs"]];

// Start the page in `root`.  `world`: the answer of `open`, if the world is open already.
// `first`: the state with number 0, if it is known.
export async function start(root, ask, { world = null, first = null, watchFile = true } = {}) {
  const page = new Page(root, ask);
  if (first && !first.error) page.run.keep(first);
  await page.open(world);
  if (watchFile && page.world && page.world.file) page.watch();
  return page;
}

class Page {
  constructor(root, ask) {
    this.root = root;
    this.ask = (verb, args) => this.patiently(ask(verb, args));
    this.run = new Run(this.ask);
    this.tab = "walk";
    this.selected = 0;
    this.columns = [];
    this.seed = 1;
    document.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("hashchange", () => { if (location.hash !== this.written) this.goTo(read(location.hash)); });
  }

  async open(world) {
    // The first state has number 0, so the world and this state are requested at once.
    [this.world] = await Promise.all([world || this.ask("world"), this.run.state(0)]);
    if (this.world.error) return void fill(this.root, problem(this.world.error));
    document.title = `${this.world.name} – joinproto explore`;
    this.run.set({ start: 0, ids: [this.world.firsts[0]], steps: [] });
    this.frame();
    const wanted = read(location.hash);
    const { keys, start } = this.world.begin || {};
    // A run that the command was given, unless the address has one.
    if (keys && !wanted.keys.length) Object.assign(wanted, { keys, start, end: null, at: keys.length });
    await this.goTo(wanted);
  }

  // -- the frame ---------------------------------------------------------------------------

  frame() {
    const has = (name) => ({ walk: true, ask: this.can("nearest"), see: this.can("levels"), compare: this.can("compare"), logs: this.world.logs })[name];
    const tabs = TABS.filter(([name]) => has(name));
    this.panels = Object.fromEntries(tabs.map(([name, words]) => [name, h("section", { id: `panel-${name}`, role: "tabpanel", "aria-labelledby": `tab-${name}`, hidden: name !== this.tab, tabindex: -1 })]));
    this.tabs = Object.fromEntries(tabs.map(([name, words]) => [name, h("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}`, onclick: () => this.show(name) }, words)]));
    this.status = h("p", { class: "status", role: "status", "aria-live": "polite" });
    this.notice = h("div", { class: "notices" });
    fill(this.root,
      h("a", { class: "skip", href: "#panel-walk", onclick: (event) => { event.preventDefault(); this.panels[this.tab].focus(); } }, "Skip to the view"),
      h("header", { class: "bar" },
        h("div", { class: "world" }, h("h1", {}, this.world.name), h("p", { class: "quiet" }, this.world.about || this.world.words)),
        h("div", { class: "tabs", role: "tablist", "aria-label": "Views", onkeydown: (event) => this.tabKey(event) }, Object.values(this.tabs)),
        h("div", { class: "tools" },
          button("Share", () => this.share(), { title: "Copy the address of this run" }),
          button("?", () => helpDialog(this.root), { "aria-label": "Help and keys", title: "Help and keys (?)" }))),
      this.notice,
      h("main", {}, Object.values(this.panels)),
      this.status);
    this.walkFrame();
    if (this.panels.ask) this.asking = askTab(this, this.panels.ask);
    if (this.panels.see) this.see = seeTab(this, this.panels.see);
    if (this.panels.compare) this.compare = compareTab(this, this.panels.compare);
    if (this.panels.logs) logsTab(this, this.panels.logs);
    this.show(this.tab);
  }

  // A model's code may take long, or never return: then the page says what it waits for.
  async patiently(answer) {
    const words = "Still waiting: the code of the model has not returned. If it never does, end joinproto, mend the model, and start again.";
    const late = setTimeout(() => this.status ? this.say(words) : fill(this.root, h("p", { class: "loading", role: "status" }, words)), 5000);
    try { return await answer; } finally { clearTimeout(late); }
  }

  can(verb) { return this.world.verbs.includes(verb); }

  show(name) {
    // Each view begins at its top.
    if (name !== this.tab) window.scrollTo({ top: 0, behavior: "instant" });
    this.tab = name;
    for (const [other, panel] of Object.entries(this.panels)) {
      panel.hidden = other !== name;
      this.tabs[other].setAttribute("aria-selected", String(other === name));
      this.tabs[other].tabIndex = other === name ? 0 : -1;
    }
    if (name === "ask") this.asking.shown();
    if (name === "see") this.see.shown();
    if (name === "compare") this.compare.shown();
  }

  tabKey(event) {
    const names = Object.keys(this.tabs), at = names.indexOf(this.tab);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: names.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const name = names[(to + names.length) % names.length];
    this.show(name);
    this.tabs[name].focus();
  }

  // Ask for the nearest state where `where` is true, in the tab Ask.
  seek(where) {
    this.show("ask");
    const field = this.panels.ask.querySelector("#where");
    field.value = where;
    field.form.requestSubmit();
  }

  say(text) { this.status.textContent = text; }

  tell(...children) {
    const box = h("div", { class: "notice" }, children, button("Close", () => box.remove(), { class: "small" }));
    this.notice.append(box);
    return box;
  }

  // -- walking -----------------------------------------------------------------------------

  walkFrame() {
    this.parts = {
      steps: h("section", { class: "steps", "aria-label": "Steps from here" }),
      run: h("section", { class: "run", "aria-label": "The run" }),
      state: h("section", { class: "state", "aria-label": "The state" }),
      place: h("span", { class: "place" }),
    };
    this.buttons = {
      begin: button("⇤ Begin", () => this.jump(0), { title: "To the beginning (Home)" }),
      back: button("← Back", () => this.jump(this.run.at - 1), { title: "One step back (Left)" }),
      on: button("Forward →", () => this.jump(this.run.at + 1), { title: "The step that was taken here (Right)" }),
    };
    fill(this.panels.walk,
      h("div", { class: "toolbars" }, h("div", { class: "toolbar", role: "toolbar", "aria-label": "Moving" },
        Object.values(this.buttons), this.parts.place),
      h("div", { class: "toolbar more", role: "toolbar", "aria-label": "Walking at random" },
        button("Random step", () => this.walk({ steps: 1 }), { title: "Any step that changes something (r)" }),
        button("Walk 20", () => this.walk({ steps: 20 }), { title: "Twenty random steps (w)" }),
        button("Until a claim changes", () => this.walk({ until: {} }), { title: "A random walk until a claim's answer changes (c)" }),
        this.untilForm())),
      h("div", { class: "walk" }, this.parts.steps, this.parts.run, this.parts.state));
  }

  untilForm() {
    const field = h("input", { type: "text", size: 22, placeholder: 'count("phase", "active") > 1', "aria-label": "Walk until this is true", spellcheck: "false", autocapitalize: "off" });
    return h("form", { class: "inline", onsubmit: (event) => { event.preventDefault(); if (field.value.trim()) this.walk({ until: { where: field.value } }); } },
      field, h("button", { type: "submit" }, "Walk until"));
  }

  async walk(how) {
    const found = await this.ask("walk", { id: this.run.id, seed: this.seed++, ...how });
    if (found.error) return void this.tell(problem(found.error));
    this.run.add(found);
    const words = { met: "The walk met it", steps: "Walked", stuck: "Nothing more can change" }[found.stopped];
    await this.draw(`${words}: ${plural(found.steps.length, "step")}.`);
  }

  async take(step) {
    this.run.take(step);
    await this.draw(`Step ${this.run.at}: ${saying(step)}.`);
  }

  async jump(at) {
    if (at < 0 || at > this.run.steps.length || at === this.run.at) return;
    this.run.at = at;
    await this.draw(at === 0 ? "At the beginning." : `At step ${at}: ${saying(this.run.steps[at - 1])}.`);
  }

  // Take over a run that another view found, and show it.
  async adopt(found, words) {
    this.run.set(found);
    this.show("walk");
    await this.draw(words);
  }

  async draw(words = "") {
    const run = this.run, began = performance.now();
    const state = await run.state(run.id, run.via);
    if (state.error) return void this.tell(problem(state.error));
    const before = run.before === null ? null : await run.state(run.before);
    this.state = state;
    this.selected = 0;
    this.drawSteps(state);
    this.drawRun(state);
    this.drawState(state, before);
    this.buttons.begin.disabled = this.buttons.back.disabled = run.at === 0;
    this.buttons.on.disabled = run.at === run.steps.length;
    this.parts.place.textContent = `step ${run.at} of ${run.steps.length}`;
    this.keepAddress();
    const broken = brokenIn(state);
    this.say(`${words} ${plural(state.steps.length, "step")} possible.${broken.length ? ` Broken here: ${broken.map((one) => one.name).join(", ")}.` : ""}`.trim());
    this.root.dataset.drawn = String(run.id);
    this.root.dataset.ms = String(Math.round(performance.now() - began));
  }

  drawSteps(state) {
    this.order = [];
    const groups = KINDS.map(([kind, words]) => [words, kind, state.steps.filter((one) => one.kind === kind)]).filter(([, , steps]) => steps.length);
    const list = groups.map(([words, kind, steps]) => h("div", { class: `group ${kind}` },
      h("h3", {}, words, h("span", { class: "quiet" }, ` ${steps.length}`)),
      h("ul", {}, byMember(steps).map((step) => {
        const at = this.order.push(step) - 1;
        return h("li", {}, h("button", {
          type: "button", class: "step", "data-step": at, onclick: () => this.take(step),
          "aria-keyshortcuts": at < 9 ? String(at + 1) : null,
        },
        h("kbd", { "aria-hidden": "true" }, at < 9 ? at + 1 : ""),
        h("span", { class: "who" }, step.member || step.members.join(", ") || "network"),
        h("span", { class: "what" }, step.label),
        step.to === state.id ? h("span", { class: "quiet" }, "changes nothing") : null));
      }))));
    fill(this.parts.steps, h("h2", {}, "Steps from here"),
      list.length ? list : h("p", { class: "quiet" }, state.beyond ? "The world's bound (within) lets no step be taken from here." : "No step is possible: the run ends here."),
      state.problems.length ? state.problems.map((one) => h("div", { class: "problem" }, h("strong", {}, `${one.member || "a member"} fails at ${one.event}`), h("p", {}, one.message), one.place ? h("p", { class: "quiet" }, one.place) : null)) : null);
  }

  drawRun() {
    const run = this.run;
    const down = this.firstDown || [];
    const drawing = diagram({ run, members: this.world.members, firstDown: down, room: this.parts.run.clientWidth || 900, onjump: (at) => this.jump(at) });
    const why = h("div", { class: "why" });
    const step = run.at > 0 ? run.steps[run.at - 1] : null;
    const [from] = run.via || [null];
    fill(this.parts.run, h("h2", {}, "The run"), drawing,
      step && step.members.length ? h("details", { class: "decision", ontoggle: async (event) => {
        if (event.target.open && !why.hasChildNodes()) fill(why, whyTables(await this.ask("why", { id: from, index: step.index })));
      } },
      h("summary", {}, "Why: the rows of tables that this step took", step.rules.length ? h("span", { class: "quiet" }, ` ${step.rules.join(" · ")}`) : null), why) : null,
      this.state.picture ? picture(this.state.picture) : null,
      run.steps.length ? null : this.whereToBegin());
    const here = drawing.querySelector(".row.here");
    if (here) drawing.scrollTop = Math.max(0, run.at * 34 - drawing.clientHeight / 2);
  }

  whereToBegin() {
    const goTo = (name, words) => button(words, () => { this.show(name); this.tabs[name].focus(); }, { class: "link" });
    return h("div", { class: "begin" }, h("h3", {}, "Where to begin"), h("ul", {},
      h("li", {}, "Take a step: click one under “Steps from here”. The state then shows what it changed."),
      h("li", {}, "Let it run: ", button("take 20 random steps", () => this.walk({ steps: 20 }), { class: "link" }), ", then click a row of the run."),
      this.panels.ask ? h("li", {}, "Look for a state, such as one where a claim is broken: ", goTo("ask", "ask for it"), ".") : null,
      this.panels.compare && Object.keys(this.world.mistakes).length ? h("li", {}, "See what a rule is for: ", goTo("compare", "compare with a mistake built in"), ".") : null));
  }

  drawState(state, before) {
    const onfault = this.can("inject") ? (what) => faultDialog(this, what) : null;
    const broken = brokenIn(state), others = state.claims.filter((one) => !broken.includes(one));
    const rows = (claims) => claimRows({ ...state, claims }, before, async (claim, body) => fill(body, partsTree(await this.ask("claim", { id: this.run.id, name: claim.name, via: this.run.via }))));
    fill(this.parts.state, h("h2", {}, "The state"),
      broken.length ? [h("h3", {}, "Broken here"), rows(broken)] : null,
      memberCards(state, before, { onfault }),
      networkCard(state, this.world.members, { onfault }),
      h("h2", {}, "Claims here"),
      rows(others),
      h("h2", {}, "Your columns"),
      this.columnsBox(state));
  }

  columnsBox(state) {
    const field = h("input", { type: "text", placeholder: "a.phase == b.phase", "aria-label": "An expression to show in each state", spellcheck: "false", autocapitalize: "off" });
    return h("div", { class: "columns" },
      state.columns.length ? h("table", {}, h("tbody", {}, state.columns.map((one, at) => h("tr", {}, h("th", { scope: "row" }, h("code", {}, one.name)), h("td", {}, one.text),
        h("td", {}, button("✕", () => this.setColumns(this.columns.filter((_, i) => i !== at)), { class: "small", "aria-label": `Remove the column ${one.name}` })))))) : null,
      h("form", { class: "inline", onsubmit: (event) => { event.preventDefault(); if (field.value.trim()) this.setColumns([...this.columns, field.value.trim()]); } },
        field, h("button", { type: "submit" }, "Add a column")));
  }

  async setColumns(columns) {
    const found = await this.ask("columns", { columns: columns.map((where) => ({ name: where, where })) });
    if (found.error) return void this.tell(problem(found.error));
    this.columns = columns;
    this.run.forget();
    await this.draw("Columns changed.");
  }

  // -- addresses, keys, files that change -----------------------------------------------------

  keepAddress() {
    const end = this.run.at === this.run.steps.length && this.state ? this.state.key : null;
    this.written = written({ target: this.world.target, options: this.world.options, run: this.run, end });
    history.replaceState(null, "", this.written);
  }

  async share() {
    const end = await this.run.state(this.run.ids[this.run.ids.length - 1]);
    const address = written({ target: this.world.target, options: this.world.options, run: this.run, end: end.key });
    const words = this.world.words;
    const field = h("textarea", { readonly: true, rows: 3, "aria-label": "The part of the address that holds this run" }, address);
    this.tell(h("p", {}, "This run, by what its steps say. Another person starts ", h("code", {}, `joinproto explore ${words}`), " and puts this after the address:"), field);
    try { await navigator.clipboard.writeText(address); this.say("Copied."); } catch { field.select(); }
  }

  async goTo(wanted) {
    if (!sameWorld(wanted, this.world)) {
      this.tell(h("p", {}, h("strong", {}, "This address is of another world: "), `${wanted.world} with ${JSON.stringify(wanted.options)}. Start `, h("code", {}, `joinproto explore ${wanted.world}`), " with these options."));
    } else if (wanted.keys.length || wanted.start) {
      const found = await this.ask("follow", { start: wanted.start, keys: wanted.keys, end: wanted.at === null ? wanted.end : null });
      if (found.error) this.tell(problem(found.error));
      else {
        this.run.set(found, wanted.at === null ? undefined : wanted.at);
        if (found.fits < found.of) {
          this.tell(h("p", {}, h("strong", {}, `This run no longer fits: step ${found.fits + 1} of ${found.of} is not possible here any more.`), ` The first ${plural(found.fits, "step")} of it are shown.`));
        } else if (found.same_end === false) {
          this.tell(h("p", {}, h("strong", {}, "The run still fits, and ends in another state than it did."), " The model was changed since this address was made."));
        }
      }
    }
    await this.firstState();
    await this.draw("");
  }

  async firstState() {
    const first = await this.run.state(this.run.ids[0]);
    this.firstDown = first.error ? [] : first.members.filter((one) => !one.up).map((one) => one.name);
  }

  key(event) {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
    if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const press = this.keys()[event.key];
    if (!press) return;
    event.preventDefault();
    press();
  }

  keys() {
    const walk = this.tab === "walk";
    const numbers = walk ? Object.fromEntries((this.order || []).slice(0, 9).map((step, at) => [String(at + 1), () => this.take(step)])) : {};
    return {
      "?": () => helpDialog(this.root),
      ...(this.panels.ask ? { "/": () => { this.show("ask"); this.panels.ask.querySelector("input").focus(); } } : {}),
      ...(walk ? {
        ArrowLeft: () => this.jump(this.run.at - 1), ArrowRight: () => this.jump(this.run.at + 1),
        Home: () => this.jump(0), End: () => this.jump(this.run.steps.length),
        j: () => this.select(1), k: () => this.select(-1), ArrowDown: () => this.select(1), ArrowUp: () => this.select(-1),
        r: () => this.walk({ steps: 1 }), w: () => this.walk({ steps: 20 }), c: () => this.walk({ until: {} }),
        ...numbers,
      } : {}),
    };
  }

  select(by) {
    const steps = [...this.parts.steps.querySelectorAll(".step")];
    if (!steps.length) return;
    const now = steps.indexOf(document.activeElement);
    const to = now < 0 ? (by > 0 ? 0 : steps.length - 1) : (now + by + steps.length) % steps.length;
    steps[to].focus();
  }

  // Ask repeatedly whether the model's file changed; if so, the run is followed again.
  watch() {
    setInterval(async () => {
      if (document.hidden) return;
      const found = await this.ask("reload");
      if (found.changed) await this.reloaded(found);
    }, 1500);
  }

  async reloaded(found) {
    this.notice.replaceChildren();
    if (found.problem) return void this.tell(h("p", {}, h("strong", {}, "The file changed, and cannot be loaded. The old version goes on.")), problem(found.problem));
    const keys = this.run.steps.map((step) => step.key);
    const { start, at } = this.run;
    this.world = found.world;
    this.columns = [];
    this.run.forget();
    const again = await this.ask("follow", { start, keys });
    if (again.error) { this.run.set({ start: 0, ids: [this.world.firsts[0]], steps: [] }); } else this.run.set(again, Math.min(at, again.fits));
    this.frame();
    await this.firstState();
    await this.draw("The model was loaded again.");
    const fits = again.error || again.fits === keys.length;
    this.tell(h("p", {}, "The file changed, and was loaded again. ", fits ? "The run still fits." : `Of the run's ${keys.length} steps the first ${again.fits} fit.`));
  }
}

function brokenIn(state) {
  return state.claims.filter((one) => one.is === false && one.kind !== "sometimes");
}

function byMember(steps) {
  const names = [...new Set(steps.map((step) => step.member || step.members.join(", ")))];
  return names.flatMap((name) => steps.filter((step) => (step.member || step.members.join(", ")) === name));
}

// A model's own picture: SVG only as an image, so that no script in it runs.
function picture(found) {
  return h("figure", { class: "picture" }, found.svg
    ? h("img", { alt: "The world's own picture of this state", src: "data:image/svg+xml;utf8," + encodeURIComponent(found.text) })
    : h("pre", {}, found.text));
}
