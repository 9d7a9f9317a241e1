// Short functions that make elements: a text is always text, never markup.

export function make(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class") node.className = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export const find = (id) => document.getElementById(id);
export const count = (number) => number.toLocaleString("en");
export const plural = (number, word) => count(number) + " " + word + (number === 1 ? "" : "s");
