// Libraries of other authors, which the installed package contains; the page works without them.

import { h } from "./dom.js";

const FILES = {
  uplot: ["vendor/uplot.js", () => window.uPlot],
  cytoscape: ["vendor/cytoscape.js", () => window.cytoscape],
};
const asked = new Map();

function script(src) {
  return new Promise((done) => {
    const node = document.createElement("script");
    node.src = src;
    node.onload = () => done(true);
    node.onerror = () => done(false);
    document.head.append(node);
  });
}

function sheet(href) {
  const node = document.createElement("link");
  node.rel = "stylesheet";
  node.href = href;
  document.head.append(node);
}

// The library, or null if it is missing.
export function vendor(name) {
  if (!asked.has(name)) asked.set(name, load(name));
  return asked.get(name);
}

async function load(name) {
  const [file, found] = FILES[name];
  if (found()) return found();
  if (location.protocol === "file:") return null;
  if (!await script(file)) return null;
  if (name === "uplot") sheet("vendor/uplot.css");
  if (name === "cytoscape" && await script("vendor/cytoscape-dagre.js") && window.cytoscapeDagre) {
    window.cytoscape.use(window.cytoscapeDagre.default || window.cytoscapeDagre);
    window.cytoscape.dagreIsThere = true;
  }
  return found() || null;
}

export function missing(name, instead) {
  if (location.protocol === "file:") return h("p", { class: "quiet missing" }, `${name} is not in this file, so ${instead}.`);
  return h("p", { class: "quiet missing" }, `${name} is not here, so ${instead}. In a checkout, `, h("code", {}, "make web"), " brings it; an installed joinproto holds it.");
}
