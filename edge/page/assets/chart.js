// @ts-check
// A line over time, with a table of the same figures for those who do not see it.

import { h, s, table } from "./dom.js";
import { clock } from "./words.js";

const [W, H, LEFT, RIGHT, TOP, BOTTOM] = [560, 150, 44, 8, 10, 20];

/**
 * @typedef {{ time: number, values: (number|null)[] }} Point
 * @param {string} title
 * @param {string[]} names of the lines, two at most
 * @param {Point[]} points
 * @param {(value: number) => string} shown
 * @param {{ max?: number, pick?: (time: number) => void }} [options]
 */
export function chart(title, names, points, shown, { max, pick } = {}) {
  const values = points.flatMap((point) => point.values).filter((value) => value !== null);
  const top = max ?? nice(Math.max(1, ...values));
  const [first, last] = [points[0]?.time ?? 0, points.at(-1)?.time ?? 1];
  const x = (/** @type {number} */ time) => LEFT + ((W - LEFT - RIGHT) * (time - first)) / Math.max(1, last - first);
  const y = (/** @type {number} */ value) => H - BOTTOM - ((H - TOP - BOTTOM) * value) / top;
  const drawing = s("svg", { class: "chart", viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": described(title, names, points, shown) });
  for (const part of [0, 0.5, 1]) {
    drawing.append(s("line", { class: "axis", x1: LEFT, x2: W - RIGHT, y1: y(top * part), y2: y(top * part) }));
    drawing.append(s("text", { x: LEFT - 6, y: y(top * part) + 4, "text-anchor": "end" }, shown(top * part)));
  }
  if (points.length > 1) {
    for (const [part, anchor] of /** @type {[number, string][]} */ ([[0, "start"], [0.5, "middle"], [1, "end"]])) {
      const time = first + (last - first) * part;
      drawing.append(s("text", { x: x(time), y: H - 5, "text-anchor": anchor }, clock(new Date(time).toISOString())));
    }
  }
  names.forEach((_, at) => {
    let path = "";
    points.forEach((point, number) => {
      const value = point.values[at];
      if (value === null) return;
      const isOpen = number > 0 && points[number - 1].values[at] !== null;
      const isAlone = !isOpen && (points[number + 1]?.values[at] ?? null) === null;
      path += `${isOpen ? "L" : "M"}${x(point.time).toFixed(1)} ${y(Math.min(value, top)).toFixed(1)}${isAlone ? "h1" : ""}`;
    });
    if (path) drawing.append(s("path", { class: at === 0 ? "line" : "line second", d: path }));
  });
  if (pick) {
    drawing.addEventListener("click", (event) => {
      const box = drawing.getBoundingClientRect();
      const part = ((event.clientX - box.left) / box.width * W - LEFT) / (W - LEFT - RIGHT);
      pick(first + Math.max(0, Math.min(1, part)) * (last - first));
    });
  }
  const keys = names.length > 1
    ? h("p", { class: "keys" }, names.map((name, at) => h("span", {}, h("i", { class: at === 0 ? null : "second" }), name)))
    : null;
  return h("figure", { class: "card" }, h("h2", {}, title), drawing, keys, figures(title, names, points, shown));
}

/** @param {string} title @param {string[]} names @param {Point[]} points @param {(value: number) => string} shown */
function figures(title, names, points, shown) {
  const element = h("details", {}, h("summary", {}, "Figures"));
  element.addEventListener("toggle", () => {
    if (!(/** @type {HTMLDetailsElement} */ (element).open) || element.children.length > 1) return;
    const { element: made, body } = table(title, ["Time", ...names.map((text) => ({ text, class: "num" }))]);
    for (const point of points.slice(-60).reverse()) {
      body.append(h("tr", {}, h("td", {}, clock(new Date(point.time).toISOString())),
        point.values.map((value) => h("td", { class: "num" }, value === null ? "-" : shown(value)))));
    }
    element.append(made);
  });
  return element;
}

/** @param {string} title @param {string[]} names @param {Point[]} points @param {(value: number) => string} shown */
function described(title, names, points, shown) {
  const now = points.at(-1);
  if (!now) return `${title}: no figures yet`;
  return `${title}: ${names.map((name, at) => `${name} ${now.values[at] === null ? "none" : shown(now.values[at] ?? 0)}`).join(", ")} now`;
}

/** A round number that is not less. @param {number} value */
function nice(value) {
  const unit = 10 ** Math.floor(Math.log10(value));
  for (const step of [1, 2, 4, 5, 10]) if (step * unit >= value) return step * unit;
  return 10 * unit;
}
