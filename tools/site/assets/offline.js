// A browser starts no worker from a file.  The search is a worker, so where the site is read from
// disk, this runs the worker's program in a hidden frame, with the same messages to and fro.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const base = new URL(url, location.href);
      const frame = document.createElement("iframe");
      frame.hidden = true;
      this.waiting = [];
      this.frame = frame;
      document.body.appendChild(frame);
      const inner = frame.contentWindow;
      inner.importScripts = (...names) =>
        names.reduce(
          (before, name) =>
            before.then(
              () =>
                new Promise((done, failed) => {
                  const script = inner.document.createElement("script");
                  script.src = new URL(name, base).href;
                  script.onload = done;
                  script.onerror = failed;
                  inner.document.body.appendChild(script);
                }),
            ),
          Promise.resolve(),
        );
      // What the worker says with `postMessage` is for its page; what the page says comes as an event.
      inner.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      inner.importScripts(base).then(() => {
        const waiting = this.waiting;
        this.waiting = null;
        waiting.forEach((data) => this.postMessage(data));
      });
    }
    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
