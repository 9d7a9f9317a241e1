import { start } from "./app.js";
import { overHttp } from "./channel.js";

start(document.getElementById("explore"), overHttp());
