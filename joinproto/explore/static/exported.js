import { start } from "./app.js";
import { fromData, unpacked } from "./datachannel.js";

unpacked(document.getElementById("data").textContent).then((data) => start(document.getElementById("explore"), fromData(data), { watchFile: false }));
