// The address of a run: world, options, and the key of each step, so that it survives edits of
// other parts of the model.

export function written({ target, options, run, end }) {
  const parts = new URLSearchParams();
  parts.set("world", target);
  for (const [name, value] of Object.entries(options || {})) parts.set(`o.${name}`, value);
  if (run.start) parts.set("from", run.start);
  if (run.steps.length) {
    parts.set("run", run.steps.map((step) => step.key).join(""));
    if (run.at < run.steps.length) parts.set("at", run.at);
    if (end) parts.set("end", end);
  }
  return "#" + parts;
}

export function read(fragment) {
  const parts = new URLSearchParams(fragment.replace(/^#/, ""));
  const run = parts.get("run") || "";
  const keys = /^[\w-]*$/.test(run) ? run.match(/.{6}/g) || [] : [];
  const options = {};
  for (const [name, value] of parts) if (name.startsWith("o.")) options[name.slice(2)] = value;
  const number = (name) => {
    const found = Number.parseInt(parts.get(name), 10);
    return Number.isInteger(found) && found >= 0 ? found : null;
  };
  return {
    world: parts.get("world"), options, keys,
    start: number("from") || 0, at: number("at"), end: parts.get("end"),
  };
}

export function sameWorld(read, world) {
  if (read.world === null) return true;
  const given = JSON.stringify(Object.entries(read.options).sort());
  return read.world === world.target && given === JSON.stringify(Object.entries(world.options).sort());
}
