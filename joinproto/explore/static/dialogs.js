// Dialogs: help with the keys, and faults that a user injects.

import { button, fill, h, problem } from "./dom.js";

function dialog(root, title, ...children) {
  const box = h("dialog", { "aria-label": title }, h("h2", {}, title), children, h("div", { class: "row-of-buttons" }, button("Close", () => box.close())));
  box.addEventListener("close", () => box.remove());
  root.append(box);
  box.showModal();
  return box;
}

const KEYS = [
  ["1 … 9", "take that step"], ["j, k or ↓, ↑, then Enter", "choose a step and take it"],
  ["← →", "back, and forward again"], ["Home, End", "to the beginning, to the end"],
  ["r, w", "a random step, twenty"], ["c", "a random walk until a claim changes"],
  ["/", "ask for a state"], ["?", "this help"],
];

export function helpDialog(root) {
  dialog(root, "Help and keys",
    h("p", {}, "Each state is made when you go there. On the left are the steps that are possible, in the middle the run so far, on the right the members' states and the claims' verdicts. Click a step to take it, and a row of the run to go back there."),
    h("table", {}, h("tbody", {}, KEYS.map(([key, words]) => h("tr", {}, h("th", { scope: "row" }, h("kbd", {}, key)), h("td", {}, words))))),
    h("p", {}, "Expressions are written in Python over the attributes that members show, as a claim is: ", h("code", {}, 'count("phase", "active") >= 2'), ", ", h("code", {}, "a.phase == b.phase"), ", ", h("code", {}, "all(one.term < 2 for one in up.values())"), "."));
}

const namesOf = (page) => page.world.members.filter((name) => name !== "faults");
const durableOf = (texts) => Object.keys(texts).filter((name) => name.endsWith("*") && !name.includes("."));

// Whether a member has durable attributes, which a fault can change.
export const keepsDisk = (texts) => durableOf(texts).length > 0;

// `what`: {link}, or a member: {member, up, texts}, with {disk} for its disk alone.
export function faultDialog(page, what) {
  const out = h("div", {}), disk = h("div", { class: "stack" });
  const keys = page.run.steps.slice(0, page.run.at).map((step) => step.key);
  const send = async (kind, more = {}) => {
    const found = await page.ask("inject", { kind, ...more, start: page.run.start, keys });
    if (found.error) return void fill(out, problem(found.error));
    box.close();
    page.world = found.world;
    page.run.forget();
    page.run.set(found.run);
    page.columns = [];
    page.frame();
    await page.firstState();
    await page.draw(found.says);
    page.tell(h("p", {}, h("strong", {}, "A fault was injected: "), found.says, ". The world has it from now on; load the page again without it by opening the command's address."));
  };
  const box = dialog(page.root, what.link ? "Cut a link" : what.disk ? `The disk of ${what.member}` : `Faults of ${what.member}`,
    what.link ? linkChoices(page, send) : memberChoices(what, send, disk), out);
  if (what.link || !keepsDisk(what.texts)) return;
  page.ask("disks", { member: what.member, start: page.run.start, keys }).then((found) => {
    if (found.error) fill(out, problem(found.error));
    else fill(disk, diskChoices(found, what.member, send));
  });
}

function linkChoices(page, send) {
  const names = namesOf(page);
  const from = h("select", { "aria-label": "From" }, names.map((name) => h("option", { value: name }, name)));
  const to = h("select", { "aria-label": "To" }, names.map((name, at) => h("option", { value: name, selected: at === 1 }, name)));
  return [h("p", {}, "Messages between these two members are held back until the network heals."),
    h("div", { class: "inline" }, from, " and ", to, button("Cut this link", () => send("cut", { member: from.value, to: to.value })))];
}

function memberChoices({ member, up, texts, disk: only }, send, disk) {
  return h("div", { class: "stack" },
    up && !only ? button(`Crash ${member}`, () => send("crash", { member })) : null,
    keepsDisk(texts) ? [up ? h("p", { class: "quiet" }, "A fault of the disk needs a stopped member, so it crashes first. It finds the disk when it starts again.") : null, disk]
      : h("p", { class: "quiet" }, "It has no attributes on disk."));
}

const said = (texts) => Object.entries(texts).map(([name, text]) => `${name} ${text}`).join(", ");

// The faults that the member's disk can have, from the run and the search so far.
function diskChoices(found, member, send) {
  return [
    h("h3", {}, "Lose it"), lostChoices(found, member, send),
    h("h3", {}, "Put back an older copy"),
    found.copies.length ? found.copies.slice(-6).map((copy) => button(`As after step ${copy.after}: ${said(copy.texts)}`, () => send("disk-older", { member, after: copy.after })))
      : h("p", { class: "quiet" }, "Its disk was the same in each state of this run."),
    h("h3", {}, "Tear its last write"),
    found.torn.length ? [h("p", { class: "quiet" }, `Step ${found.step} wrote several attributes. Of these, only some reach the disk:`),
      found.torn.slice(0, 6).map(({ written, texts }) => button(`${written.join(", ")} alone: ${said(texts)}`, () => send("disk-torn", { member, written })))]
      : h("p", { class: "quiet" }, "No step of this run wrote several attributes at once, so a torn write is the disk before it: an older copy."),
    h("h3", {}, "Edit it"), editChoices(found, member, send),
  ];
}

function lostChoices({ durable }, member, send) {
  const kept = durable.map((name) => ({ name, box: h("input", { type: "checkbox", value: name }) }));
  return [
    h("p", { class: "quiet" }, "The disk is then as at the beginning. ", durable.length > 1 ? "Attributes that you tick survive, such as an identity:" : ""),
    durable.length > 1 ? h("div", { class: "inline" }, kept.map(({ name, box }) => h("label", {}, box, ` ${name}`))) : null,
    button(`Lose the disk of ${member}`, () => send("disk-lost", { member, keeps: kept.filter(({ box }) => box.checked).map(({ name }) => name) })),
  ];
}

function editChoices(found, member, send) {
  const fields = Object.entries(found.values).filter(([, texts]) => texts.length > 1).map(([name, texts]) => {
    const choice = h("select", { id: `disk-${name}` }, texts.map((text, at) => h("option", { value: text }, at === 0 ? `${text} (as it is)` : text)));
    return { name, choice, now: texts[0] };
  });
  const edit = () => {
    const values = Object.fromEntries(fields.filter(({ choice, now }) => choice.value !== now).map(({ name, choice }) => [name, choice.value]));
    if (Object.keys(values).length) send("disk-edited", { member, values });
  };
  if (!fields.length) return h("p", { class: "quiet" }, "No other value was met so far: search on, in See.");
  return [h("table", {}, h("tbody", {}, fields.map(({ name, choice }) => h("tr", {}, h("th", { scope: "row" }, h("label", { for: choice.id }, name)), h("td", {}, choice))))),
    button("Write these values", edit)];
}
