// Elements without a framework: h makes one, show brings what is on the page to
// what it should be and leaves alone what is the same, so that focus, selection
// and scrolling stay.

const handlers = ['onclick', 'onsubmit', 'oninput', 'onchange', 'onkeydown'];

/** Makes an element. Children may be nodes, text, lists of them, or nothing. */
export function h(tag, props, ...children) {
  const el = document.createElement(tag);
  assign(el, props);
  el.append(...flat(children));
  return el;
}

/** Makes an SVG element. */
export function svg(tag, props, ...children) {
  const el = document.createElementNS('http://www.w3.org/2000/svg', tag);
  assign(el, props);
  el.append(...flat(children));
  return el;
}

function flat(children) {
  return children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false && c !== '').map((c) => (c instanceof Node ? c : String(c)));
}

function assign(el, props) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (handlers.includes(name)) el[name] = value;
    else if (name === 'key') el.dataset.key = value;
    else if (name === 'value') el.value = value;
    else el.setAttribute(name, value === true ? '' : value);
  }
}

/** Makes the children of parent what they should be. */
export function show(parent, ...children) {
  const wanted = flat(children).map((c) => (c instanceof Node ? c : document.createTextNode(c)));
  const keyed = new Map();
  for (const c of parent.childNodes) if (c.dataset?.key) keyed.set(c.dataset.key, c);
  let at = parent.firstChild;
  for (const next of wanted) {
    const key = next.dataset?.key;
    const old = key ? keyed.get(key) : at;
    if (old && old.parentNode === parent && alike(old, next)) {
      if (old === at) at = at.nextSibling;
      else parent.insertBefore(old, at);
      update(old, next);
    } else {
      parent.insertBefore(next, at);
    }
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}

function alike(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName && a.dataset?.key === b.dataset?.key;
}

function update(old, next) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== next.data) old.data = next.data;
    return;
  }
  for (const { name } of [...old.attributes]) {
    // What a person has opened stays open.
    if (!next.hasAttribute(name) && !(name === 'open' && old.nodeName === 'DETAILS')) old.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const name of handlers) if (old[name] !== next[name]) old[name] = next[name];
  show(old, ...next.childNodes);
  if ('value' in next && old.value !== next.value && document.activeElement !== old) old.value = next.value;
}
