// node tla_checker.mjs MODULES SPEC.tla SPEC.cfg: print the findings of tla-checker as JSON.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [, , modules, module, config] = process.argv;
const home = `${modules}/tla-checker`;
const checker = await import(pathToFileURL(`${home}/tla_checker.js`));
checker.initSync({ module: readFileSync(`${home}/tla_checker_bg.wasm`) });
const [spec, cfg] = [module, config].map((path) => readFileSync(path, "utf8"));
const most = 1_000_000;
const mayStop = true;
console.log(checker.check_spec_with_cfg(spec, cfg, "{}", most, most, mayStop, false));
