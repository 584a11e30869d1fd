// @ts-check
// The map: domains with their nodes, and nodes with their devices, on a canvas. The largest squares are chosen with which everything
// fits, so that a small cluster has names and marks, and a large one is seen as a whole.

import { h } from "./dom.js";
import { HELD, STATES, counted, natural } from "./words.js";
import { base, draw, holderOf, look } from "./palette.js";

/** @typedef {import("./types.js").ClusterNode} ClusterNode */
/** @typedef {import("./types.js").Device} Device */
/** @typedef {{ name: string, pools: import("./types.js").Pool[], shared: boolean, node: ClusterNode|null }} Item */
/** @typedef {{ item: Item, x: number, y: number, w: number, h: number, block: Block }} Tile */
/** @typedef {{ title: string, path: string|null, x: number, y: number, w: number, h: number, tiles: Tile[] }} Block */
/** @typedef {{ title: string, path: string|null, items: Item[] }} Group */

const SIZES = [56, 46, 38, 30, 24, 20, 16, 13, 11, 9, 7, 6, 5, 4];
const TITLE = 24;
const PAD = 10;
const FLASH = 900;
/** More domains than these are shown by their coarser level. */
const GROUPS_MAX = 120;

/** Devices of an item in the order of their pools. @param {Item} item @returns {Device[]} */
export const devicesOf = (item) => (item.pools.length === 1 ? item.pools[0].devices : item.pools.flatMap((pool) => pool.devices));

/** What is said of an item in one line. @param {Item} item */
export function summary(item) {
  const devices = devicesOf(item);
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const device of devices) counts.set(device.state, (counts.get(device.state) ?? 0) + 1);
  const states = [...counts].map(([state, count]) => `${count} ${STATES[state] ?? state}`).join(", ");
  const closed = item.node?.unschedulable ? ", unschedulable" : "";
  return `${item.shared ? "Pool" : "Node"} ${item.name}: ${counted(devices.length, "device")}${states ? ` (${states})` : ""}${closed}`;
}

export class ClusterMap {
  /**
   * @param {import("./store.js").Store} store
   * @param {import("./palette.js").Palette} palette
   * @param {{ pick: (item: Item, device: Device|null) => void, enter: (path: string) => void }} then
   */
  constructor(store, palette, then) {
    this.store = store;
    this.palette = palette;
    this.then = then;
    /** @type {"state"|"team"|"holder"} */
    this.by = "state";
    /** @type {Group[]} */
    this.groups = [];
    /** @type {Block[]} */
    this.blocks = [];
    /** @type {Tile[]} */
    this.tiles = [];
    /** @type {Map<string, Tile>} */
    this.places = new Map();
    /** @type {WeakMap<object, import("./palette.js").Look[]>} */
    this.looks = new WeakMap();
    this.size = 16;
    this.gap = 2;
    this.labels = true;
    this.height = 0;
    this.chosen = "";
    this.cursor = -1;
    /** Frames that were drawn, for those who measure. */
    this.frames = 0;

    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("aria-hidden", "true");
    this.space = h("div", { class: "space" });
    this.said = h("p", { class: "sr", "aria-live": "polite" });
    this.tip = h("div", { class: "tip", hidden: true });
    this.element = h("div", {
      class: "map", tabindex: "0", role: "application", "aria-label": "Map of nodes and devices",
      "aria-describedby": "map-help",
    }, this.canvas, this.space);
    this.whole = h("div", {}, this.element, this.said, this.tip,
      h("p", { class: "sr", id: "map-help" }, "Arrow keys move between nodes, Enter shows a node. The table shows the same."));
    const context = this.canvas.getContext("2d", { alpha: false });
    if (!context) throw new Error("the browser has no canvas");
    this.context = context;
    this.listen();
  }

