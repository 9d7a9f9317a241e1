// The tab that judges stores: the worker reads the dropped files, which stay on this machine.

import { ask, stop } from "./ask.js";
import { find, make, plural } from "./dom.js";
import { failureIn, progressIn } from "./outcome.js";

// {name, files: [{path, file}]}; a single file has the path "".
let stores = [];
let turn = 0;

export function fill() {
  const drop = find("drop");
  for (const kind of ["dragenter", "dragover"]) {
    drop.addEventListener(kind, (event) => {
      event.preventDefault();
      drop.classList.add("over");
    });
  }
  for (const kind of ["dragleave", "drop"]) {
    drop.addEventListener(kind, () => drop.classList.remove("over"));
  }
  // Outside the field, a browser would open a dropped file in place of the page.
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    if (!find("recover").hidden) dropped(event.dataTransfer);
  });
  find("add-folder").addEventListener("click", () => find("folder-input").click());
  find("add-file").addEventListener("click", () => find("file-input").click());
  find("folder-input").addEventListener("change", ({ target }) => {
    addFolder([...target.files].map((file) => ({ path: file.webkitRelativePath, file })));
    target.value = "";
  });
  find("file-input").addEventListener("change", ({ target }) => {
    for (const file of target.files) add(file.name, [{ path: "", file }]);
    target.value = "";
  });
  find("add-example").addEventListener("click", example);
  find("clear").addEventListener("click", () => {
    stores = [];
    show();
    find("add-folder").focus();
  });
  find("pick").addEventListener("click", () => judge("pick"));
  find("inspect").addEventListener("click", () => judge("inspect"));
}

function addFolder(found) {
  if (!found.length) return;
  const [top] = found[0].path.split("/");
  add(top, found.map(({ path, file }) => ({ path: path.split("/").slice(1).join("/"), file })));
}

function add(name, files) {
  const taken = new Set(stores.map((store) => store.name));
  const [, stem, ending] = /^(.*?)(\.info|\.tar\.gz|\.tgz|\.tar)?$/.exec(name);
  let own = name;
  for (let at = 2; taken.has(own); at++) own = stem + "-" + at + (ending ?? "");
  stores.push({ name: own, files });
  show();
}

async function dropped(transfer) {
  // Take all entries first, because the list is empty after the first `await`.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
  for (const entry of entries) {
    if (entry.isFile) add(entry.name, [{ path: "", file: await fileOf(entry) }]);
    else add(entry.name, await filesIn(entry, ""));
  }
}

const fileOf = (entry) => new Promise((resolve, reject) => entry.file(resolve, reject));

async function filesIn(folder, before) {
  const reader = folder.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return found;
    for (const entry of some) {
      const path = before + entry.name;
      if (entry.isFile) found.push({ path, file: await fileOf(entry) });
      else found.push(...(await filesIn(entry, path + "/")));
    }
  }
}

async function example() {
  stores = [];
  for (const name of ["node-a", "node-b", "node-c"]) {
    const found = await fetch("examples/" + name + ".info");
    add(name + ".info", [{ path: "", file: new File([await found.blob()], name + ".info") }]);
  }
  judge("pick");
}

function show() {
  turn++;
  find("stores").replaceChildren(...stores.map((store) =>
    make("li", {},
      make("strong", {}, store.name), " ",
      make("span", { class: "quiet" }, store.files[0]?.path === "" ? "a file" : plural(store.files.length, "file")), " ",
      make("button", { type: "button", "aria-label": "Remove " + store.name, onclick: () => { stores = stores.filter((one) => one !== store); show(); } }, "Remove"))));
  for (const id of ["pick", "inspect"]) find(id).disabled = !stores.length;
  find("clear").hidden = !stores.length;
  find("recover-outcome").replaceChildren();
}

async function judge(verb) {
  const place = find("recover-outcome");
  const mine = ++turn;
  progressIn(place, stop);
  const { value, error, printed } = await ask("recover", { verb }, { stores });
  if (mine !== turn) return;
  if (error) return failureIn(place, error, printed);
  place.replaceChildren(
    make("h3", { role: "status" }, verb === "pick" ? "The verdict" : "The facts of each store"),
    make("pre", { class: "terminal", tabindex: "0", "aria-label": "The output" }, (value.text + value.warnings).trim()),
    make("p", { class: "quiet" }, "exit code " + value.code + "; on your machine: ", make("code", {}, value.command)));
}
