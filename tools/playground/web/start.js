// Starts Python first, because it takes longest; the rest is loaded meanwhile.
import { start } from "./ask.js";

start();
