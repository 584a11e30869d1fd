// @ts-check
// What if: manifests and changes on one side, what would become of pods and nodes on the other. Nothing is written.

import { empty, fill, h, table } from "./dom.js";
import { Trouble, ask } from "./store.js";
import { counted, first, natural, percent } from "./words.js";

const NODES_MAX = 60;

/**
 * @param {import("./store.js").Store} store
 * @returns {import("./types.js").View}
 */
export function planView(store) {
  const manifests = /** @type {HTMLTextAreaElement} */ (h("textarea", { id: "plan-manifests", rows: 12, spellcheck: "false", placeholder: "apiVersion: v1\nkind: Pod\n..." }));
  const changes = /** @type {HTMLTextAreaElement} */ (h("textarea", { id: "plan-changes", rows: 4, spellcheck: "false", placeholder: "drain=node-1" }));
  const namespace = /** @type {HTMLInputElement} */ (h("input", { type: "text", placeholder: "default", id: "plan-namespace" }));
  const nodes = h("datalist", { id: "plan-nodes" });
  const node = /** @type {HTMLInputElement} */ (h("input", { type: "text", list: "plan-nodes", "aria-label": "Node", placeholder: "node", size: 14 }));
  const count = /** @type {HTMLInputElement} */ (h("input", { type: "number", min: 1, max: 1000, value: 1, "aria-label": "Number of nodes to add" }));
  const answer = h("section", { class: "stack", "aria-label": "Plan", "aria-live": "polite" }, empty("Nothing is planned yet.", "Paste or drop manifests, or add a change, and choose Plan. The scheduler's code decides on a copy of the cluster."));
  const button = /** @type {HTMLButtonElement} */ (h("button", { class: "button primary", type: "submit" }, "Plan"));
  const add = (/** @type {string} */ line) => (changes.value = [...lines(), line].join("\n"));
  const lines = () => changes.value.split("\n").map((line) => line.trim()).filter(Boolean);
  const chosen = () => node.value || [...store.nodes.keys()].sort(natural)[0] || "node-1";
  const drop = h("div", { class: "drop" }, manifests);
  drop.addEventListener("dragover", (event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", async (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    const files = [...(event.dataTransfer?.files ?? [])];
    const texts = await Promise.all(files.map((file) => file.text()));
    if (texts.length > 0) manifests.value = [manifests.value.trim(), ...texts].filter(Boolean).join("\n---\n");
  });
  const form = h("form", { class: "card", onsubmit: (/** @type {Event} */ event) => {
    event.preventDefault();
    void plan();
  } },
  h("label", { class: "block", for: "plan-manifests" }, h("h2", {}, "Manifests"), h("span", { class: "quiet" }, "Pods and what they need, in YAML or JSON; paste them, or drop files.")), drop,
  h("label", { class: "field", for: "plan-namespace" }, "Namespace of manifests that name none", namespace),
  h("label", { class: "block", for: "plan-changes" }, h("h2", {}, "Changes"), h("span", { class: "quiet" }, "One on each line, as for ", h("code", {}, "supercargo plan --with"), ".")), changes,
  h("div", { class: "bar" }, node, nodes,
    h("button", { class: "button", type: "button", onclick: () => add(`drain=${chosen()}`) }, "Drain node"),
    count, h("button", { class: "button", type: "button", onclick: () => add(`add-node=${chosen()}:${count.value}`) }, "Add nodes like it")),
  h("div", { class: "bar" }, button));
  const element = h("div", { class: "page wide" },
    h("div", { class: "head" }, h("h1", {}, "What if"), h("p", { class: "quiet" }, "Nothing is written.")),
    h("div", { class: "columns" }, form, answer));

  async function plan() {
    button.disabled = true;
    fill(answer, h("p", { class: "quiet" }, "Planning."));
    location.hash = `#/plan${lines().length ? `?with=${encodeURIComponent(lines().join("\n"))}` : ""}`;
    try {
      const body = { manifests: manifests.value, with: lines(), namespace: namespace.value || null };
      fill(answer, result(await ask("/plan", { body })));
    } catch (error) {
      fill(answer, empty(error instanceof Error ? error.message : "The plan failed.", error instanceof Trouble ? error.hint : null));
    }
    button.disabled = false;
  }

  let isRead = false;
  return {
    element,
    update: (what) => {
      if (what.has("route") && !isRead) {
        isRead = true;
        const asked = new URLSearchParams(location.hash.split("?")[1] ?? "").get("with");
        if (asked) changes.value = asked;
      }
      if (what.has("layout") || nodes.children.length === 0) {
        fill(nodes, [...store.nodes.keys()].sort(natural).slice(0, 500).map((name) => h("option", { value: name })));
      }
    },
  };
}

