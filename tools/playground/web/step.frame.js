// In the frame of step.html: the page of `joinproto explore` asks through the page around it.

import { start } from "./explore/app.js";

const { playground } = parent;
await start(document.getElementById("explore"), (verb, args) => playground.ask(verb, args), {
  world: playground.world,
  watchFile: false,
});
