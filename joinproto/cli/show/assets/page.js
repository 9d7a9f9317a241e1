"use strict";
// The list of steps has all this information already: the script only moves through it.
(function () {
  const steps = Array.from(document.querySelectorAll(".story > li"));
  // The wide and the narrow drawing, of which the style sheet shows one.
  const drawings = Array.from(document.querySelectorAll(".chart > [role=group]"), (svg) => ({
    svg,
    cursor: svg.querySelector(".cursor"),
    rows: new Map(
      Array.from(svg.querySelectorAll("a.row"), (row) => [Number(row.dataset.step), row])
    ),
  }));
  const panel = document.querySelector(".panel");
  addCopyButtons();
  if (!panel || !steps.length) return;

  document.documentElement.classList.add("js");
  panel.hidden = false;
  const chart = document.querySelector(".chart");
  const last = steps.length - 1;
  let now = -1;
  let moved = false;

  const header = make("header");
  const nav = make("nav");
  const place = make("span");
  const back = button("← Back", () => select(now - 1, true));
  const on = button("Next →", () => select(now + 1, true));
  const title = make("div");
  title.setAttribute("aria-live", "polite");
  const body = make("div", "body");
  const hint = make("p", "hint");
  for (const part of [key("←"), " ", key("→"), " step through, ", key("Home"), " ", key("End")]) {
    hint.append(part);
  }
  nav.append(place, back, on);
  header.append(nav, title);
  panel.append(header, body);

  for (const { rows } of drawings) {
    for (const [number, row] of rows) {
      row.tabIndex = -1;
      row.addEventListener("click", (event) => {
        event.preventDefault();
        select(number, false);
      });
    }
  }
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.target.closest("input, textarea, select, pre")) return;
    const moves = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: last };
    if (!(event.key in moves)) return;
    event.preventDefault();
    select(moves[event.key], true);
  });
  addEventListener("hashchange", () => select(fromAddress(), location.hash.startsWith("#at-")));
  select(fromAddress(), location.hash.startsWith("#at-"));

  function fromAddress() {
    const found = /^#(?:at|step)-(\d+)$/.exec(location.hash);
    return found ? Number(found[1]) : Math.min(1, last);
  }

  function select(wanted, follow) {
    const number = Math.max(0, Math.min(last, wanted));
    if (number === now) return;
    const before = now;
    now = number;
    for (const drawing of drawings) mark(drawing, before, follow);
    show(steps[number], number);
    // Not the id of an item of the list: the browser would jump there when it loads the page.
    history.replaceState(null, "", "#at-" + number);
  }

  function mark({ svg, cursor, rows }, before, follow) {
    const old = rows.get(before);
    if (old) {
      old.removeAttribute("aria-current");
      old.tabIndex = -1;
    }
    const row = rows.get(now);
    cursor.style.opacity = row ? 1 : 0;
    if (row) {
      row.setAttribute("aria-current", "step");
      row.tabIndex = 0;
      cursor.style.y = row.dataset.top + "px";
      cursor.style.height = row.dataset.height + "px";
      requestAnimationFrame(() => cursor.classList.add("moves"));
    }
    if (follow && svg.getClientRects().length) intoView(row || svg.querySelector(".heads"));
  }

  function show(step, number) {
    place.textContent = number ? "Step " + number + " of " + last : "The initial state";
    back.disabled = number === 0;
    on.disabled = number === last;
    title.replaceChildren(copy(step.querySelector("h3")));
    const parts = Array.from(step.querySelectorAll(":scope > ul, .cycle-mark, .states"), copy);
    body.replaceChildren(...parts, hint);
    panel.scrollTop = 0;
  }

  function intoView(element) {
    const box = element.getBoundingClientRect();
    const sheet = innerWidth < 1020 ? panel.getBoundingClientRect().height : 0;
    const foot = innerHeight - sheet - 20;
    const behavior =
      moved && !matchMedia("(prefers-reduced-motion: reduce)").matches ? "smooth" : "auto";
    // A little further than needed, so that the next step is seen, too.
    let by = 0;
    if (box.top < 20) by = box.top - 20 - innerHeight / 4;
    else if (box.bottom > foot) by = box.bottom - foot + (foot - box.height) / 3;
    if (by) scrollBy({ top: by, behavior });

    if (element.dataset.x) {
      const svg = element.ownerSVGElement;
      const frame = chart.getBoundingClientRect();
      const drawn = svg.getBoundingClientRect();
      const at = drawn.left + (Number(element.dataset.x) * drawn.width) / svg.viewBox.baseVal.width;
      if (at < frame.left + 40 || at > frame.right - 90) {
        chart.scrollBy({ left: at - (frame.left + frame.width * 0.6), behavior });
      }
    }
    moved = true;
  }

  function copy(node) {
    const clone = node.cloneNode(true);
    clone.removeAttribute("id");
    return clone;
  }

  function make(tag, kind) {
    const node = document.createElement(tag);
    if (kind) node.className = kind;
    return node;
  }

  function key(name) {
    const node = make("kbd");
    node.textContent = name;
    return node;
  }

  function button(name, act) {
    const node = make("button");
    node.type = "button";
    node.textContent = name;
    node.addEventListener("click", act);
    return node;
  }

  function addCopyButtons() {
    for (const pre of document.querySelectorAll("pre")) {
      const node = document.createElement("button");
      node.type = "button";
      node.className = "copy";
      node.textContent = "Copy";
      node.addEventListener("click", async () => {
        try {
          await navigator.clipboard.writeText(pre.textContent);
          node.textContent = "Copied";
        } catch {
          getSelection().selectAllChildren(pre);
          node.textContent = "Selected";
        }
      });
      pre.before(node);
    }
  }
})();
