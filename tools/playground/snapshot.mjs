// Writes python.snapshot.gz: the memory of Pyodide with joinproto imported, which the worker loads.
//
// node snapshot.mjs FOLDER     the playground, without this file
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";

const folder = process.argv[2];
const { loadPyodide } = await import(pathToFileURL(folder + "/pyodide/pyodide.mjs").href);
const { unpack } = await import(pathToFileURL(folder + "/unpack.js").href);
const python = await loadPyodide({ indexURL: folder + "/pyodide/", fullStdLib: false, _makeSnapshot: true });
unpack(python.FS, gunzipSync(readFileSync(folder + "/joinproto.tar.gz")), "/joinproto");
python.runPython("import sys; sys.path.insert(0, '/joinproto'); from tools.playground.answers import warm_up; warm_up()");
writeFileSync(folder + "/python.snapshot.gz", gzipSync(python.makeMemorySnapshot(), { level: 9 }));
