// The run on the page: states by number, the steps between them, and the present position.

export class Run {
  constructor(ask) {
    this.ask = ask;
    this.start = 0;
    this.ids = [];
    this.steps = [];
    this.at = 0;
    this.known = new Map();
  }

  get id() { return this.ids[this.at]; }
  get before() { return this.at > 0 ? this.ids[this.at - 1] : null; }
  get via() { return this.at > 0 ? [this.ids[this.at - 1], this.steps[this.at - 1].index] : null; }

  set(found, at) {
    this.start = found.start || 0;
    this.ids = found.ids;
    this.steps = found.steps;
    this.at = at === undefined ? this.ids.length - 1 : Math.max(0, Math.min(at, this.ids.length - 1));
  }

  forget() { this.known.clear(); }

  keep(state) { this.known.set(keyOf(state.id), state); }

  async state(id = this.id, via = null) {
    const key = keyOf(id, via);
    if (!this.known.has(key)) {
      const found = await this.ask("state", via ? { id, via } : { id });
      if (found.error) return found;
      this.known.set(key, found);
    }
    return this.known.get(key);
  }

  take(step) {
    const next = this.steps[this.at];
    if (!(next && next.index === step.index)) {
      this.ids = this.ids.slice(0, this.at + 1).concat(step.to);
      this.steps = this.steps.slice(0, this.at).concat(step);
    }
    this.at += 1;
  }

  add(found) {
    this.ids = this.ids.slice(0, this.at + 1).concat(found.ids.slice(1));
    this.steps = this.steps.slice(0, this.at).concat(found.steps);
    this.at = this.ids.length - 1;
  }
}

function keyOf(id, via = null) { return `${id} ${via ? via.join(" ") : ""}`; }
