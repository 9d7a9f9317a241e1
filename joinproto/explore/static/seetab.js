// Seeing: the growth of the levels, the coverage, and the projected graph.

import { button, fill, h, plural, problem, s } from "./dom.js";
import { missing, vendor } from "./vendor.js";

export function seeTab(page, panel) {
  const levels = h("div", {}), cover = h("div", {}), graph = h("div", {}), progress = h("p", { class: "quiet", role: "status" });
  let searching = false;

  async function search() {
    if (searching) { searching = false; return; }
    searching = true;
    go.textContent = "Pause";
    while (searching) {
      const found = await page.ask("search", { seconds: 0.5 });
      if (found.error) { fill(levels, problem(found.error)); break; }
      await drawn(found);
      if (found.whole || found.stopped) break;
    }
    searching = false;
    go.textContent = "Search on";
    await drawCover();
  }

  const go = button("Search on", search, { class: "primary" });

  async function drawn(found) {
    progress.textContent = (found.engine ? "The engine: " : "") + `${plural(found.states, "state")}, ${plural(found.levels.length, "level")}` + (found.whole ? ": all that there are." : found.stopped ? `. ${found.stopped}` : " so far.");
    if (found.whole) go.disabled = true;
    await drawLevels(found.levels);
  }

  async function drawLevels(counts) {
    if (!counts.length) return;
    const uplot = await vendor("uplot");
    const table = h("details", {}, h("summary", {}, "As a table"), h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "level"), h("th", { scope: "col" }, "states"))), h("tbody", {}, counts.map((count, at) => h("tr", {}, h("td", {}, at), h("td", {}, count.toLocaleString("en")))))));
    const box = h("div", { class: "plot" });
    fill(levels, box, uplot ? null : missing("uplot", "the plot is a simple one"), table);
    if (!uplot) return void box.append(bars(counts));
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--quiet"), line = style.getPropertyValue("--message"), edge = style.getPropertyValue("--edge");
    const axis = { stroke: ink, grid: { stroke: edge, width: 1 }, ticks: { stroke: edge } };
    new uplot({
      width: Math.max(280, Math.min(900, panel.clientWidth - 40)), height: 240,
      scales: { x: { time: false } }, padding: [12, 16, 0, 0], legend: { show: true },
      axes: [{ ...axis, label: "level", incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] }, { ...axis, size: 76 }],
      series: [{ label: "level" }, { label: "states", stroke: line, width: 2, points: { size: 5 } }],
    }, [counts.map((_, at) => at), counts], box);
  }

  async function drawCover() {
    const found = await page.ask("cover");
    if (found.error) return void fill(cover, problem(found.error));
    fill(cover, found.partial ? h("p", { class: "quiet" }, `Of the ${plural(found.states, "state")} searched so far.`) : null,
      counted("Rows of decision tables", "row", found.rows), counted("Steps", "step", found.actions));
  }

  function counted(title, word, rows) {
    if (!rows.length) return h("p", { class: "quiet" }, `${title}: none.`);
    const never = rows.filter((row) => row.count === 0).length;
    return h("details", { open: true }, h("summary", {}, title, h("span", { class: never ? "badge down" : "badge up" }, never ? `${never} never taken` : "all taken")),
      h("div", { class: "scroll" }, h("table", { class: "counts" },
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, word), h("th", { scope: "col" }, "times"))),
        h("tbody", {}, rows.map((row) => h("tr", { class: row.count === 0 ? "never" : null }, h("td", {}, row.name), h("td", { class: "number" }, row.count === 0 ? "never" : row.count.toLocaleString("en"))))))));
  }

  // -- the graph ---------------------------------------------------------------------------

  const by = h("fieldset", { class: "by" });
  async function choices() {
    const found = await page.ask("questions");
    if (found.error || by.hasChildNodes()) return;
    fill(by, h("legend", {}, "Keep of each state"), found.attributes.map((name, at) => h("label", {}, h("input", { type: "checkbox", value: name, checked: at === 0 }), " ", name)));
  }

  async function drawGraph() {
    const picked = [...by.querySelectorAll("input:checked")].map((one) => one.value);
    fill(graph, h("p", { class: "quiet", role: "status" }, "Sorting the states…"));
    const found = await page.ask("graph", { by: picked, nodes_max: 2000 });
    if (found.error) return void fill(graph, problem(found.error));
    const words = h("p", {}, `${plural(found.nodes.length, "node")} for ${plural(found.states, "state")}`, found.whole ? "." : " searched so far.", found.expanded < found.states ? ` Its arrows are the steps out of ${found.expanded.toLocaleString("en")} of them, and one step into each; a step that few states have may be absent.` : "", " The boxes with a heavy edge are where runs begin; a cross marks those in which a claim is broken.");
    const chosen = h("div", { class: "chosen", "aria-live": "polite" });
    const table = h("details", { open: found.nodes.length <= 12 }, h("summary", {}, "As a table"), h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, ["node", "states", "leads to"].map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, found.nodes.slice(0, 500).map((node) => h("tr", {}, h("td", {}, button(node.text || "(all)", () => go_to(node), { class: "link" })), h("td", { class: "number" }, node.states.toLocaleString("en")),
        h("td", {}, found.edges.filter((edge) => edge.from === node.id).slice(0, 12).map((edge) => h("div", {}, `${edge.label} → ${found.nodes[edge.to].text}`)))))))));
    async function go_to(node) {
      const way = await page.ask("way", node.row === undefined ? { id: node.example } : { row: node.row });
      if (way.error) return void fill(chosen, problem(way.error));
      page.adopt(way.run, "At a nearest state of that node.");
    }
    const cytoscape = await vendor("cytoscape");
    const box = h("div", { class: "graph", role: "img", "aria-label": `The projected graph, ${found.nodes.length} nodes; the table below holds the same` });
    fill(graph, words, cytoscape ? box : missing("cytoscape", "the table below holds the same graph"), chosen, table);
    if (!cytoscape) return;
    const style = getComputedStyle(document.documentElement), colour = (name) => style.getPropertyValue(name).trim();
    const drawing = cytoscape({
      container: box, maxZoom: 2.5, minZoom: 0.05,
      elements: [
        ...found.nodes.map((node) => ({ data: { id: `n${node.id}`, label: (node.broken ? "✗ " : "") + (node.text || "(all)") + `\n${node.states.toLocaleString("en")}`, at: node.id, w: 20 + 7 * Math.max(4, (node.text || "(all)").length) }, classes: `${node.first ? "first" : ""} ${node.broken ? "broken" : ""}` })),
        ...found.edges.filter((edge) => edge.from !== edge.to).map((edge, at) => ({ data: { id: `e${at}`, source: `n${edge.from}`, target: `n${edge.to}`, label: found.nodes.length <= 60 ? edge.label : "" } })),
      ],
      layout: found.nodes.length <= 400 && cytoscape.dagreIsThere ? { name: "dagre", rankDir: "TB", nodeSep: 30, rankSep: 64, ranker: "tight-tree" } : { name: "breadthfirst", directed: true, roots: found.nodes.filter((node) => node.first).map((node) => `#n${node.id}`) },
      style: [
        { selector: "node", style: { shape: "round-rectangle", width: "data(w)", height: 40, label: "data(label)", "text-wrap": "wrap", "text-valign": "center", "font-size": 12, color: colour("--ink"), "background-color": colour("--card"), "border-width": 1, "border-color": colour("--life") } },
        { selector: "node.first", style: { "border-width": 3, "border-color": colour("--message") } },
        { selector: "node.broken", style: { "border-color": colour("--bad"), "border-style": "double", "border-width": 4 } },
        { selector: "edge", style: { width: 1.4, "curve-style": "bezier", "target-arrow-shape": "triangle", "line-color": colour("--life"), "target-arrow-color": colour("--life"), label: "data(label)", "font-size": 9, color: colour("--quiet"), "text-background-color": colour("--paper"), "text-background-opacity": 0.8, "text-rotation": "autorotate" } },
      ],
    });
    drawing.on("tap", "node", (event) => go_to(found.nodes[event.target.data("at")]));
  }

  fill(panel,
    h("h2", {}, "What was searched"), h("div", { class: "inline" }, go, progress), levels,
    h("h2", {}, "Taken, and never"), cover,
    page.can("graph") ? [h("h2", {}, "The graph, projected"), by, button("Draw the graph", drawGraph), graph] : null);

  return {
    async shown() {
      await choices();
      const found = await page.ask("levels");
      if (found.error) return void fill(levels, problem(found.error));
      await drawn(found);
      if (found.whole || found.states > 1) await drawCover(); else search();
    },
  };
}

function bars(counts) {
  const most = Math.max(...counts), width = 600, height = 160, each = width / counts.length;
  return s("svg", { viewBox: `0 0 ${width} ${height}`, class: "bars", role: "img", "aria-label": "States at each level; the table below holds the numbers" },
    counts.map((count, at) => s("rect", { x: at * each + 1, width: Math.max(1, each - 2), y: height - (count / most) * height, height: (count / most) * height, class: "bar-of" }, s("title", {}, `level ${at}: ${count}`))));
}