  listen() {
    this.observer = new ResizeObserver(() => this.layout());
    this.observer.observe(this.element);
    this.element.addEventListener("scroll", () => this.soon(), { passive: true });
    this.element.addEventListener("pointermove", (event) => this.hover(event));
    this.element.addEventListener("pointerleave", () => (this.tip.hidden = true));
    this.element.addEventListener("click", (event) => {
      const block = this.blockAt(event);
      const found = this.at(event);
      if (found) {
        this.cursor = this.tiles.indexOf(found.tile);
        this.then.pick(found.tile.item, found.device);
      } else if (block?.path) this.then.enter(block.path);
    });
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.element.addEventListener("blur", () => this.soon());
    this.element.addEventListener("focus", () => {
      if (this.cursor < 0 && this.tiles.length > 0) this.move(0);
      this.soon();
    });
  }

  close() {
    this.observer?.disconnect();
    clearTimeout(this.timer);
  }

  /** @param {Group[]} groups @param {"state"|"team"|"holder"} by */
  show(groups, by) {
    if (by !== this.by) this.looks = new WeakMap();
    this.by = by;
    this.groups = groups;
    this.layout();
  }

  /** Colours are others now. */
  repaint() {
    this.looks = new WeakMap();
    this.soon();
  }

  layout() {
    const width = this.element.clientWidth;
    if (width === 0) return;
    const room = Math.max(320, window.innerHeight - 290);
    for (const size of SIZES) {
      this.arrange(size, width, true);
      if (this.height <= room) break;
    }
    this.arrange(this.size, width, false);
    this.element.classList.toggle("short", this.height <= room);
    this.element.style.height = this.height <= room ? `${Math.max(this.height + 2, 60)}px` : "";
    this.space.style.height = `${this.height}px`;
    this.soon();
  }

  /** Puts everything in its place, or only says how high that is. @param {number} size @param {number} width @param {boolean} isTrial */
  arrange(size, width, isTrial) {
    this.size = size;
    this.gap = size >= 30 ? 4 : size >= 16 ? 3 : size >= 7 ? 2 : 1;
    this.labels = size >= 16;
    const step = size + this.gap;
    const between = this.labels ? 14 : size >= 9 ? 8 : 5;
    const label = this.labels ? 18 : 0;
    const tileOf = (/** @type {Item} */ item) => {
      const count = Math.max(1, devicesOf(item).length);
      const columns = count <= 4 ? count : count <= 8 ? 4 : Math.min(16, Math.ceil(Math.sqrt(count * 2)));
      const w = Math.max(columns * step - this.gap, this.labels ? Math.min(150, 16 + (item.shared ? item.pools[0].pool : item.name).length * 7) : 0);
      return { w, h: Math.ceil(count / columns) * step - this.gap + label, columns };
    };
    this.blocks = [];
    this.tiles = [];
    this.places.clear();
    let [x, y, row] = [PAD, PAD, 0];
    for (const group of this.groups) {
      /** @type {{ w: number, h: number }[]} */
      const shapes = [];
      let [w, tall] = [size, size];
      for (const item of group.items) {
        const shape = tileOf(item);
        if (!isTrial) shapes.push(shape);
        w = Math.max(w, shape.w);
        tall = Math.max(tall, shape.h);
      }
      w += between;
      tall += between;
      const most = Math.max(1, Math.floor((width - 4 * PAD) / w));
      const wide = Math.ceil(Math.sqrt((group.items.length * tall * 2.2) / w));
      const columns = Math.min(most, Math.max(1, group.items.length === 0 ? 1 : this.groups.length <= 3 ? most : wide));
      const lines = Math.ceil(group.items.length / columns);
      const blockWidth = Math.max(Math.min(columns, Math.max(1, group.items.length)) * w - between + 2 * PAD, Math.min(130, 34 + group.title.length * 7));
      const blockHeight = TITLE + Math.max(lines, 1) * tall - between + PAD;
      if (x > PAD && x + blockWidth > width - PAD) [x, y, row] = [PAD, y + row + PAD, 0];
      /** @type {Block} */
      const block = { title: group.title, path: group.path, x, y, w: blockWidth, h: blockHeight, tiles: [] };
      if (!isTrial) group.items.forEach((item, at) => {
        const tile = {
          item, block, w: shapes[at].w, h: shapes[at].h,
          x: x + PAD + (at % columns) * w, y: y + TITLE + Math.floor(at / columns) * tall,
        };
        block.tiles.push(tile);
        this.tiles.push(tile);
        this.places.set(item.name, tile);
      });
      this.blocks.push(block);
      x += blockWidth + PAD;
      row = Math.max(row, blockHeight);
    }
    this.height = y + row + PAD;
  }

