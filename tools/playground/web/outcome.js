// Shows the findings of a search, errors, and progress.

import { count, make, plural } from "./dom.js";

const MARK = { holds: "✓", reached: "✓", violated: "✗", "not-reached": "✗", unknown: "?" };
const IN_WORDS = { "not-reached": "not reached", unknown: "open" };
const TONE_OF_CLAIM = { holds: "good", reached: "good", violated: "bad", "not-reached": "bad", unknown: "warn" };

export function progressIn(place, onStop) {
  const words = make("span", { class: "words" }, "waiting for Python");
  const spoken = make("span", { class: "hidden", role: "status" }, "Searching");
  const bar = make("div", { class: "progress" }, make("span", { class: "spin", "aria-hidden": "true" }), words, spoken,
    make("button", { type: "button", onclick: onStop }, "Stop"));
  place.replaceChildren(bar);
  return (expanded, seconds) => {
    words.textContent = plural(expanded, "state") + ", " + seconds.toFixed(1) + " s";
  };
}

export function failureIn(place, { message, next, run }, printed) {
  place.replaceChildren(
    make("div", { class: "failure", role: "alert" },
      make("p", { class: "message" }, message),
      next ? make("p", { class: "next" }, make("span", { class: "quiet" }, "next: "), next) : null,
      run?.length ? make("ol", { class: "run", "aria-label": "The run that led there" }, ...run.map((step) => make("li", {}, step))) : null),
    ...printedOf(printed)
  );
}

function printedOf(printed) {
  if (!printed) return [];
  return [make("details", { class: "printed" }, make("summary", {}, "The model's output"), make("pre", { tabindex: "0" }, printed))];
}

// `onwalk`: opens the run in the tab Step.
export function outcomeIn(place, found, printed, onwalk) {
  const headline = make("h3", { class: "headline", tabindex: "-1" },
    make("span", { class: "badge " + found.tone }, found.result), " ", found.headline);
  const claims = make("ul", { class: "claims" }, ...found.claims.map((claim) =>
    make("li", {},
      make("strong", { class: TONE_OF_CLAIM[claim.result] }, MARK[claim.result] + " " + (IN_WORDS[claim.result] ?? claim.result)),
      make("span", {}, claim.name, " ", make("span", { class: "quiet" }, claim.kind)))));
  const facts = make("p", { class: "facts-line" },
    plural(found.distinct, "distinct state") + ", " + plural(found.generated, "step") + ", depth " + count(found.depth) + ", " + found.seconds.toFixed(2) + " s");
  const address = URL.createObjectURL(new Blob([found.page], { type: "text/html" }));
  const frame = make("iframe", { class: "report", src: address, title: found.trace_length === null ? "The report" : "The run, step by step" });
  frame.addEventListener("load", () => {
    const { body } = frame.contentDocument;
    // The page above the frame already shows the content of its header.
    body.querySelector(":scope > header")?.remove();
    body.style.padding = "0 1rem 1rem";
  });
  const walking = make("p", {}, make("button", { type: "button", onclick: onwalk }, "Walk this run"), " ",
    make("span", { class: "quiet" }, "to see what else could have happened, and which part of the claim is false"));
  place.replaceChildren(
    make("div", { role: "status" }, headline), facts, claims, ...printedOf(printed),
    ...(found.run ? [walking] : []),
    frame,
    make("p", { class: "quiet" }, "On your machine: ", make("code", {}, found.command), " · ",
      make("a", { href: address, download: found.world + ".html" }, "keep this report")));
  // Scroll to the result if the page is longer than the screen.
  const { top } = headline.getBoundingClientRect();
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (top > innerHeight * 0.6) scrollBy({ top: top - 24, behavior: calm ? "auto" : "smooth" });
}
