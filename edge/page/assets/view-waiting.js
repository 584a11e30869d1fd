// @ts-check
// Pods that wait: since when, why in one sentence, and on demand the whole explanation with what would help.

import { empty, fill, h, sync, table } from "./dom.js";
import { explanation } from "./view-object.js";
import { ago, counted, first, natural } from "./words.js";

const ROWS_MAX = 150;

/**
 * @param {import("./store.js").Store} store
 * @returns {import("./types.js").View}
 */
export function waitingView(store) {
  const query = () => new URLSearchParams(location.hash.split("?")[1] ?? "");
  const { element: rows, body } = table("Pods that wait", ["Pod", "Waiting for", "Why", "State"]);
  const note = h("p", { class: "quiet" });
  const list = h("div", {});
  const side = h("aside", { class: "side", hidden: true, "aria-label": "Explanation", tabindex: "-1" });
  const split = h("div", { class: "split" }, list, side);
  const title = h("p", { class: "quiet" });
  const element = h("div", { class: "page wide" }, h("div", { class: "head" }, h("h1", {}, "Waiting"), title), split);
  let shown = "";

  /** Groups first where their first pod is, so that a gang is one row with its pods. */
  function entries() {
    /** @type {Map<string, import("./types.js").WaitingPod[]>} */
    const groups = new Map();
    for (const pod of store.waiting.values()) {
      const key = pod.group ? `${pod.namespace}/${pod.group}` : `${pod.namespace}/pod/${pod.name}`;
      const known = groups.get(key);
      if (known) known.push(pod);
      else groups.set(key, [pod]);
    }
    return [...groups].map(([key, pods]) => {
      pods.sort((one, other) => natural(one.name, other.name));
      return { key, pods, pod: pods[0], group: pods[0].group };
    }).sort((one, other) => (one.pod.since ?? "").localeCompare(other.pod.since ?? "") || natural(one.key, other.key));
  }

  /** @param {ReturnType<typeof entries>[number]} entry */
  const target = ({ pod, group }) => group ? `podgroup/${pod.namespace}/${group}` : `pod/${pod.namespace}/${pod.name}`;

  function draw() {
    const all = entries();
    title.textContent = store.waitingCount > 0 ? counted(store.waitingCount, "pod") : "";
    if (all.length === 0) {
      fill(list, empty(store.loaded ? "No pod waits for a node." : "Reading the cluster.", store.loaded ? "A pod that has no node appears here with the reason." : null));
      return;
    }
    if (!list.contains(rows)) fill(list, rows, note);
    const chosen = query().get("of");
    sync(body, all.slice(0, ROWS_MAX), (entry) => entry.key, (entry) => JSON.stringify([entry.pods, ago(entry.pod.since), chosen === target(entry)]), (entry, isNew) => {
      const { pod, pods, group } = entry;
      const message = pods.find((one) => one.message)?.message;
      const why = message ? first(message) : pod.state === "Gated" ? `Scheduling gates: ${pod.gates?.join(", ")}` : "The scheduler has not decided yet.";
      const name = group ? `${pod.namespace}/${group}` : `${pod.namespace}/${pod.name}`;
      return h("tr", { class: isNew ? "new" : null, "aria-selected": chosen === target(entry) ? "true" : null },
        h("td", {}, h("a", { class: "name", href: `#/waiting?of=${encodeURIComponent(target(entry))}` }, name),
          group ? h("div", { class: "quiet" }, `pod group, ${counted(pods.length, "pod")}`) : null),
        h("td", {}, ago(pod.since)),
        h("td", { class: "why" }, why, pod.nominatedNode ? ` Nominated node: ${pod.nominatedNode}.` : ""),
        h("td", {}, h("span", { class: `chip ${pod.state === "Unschedulable" ? "warn" : ""}` }, pod.state.toLowerCase())));
    });
    const hidden = store.waitingCount - all.slice(0, ROWS_MAX).reduce((sum, entry) => sum + entry.pods.length, 0);
    note.textContent = hidden > 0 ? `${hidden.toLocaleString("en")} more pods wait. Those that wait for the longest time are shown.` : "";
  }

  function drawSide() {
    const of = query().get("of") ?? "";
    split.classList.toggle("open", of !== "");
    side.hidden = of === "";
    if (of === shown) return;
    shown = of;
    if (!of) return;
    const [kind, namespace, name] = of.split("/");
    const told = h("div", { class: "block" }, h("p", { class: "quiet" }, "The scheduler's code is asked what is missing and what would help."));
    fill(side, h("div", { class: "side-head" },
      h("h2", { class: "name" }, `${namespace}/${name}`),
      h("button", { class: "button", type: "button", "aria-label": "Close explanation", onclick: () => (location.hash = "#/waiting") }, "Close")),
    told, h("p", {}, h("a", { href: `#/object/${kind}/${namespace}/${name}` }, "Timeline")));
    side.focus({ preventScroll: true });
    void explanation(kind, namespace, name).then((made) => {
      if (shown === of) fill(told, made);
    });
  }

  return {
    element,
    update: (what) => {
      if (what.has("waiting") || what.has("route") || what.has("time") || what.has("status")) draw();
      if (what.has("route")) drawSide();
    },
  };
}