  /** Draws everything that is in sight, at the next frame. */
  soon() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  /** Draws nodes that are otherwise now. @param {Map<string, Item>} items */
  refresh(items) {
    for (const [name, item] of items) {
      const tile = this.places.get(name);
      if (tile) tile.item = item;
    }
    if (this.frame) return;
    if (items.size > 300) return this.soon();
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.frames += 1;
      this.prepare();
      const [top, bottom] = [this.element.scrollTop, this.element.scrollTop + this.element.clientHeight];
      for (const name of items.keys()) {
        const tile = this.places.get(name);
        if (tile && tile.y < bottom && tile.y + tile.h > top) this.paint(tile, true);
      }
      this.fade();
    });
  }

  /** Takes the marks of changes away after a while. */
  fade() {
    if (this.timer) return;
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      this.prepare();
      const now = performance.now();
      let more = false;
      for (const [name, at] of this.store.touched) {
        if (now - at < FLASH) {
          more = true;
          continue;
        }
        this.store.touched.delete(name);
        const tile = this.places.get(name);
        const top = this.element.scrollTop;
        if (tile && tile.y < top + this.element.clientHeight && tile.y + tile.h > top) this.paint(tile, true);
      }
      if (more) this.fade();
    }, FLASH / 2);
  }

  /** Makes the canvas as large as what is seen of it. */
  prepare() {
    const scale = window.devicePixelRatio || 1;
    const [w, h] = [this.element.clientWidth, this.element.clientHeight];
    if (this.canvas.width !== Math.round(w * scale) || this.canvas.height !== Math.round(h * scale)) {
      this.canvas.width = Math.round(w * scale);
      this.canvas.height = Math.round(h * scale);
      this.canvas.style.width = `${w}px`;
      this.canvas.style.height = `${h}px`;
    }
    this.context.setTransform(scale, 0, 0, scale, 0, -this.element.scrollTop * scale);
  }

  draw() {
    this.frames += 1;
    this.prepare();
    const { context } = this;
    const colours = base();
    const top = this.element.scrollTop;
    const bottom = top + this.element.clientHeight;
    context.fillStyle = colours.panel;
    context.fillRect(0, top, this.element.clientWidth, bottom - top);
    for (const block of this.blocks) {
      if (block.y > bottom || block.y + block.h < top) continue;
      context.strokeStyle = colours.rule;
      context.lineWidth = 1;
      context.strokeRect(block.x + 0.5, block.y + 0.5, block.w - 1, block.h - 1);
      context.fillStyle = block.path ? colours.accent : colours.ink;
      context.font = "600 12px ui-sans-serif, system-ui, sans-serif";
      context.textAlign = "left";
      context.textBaseline = "middle";
      context.fillText(clipped(block.title, block.w - 2 * PAD), block.x + PAD, block.y + TITLE / 2 + 1);
      for (const tile of block.tiles) if (tile.y < bottom && tile.y + tile.h > top) this.paint(tile, false);
    }
    if (this.store.touched.size > 0) this.fade();
  }

  /** @param {Tile} tile @param {boolean} clear */
  paint(tile, clear) {
    const { context, size, gap } = this;
    const colours = base();
    const { item, x, y } = tile;
    // Marks around nodes that are close together must not be on each other.
    const around = this.labels ? 3 : 2;
    if (clear) {
      context.fillStyle = colours.panel;
      context.fillRect(x - around - 1, y - around - 1, tile.w + 2 * around + 2, tile.h + 2 * around + 2);
    }
    const label = this.labels ? 18 : 0;
    if (label) {
      context.fillStyle = item.node?.unschedulable ? colours.bad : colours.soft;
      context.font = "12px ui-monospace, 'DejaVu Sans Mono', monospace";
      context.textAlign = "left";
      context.textBaseline = "middle";
      const name = item.shared ? item.pools[0].pool : item.name;
      context.fillText(clipped(item.node?.unschedulable ? `${name} ⊘` : name, tile.w + 8), x, y + 7);
    }
    const looks = this.looksOf(item);
    const step = size + gap;
    const columns = columnsOf(looks.length);
    for (let at = 0; at < looks.length; at += 1) {
      draw(context, looks[at], x + (at % columns) * step, y + label + Math.floor(at / columns) * step, size);
    }
    if (size >= 38) this.names(item, looks, x, y + label, step, columns);
    if (looks.length === 0) {
      context.strokeStyle = colours.rule;
      context.strokeRect(x + 0.5, y + label + 0.5, size - 1, size - 1);
    }
    const isNew = performance.now() - (this.store.touched.get(item.name) ?? -FLASH) < FLASH;
    const isCursor = this.tiles[this.cursor] === tile && document.activeElement === this.element;
    if (isCursor || item.name === this.chosen || isNew) {
      context.strokeStyle = isNew && !isCursor && item.name !== this.chosen ? colours.warn : colours.accent;
      context.lineWidth = isCursor || item.name === this.chosen ? 2 : 1;
      context.strokeRect(x - around + 0.5, y - around + 0.5, tile.w + 2 * around - 1, tile.h + 2 * around - 1);
    }
  }

  /**
   * Writes the names of devices into large squares.
   * @param {Item} item @param {import("./palette.js").Look[]} looks
   * @param {number} x @param {number} y @param {number} step @param {number} columns
   */
  names(item, looks, x, y, step, columns) {
    const { context, size } = this;
    context.font = "10.5px ui-sans-serif, system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "alphabetic";
    devicesOf(item).forEach((device, at) => {
      context.fillStyle = looks[at].ink;
      const most = Math.floor(size / 6);
      const name = device.name.length > most ? `…${device.name.slice(1 - most)}` : device.name;
      context.fillText(name, x + (at % columns) * step + size / 2, y + Math.floor(at / columns) * step + size - 5);
    });
  }

  /** @param {Item} item */
  looksOf(item) {
    const key = item.node ?? item.pools;
    let looks = this.looks.get(key);
    if (!looks) {
      looks = devicesOf(item).map((device) => look(device, this.by, this.palette));
      this.looks.set(key, looks);
    }
    return looks;
  }

  /** @param {MouseEvent} event */
  point(event) {
    const box = this.element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top + this.element.scrollTop];
  }

  /** @param {MouseEvent} event */
  blockAt(event) {
    const [x, y] = this.point(event);
    return this.blocks.find((block) => x >= block.x && x <= block.x + block.w && y >= block.y && y <= block.y + block.h);
  }

  /** The tile and the device at a point. @param {MouseEvent} event */
  at(event) {
    const [x, y] = this.point(event);
    const tile = this.blockAt(event)?.tiles.find((one) => x >= one.x - 2 && x <= one.x + one.w + 2 && y >= one.y - 2 && y <= one.y + one.h + 2);
    if (!tile) return null;
    const devices = devicesOf(tile.item);
    const columns = columnsOf(devices.length);
    const step = this.size + this.gap;
    const column = Math.floor((x - tile.x) / step);
    const line = Math.floor((y - tile.y - (this.labels ? 18 : 0)) / step);
    const device = column >= 0 && column < columns && line >= 0 ? devices[line * columns + column] ?? null : null;
    return { tile, device };
  }

  /** @param {PointerEvent} event */
  hover(event) {
    const found = this.at(event);
    const block = found ? null : this.blockAt(event);
    this.element.style.cursor = found || block?.path ? "pointer" : "";
    if (!found) {
      this.tip.hidden = true;
      return;
    }
    const { device, tile } = found;
    const holder = device && HELD.has(device.state) ? `, ${holderOf(device, "holder")}` : "";
    this.tip.textContent = device ? `${tile.item.name} · ${device.name}: ${STATES[device.state] ?? device.state}${holder}` : summary(tile.item);
    this.tip.hidden = false;
    const right = Math.min(event.clientX + 14, window.innerWidth - this.tip.offsetWidth - 8);
    this.tip.style.left = `${right}px`;
    this.tip.style.top = `${event.clientY + 16}px`;
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const tile = this.tiles[this.cursor];
    const beside = (/** @type {number} */ down) => {
      if (!tile) return 0;
      let [best, distance] = [this.cursor, Infinity];
      this.tiles.forEach((other, at) => {
        const way = (other.y - tile.y) * down;
        if (way <= 2) return;
        const far = way * 4 + Math.abs(other.x - tile.x);
        if (far < distance) [best, distance] = [at, far];
      });
      return best;
    };
    switch (event.key) {
      case "ArrowRight": this.move(this.cursor + 1); break;
      case "ArrowLeft": this.move(this.cursor - 1); break;
      case "ArrowDown": this.move(beside(1)); break;
      case "ArrowUp": this.move(beside(-1)); break;
      case "Home": this.move(0); break;
      case "End": this.move(this.tiles.length - 1); break;
      case "Enter":
      case " ":
        if (tile) this.then.pick(tile.item, null);
        break;
      default: return;
    }
    event.preventDefault();
  }

  /** @param {number} at */
  move(at) {
    this.cursor = Math.max(0, Math.min(this.tiles.length - 1, at));
    const tile = this.tiles[this.cursor];
    if (!tile) return;
    const view = this.element;
    if (tile.y < view.scrollTop) view.scrollTop = tile.y - TITLE - PAD;
    else if (tile.y + tile.h > view.scrollTop + view.clientHeight) view.scrollTop = tile.y + tile.h + PAD - view.clientHeight;
    this.said.textContent = `${tile.block.title ? `${tile.block.title}, ` : ""}${summary(tile.item)}`;
    this.soon();
  }
}

