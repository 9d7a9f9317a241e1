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
    h("p", {}, "Each state is made when you go there. On the left are the steps that are possible, in the middle the run so far, on the right what each member is and what each claim says. Click a step to take it, and a row of the run to go back there."),
    h("table", {}, h("tbody", {}, KEYS.map(([key, words]) => h("tr", {}, h("th", { scope: "row" }, h("kbd", {}, key)), h("td", {}, words))))),
    h("p", {}, "Expressions ask what members show, in Python, as a claim does: ", h("code", {}, 'count("phase", "active") >= 2'), ", ", h("code", {}, "a.phase == b.phase"), ", ", h("code", {}, "all(one.term < 2 for one in up.values())"), "."));
}

export function faultDialog(page, what) {
  const out = h("div", {});
  const send = async (kind, more = {}) => {
    const found = await page.ask("inject", { kind, ...more, start: page.run.start, keys: keys() });
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
  const parts = [];
  const keys = () => page.run.steps.slice(0, page.run.at).map((step) => step.key);
  if (what.link) {
    const names = page.world.members.filter((name) => name !== "faults");
    const from = h("select", { "aria-label": "From" }, names.map((name) => h("option", { value: name }, name)));
    const to = h("select", { "aria-label": "To" }, names.map((name, at) => h("option", { value: name, selected: at === 1 }, name)));
    parts.push(h("p", {}, "What these two send each other is held back until the network heals."), h("div", { class: "inline" }, from, " and ", to, button("Cut this link", () => send("cut", { member: from.value, to: to.value }))));
  } else {
    const { member, texts } = what;
    const durable = Object.keys(texts).filter((name) => name.endsWith("*") && !name.includes("."));
    const disk = h("div", { class: "stack" });
    parts.push(h("div", { class: "stack" },
      what.up ? button(`Crash ${member}`, () => send("crash", { member })) : null,
      durable.length ? [button(`Lose the disk of ${member}`, () => send("disk-lost", { member })),
        h("p", { class: "quiet" }, what.up ? "A fault of the disk needs a stopped member, so it crashes first." : "The disk is blank when it starts again."), disk] : h("p", { class: "quiet" }, "It keeps nothing on disk.")));
    if (durable.length) page.ask("disks", { member, start: page.run.start, keys: keys() }).then((found) => {
      if (!found.error) fill(disk, diskChoices(found, member, send));
    });
  }
  const box = dialog(page.root, what.link ? "Cut a link" : `Faults of ${what.member}`, parts, out);
}

// An older copy of a disk, and values to edit it with, as the run and the search met them.
function diskChoices(found, member, send) {
  const said = (texts) => Object.entries(texts).map(([name, text]) => `${name} ${text}`).join(", ");
  const fields = Object.entries(found.values).filter(([, texts]) => texts.length > 1).map(([name, texts]) => {
    const choice = h("select", { id: `disk-${name}` }, texts.map((text, at) => h("option", { value: text }, at === 0 ? `${text} (as it is)` : text)));
    return { name, choice, now: texts[0] };
  });
  const edit = () => {
    const values = Object.fromEntries(fields.filter(({ choice, now }) => choice.value !== now).map(({ name, choice }) => [name, choice.value]));
    if (Object.keys(values).length) send("disk-edited", { member, values });
  };
  return [
    h("h3", {}, "Put back an older copy"),
    found.copies.length ? found.copies.slice(-6).map((copy) => button(`As after step ${copy.after}: ${said(copy.texts)}`, () => send("disk-older", { member, after: copy.after })))
      : h("p", { class: "quiet" }, "Its disk was the same in each state of this run."),
    h("h3", {}, "Edit the disk"),
    fields.length ? [h("table", {}, h("tbody", {}, fields.map(({ name, choice }) => h("tr", {}, h("th", { scope: "row" }, h("label", { for: choice.id }, name)), h("td", {}, choice))))),
      button("Write it so", edit)] : h("p", { class: "quiet" }, "No other value was met so far: search on, in See."),
  ];
}
