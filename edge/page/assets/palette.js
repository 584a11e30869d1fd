// @ts-check
// How devices look: a colour that the colour-blind can tell apart, and a mark that needs no colour.

import { HELD } from "./words.js";

/**
 * The colours of Okabe and Ito, which stay apart for all common kinds of colour blindness, and two of Tol's.
 * @type {[string, string][]} in light and in dark
 */
const COLOURS = [
  ["#0072b2", "#4ba3dc"], ["#d55e00", "#f08a3e"], ["#009e73", "#2fc79c"], ["#cc79a7", "#e39ac2"],
  ["#8a6d00", "#e5c839"], ["#56b4e9", "#8fd0f5"], ["#5b3a8c", "#a98be0"], ["#6b6b6b", "#a5a5a5"],
];
const LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ";

const dark = window.matchMedia("(prefers-color-scheme: dark)");

/** Whether colours are for a dark page. It is asked for every device, so it is not asked of the browser each time. */
let isDark = dark.matches;

/** @param {() => void} then */
export const onScheme = (then) => dark.addEventListener("change", then);

dark.addEventListener("change", () => {
  isDark = dark.matches;
  colours = chosen();
});

/** Colours of what is not a holder. */
export const base = () => colours;

function chosen() {
  return isDark
    ? { free: "#151d1c", line: "#61716e", muted: "#33423f", mutedLine: "#61716e", bad: "#ff7a50", warn: "#f0b566", ink: "#e7eeec", soft: "#93a19e", panel: "#151d1c", sunk: "#1b2524", accent: "#6cc5d0", rule: "#2a3634" }
    : { free: "#ffffff", line: "#8d9895", muted: "#d5dbd9", mutedLine: "#8d9895", bad: "#c0390b", warn: "#b06a00", ink: "#16201f", soft: "#626d6b", panel: "#ffffff", sunk: "#f3f4f3", accent: "#0b5d68", rule: "#dcdfdd" };
}

let colours = chosen();

/** Names and their colours, in the order in which they came, so that a name keeps its colour while the page is open. */
export class Palette {
  constructor() {
    /** @type {Map<string, number>} */
    this.places = new Map();
  }

  /** @param {string} name */
  place(name) {
    let place = this.places.get(name);
    if (place === undefined) {
      place = this.places.size;
      this.places.set(name, place);
    }
    return place;
  }

  /** @param {string} name */
  colour(name) {
    return COLOURS[this.place(name) % COLOURS.length][isDark ? 1 : 0];
  }

  /** A letter that tells apart what has the same colour. @param {string} name */
  letter(name) {
    return LETTERS[this.place(name) % LETTERS.length];
  }
}

/**
 * How a device looks: what it is filled with, its outline, and its mark.
 * @typedef {{ fill: string, line: string, mark: ""|"x"|"slash"|"stripes"|"half"|"dots"|"query"|"dash", letter: string, ink: string }} Look
 */

/**
 * @param {import("./types.js").Device} device
 * @param {"state"|"team"|"holder"} by
 * @param {Palette} palette
 * @returns {Look}
 */
export function look(device, by, palette) {
  const held = HELD.has(device.state);
  let fill = colours.free;
  let line = colours.line;
  let letter = "";
  let ink = colours.ink;
  if (held) {
    const name = by === "state" ? "" : holderOf(device, by);
    fill = name === "" ? COLOURS[0][isDark ? 1 : 0] : name === "in use" ? colours.soft : palette.colour(name);
    letter = name === "" || name === "in use" ? "" : palette.letter(name);
    line = fill;
    ink = readable(fill);
  }
  switch (device.state) {
    case "Free": return { fill, line, mark: "", letter, ink };
    case "Allocated": return { fill, line, mark: "", letter, ink };
    case "PartlyUsed":
      ink = colours.ink;
      return { fill, line, mark: "half", letter, ink };
    case "AwaitingReadiness": return { fill: by === "state" ? colours.warn : fill, line: colours.warn, mark: "stripes", letter, ink };
    case "Failed": return { fill: colours.bad, line: colours.bad, mark: "x", letter: "", ink: readable(colours.bad) };
    case "Tainted": return { fill: colours.muted, line: colours.mutedLine, mark: "slash", letter, ink };
    case "CountersUsedUp":
    case "IncompatibleGroups": return { fill: colours.muted, line: colours.mutedLine, mark: "dots", letter, ink };
    case "NotPublished": return { fill, line: colours.bad, mark: "dash", letter, ink };
    default: return { fill: colours.muted, line: colours.mutedLine, mark: "query", letter, ink };
  }
}

