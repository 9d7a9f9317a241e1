// One state: members with their changes, the network, and the claims' verdicts.

import { button, h } from "./dom.js";
import { keepsDisk } from "./dialogs.js";

export function memberCards(state, before, { onfault } = {}) {
  const old = new Map((before ? before.members : []).map((one) => [one.name, one]));
  return h("div", { class: "cards" }, state.members.map((member) => card(member, old.get(member.name), onfault)),
    state.monitor ? card({ name: "monitor", up: true, texts: state.monitor }, before && before.monitor ? { up: true, texts: before.monitor } : null, null) : null);
}

function card(member, old, onfault) {
  const names = Object.keys(member.texts).filter((name) => name !== "");
  const gone = old ? Object.keys(old.texts).filter((name) => name !== "" && !(name in member.texts)) : [];
  const isOther = (name) => old && old.texts[name] !== member.texts[name];
  const changed = old && (old.up !== member.up || names.some(isOther) || gone.length > 0);
  const rows = names.map((name) => {
    const other = isOther(name);
    return h("tr", { class: other ? "changed" : null },
      h("th", { scope: "row" }, name.replace("*", ""), name.includes("*") ? h("span", { class: "tag", title: "kept on disk" }, " disk") : null),
      h("td", {}, other ? h("ins", {}, member.texts[name] || "(empty)") : member.texts[name],
        other ? h("span", { class: "was" }, name in old.texts ? ["was ", h("del", {}, old.texts[name] || "(empty)")] : "new") : null));
  });
  rows.push(...gone.map((name) => h("tr", { class: "changed" }, h("th", { scope: "row" }, name), h("td", {}, h("span", { class: "was" }, "gone, was ", h("del", {}, old.texts[name]))))));
  return h("article", { class: changed ? "card changed" : "card", "aria-label": `${member.name}${changed ? ", changed" : ""}` },
    h("h3", {}, member.name,
      h("span", { class: member.up ? "badge up" : "badge down" }, member.up ? "runs" : "down"),
      changed ? h("span", { class: "badge new" }, "changed") : null,
      onfault ? h("span", { class: "card-tools" },
        keepsDisk(member.texts) ? button("disk", () => onfault({ ...member, member: member.name, disk: true }), { class: "small", "aria-label": `Faults of the disk of ${member.name}`, "aria-haspopup": "dialog" }) : null,
        button("faults", () => onfault({ ...member, member: member.name }), { class: "small", "aria-label": `Faults of ${member.name}`, "aria-haspopup": "dialog" })) : null),
    rows.length ? h("table", {}, h("tbody", {}, rows)) : h("p", { class: "quiet" }, "no attribute is shown"));
}

export function networkCard(state, members, { onfault } = {}) {
  const { split, under_way: sent, left, form } = state.network;
  const count = new Map();
  for (const one of sent) {
    const text = `${one.from || "?"} → ${one.to || "all"}: ${one.content}`;
    count.set(text, (count.get(text) || 0) + 1);
  }
  const items = [...count].map(([text, times]) => h("li", {}, h("code", {}, text), times > 1 ? ` ×${times}` : ""));
  const budgets = Object.entries(left).map(([name, number]) => `${name} ${number === null ? "without limit" : number}`);
  return h("article", { class: "card network", "aria-label": "The network" },
    h("h3", {}, "Network", split ? h("span", { class: "badge split" }, `split off: ${split}`) : null,
      onfault ? button("cut a link", (event) => onfault({ link: true }, event.currentTarget), { class: "small", "aria-haspopup": "dialog" }) : null),
    items.length ? h("details", { open: items.length <= 6 }, h("summary", {}, `${sent.length} under way`, form === "MessageSet" ? ", each may come again" : ""), h("ul", { class: "sent" }, items)) : h("p", { class: "quiet" }, "No message is under way."),
    budgets.length ? h("p", { class: "quiet" }, `Faults left: ${budgets.join(", ")}.`) : null);
}

const SIGNS = { true: "✓", false: "✗", null: "·" };

export function claimRows(state, before, onclaim) {
  const old = new Map((before ? before.claims : []).map((one) => [one.name, one]));
  return h("ul", { class: "claims" }, state.claims.map((claim) => {
    const was = old.get(claim.name);
    const turned = was && was.is !== claim.is;
    const isBad = claim.is === false && claim.kind !== "sometimes";
    const body = h("div", { class: "parts" });
    return h("li", { class: isBad ? "bad" : claim.is ? "good" : "open" },
      h("details", { ontoggle: (event) => { if (event.target.open && !body.hasChildNodes()) onclaim(claim, body); } },
        h("summary", {},
          h("span", { class: "sign", "aria-hidden": "true" }, claim.kind === "sometimes" && !claim.is ? "–" : SIGNS[claim.is]),
          h("span", { class: "claim-name" }, claim.name),
          h("span", { class: "quiet" }, `${claim.kind} — ${claim.says}`),
          turned ? h("span", { class: "badge new" }, "changed") : null),
        body));
  }));
}

