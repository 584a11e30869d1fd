// @ts-check
// The cluster: domains, nodes and devices as a map or a table, coloured by state, team or claim; a node or device beside it.

import { empty, facts, fill, h, sync, table } from "./dom.js";
import { ClusterMap, devicesOf, grouped, summary } from "./map.js";
import { Palette, holderOf, look, onScheme, picture } from "./palette.js";
import { ask, joined } from "./store.js";
import { HELD, STATES, ago, counted, cpus, memory, natural, percent } from "./words.js";

/** @typedef {import("./types.js").Device} Device */
/** @typedef {import("./map.js").Item} Item */

const ROWS_MAX = 200;
const LEGEND_MAX = 14;
const palette = new Palette();
/** @type {Record<string, string>} */
const BY = { state: "State", team: "Namespace", holder: "Claim" };

/**
 * @param {import("./store.js").Store} store
 * @returns {import("./types.js").View}
 */
export function clusterView(store) {
  const query = () => new URLSearchParams(location.hash.split("?")[1] ?? "");
  /** @param {Record<string, string|null>} changes */
  const go = (changes) => {
    const next = query();
    for (const [name, value] of Object.entries(changes)) value ? next.set(name, value) : next.delete(name);
    location.hash = `#/cluster${next.size ? `?${next}` : ""}`;
  };
  const state = () => {
    const asked = query();
    const by = asked.get("by") ?? "state";
    return {
      by: /** @type {"state"|"team"|"holder"} */ (by in BY ? by : "state"),
      within: (asked.get("in") ?? "").split("/").filter(Boolean),
      show: asked.get("show") === "table" ? "table" : "map",
      node: asked.get("node"),
      device: asked.get("device"),
      find: asked.get("find") ?? "",
    };
  };

  const map = new ClusterMap(store, palette, {
    pick: (item, device) => {
      const pool = item.pools.find((one) => device && one.devices.includes(device));
      go({ node: item.name, device: device && pool ? `${pool.driver}/${pool.pool}/${device.name}` : null });
    },
    enter: (path) => go({ in: path }),
  });
  const figures = h("dl", { class: "figures" });
  const crumbs = h("ul", { class: "crumbs", "aria-label": "Domain" });
  const legend = h("ul", { class: "legend", "aria-label": "Legend" });
  const body = h("div", {});
  const side = h("aside", { class: "side", hidden: true, "aria-label": "Details", tabindex: "-1" });
  const split = h("div", { class: "split" }, body, side);
  const fabric = h("section", { class: "block", "aria-label": "Fabric", hidden: true });
  const select = h("select", { onchange: () => go({ by: /** @type {HTMLSelectElement} */ (select).value }) },
    Object.entries(BY).map(([value, text]) => h("option", { value }, text)));
  const buttons = ["map", "table"].map((name) => h("button", {
    class: "button", type: "button", onclick: () => go({ show: name === "map" ? null : name }),
  }, name === "map" ? "Map" : "Table"));
  const find = /** @type {HTMLInputElement} */ (h("input", { type: "search", placeholder: "Find a node, device or claim", "aria-label": "Find a node, device or claim", list: "found" }));
  find.addEventListener("change", () => choose(find.value));
  const element = h("div", { class: "page wide" },
    h("div", { class: "head" }, h("h1", {}, "Cluster"), crumbs),
    figures,
    h("div", { class: "bar" },
      h("label", { class: "field" }, "Colour by", select),
      h("div", { class: "toggle", role: "group", "aria-label": "Form" }, buttons),
      find,
      h("span", { class: "grow" }),
      legend),
    split, fabric);

  /** Shows what is called so. @param {string} text */
  function choose(text) {
    if (!text) return;
    for (const node of store.nodes.values()) {
      if (node.name === text) return go({ node: text, device: null, in: null });
    }
    for (const { item, pool, device } of all()) {
      const named = device.holders?.some((one) => one.claim === text || `${one.namespace}/${one.claim}` === text || one.users?.includes(text));
      if (device.name === text || named) return go({ node: item, device: `${pool.driver}/${pool.pool}/${device.name}`, in: null });
    }
    find.setCustomValidity(`Nothing is called ${text}`);
    find.reportValidity();
    window.setTimeout(() => find.setCustomValidity(""), 2500);
  }

  function* all() {
    for (const node of store.nodes.values()) {
      for (const pool of node.pools) for (const device of pool.devices) yield { item: node.name, pool, device };
    }
    for (const [name, pool] of store.shared) for (const device of pool.devices) yield { item: name, pool, device };
  }

  /** Levels that put several nodes together. */
  function levels() {
    return store.levels.filter((_, at) => {
      const names = new Set();
      for (const node of store.nodes.values()) names.add(node.domains[at]);
      return names.size < store.nodes.size || store.nodes.size === 1 && at === 0 && !store.levels[at].endsWith("hostname");
    });
  }

  /**
   * What a node or pool adds to figures and legend. Nodes are replaced when they change, so this is kept with them.
   * @typedef {{ devices: number, held: number, free: number, names: Map<string, [Device, number]> }} Share
   * @type {WeakMap<object, Share>}
   */
  let shares = new WeakMap();
  let sharesBy = "";

  /** @param {object} of @param {import("./types.js").Pool[]} pools @param {"state"|"team"|"holder"} by */
  function shareOf(of, pools, by) {
    let share = shares.get(of);
    if (share) return share;
    share = { devices: 0, held: 0, free: 0, names: new Map() };
    for (const pool of pools) {
      for (const device of pool.devices) {
        const isHeld = HELD.has(device.state);
        share.devices += 1;
        if (isHeld) share.held += 1;
        else if (device.state === "Free") share.free += 1;
        const name = by === "state" || !isHeld || device.state === "Failed" ? STATES[device.state] ?? device.state : holderOf(device, by);
        const known = share.names.get(name);
        if (known) known[1] += 1;
        else share.names.set(name, [device, 1]);
      }
    }
    shares.set(of, share);
    return share;
  }

  /** Everything added up. @returns {Share} */
  function sums() {
    const { by } = state();
    if (by !== sharesBy) shares = new WeakMap();
    sharesBy = by;
    const all = { devices: 0, held: 0, free: 0, names: /** @type {Share["names"]} */ (new Map()) };
    const add = (/** @type {Share} */ share) => {
      all.devices += share.devices;
      all.held += share.held;
      all.free += share.free;
      for (const [name, [device, count]] of share.names) {
        const known = all.names.get(name);
        if (known) known[1] += count;
        else all.names.set(name, [device, count]);
      }
    };
    for (const node of store.nodes.values()) add(shareOf(node, node.pools, by));
    for (const pool of store.shared.values()) add(shareOf(pool, [pool], by));
    return all;
  }

  /** @param {Share} all */
  function drawFigures({ devices, held, free }) {
    const now = store.samples.at(-1);
    const figure = (/** @type {string} */ name, /** @type {any} */ value, /** @type {string} */ more) =>
      h("div", {}, h("dt", {}, name), h("dd", {}, value, more ? h("small", {}, ` ${more}`) : null));
    fill(figures,
      figure("Nodes", store.nodes.size.toLocaleString("en"), ""),
      figure("Devices in use", held.toLocaleString("en"), `of ${devices.toLocaleString("en")}, ${percent(held, devices)}`),
      figure("Free", free.toLocaleString("en"), now?.fragmentationPercent == null ? "" : `${now.fragmentationPercent}% fragmented`),
      figure("Pods on nodes", (now?.placedPods ?? 0).toLocaleString("en"), ""),
      figure("Pods waiting", store.waitingCount.toLocaleString("en"), ""));
  }

  /** @param {Share} all */
  function drawLegend({ names }) {
    const { by } = state();
    const most = [...names].sort(([, one], [, other]) => other[1] - one[1]);
    const entries = most.slice(0, LEGEND_MAX);
    fill(legend, entries.map(([name, [device, count]]) => h("li", {}, picture(look(device, by, palette), 14), `${name} ${count.toLocaleString("en")}`)),
      most.length > entries.length ? h("li", {}, `and ${most.length - entries.length} more`) : null);
  }

  function drawCrumbs() {
    const { within } = state();
    const parts = within.map((name, at) => h("li", {}, at === within.length - 1
      ? name
      : h("a", { href: `#/cluster?in=${encodeURIComponent(within.slice(0, at + 1).join("/"))}` }, name)));
    const root = within.length > 0 ? h("li", {}, h("a", { href: "#/cluster" }, "All nodes")) : null;
    fill(crumbs, root, parts);
  }

  const nodesTable = table("Nodes", ["Node", "Domain", { text: "Devices", class: "num" }, { text: "In use", class: "num" }, { text: "Free", class: "num" }, { text: "Other", class: "num" }, { text: "Pods", class: "num" }, { text: "CPU", class: "num" }, { text: "Memory", class: "num" }, "Taints"]);
  const more = h("p", { class: "quiet" });

  /** @param {Item[]} items @param {number} [count] */
  function drawTable(items, count = items.length) {
    const shown = items.slice(0, ROWS_MAX);
    sync(nodesTable.body, shown, (item) => item.name, (item) => JSON.stringify(item.node ?? item.pools) + (item.name === state().node), (item, isNew) => {
      const devices = devicesOf(item);
      const held = devices.filter((device) => HELD.has(device.state)).length;
      const free = devices.filter((device) => device.state === "Free").length;
      const node = item.node;
      return h("tr", { class: isNew ? "new" : null, "aria-selected": item.name === state().node ? "true" : null },
        h("td", {}, h("a", { class: "name", href: hrefOf(item.name) }, item.name)),
        h("td", {}, node ? node.domains.filter(Boolean).filter((name) => name !== item.name).join(" / ") : item.pools[0]?.place ?? ""),
        [devices.length, held, free, devices.length - held - free, node?.pods ?? "-"].map((count) => h("td", { class: "num" }, count)),
        h("td", { class: "num" }, node ? `${cpus(node.cpuMilli[0])} of ${cpus(node.cpuMilli[1])}` : "-"),
        h("td", { class: "num" }, node ? `${memory(node.memoryBytes[0])} of ${memory(node.memoryBytes[1])}` : "-"),
        h("td", {}, [...(node?.unschedulable ? ["unschedulable"] : []), ...(node?.taints ?? [])].join(", ")));
    });
    more.textContent = count > shown.length ? `${count - shown.length} more: choose a domain on the map, or find a node by name.` : "";
  }

  /** @param {string} name */
  const hrefOf = (name) => {
    const next = query();
    next.set("node", name);
    next.delete("device");
    return `#/cluster?${next}`;
  };

  /** @returns {Item|null} */
  function chosen() {
    const { node: name } = state();
    if (!name) return null;
    const node = store.nodes.get(name);
    if (node) return { name, pools: node.pools, shared: false, node };
    const pool = store.shared.get(name);
    return pool ? { name, pools: [pool], shared: true, node: null } : null;
  }

  let sideOf = "";
  let deviceText = "";
  /** @type {AbortController|null} */
  let asking = null;

  function drawSide() {
    const { node: name, device, by } = state();
    const item = chosen();
    split.classList.toggle("open", Boolean(name));
    side.hidden = !name;
    map.chosen = name ?? "";
    if (!name) {
      sideOf = "";
      return;
    }
    const sign = `${name} ${device} ${by} ${JSON.stringify(item?.node ?? item?.pools ?? null)}`;
    if (sign === sideOf) return;
    const isOther = !sideOf.startsWith(`${name} ${device} `);
    sideOf = sign;
    const close = h("button", { class: "button", type: "button", "aria-label": "Close details", onclick: () => go({ node: null, device: null }) }, "Close");
    if (!item) {
      fill(side, h("div", { class: "side-head" }, h("h2", {}, name), close), empty(store.loaded ? `Node ${name} does not exist.` : "Loading."));
      return;
    }
    if (device) {
      if (isOther) fill(side, h("div", { class: "side-head" }, h("h2", {}, device), close), h("p", { class: "quiet" }, "Loading."));
      void drawDevice(item, device, close);
    } else fill(side, nodeDetails(item, by, close));
    if (isOther && document.activeElement !== map.element) side.focus({ preventScroll: true });
  }

  /** @param {Item} item @param {"state"|"team"|"holder"} by @param {HTMLElement} close */
  function nodeDetails(item, by, close) {
    const { node } = item;
    const pools = item.pools.map((pool) => {
      /** @type {Map<string, Device[]>} */
      const parts = new Map();
      for (const device of pool.devices) {
        const set = device.counterSets?.[0] ?? "";
        const known = parts.get(set);
        if (known) known.push(device);
        else parts.set(set, [device]);
      }
      const lists = [...parts].sort(([one], [other]) => natural(one, other)).map(([set, devices]) => h("div", { class: "block" },
        set ? h("h3", {}, `Partitions of ${set}`) : null,
        h("div", { class: "devices" }, devices.map((device) => h("button", {
          class: "device", type: "button", title: `${device.name}: ${STATES[device.state] ?? device.state}`,
          onclick: () => go({ device: `${pool.driver}/${pool.pool}/${device.name}` }),
        }, picture(look(device, by, palette), 18), h("span", {}, device.name,
          h("small", {}, HELD.has(device.state) ? holderOf(device, "holder").split("/").at(-1) ?? "" : STATES[device.state] ?? device.state)))))));
      return h("div", { class: "block" }, h("h3", {}, `${pool.driver}, pool ${pool.pool}`), lists, counters(pool));
    });
    return [
      h("div", { class: "side-head" }, h("h2", { class: "name" }, item.name), close),
      h("p", { class: "sentence" }, `${summary(item)}.`),
      node ? facts([
        ["Domains", node.domains.map((name, at) => name && name !== node.name ? `${name} (${store.levels[at]})` : null).filter(Boolean).join(", ")],
        ["Pods", node.pods],
        ["CPU", `${cpus(node.cpuMilli[0])} of ${cpus(node.cpuMilli[1])} requested`],
        ["Memory", `${memory(node.memoryBytes[0])} of ${memory(node.memoryBytes[1])} requested`],
        ["Taints", node.taints?.join(", ")],
      ]) : facts([["Reached from", item.pools[0]?.place]]),
      pools,
      node && store.status?.canPlan !== false ? h("p", {}, h("a", { href: `#/plan?with=${encodeURIComponent(`drain=${node.name}`)}` }, "What if this node is drained?")) : null,
    ];
  }

  /** @param {Item} item @param {string} id @param {HTMLElement} close */
  async function drawDevice(item, id, close) {
    const [driver, pool, name] = id.split("/");
    asking?.abort();
    const own = (asking = new AbortController());
    let told;
    try {
      told = await ask(`/devices${joined(driver, pool, name)}`, { signal: own.signal });
    } catch (error) {
      if (own.signal.aborted) return;
      fill(side, h("div", { class: "side-head" }, h("h2", {}, name), close), empty(/** @type {Error} */ (error).message, /** @type {any} */ (error).hint));
      return;
    }
    if (own.signal.aborted || state().device !== id) return;
    const text = JSON.stringify(told);
    if (text === deviceText && side.querySelector("h2")?.textContent === name) return;
    deviceText = text;
    const device = item.pools.flatMap((one) => one.devices).find((one) => one.name === name);
    const holders = told.holders.map((/** @type {any} */ one) => h("li", {}, one.hidden ? "in use by a claim of another namespace" : [
      h("a", { class: "name", href: `#/object/claim/${one.namespace}/${one.claim}` }, `${one.namespace}/${one.claim}`),
      one.adminAccess ? " (admin access)" : "",
      one.reservedFor.map((/** @type {any} */ user) => [", used by ", user.resource === "pods"
        ? h("a", { class: "name", href: `#/object/pod/${one.namespace}/${user.name}` }, user.name) : `${user.resource}/${user.name}`]),
      one.since ? `, for ${ago(one.since)}` : "",
    ].flat(3)));
    const capacity = Object.entries(told.capacity ?? {}).map(([what, { left, value }]) => h("li", {}, `${what}: ${left} of ${value} left`));
    fill(side,
      h("div", { class: "side-head" }, h("h2", { class: "name" }, name), close),
      h("p", {}, h("a", { href: hrefOf(item.name) }, `${item.shared ? "Pool" : "Node"} ${item.name}`)),
      facts([
        ["State", [device ? picture(look(device, "state", palette), 14) : null, ` ${STATES[told.state] ?? told.state}`]],
        ["Detail", told.detail],
        ["Driver", told.driver],
        ["Pool", told.pool],
        ["DeviceClasses", told.deviceClasses.join(", ")],
        ["Taints", told.taints.map((/** @type {any} */ one) => `${one.key}${one.value ? `=${one.value}` : ""}:${one.effect}`).join(", ")],
        ["Counter sets", device?.counterSets?.join(", ")],
      ]),
      holders.length > 0 ? h("div", { class: "block" }, h("h3", {}, "Held by"), h("ul", { class: "list" }, holders)) : null,
      capacity.length > 0 ? h("div", { class: "block" }, h("h3", {}, "Capacity"), h("ul", { class: "list" }, capacity)) : null,
      h("p", {}, h("a", { href: `#/device/${driver}/${pool}/${name}` }, "Timeline of this device")));
  }

  /** Devices of a composable fabric that are attached to nodes, if there are any. */
  async function drawFabric() {
    let attachments = [];
    try {
      ({ attachments } = await ask("/fabric"));
    } catch {
      // The map says what is wrong with the connection.
    }
    fabric.hidden = attachments.length === 0;
    if (attachments.length === 0) return;
    const { element: rows, body: lines } = table("Attachments of the fabric", ["Unit", "Model", "Node", "Phase", "Claim", "Since"]);
    for (const { spec, status } of attachments.slice(0, ROWS_MAX)) {
      lines.append(h("tr", {}, h("td", {}, h("span", { class: "name" }, spec.unit)), h("td", {}, spec.model),
        h("td", {}, h("a", { class: "name", href: hrefOf(spec.node) }, spec.node)),
        h("td", {}, h("span", { class: "chip" }, status?.phase ?? "-"), status?.message ? ` ${status.message}` : ""),
        h("td", {}, spec.claim ? h("a", { class: "name", href: `#/object/claim/${spec.claim.namespace}/${spec.claim.name}` }, `${spec.claim.namespace}/${spec.claim.name}`) : "-"),
        h("td", {}, ago(status?.since))));
    }
    fill(fabric, h("h2", {}, "Fabric"), rows);
  }

  let drawn = "";
  /** @type {Item[]} */
  let items = [];

  /** @param {Set<string>} what */
  function update(what) {
    const { by, within, show } = state();
    if (store.loaded && (what.has("status") || what.has("time"))) void drawFabric();
    if (what.has("route") || what.has("status")) {
      /** @type {HTMLSelectElement} */ (select).value = by;
      buttons.forEach((button, at) => button.setAttribute("aria-pressed", String((at === 0) === (show === "map"))));
      drawCrumbs();
    }
    const isEmpty = store.nodes.size === 0 && store.shared.size === 0;
    if (isEmpty) {
      drawn = "";
      fill(body, empty(store.loaded && store.status?.state !== "Reading" ? "The cluster has no nodes." : "Reading the cluster.",
        store.loaded ? "Add nodes with kubectl, or start the sample cluster with supercargo up." : null));
      drawFigures(sums());
      return;
    }
    const sign = `${by} ${show} ${within.join("/")}`;
    const relayout = what.has("layout") || what.has("shared") || sign !== drawn;
    const isSlow = store.nodes.size > 600;
    if (relayout || what.has("nodes")) {
      if (relayout) {
        const groups = grouped(store, levels(), within);
        items = groups.flatMap((group) => group.items);
        if (sign !== drawn) fill(body, show === "map" ? map.whole : [nodesTable.element, more]);
        drawn = sign;
        if (show === "map") map.show(groups, by);
        else drawTable(items);
      } else if (show === "table") {
        drawTable(items.slice(0, ROWS_MAX).map((item) => {
          const node = item.node && store.nodes.get(item.name);
          return node ? { ...item, pools: node.pools, node } : item;
        }), items.length);
      } else {
        /** @type {Map<string, Item>} */
        const changed = new Map();
        for (const name of store.touched.keys()) {
          const node = store.nodes.get(name);
          if (node) changed.set(name, { name, pools: node.pools, shared: false, node });
        }
        map.refresh(changed);
      }
    }
    if (relayout || what.has("figures") || (what.has("nodes") && !isSlow)) {
      const all = sums();
      drawFigures(all);
      drawLegend(all);
    }
    const before = map.chosen;
    drawSide();
    if (before !== map.chosen) map.soon();
  }

  onScheme(() => {
    map.repaint();
    drawLegend(sums());
  });
  return { element, update, close: () => map.close() };
}

/** What is left of the counters of a pool. @param {import("./types.js").Pool} pool */
function counters(pool) {
  if (!pool.counters?.length) return null;
  return h("dl", { class: "facts" }, pool.counters.flatMap((one) => [
    h("dt", {}, `${one.counterSet} ${one.counter}`),
    h("dd", {}, `${one.left} of ${one.value} left`),
  ]));
}
