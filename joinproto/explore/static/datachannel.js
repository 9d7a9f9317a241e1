// The page's channel if all states are in the file, as joinproto/explore/export.py writes it.

const KEY = 8;

export async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text.trim()), (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

export function fromData(data) {
  const { world, columns } = data;
  const count = columns.counts.length;
  const width = world.members.length + (world.monitor ? 1 : 0);
  const begins = new Uint32Array(count + 1);
  for (let at = 0; at < count; at++) begins[at + 1] = begins[at] + columns.counts[at];
  let parents = null;

  const key = (at) => data.keys.slice(at * KEY, at * KEY + KEY);
  const part = (at, i) => data.locals[columns.locals[at * width + i]];
  const message = (number) => { const [from, to, content] = data.messages[number]; return { from, to, content }; };
  const target = (at, index) => at + columns.to[begins[at] + index];
  const step = (at, index) => ({ ...data.steps[columns.steps[begins[at] + index]], index, to: target(at, index) });
  const steps = (at) => Array.from({ length: columns.counts[at] }, (_, index) => step(at, index));

  function state({ id: at }) {
    if (!(at >= 0 && at < count)) throw new Error(`there is no state ${at}`);
    const [split, left, sent] = data.networks[columns.networks[at]];
    const said = data.claims[columns.claims[at]];
    return {
      id: at, key: key(at), beyond: false, picture: data.pictures[columns.pictures[at]], columns: [], problems: [],
      members: world.members.map((name, i) => ({ name, up: part(at, i)[0], texts: part(at, i)[1] })),
      monitor: world.monitor ? part(at, width - 1)[1] : null,
      network: { split, left, under_way: sent.map(message), form: world.form },
      claims: world.claims.map((one, i) => ({ name: one.name, kind: one.kind, is: said[i][0], says: said[i][1] })),
      steps: steps(at),
    };
  }

  const run = (ids, indices) => ({ start: Math.max(0, world.firsts.indexOf(ids[0])), ids, steps: indices.map((index, i) => step(ids[i], index)) });
  const judged = (at) => JSON.stringify(data.claims[columns.claims[at]].map((one) => one[0]));

  function walk({ id, seed = 0, steps: most, until }) {
    let random = seed * 2654435761 >>> 0;
    const draw = (n) => { random = (Math.imul(random, 1664525) + 1013904223) >>> 0; return Math.floor(random / 4294967296 * n); };
    const ids = [id], indices = [], before = judged(id);
    let stopped = "steps";
    const met = until ? (until.where ? asked(until) : (at) => judged(at) !== before) : () => false;
    for (let i = 0; i < (most || (until ? 2000 : 20)); i++) {
      const at = ids[ids.length - 1];
      const onward = [...Array(columns.counts[at]).keys()].filter((index) => target(at, index) !== at);
      if (!onward.length) { stopped = "stuck"; break; }
      const index = onward[draw(onward.length)];
      indices.push(index);
      ids.push(target(at, index));
      if (met(ids[ids.length - 1])) { stopped = "met"; break; }
    }
    return { ...run(ids, indices), stopped };
  }

  function follow({ start = 0, keys, end }) {
    if (world.firsts[start] === undefined) throw new Error(`there is no first state ${start}`);
    let runs = [[[world.firsts[start]], []]], fits = 0;
    for (const wanted of keys) {
      const longer = new Map();
      for (const [ids, indices] of runs) {
        const at = ids[ids.length - 1];
        for (const one of steps(at)) if (one.key === wanted && !longer.has(one.to)) longer.set(one.to, [[...ids, one.to], [...indices, one.index]]);
      }
      if (!longer.size) break;
      runs = [...longer.values()];
      fits += 1;
    }
    const exact = runs.filter(([ids]) => key(ids[ids.length - 1]) === end);
    const [ids, indices] = exact[0] || runs[0];
    return { ...run(ids, indices), start, fits, of: keys.length, same_end: end && fits === keys.length ? exact.length > 0 : null };
  }

  // Return the test for a claim, or for count("attribute", "value") >= number; others need Python.
  function asked(what) {
    if (what.claim) {
      const at = world.claims.findIndex((one) => one.name === what.claim);
      if (at < 0) throw new Error(`the world has no claim ${what.claim}`);
      const shall = what.is === undefined ? world.claims[at].kind === "sometimes" : what.is;
      return (state) => data.claims[columns.claims[state]][at][0] === shall;
    }
    const found = /^\s*count\(\s*(?:["']([^"']*)["']\s*,\s*)?["']([^"']*)["']\s*\)\s*(>=|>|==|<|<=)\s*(\d+)\s*$/.exec(what.where);
    if (!found) throw new Error('an exported page answers only count("attribute", "value") >= number; joinproto explore answers more');
    const [, name, value, how, number] = found, least = Number(number);
    const compare = { ">=": (n) => n >= least, ">": (n) => n > least, "==": (n) => n === least, "<": (n) => n < least, "<=": (n) => n <= least }[how];
    return (at) => {
      let n = 0;
      world.members.forEach((member, i) => {
        const [up, texts] = part(at, i);
        if (up && !world.beside.includes(member) && (name ? texts[name] === value : Object.values(texts).includes(value))) n += 1;
      });
      return compare(n);
    };
  }

  function way(id) {
    if (!parents) {
      parents = new Int32Array(count).fill(-2);
      const via = new Int32Array(count), queue = [...world.firsts];
      for (const first of queue) parents[first] = -1;
      for (let i = 0; i < queue.length; i++) {
        const at = queue[i];
        for (let index = 0; index < columns.counts[at]; index++) {
          const to = target(at, index);
          if (parents[to] === -2) { parents[to] = at; via[to] = index; queue.push(to); }
        }
      }
      parents.via = via;
    }
    const ids = [id], indices = [];
    while (parents[ids[0]] >= 0) { indices.unshift(parents.via[ids[0]]); ids.unshift(parents[ids[0]]); }
    return run(ids, indices);
  }

  const searched = { states: count, levels: data.levels.length, whole: true };

  function nearest(what) {
    const met = asked(what);
    for (let at = 0; at < count; at++) if (met(at)) return { run: way(at), searched };
    return { run: null, searched, stopped: "" };
  }

  function graph({ by = [], nodes_max: most = 2000 }) {
    const places = new Map(), nodes = [], number = new Int32Array(count), times = new Map();
    for (let at = 0; at < count; at++) {
      const kept = world.members.map((name, i) => {
        const [, texts] = part(at, i);
        const held = "" in texts && by.length && !world.beside.includes(name) ? "down" : by.filter((one) => one in texts).map((one) => texts[one]).join(" ");
        return held ? `${name} ${held}` : "";
      });
      const text = kept.filter(Boolean).join(", ");
      if (!places.has(text)) {
        if (nodes.length >= most) return { error: { message: `this graph has more than ${most} nodes, which a person cannot read`, next: "keep less of each state, such as one attribute" } };
        places.set(text, nodes.length);
        nodes.push({ id: nodes.length, text, example: at, states: 0, first: false, broken: false });
      }
      const node = nodes[places.get(text)];
      number[at] = node.id;
      node.states += 1;
      node.first ||= world.firsts.includes(at);
      node.broken ||= world.claims.some((one, i) => one.kind === "always" && data.claims[columns.claims[at]][i][0] === false);
    }
    for (let at = 0; at < count; at++) {
      for (let index = 0; index < columns.counts[at]; index++) {
        const pair = `${number[at]} ${number[target(at, index)]}`;
        if (!times.has(pair)) times.set(pair, { from: number[at], to: number[target(at, index)], count: 0, label: label(step(at, index)) });
        times.get(pair).count += 1;
      }
    }
    return { nodes, edges: [...times.values()], states: count, whole: true };
  }

  const label = (one) => (one.member ? `${one.member}: ${one.label}` : one.label).slice(0, 48);
  const progress = () => ({ states: count, levels: data.levels, steps: columns.to.length, whole: true, stopped: "" });
  const elsewhere = (what) => ({ error: { message: `${what} is asked of the members' code, which is not in this file`, next: "joinproto explore asks it" } });
  const verbs = {
    world: () => world, state, walk, follow, nearest, graph,
    levels: progress, search: progress, cover: () => data.cover, questions: () => data.questions,
    way: ({ id }) => ({ run: way(id) }),
    claim: ({ name }) => {
      const one = world.claims.find((claim) => claim.name === name);
      return { about: (one && one.about) || "Which part of it holds is asked of Python: joinproto explore tells it.", cases: [] };
    },
    why: () => elsewhere("Why a row was taken"), columns: () => elsewhere("A column"),
  };

  return async function ask(verb, args = {}) {
    if (!verbs[verb]) return elsewhere(verb);
    try {
      return verbs[verb](args);
    } catch (error) {
      return { error: { message: error.message, next: "" } };
    }
  };
}
