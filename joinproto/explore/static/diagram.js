// The time-space diagram: a line for each member, time downwards, an arrow for each message.

import { h, s } from "./dom.js";

const ROW = 34, TOP = 4;

export function saying(step) {
  const who = step.member ? `${step.member}: ` : step.members.length ? `${step.members.join(", ")}: ` : "";
  return who + step.label;
}

function sameMessage(one, other) {
  return one.from === other.from && one.content === other.content;
}

// The last step before step `at` that sent its message; null: no step of this run sent it.
function sentAt(steps, at) {
  const { message, member } = steps[at];
  for (let i = at - 1; i >= 0; i--) {
    for (const sent of steps[i].sent) {
      if (sameMessage(sent, message) && (sent.to === null || sent.to === member)) return i;
    }
  }
  return null;
}

// The members that run before each step; the line of a stopped member is drawn differently.
function downAfter(steps, names, first) {
  const down = new Set(first);
  const rows = [new Set(down)];
  for (const step of steps) {
    for (const name of step.crashed || []) down.add(name);
    if (step.action === "start" && step.member) down.delete(step.member);
    rows.push(new Set(down));
  }
  return rows;
}

export function diagram({ run, members, firstDown = [], onjump, marks = new Map(), room = 900 }) {
  const steps = run.steps, names = members;
  const pitch = Math.max(46, Math.min(84, (room - 330) / names.length));
  const left = 44;
  const x = (name) => left + names.indexOf(name) * pitch + pitch / 2;
  const y = (row) => TOP + row * ROW + ROW / 2;
  const words = left + names.length * pitch + 14;
  const width = words + 330, height = TOP + (steps.length + 1) * ROW + 8;
  const rows = downAfter(steps, names, firstDown);
  const here = (at) => at === run.at;
  const parts = [];
  for (const name of names) {
    for (let row = 0; row <= steps.length; row++) {
      const down = rows[row].has(name);
      parts.push(s("line", { x1: x(name), x2: x(name), y1: y(row) - (row ? ROW / 2 : 14), y2: y(row) + ROW / 2, class: down ? "life down" : "life" }));
    }
  }
  const body = [];
  const texts = [];
  texts.push(s("text", { x: words, y: y(0) + 4, class: "words quiet" }, "the beginning"));
  body.push(row(0, "start", []));
  steps.forEach((step, i) => {
    const at = i + 1, drawn = [];
    if (step.message && step.kind === "deliver" && names.includes(step.member)) {
      const from = sentAt(steps, i);
      const begin = names.includes(step.message.from) ? x(step.message.from) : null;
      const end = x(step.member);
      if (begin !== null) {
        const y1 = from === null ? y(at) - 9 : y(from + 1);
        drawn.push(s("line", { x1: begin, y1, x2: end, y2: y(at), class: from === null ? "arrow earlier" : "arrow", "marker-end": "url(#arrow)" }));
      }
      drawn.push(s("circle", { cx: end, cy: y(at), r: 4.5, class: "dot" }));
    } else if (step.action === "split" || step.action === "heal" || !step.members.length) {
      drawn.push(s("line", { x1: left, x2: words - 14, y1: y(at), y2: y(at), class: "wall" }));
    } else {
      for (const name of step.members) {
        if (!names.includes(name)) continue;
        const crashed = (step.crashed || []).includes(name);
        drawn.push(crashed
          ? s("path", { d: `M${x(name) - 6} ${y(at) - 6}l12 12m0 -12l-12 12`, class: "cross" })
          : s(step.kind === "operator" ? "rect" : "circle", step.kind === "operator"
            ? { x: x(name) - 5, y: y(at) - 5, width: 10, height: 10, class: "dot operator" }
            : { cx: x(name), cy: y(at), r: 5, class: step.kind === "fault" ? "dot fault" : "dot" }));
      }
    }
    const mark = marks.get(at);
    texts.push(s("text", { x: words, y: y(at) + 4, class: `words ${step.kind}` }, (mark ? mark + "  " : "") + short(saying(step), 52)));
    body.push(row(at, saying(step), drawn));
  });

  function row(at, label, drawn) {
    texts.push(s("text", { x: 14, y: y(at) + 4, class: here(at) ? "number here" : "number" }, at));
    return s("g", {
      class: here(at) ? "row here" : "row", tabindex: here(at) ? 0 : -1, role: "button",
      "aria-label": `${at === 0 ? "The beginning" : `Step ${at}: ${label}`}${here(at) ? ", you are here" : ""}`,
      "aria-current": here(at) ? "step" : null, "data-at": at,
      onclick: () => onjump(at),
      onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); onjump(at); } },
    },
    s("rect", { x: 2, y: TOP + at * ROW + 2, width: width - 4, height: ROW - 4, rx: 6, class: "hit" }),
    drawn);
  }

  const heads = names.map((name) => s("text", { x: x(name), y: 20, class: "head", "text-anchor": "middle" }, short(name, pitch > 70 ? 11 : 8)));
  return h("div", { class: "diagram", tabindex: 0, role: "region", "aria-label": "Time-space diagram" },
    s("svg", { viewBox: `0 0 ${width} 30`, width, height: 30, class: "heads", "aria-hidden": "true" }, heads),
    s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": `The run so far: ${steps.length} steps` },
      s("defs", {}, s("marker", { id: "arrow", viewBox: "0 0 10 10", refX: 11, refY: 5, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" },
        s("path", { d: "M0 0L10 5L0 10z", class: "tip" }))),
      s("g", { "aria-hidden": "true" }, parts), body, s("g", { class: "texts", "aria-hidden": "true" }, texts)));
}

export function short(text, size) {
  return text.length > size ? text.slice(0, size - 1) + "…" : text;
}
