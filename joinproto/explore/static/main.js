import { start } from "./app.js";
import { overHttp } from "./channel.js";

// The answers that the server put into the page; none if the model's code takes long.
const begin = JSON.parse(document.getElementById("data").textContent);
start(document.getElementById("explore"), overHttp(), begin);
