import { start } from "./app.js";
import { overHttp } from "./channel.js";

// What the server put into the page; nothing where the code of the model takes long.
const begin = JSON.parse(document.getElementById("data").textContent);
start(document.getElementById("explore"), overHttp(), begin);