/** @param {any} told */
function result(told) {
  const { element, body } = table("Pods of the plan", ["Pod", "Before", "After", "Devices or reason"]);
  for (const pod of [...told.pods, ...told.waitingPods]) {
    const devices = (pod.devices ?? []).map((/** @type {any} */ one) => `${one.pool}/${one.device}`).join(", ");
    body.append(h("tr", {},
      h("td", {}, h("span", { class: "name" }, `${pod.namespace}/${pod.name}`), h("div", { class: "quiet" }, { Manifest: "manifest", Drained: "moved", Waiting: "waits in the cluster" }[/** @type {string} */ (pod.origin)] ?? "")),
      h("td", {}, h("span", { class: "name" }, pod.from ?? "-")),
      h("td", {}, pod.fits ? h("span", { class: "name" }, pod.node) : h("span", { class: "chip warn" }, "waits")),
      h("td", { class: "why" }, pod.fits ? devices : h("span", { title: pod.reason }, first(pod.reason)))));
  }
  return [
    h("div", { class: "card" }, h("h2", {}, told.fits ? "Every pod fits" : "Not every pod fits"), h("p", { class: "sentence" }, told.message),
      [...told.warnings, ...told.notes].map((/** @type {string} */ note) => h("p", { class: "quiet" }, note))),
    told.pods.length + told.waitingPods.length > 0 ? element : null,
    told.preempted.length > 0 ? h("div", { class: "card" }, h("h2", {}, counted(told.preempted.length, "preempted pod")),
      h("ul", { class: "list" }, told.preempted.map((/** @type {any} */ one) => h("li", {}, `${one.namespace}/${one.name} on node ${one.node}`)))) : null,
    nodesTable(told.nodes),
  ];
}

/** Nodes before and after, side by side. @param {any[]} nodes */
function nodesTable(nodes) {
  if (nodes.length === 0) return null;
  const { element, body } = table("Nodes that change", ["Node", { text: "Pods before", class: "num" }, { text: "after", class: "num" }, { text: "CPU before", class: "num" }, { text: "after", class: "num" }, { text: "Devices before", class: "num" }, { text: "after", class: "num" }]);
  const sum = (/** @type {any} */ usage) => Object.values(usage?.devices ?? {}).reduce((all, one) => ({ used: all.used + one.used, all: all.all + one.all }), { used: 0, all: 0 });
  const cell = (/** @type {any} */ part) => h("td", { class: "num" }, part ? `${part.used} of ${part.all}` : "-");
  const share = (/** @type {any} */ part) => h("td", { class: "num" }, part ? percent(part.used, part.all) : "-");
  for (const one of nodes.slice(0, NODES_MAX)) {
    body.append(h("tr", {}, h("td", {}, h("span", { class: "name" }, one.name), one.new ? h("span", { class: "chip good" }, "new") : null),
      h("td", { class: "num" }, one.before?.pods.used ?? "-"), h("td", { class: "num" }, one.after.pods.used),
      share(one.before?.cpuMilli), share(one.after.cpuMilli),
      cell(one.before ? sum(one.before) : null), cell(sum(one.after))));
  }
  return [h("h2", {}, "Nodes before and after"), element, nodes.length > NODES_MAX ? h("p", { class: "quiet" }, `${nodes.length - NODES_MAX} more nodes change.`) : null];
}