/** @param {number} count */
function columnsOf(count) {
  return count <= 4 ? Math.max(1, count) : count <= 8 ? 4 : Math.min(16, Math.ceil(Math.sqrt(count * 2)));
}

/** @param {string} text @param {number} width */
function clipped(text, width) {
  const most = Math.max(3, Math.floor(width / 7.2));
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/**
 * Nodes in groups: by the domains of the first level that tells them apart within a domain.
 * @param {import("./store.js").Store} store
 * @param {string[]} levels those that are shown
 * @param {string[]} within the domain
 * @returns {Group[]}
 */
export function grouped(store, levels, within) {
  /** @type {Map<string, Item[]>} */
  const groups = new Map();
  const places = levels.map((level) => store.levels.indexOf(level));
  const nodes = [...store.nodes.values()].filter((node) => within.every((name, at) => (node.domains[places[at]] ?? "-") === name));
  const keyOf = (/** @type {ClusterNode} */ node, /** @type {number} */ depth) =>
    places.slice(within.length, within.length + depth).map((place) => node.domains[place] ?? "-").join("/");
  // The finest level that is not too fine to be seen as a whole.
  let depth = places.length - within.length;
  while (depth > 1 && new Set(nodes.map((node) => keyOf(node, depth))).size > GROUPS_MAX) depth -= 1;
  for (const node of nodes) {
    const key = keyOf(node, Math.max(depth, 0));
    const items = groups.get(key);
    const item = { name: node.name, pools: node.pools, shared: false, node };
    if (items) items.push(item);
    else groups.set(key, [item]);
  }
  const made = [...groups].sort(([one], [other]) => natural(one, other)).map(([key, items]) => {
    items.sort((one, other) => natural(one.name, other.name));
    const title = key === "" ? within.at(-1) ?? "Nodes" : key;
    return { title: `${title}`, path: key === "" ? null : [...within, ...key.split("/")].join("/"), items };
  });
  if (within.length === 0) {
    const pools = [...store.shared.values()].sort((one, other) => natural(one.pool, other.pool));
    /** @type {Map<string, Item[]>} */
    const places = new Map();
    for (const pool of pools) {
      const place = pool.place === "all nodes" ? "All nodes" : pool.place ?? "Several nodes";
      const item = { name: `${pool.driver}/${pool.pool}`, pools: [pool], shared: true, node: null };
      const items = places.get(place);
      if (items) items.push(item);
      else places.set(place, [item]);
    }
    for (const [place, items] of places) made.push({ title: place, path: null, items });
  }
  return made;
}