// The sign of a claim's answer, besides its colour.  A "sometimes" that is false here is not broken.
export function signOf(kind, is) {
  if (is === null || is === undefined) return { sign: "·", name: "open", words: "not asked" };
  if (is) return { sign: "✓", name: "good", words: kind === "sometimes" ? "✓ is so" : "✓ holds" };
  return kind === "sometimes" ? { sign: "–", name: "open", words: "– is not so" } : { sign: "✗", name: "bad", words: "✗ broken" };
}

// The claims' verdicts in two states, the differing claims first.
export function claimsOfBoth(first, second, titles) {
  const sides = [first, second].map((claims) => new Map(claims.map((claim) => [claim.name, claim])));
  const rows = [...new Set([...first, ...second].map((claim) => claim.name))].map((name) => {
    const said = sides.map((side) => side.get(name));
    const is = said.map((claim) => (claim ? claim.is : undefined));
    return { name, said, differs: is[0] !== is[1] };
  });
  rows.sort((one, other) => Number(other.differs) - Number(one.differs));
  const cell = (claim) => claim ? h("td", { class: signOf(claim.kind, claim.is).name }, `${signOf(claim.kind, claim.is).sign} ${claim.says}`) : h("td", { class: "quiet" }, "is not claimed");
  return h("div", { class: "scroll" }, h("table", { class: "claims-of-both" },
    h("thead", {}, h("tr", {}, ["claim", ...titles.map((title) => title.toLowerCase())].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, rows.map((row) => h("tr", { class: row.differs ? "changed" : null },
      h("th", { scope: "row" }, row.name, row.differs ? h("span", { class: "badge new" }, "differs") : null), row.said.map(cell))))));
}

export function partsTree(found) {
  if (found.error) return h("p", {}, found.error.message);
  return h("div", {},
    found.about ? h("p", {}, found.about) : null,
    found.cases.length ? found.cases.map((one) => h("div", { class: "case" },
      one.of ? h("p", { class: "quiet" }, `asked of ${one.of}: ${one.is === null ? "no answer" : one.is ? "yes" : "no"}`) : null,
      one.part ? h("ul", { class: "tree" }, part(one.part)) : h("p", { class: "quiet" }, "Its source cannot be read, so only the answer is known."))) : h("p", { class: "quiet" }, "This claim has no case here."));
}

function part(one) {
  const sign = one.ok === null ? "" : one.ok ? "✓" : "✗";
  return h("li", { class: one.ok === null ? "value" : one.ok ? "good" : "bad" },
    h("span", { class: "sign", "aria-hidden": "true" }, sign),
    h("code", {}, one.text),
    one.ok === null ? [" = ", h("code", { class: "held" }, one.value)] : h("span", { class: "quiet" }, one.ok ? " is so" : " is not so"),
    one.note ? h("span", { class: "note" }, ` where ${one.note}`) : null,
    one.parts.length ? h("ul", {}, one.parts.map(part)) : null);
}

export function whyTables(found) {
  if (found.error) return h("p", {}, found.error.message);
  if (!found.tables.length) return h("p", { class: "quiet" }, "This step reads no decision table.");
  return h("div", { class: "tables" }, found.tables.map((table) => h("section", {},
    h("h4", {}, `${table.member}: table ${table.table}`, h("span", { class: "quiet" }, ` ${table.source}`)),
    h("table", { class: "decision" },
      h("thead", {}, h("tr", {}, ["", "rule", "condition", "here", "outcome"].map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, table.rows.map((row) => h("tr", { class: row.taken ? "taken" : null },
        h("td", {}, row.taken ? "➜" : "–"),
        h("td", {}, row.label, h("div", { class: "quiet" }, row.name)),
        h("td", {}, row.says),
        h("td", {}, row.taken ? "taken" : row.because),
        h("td", {}, row.outcome, row.effects.length ? h("div", { class: "quiet" }, row.effects.join(", ")) : null))))),
    table.below ? h("p", { class: "quiet" }, `${table.below} more below, not looked at`) : null)));
}
