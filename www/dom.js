import { say } from './words.js';

const SVG = 'http://www.w3.org/2000/svg';

export const part = (name) => document.querySelector(`[data-test="${name}"], [data-part="${name}"]`);

/** An element with properties, `data` attributes, `aria` attributes and children (nodes or text; null is skipped). */
export function element(tag, { data = {}, aria = {}, ...properties } = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  Object.assign(node.dataset, data);
  for (const [name, value] of Object.entries(aria)) node.setAttribute(`aria-${name}`, value);
  node.append(...children.filter((child) => child !== null));
  return node;
}

/** An SVG element with attributes and children (null is skipped). */
export function shape(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children.filter((child) => child !== null));
  return node;
}

/** Sets the text only if it differs, so that live regions speak once and selections survive. */
export function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Translates every element that names a phrase in `data-say`. */
export function translate(root) {
  for (const node of root.querySelectorAll('[data-say]')) write(node, say(node.dataset.say));
}
