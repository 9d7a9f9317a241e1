// Starts Python first: it takes longest, and all else is loaded meanwhile.
import { start } from "./ask.js";

start();
