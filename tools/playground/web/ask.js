// One worker runs Python.  This file sends it questions, and can stop a search.

const listeners = new Set();
let worker = null;
let number = 0;
let isReady = false;
const open = new Map();

let told = [];

// `call(state, detail)` is called with each later state of Python.
export function onState(call) {
  listeners.add(call);
  if (told.length) call(...told);
}

function say(state, detail) {
  told = [state, detail];
  for (const call of listeners) call(state, detail);
}

export function start() {
  isReady = false;
  say("loading");
  // Made from a blob, so that the policy of the page holds in the worker, too: no other host.
  const source = "import " + JSON.stringify(new URL("worker.js", document.baseURI).href);
  const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const made = new Worker(address, { type: "module" });
  worker = made;
  made.onmessage = ({ data }) => {
    if (made !== worker) return;
    if (data.ready) {
      isReady = true;
      URL.revokeObjectURL(address);
      say(open.size ? "busy" : "ready");
    } else if (data.failed) {
      say("failed", data.failed);
      giveUp("Python did not start: " + data.failed, "load the page again, or use a newer browser");
    } else if (data.answer !== undefined) {
      const waiting = open.get(data.id);
      open.delete(data.id);
      if (isReady && !open.size) say("ready");
      if (waiting) waiting.resolve(JSON.parse(data.answer));
    } else {
      open.get(data.id)?.progress?.(data.expanded, data.seconds);
    }
  };
  made.onerror = (event) => {
    if (made !== worker) return;
    say("failed", event.message || "the worker could not be loaded");
    giveUp("Python did not start", "load the page again, or use a newer browser");
  };
}

// Resolves to {value} or {error}.  `progress(expanded, seconds)` is called during a search.
export function ask(verb, args = {}, { progress, stores } = {}) {
  const id = ++number;
  return new Promise((resolve) => {
    open.set(id, { resolve, progress });
    if (isReady) say("busy");
    worker.postMessage({ id, verb, args, stores });
  });
}

// Ends the search under way.  Python reads no message while it searches, so its worker is replaced.
export function stop() {
  if (!open.size) return;
  worker.terminate();
  giveUp("the search was stopped", "its findings are lost; search a smaller world, or run joinproto check on a machine");
  start();
}

function giveUp(message, next) {
  for (const { resolve } of open.values()) {
    resolve({ error: { message, next, line: null, run: [] } });
  }
  open.clear();
}