/** Black or white, whichever is easier to read on a colour. @param {string} colour */
function readable(colour) {
  const parts = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255);
  const [r, g, b] = parts.map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#07181a" : "#ffffff";
}

/**
 * Who holds a device, as colours tell it.
 * @param {import("./types.js").Device} device
 * @param {"state"|"team"|"holder"} by
 */
export function holderOf(device, by) {
  const holder = device.holders?.find((one) => !one.adminAccess);
  if (!holder || holder.hidden || !holder.claim) return "in use";
  return by === "team" ? holder.namespace ?? "" : `${holder.namespace}/${holder.claim}`;
}

/**
 * Draws a device. Small ones have no marks but that of a failure, which must not be missed.
 * @param {CanvasRenderingContext2D} context
 * @param {Look} look
 * @param {number} x @param {number} y @param {number} size
 */
export function draw(context, look, x, y, size) {
  context.fillStyle = look.fill;
  context.fillRect(x, y, size, size);
  if (size < 6) {
    if (look.fill === base().free) {
      context.fillStyle = look.line;
      context.fillRect(x, y, size, 1);
      context.fillRect(x, y + size - 1, size, 1);
      context.fillRect(x, y, 1, size);
      context.fillRect(x + size - 1, y, 1, size);
    }
    return;
  }
  context.strokeStyle = look.line;
  context.lineWidth = 1;
  if (look.mark === "dash") context.setLineDash([2, 2]);
  context.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
  context.setLineDash([]);
  mark(context, look, x, y, size);
  if (look.letter && size >= 13) {
    context.fillStyle = look.ink;
    context.font = `600 ${Math.round(size * (size >= 38 ? 0.42 : 0.6))}px ui-sans-serif, system-ui, sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText(look.letter, x + size / 2, y + size / (size >= 38 ? 2.6 : 2) + 0.5);
  }
}

/** @param {CanvasRenderingContext2D} context @param {Look} look @param {number} x @param {number} y @param {number} size */
function mark(context, look, x, y, size) {
  const ink = isDark ? "#07181a" : "#ffffff";
  const inset = Math.max(1.5, size * 0.22);
  const line = (/** @type {[number, number, number, number][]} */ strokes, /** @type {string} */ colour) => {
    context.strokeStyle = colour;
    context.lineWidth = Math.max(1, size / 10);
    context.beginPath();
    for (const [ax, ay, bx, by] of strokes) {
      context.moveTo(x + ax, y + ay);
      context.lineTo(x + bx, y + by);
    }
    context.stroke();
  };
  switch (look.mark) {
    case "x":
      return line([[inset, inset, size - inset, size - inset], [size - inset, inset, inset, size - inset]], ink);
    case "slash":
      return line([[inset, size - inset, size - inset, inset]], base().ink);
    case "stripes":
      return line([[0, size / 2, size / 2, 0], [0, size, size, 0], [size / 2, size, size, size / 2]], ink);
    case "half":
      context.fillStyle = base().free;
      context.beginPath();
      context.moveTo(x + size - 1, y + 1);
      context.lineTo(x + size - 1, y + size - 1);
      context.lineTo(x + 1, y + size - 1);
      context.fill();
      return;
    case "dots": {
      context.fillStyle = base().ink;
      const dot = Math.max(1, size / 7);
      for (const at of [0.3, 0.7]) context.fillRect(x + size * at - dot / 2, y + size / 2 - dot / 2, dot, dot);
      return;
    }
    case "query":
      context.fillStyle = base().ink;
      context.fillRect(x + size / 2 - 1, y + size / 2 - 1, 2, 2);
      return;
    default:
  }
}

/** A picture of a device alone. @param {Look} look @param {number} size */
export function picture(look, size) {
  const canvas = document.createElement("canvas");
  const scale = window.devicePixelRatio || 1;
  canvas.width = canvas.height = size * scale;
  canvas.setAttribute("aria-hidden", "true");
  const context = canvas.getContext("2d");
  if (context) {
    context.scale(scale, scale);
    draw(context, look, 0, 0, size);
  }
  return canvas;
}
