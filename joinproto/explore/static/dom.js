// Make elements in one way: texts are set as text, never read as markup.

const SVG = "http://www.w3.org/2000/svg";

function put(node, properties, children) {
  for (const [name, value] of Object.entries(properties || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") node[name] = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

export function h(tag, properties, ...children) {
  return put(document.createElement(tag), properties, children);
}

export function s(tag, properties, ...children) {
  return put(document.createElementNS(SVG, tag), properties, children);
}

export function fill(node, ...children) {
  node.replaceChildren();
  return put(node, {}, children);
}

export function button(text, onclick, properties = {}) {
  return h("button", { type: "button", onclick, ...properties }, text);
}

export function plural(count, one, many = one + "s") {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

export function problem(error) {
  return h("div", { class: "problem", role: "alert" },
    h("strong", {}, error.message),
    error.place ? h("p", { class: "quiet" }, error.place) : null,
    error.next ? h("p", {}, "Next: ", error.next) : null);
}
