// Asking: the nearest state in which an expression is true, and patterns of steps.

import { button, fill, h, plural, problem } from "./dom.js";
import { saying } from "./diagram.js";

export function askTab(page, panel) {
  const out = h("div", { class: "answer", role: "region", "aria-label": "The answer", "aria-live": "polite" });
  const where = h("input", { type: "text", id: "where", placeholder: 'count("phase", "active") >= 2', spellcheck: "false", autocapitalize: "off" });
  const pattern = h("textarea", { id: "pattern", rows: 4, spellcheck: "false", placeholder: "a sends * to b\nnot: c receives *\nb crashes" });
  const ready = h("div", {});
  let asking = 0;

  async function put(verb, what, words) {
    const mine = ++asking;
    const stop = button("Stop", () => { asking++; fill(out, h("p", {}, "Stopped.")); });
    for (;;) {
      const found = await page.ask(verb, { ...what, seconds: 0.4 });
      if (mine !== asking) return;
      if (found.error) return void fill(out, problem(found.error));
      if (found.run) return void answered(found, words);
      const { states, levels, whole } = found.searched;
      if (whole) return void fill(out, h("p", {}, h("strong", {}, "There is no such state."), ` All ${plural(states, "state")} were searched.`));
      if (found.stopped) return void fill(out, h("p", {}, h("strong", {}, "None was found so far."), ` ${found.stopped}`));
      fill(out, h("p", {}, `Searching: ${plural(states, "state")}, ${plural(levels, "level")}… `, stop));
      await new Promise((done) => setTimeout(done, 30));
    }
  }

  function answered(found, words) {
    const { steps } = found.run;
    fill(out,
      h("h3", {}, steps.length ? `${words}: after ${plural(steps.length, "step")}` : `${words}: at the beginning`),
      h("p", { class: "quiet" }, "A shortest way there. ", `${plural(found.searched.states, "state")} searched.`),
      h("ol", {}, steps.map((step) => h("li", {}, saying(step)))),
      button("Walk there", () => page.adopt(found.run, `${words}: after ${plural(steps.length, "step")}.`), { class: "primary" }));
    out.querySelector("button").focus();
  }

  fill(panel,
    h("div", { class: "two" },
      h("div", {},
        h("h2", {}, "Nearest state where …"),
        h("form", { onsubmit: (event) => { event.preventDefault(); put("nearest", { where: where.value }, `“${where.value}”`); } },
          h("label", { for: "where" }, "An expression over what members show, as in a claim"),
          h("div", { class: "inline" }, where, h("button", { type: "submit", class: "primary" }, "Find"))),
        h("h3", {}, "Ready questions"), ready,
        page.can("pattern") ? [h("h2", {}, "A pattern of steps"),
          h("form", { onsubmit: (event) => { event.preventDefault(); put("pattern", { steps: pattern.value.split("\n").map((line) => line.trim()).filter(Boolean) }, "The pattern"); } },
            h("label", { for: "pattern" }, "One a line, in this order; * stands for anything. “not:” between two lines says what does not happen in between."),
            pattern, h("div", { class: "inline" }, h("button", { type: "submit" }, "Find a run")))] : null),
      out));

  return {
    // Requested when the tab is first shown, because they need a search of some states.
    async shown() {
      if (ready.hasChildNodes()) return;
      const found = await page.ask("questions");
      if (found.error) return void fill(ready, problem(found.error));
      const groups = [...new Set(found.questions.map((one) => one.group))];
      fill(ready, groups.map((group) => h("div", { role: "group", "aria-label": group }, h("h4", {}, group),
        h("div", { class: "ready" }, found.questions.filter((one) => one.group === group).map((one) =>
          button(one.short, () => put("nearest", one.arguments, one.label), { "aria-label": one.label }))))));
    },
  };
}
