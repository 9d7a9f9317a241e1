// Runs joinproto in Pyodide, away from the page.
//
// In:  {id, verb, args, stores?}
// Out: {ready}, {failed}, {id, answer}, {id, expanded, seconds}
import { loadPyodide } from "./pyodide/pyodide.mjs";
import { unpack } from "./unpack.js";

const waiting = [];
let asked = null;

const here = new URL(".", import.meta.url).href;
const ready = start();

async function fetched(name) {
  const found = await fetch(here + name);
  if (!found.ok) throw new Error(name + ": " + found.status);
  // With this header the browser has already unpacked the file.
  if (found.headers.get("content-encoding") === "gzip") return new Uint8Array(await found.arrayBuffer());
  const stream = found.body.pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Python starts from a snapshot of its memory in which joinproto is imported; without a snapshot the
// start takes several seconds more.
async function started() {
  const options = { indexURL: here + "pyodide/", fullStdLib: false };
  try {
    compileMeanwhile();
    const snapshot = fetched("python.snapshot.gz").then((bytes) => {
      makeRoomFor(bytes.length);
      return bytes;
    });
    return await loadPyodide({ ...options, _loadSnapshot: snapshot });
  } catch (error) {
    console.warn("the snapshot does not load: " + error);
    const python = await loadPyodide(options);
    python.runPython("import sys; sys.path.insert(0, '/joinproto')");
    return python;
  }
}

// Compiles Pyodide on another core while the snapshot is unpacked.  When Pyodide asks for its code,
// the code is already there.
function compileMeanwhile() {
  const place = here + "pyodide/pyodide.asm.wasm";
  const { fetch } = globalThis;
  const { instantiateStreaming } = WebAssembly;
  const compiled = WebAssembly.compileStreaming(fetch(place));
  compiled.catch(() => {}); // the error is reported where it is used
  globalThis.fetch = (asked, ...more) => (String(asked) === place ? Promise.resolve(place) : fetch(asked, ...more));
  WebAssembly.instantiateStreaming = async (_, imports) => {
    globalThis.fetch = fetch;
    WebAssembly.instantiateStreaming = instantiateStreaming;
    const module = await compiled;
    return { module, instance: await WebAssembly.instantiate(module, imports) };
  };
}

// Pyodide's memory begins with 30 MB, and does not grow by itself for a larger snapshot.
function makeRoomFor(size) {
  for (const name of ["instantiate", "instantiateStreaming"]) {
    const plain = WebAssembly[name];
    WebAssembly[name] = async (...given) => {
      const made = await plain.apply(WebAssembly, given);
      const memory = (made.instance ?? made).exports.memory;
      const missing = size - (memory?.buffer.byteLength ?? size);
      if (missing > 0) memory.grow(Math.ceil(missing / 65536));
      return made;
    };
  }
}

async function start() {
  const code = fetched("joinproto.tar.gz");
  const python = await started();
  const work = python.FS.cwd();
  unpack(python.FS, await code, "/joinproto");
  const ask = python.pyimport("tools.playground.worker").ask;
  postMessage({ ready: true });
  return { python, ask, work };
}
ready.catch((error) => postMessage({ failed: String(error) }));

addEventListener("message", ({ data }) => {
  waiting.push(data);
  if (!asked) asked = serve().finally(() => (asked = null));
});

async function serve() {
  const { python, ask, work } = await ready;
  while (waiting.length) {
    const { id, verb, args, stores } = waiting.shift();
    const tell = (expanded, seconds) => postMessage({ id, expanded, seconds });
    try {
      python.FS.chdir(work);
      const words = stores ? await mounted(python, stores) : undefined;
      const given = JSON.stringify(words ? { ...args, words } : args);
      postMessage({ id, answer: ask(verb, given, tell) });
    } catch (error) {
      postMessage({ id, answer: JSON.stringify({ error: { message: String(error), next: "load the page again", line: null, run: [] } }) });
    }
  }
}

// Puts the dropped files into Python's file system, and makes their folder the working folder.  No
// file is copied: the browser reads a file when Python reads it.
let mounts = 0;
async function mounted({ FS }, stores) {
  const top = "/stores-" + ++mounts;
  FS.mkdir(top);
  FS.chdir(top);
  for (const { name, files } of stores) {
    if (files.length === 1 && files[0].path === "") {
      FS.writeFile(name, new Uint8Array(await files[0].file.arrayBuffer()));
      continue;
    }
    FS.mkdir(name);
    const blobs = files.map(({ path, file }) => ({ name: path, data: file }));
    FS.mount(FS.filesystems.WORKERFS, { blobs }, name);
  }
  return stores.map(({ name }) => name);
}
