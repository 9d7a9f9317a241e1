// A browser starts no worker from a file, and the search is a worker.  If the site is read from disk,
// this script runs the worker's program in a hidden frame, with the same messages.
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
      // The worker's `postMessage` sends to the page; messages of the page arrive as events.
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
