// Logs of a real run: lines in causal order, and the first step that no member would take.

import { button, fill, h, plural, problem } from "./dom.js";

export function logsTab(page, panel) {
  const out = h("div", {});
  fill(panel, h("h2", {}, "The logs"), out);
  page.ask("logs").then((found) => {
    if (found.error) return void fill(out, problem(found.error));
    const bad = found.lines.findIndex((line) => line.fits === false);
    fill(out,
      h("p", {}, bad < 0 ? `All ${plural(found.lines.length, "line")} are steps that members take.` : h("strong", {}, `Line ${bad + 1} is a step that no member would take.`), ` ${found.says || ""}`),
      found.run ? button("Walk this run", () => page.adopt(found.run, "The run that the logs tell."), { class: "primary" }) : null,
      h("div", { class: "scroll" }, h("table", { class: "log" }, h("thead", {}, h("tr", {}, ["", ...found.nodes, ""].map((text) => h("th", { scope: "col" }, text)))),
        h("tbody", {}, found.lines.map((line, at) => h("tr", { class: line.fits === false ? "never" : null, "aria-label": line.fits === false ? "no member would take this step" : null },
          h("td", { class: "number" }, at + 1, line.fits === false ? " ✗" : ""),
          found.nodes.map((name) => h("td", {}, name === line.node ? [line.text, line.note ? h("div", { class: "quiet" }, line.note) : null] : "")),
          h("td", {}, line.where && page.can("nearest") ? button("find in the world", () => page.seek(line.where), { class: "small" }) : null)))))));
  });
}
