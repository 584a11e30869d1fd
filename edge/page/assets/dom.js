// @ts-check
// Elements. Text is always set as text, so that no name of an object can become markup.

/**
 * Makes an element. Properties that begin with "on" are listeners; `class`, `data-*`, `aria-*` and the like are attributes.
 * @param {string} tag
 * @param {Record<string, any>} [properties]
 * @param {...any} children elements and texts, in lists or not; nothing is left out
 * @returns {HTMLElement}
 */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else element.setAttribute(name, String(value));
  }
  append(element, children);
  return element;
}

/**
 * Makes an element of a drawing.
 * @param {string} tag
 * @param {Record<string, any>} [properties]
 * @param {...(Node|string)} children
 */
export function s(tag, properties = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(properties)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/** @param {Element} parent @param {any[]} children */
function append(parent, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    parent.append(child instanceof Node ? child : String(child));
  }
}

/**
 * Gives an element other children.
 * @param {Element} parent
 * @param {...any} children
 */
export function fill(parent, ...children) {
  parent.replaceChildren();
  append(parent, children);
}

/**
 * Makes the children of an element those of a list, and leaves alone what is the same, so that the focus stays where it is.
 * @template T
 * @param {Element} parent
 * @param {T[]} items
 * @param {(item: T) => string} key
 * @param {(item: T) => string} sign what makes an item look otherwise
 * @param {(item: T, isNew: boolean) => HTMLElement} make
 */
export function sync(parent, items, key, sign, make) {
  /** @type {Map<string, HTMLElement>} */
  const known = new Map();
  for (const child of parent.children) known.set(/** @type {HTMLElement} */ (child).dataset.key ?? "", /** @type {HTMLElement} */ (child));
  const isFirst = known.size === 0;
  /** @type {Element|null} */
  let next = parent.firstElementChild;
  for (const item of items) {
    const name = key(item);
    const signature = sign(item);
    let element = known.get(name);
    known.delete(name);
    if (!element || element.dataset.sign !== signature) {
      const made = make(item, !element && !isFirst);
      made.dataset.key = name;
      made.dataset.sign = signature;
      if (element) {
        const hadFocus = element.contains(document.activeElement);
        if (next === element) next = made;
        element.replaceWith(made);
        if (hadFocus) /** @type {HTMLElement|null} */ (made.querySelector("a,button") ?? made)?.focus();
      }
      element = made;
    }
    if (element === next) next = next.nextElementSibling;
    else parent.insertBefore(element, next);
  }
  for (const gone of known.values()) gone.remove();
}

/**
 * A table with a head.
 * @param {string} caption
 * @param {(string|{ text: string, class: string })[]} columns
 */
export function table(caption, columns) {
  const body = h("tbody");
  const cells = columns.map((column) => {
    const { text, class: name } = typeof column === "string" ? { text: column, class: undefined } : column;
    return h("th", { scope: "col", class: name }, text);
  });
  const element = h("div", { class: "table", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {}, h("caption", { class: "sr" }, caption), h("thead", {}, h("tr", {}, cells)), body));
  return { element, body };
}

/**
 * Names with what they say.
 * @param {[string, any][]} pairs
 */
export function facts(pairs) {
  const shown = pairs.filter(([, value]) => value !== undefined && value !== null && value !== "" && value !== false);
  return h("dl", { class: "facts" }, shown.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

/**
 * What is said where there is nothing.
 * @param {string} what
 * @param {any} [todo]
 */
export function empty(what, todo) {
  return h("div", { class: "empty" }, h("p", {}, what), todo ? h("p", { class: "quiet" }, todo) : null);
}
