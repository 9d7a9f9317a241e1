// Comparing: another version of the world, walked in step with this one.

import { button, fill, h, plural, problem } from "./dom.js";
import { claimsOfBoth, memberCards, signOf } from "./stateview.js";
import { saying } from "./diagram.js";

export function compareTab(page, panel) {
  const out = h("div", {}), walk = h("div", {});
  const target = h("input", { type: "text", id: "other", value: page.world.target, spellcheck: "false" });
  const words = h("input", { type: "text", id: "other-options", placeholder: "mutant=NAME members=2", spellcheck: "false" });
  let pair = null;

  async function compare(how) {
    fill(out, h("p", { class: "quiet", role: "status" }, "Searching both…"));
    out.scrollIntoView({ block: "nearest" });
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
        h("ol", {}, found.parting.steps.map((step) => h("li", {}, step))),
        h("div", { class: "two" }, found.parting.only.map((only, at) => h("div", {}, h("h4", {}, ["Then only in this world", "Then only in the other"][at]),
          only.length ? h("ul", {}, only.map((one) => h("li", {}, one.step, one.changes.map((change) => h("div", { class: "quiet" }, change))))) : h("p", { class: "quiet" }, "No step that the other does not have."))))) : null,
      found.left_out.length ? h("p", { class: "quiet" }, `Not compared: ${found.left_out.join("; ")}`) : null);
    await draw();
  }

  async function see(keys, start = pair.start) {
    pair = { start, keys };
    await draw();
    walk.scrollIntoView({ block: "start" });
  }

  // Show both runs after `count` of their own steps.
  async function seeRuns(first, second, count) {
    const upto = (run) => run.steps.slice(0, count).map((step) => step.key);
    pair = { start: page.world.begin.start, keys: upto(first), other: upto(second) };
    await draw();
    walk.scrollIntoView({ block: "start" });
  }

  async function step(key) {
    pair = { ...pair, keys: [...pair.keys, key] };
    if (pair.other) pair.other = [...pair.other, key];
    await draw();
  }

  async function back() {
    const shorter = (keys) => keys.slice(0, Math.max(pair.keys.length, (pair.other || []).length) - 1);
    pair = { ...pair, keys: shorter(pair.keys) };
    if (pair.other) pair.other = shorter(pair.other);
    await draw();
  }

  async function draw() {
    const found = await page.ask("pair", pair);
    if (found.error) return void fill(walk, problem(found.error));
    const side = (at, title) => {
      const one = found.sides[at];
      const wanted = (at === 1 && pair.other) || pair.keys;
      return h("section", { "aria-label": title }, h("h3", {}, title, one.fits < wanted.length ? h("span", { class: "badge down" }, `fits up to step ${one.fits}`) : null),
        h("ul", { class: "claims" }, one.state.claims.filter((claim) => claim.is === false && claim.kind !== "sometimes").map((claim) => h("li", { class: "bad" }, `✗ ${claim.name}: ${claim.says}`))),
        memberCards(one.state, one.before));
    };
    const steps = Math.max(pair.keys.length, (pair.other || []).length);
    const titles = pair.other ? ["The first run", "The second run"] : ["This world", "The other"];
    const ends = [0, 1].filter((at) => found.sides[at].fits < ((at === 1 && pair.other) || pair.keys).length);
    page.say(`Both sides at step ${steps}.`);
    const small = titles.map((title) => title.toLowerCase());
    const list = (steps, title) => h("div", {}, h("h4", {}, title, h("span", { class: "quiet" }, ` ${steps.length}`)), h("ul", {}, steps.map((one) => h("li", {}, button(saying(one), () => step(one.key), { class: "step" })))));
    fill(walk, h("h2", {}, "In step"),
      h("div", { class: "inline" }, button("⇤ Begin", () => see([])), button("← Back", back), h("span", { class: "place" }, `step ${steps}`)),
      pair.other ? null : h("ol", { class: "taken-steps" }, found.steps.map((text) => h("li", {}, text))),
      h("h3", {}, "Claims here"), ends.map((at) => h("p", { class: "quiet" }, `${titles[at]} has only the first ${plural(found.sides[at].fits, "step")} of this run: its claims are those after them.`)), claimsOfBoth(found.sides[0].state.claims, found.sides[1].state.claims, titles),
      h("div", { class: "three" }, list(found.both, "Possible in both"), list(found.only_first, `Only in ${small[0]}`), list(found.only_second, `Only in ${small[1]}`)),
      h("div", { class: "two" }, side(0, titles[0]), side(1, titles[1])));
  }

  function options() {
    const found = {};
    for (const word of words.value.trim().split(/\s+/).filter(Boolean)) {
      const [name, ...value] = word.replace(/^--/, "").split("=");
      found[name.replaceAll("-", "_")] = value.join("=");
    }
    return found;
  }

  // Other versions that a page around this one offers: target, options and description.
  const versions = page.world.versions || [];
  function withVersion({ target: named, options: given }) {
    target.value = named;
    words.value = Object.entries(given).map((one) => one.join("=")).join(" ");
    compare({ target: named, options: given });
  }

  const mistakes = Object.entries(page.world.mistakes);
  function withMistake(mutant) {
    words.value = `mutant=${mutant}`;
    compare({ target: page.world.target, options: { ...page.world.options, mutant } });
  }

  fill(panel, h("h2", {}, "Compare with another version"),
    h("form", { class: "stack", onsubmit: (event) => { event.preventDefault(); compare({ target: target.value, options: options() }); } },
      h("label", { for: "other" }, "The other world, or a model's file"), target,
      h("label", { for: "other-options" }, "Its options, as NAME=VALUE"), words,
      h("div", { class: "inline" }, h("button", { type: "submit", class: "primary" }, "Compare"))),
    versions.map((one) => h("p", {}, button(`with ${one.about}`, () => withVersion(one)))),
    mistakes.length ? h("details", { open: mistakes.length <= 8 }, h("summary", {}, "Or with a mistake built in, to see what the rule is for"),
      h("ul", { class: "mistakes" }, mistakes.map(([name, about]) => h("li", {}, button(`with the mistake ${name}`, () => withMistake(name)), " ", h("span", { class: "quiet" }, about))))) : null,
    out, walk);
  if ((page.world.begin || {}).other) page.ask("runs").then((found) => {
    if (found.error) return void fill(out, problem(found.error));
    runsTable(found);
    const [first, second] = found.runs;
    pair = { start: page.world.begin.start, keys: first.steps.slice(0, found.common).map((step) => step.key) };
    pair.other = second.steps.slice(0, found.common).map((step) => step.key);
    draw();
  });

  // Two runs, step by step, with the claims' verdicts after each step of either run.
  function runsTable(found) {
    const [first, second] = found.runs, names = found.claims.map((claim) => claim.name);
    const most = Math.max(first.says.length, second.says.length);
    const cell = (run, at) => {
      const says = run.says[at];
      if (!says) return h("td", {}, at === run.says.length && run.fits < run.of ? "✗ no longer fits" : "");
      const broken = found.claims.filter((claim, i) => says[i] === false && claim.kind !== "sometimes");
      const hold = says.filter((is) => is === true).length, asked = says.filter((is) => is !== null).length;
      return h("td", {}, at === 0 ? "the beginning" : run.steps[at - 1].text,
        broken.map((claim) => h("div", { class: "bad" }, `✗ broken: ${claim.name}`)),
        h("details", { class: "quiet" }, h("summary", {}, `${hold} of ${plural(asked, "claim")} hold`),
          h("ul", { class: "claims-here" }, found.claims.map((claim, i) => says[i] === null ? null : h("li", { class: signOf(claim.kind, says[i]).name }, `${signOf(claim.kind, says[i]).sign} ${claim.name}`)))));
    };
    const differing = (at) => !first.says[at] || !second.says[at] ? [] : names.filter((_, i) => first.says[at][i] !== second.says[at][i]);
    const places = Array.from({ length: most }, (_, at) => at);
    const firstOther = places.find((at) => differing(at).length);
    fill(out, h("h3", {}, "The two runs"),
      h("p", {}, found.common === most - 1 ? "They have the same steps." : found.common === 1 ? "The first step is the same in both." : `The first ${plural(found.common, "step")} are the same in both.`, " ",
        firstOther === undefined ? "No claim differs at the same step." : [`Claims first differ after ${plural(firstOther, "step")}: ${differing(firstOther).join(", ")}. `, button("Show both there", () => seeRuns(first, second, firstOther), { class: "primary" })]),
      h("div", { class: "scroll" }, h("table", { class: "two-runs" }, h("thead", {}, h("tr", {}, ["after step", "the first", "the second", "claims that differ"].map((text) => h("th", { scope: "col" }, text)))),
        h("tbody", {}, places.map((at) => h("tr", { class: differing(at).length || at === found.common + 1 ? "changed" : null },
          h("th", { scope: "row" }, button(String(at), () => seeRuns(first, second, at), { class: "link", "aria-label": `Show both after step ${at}` })),
          cell(first, at), cell(second, at),
          h("td", {}, at === found.common + 1 ? h("div", { class: "quiet" }, "the steps part here") : null,
            differing(at).map((name) => {
              const i = names.indexOf(name), kind = found.claims[i].kind;
              return h("div", {}, `${name}: ${signOf(kind, first.says[at][i]).words} | ${signOf(kind, second.says[at][i]).words}`);
            }))))))));
  }

  return { shown() {} };
}
