// Comparing: another version of the world, walked in step with this one.

import { button, fill, h, plural, problem } from "./dom.js";
import { memberCards } from "./stateview.js";
import { saying } from "./diagram.js";

export function compareTab(page, panel) {
  const out = h("div", {}), walk = h("div", {});
  const target = h("input", { type: "text", id: "other", value: page.world.target, spellcheck: "false" });
  const words = h("input", { type: "text", id: "other-options", placeholder: "mutant=NAME members=2", spellcheck: "false" });
  let pair = null;

  async function compare(how) {
    fill(out, h("p", { class: "quiet", role: "status" }, "Searching both…"));
    fill(walk);
    const found = await page.ask("compare", how);
    if (found.error) return void fill(out, problem(found.error));
    pair = { start: 0, keys: [] };
    fill(out,
      h("p", {}, h("strong", {}, found.same ? "They are the same, as far as they were searched." : "They differ."), ` ${plural(found.states[0], "state")} and ${plural(found.states[1], "state")}${found.whole ? "" : ", not searched to the end"}.`),
      h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, ["claim", "this world", "the other"].map((text) => h("th", { scope: "col" }, text)))),
        h("tbody", {}, found.claims.map((one) => h("tr", { class: one.first !== one.second ? "changed" : null }, h("th", { scope: "row" }, one.name, one.first !== one.second ? h("span", { class: "badge new" }, "differs") : null), ...[0, 1].map((i) => {
          const said = [one.first, one.second][i], run = [one.first_run, one.second_run][i];
          return h("td", {}, said, run ? [" ", button(`after ${plural(run.keys.length, "step")}: walk`, () => see(run.keys, run.start), { class: "small" })] : null);
        })))))),
      found.parting ? h("div", { class: "parting" },
        h("h3", {}, found.parting.keys.length ? `They first part after ${plural(found.parting.keys.length, "step")}` : "They part at the beginning"),
        h("p", {}, "A shortest run that both have, up to where one can do what the other cannot. ", button("Walk there", () => see(found.parting.keys, found.parting.start), { class: "primary" })),
        h("ol", {}, found.parting.steps.map((step) => h("li", {}, step)))) : null,
      found.left_out.length ? h("p", { class: "quiet" }, `Not compared: ${found.left_out.join("; ")}`) : null);
    await draw();
  }

  async function see(keys, start = pair.start) {
    pair.keys = keys;
    pair.start = start;
    await draw();
    walk.scrollIntoView({ block: "start" });
  }

  async function draw() {
    const found = await page.ask("pair", pair);
    if (found.error) return void fill(walk, problem(found.error));
    const side = (at, title) => {
      const one = found.sides[at];
      return h("section", { "aria-label": title }, h("h3", {}, title, one.fits < pair.keys.length ? h("span", { class: "badge down" }, `fits up to step ${one.fits}`) : null),
        h("ul", { class: "claims" }, one.state.claims.filter((claim) => claim.is === false && claim.kind !== "sometimes").map((claim) => h("li", { class: "bad" }, `✗ ${claim.name}: ${claim.says}`))),
        memberCards(one.state, one.before));
    };
    const list = (steps, title) => h("div", {}, h("h4", {}, title, h("span", { class: "quiet" }, ` ${steps.length}`)), h("ul", {}, steps.map((step) => h("li", {}, button(saying(step), async () => { pair.keys = [...pair.keys, step.key]; await draw(); }, { class: "step" })))));
    fill(walk, h("h2", {}, "In step"),
      h("div", { class: "inline" }, button("⇤ Begin", () => see([])), button("← Back", () => see(pair.keys.slice(0, -1))), h("span", { class: "place" }, `step ${pair.keys.length}`)),
      h("ol", { class: "taken-steps" }, found.steps.map((text) => h("li", {}, text))),
      h("div", { class: "three" }, list(found.both, "Possible in both"), list(found.only_first, "Only in this world"), list(found.only_second, "Only in the other")),
      h("div", { class: "two" }, side(0, "This world"), side(1, "The other")));
  }

  function options() {
    const found = {};
    for (const word of words.value.trim().split(/\s+/).filter(Boolean)) {
      const [name, ...value] = word.replace(/^--/, "").split("=");
      found[name.replaceAll("-", "_")] = value.join("=");
    }
    return found;
  }

  fill(panel, h("h2", {}, "Compare with another version"),
    h("form", { class: "stack", onsubmit: (event) => { event.preventDefault(); compare({ target: target.value, options: options() }); } },
      h("label", { for: "other" }, "The other world, or a model's file"), target,
      h("label", { for: "other-options" }, "Its options, as NAME=VALUE"), words,
      h("div", { class: "inline" }, h("button", { type: "submit", class: "primary" }, "Compare"),
        page.world.mutants.map((name) => button(`with the mistake ${name}`, () => { words.value = `mutant=${name}`; compare({ target: page.world.target, options: { ...page.world.options, mutant: name } }); })))),
    out, walk);
  if ((page.world.begin || {}).other) page.ask("runs").then((found) => {
    if (found.error) return void fill(out, problem(found.error));
    const [first, second] = found.runs;
    const most = Math.max(first.steps.length, second.steps.length);
    const cell = (run, at) => h("td", {}, run.steps[at] ? run.steps[at].text : at === run.steps.length && run.fits < run.of ? "✗ no longer fits" : "");
    fill(out, h("h3", {}, "The two runs"), h("p", {}, found.common === most ? "They are the same." : `The first ${plural(found.common, "step")} are the same in both.`),
      h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, ["step", "the first", "the second", ""].map((text) => h("th", { scope: "col" }, text)))),
        h("tbody", {}, Array.from({ length: most }, (_, at) => h("tr", { class: at === found.common ? "changed" : null }, h("td", {}, at + 1), cell(first, at), cell(second, at), h("td", {}, at === found.common ? "they part here" : "")))))));
    pair = { start: 0, keys: first.steps.slice(0, found.common).map((step) => step.key) };
    draw();
  });
  return { shown() {} };
}
