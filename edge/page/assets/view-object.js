// @ts-check
// One pod, claim, pod group or device: why it is where it is or waits, and its life as a timeline.

import { empty, facts, fill, h, table } from "./dom.js";
import { Trouble, ask, joined } from "./store.js";
import { STATES, first, moment } from "./words.js";

/** @type {Record<string, string>} */
const KINDS = { pod: "Pod", claim: "ResourceClaim", podgroup: "PodGroup", compositepodgroup: "CompositePodGroup", workload: "Workload" };
const PATHS = Object.fromEntries(Object.entries(KINDS).map(([path, kind]) => [kind, path]));

/**
 * @param {import("./store.js").Store} store
 * @param {import("./types.js").Route} route
 * @returns {import("./types.js").View}
 */
export function objectView(store, { path }) {
  const isDevice = path[0] === "device";
  const [kind, namespace, name] = isDevice ? ["device", "", ""] : path.slice(1);
  const title = isDevice ? path.slice(1).join("/") : `${namespace}/${name}`;
  const why = h("section", { class: "card", "aria-label": "Why" }, h("h2", {}, "Why"), h("p", { class: "quiet" }, "Loading."));
  const life = h("section", { class: "card", "aria-label": "Timeline" }, h("h2", {}, "Timeline"), h("p", { class: "quiet" }, "Loading."));
  const about = h("section", { class: "card", "aria-label": "Object" });
  const element = h("div", { class: "page wide" },
    h("div", { class: "head" }, h("h1", { class: "name" }, title), h("p", { class: "quiet" }, isDevice ? "Device" : KINDS[kind] ?? kind)),
    h("div", { class: "columns" }, h("div", { class: "stack" }, isDevice ? null : why, about), life));
  let isOver = false;
  let timer = 0;
  let seen = "";

  async function load() {
    window.clearTimeout(timer);
    try {
      const told = isDevice ? await ask(`/devices${joined(...path.slice(1))}`) : await ask(`/objects${joined(kind, namespace, name)}`);
      if (isOver) return;
      const sign = JSON.stringify(told);
      if (sign !== seen) {
        seen = sign;
        if (isDevice) drawDevice(told);
        else {
          drawObject(told);
          const made = await explanation(kind, namespace, name);
          if (!isOver) fill(why, h("h2", {}, "Why"), made);
        }
      }
    } catch (error) {
      if (!isOver && !seen) fill(life, h("h2", {}, "Timeline"), failed(error));
      if (!isOver && !seen) why.hidden = true;
    }
  }

  /** @param {any} told */
  function drawObject(told) {
    fill(about, h("h2", {}, KINDS[kind] ?? kind), facts([
      ["Namespace", told.namespace],
      ["Phase", told.phase],
      ["Node", told.node ? h("a", { class: "name", href: `#/cluster?node=${encodeURIComponent(told.node)}` }, told.node) : null],
      ["Devices", (told.devices ?? []).length > 0 ? h("ul", { class: "list" }, told.devices.map((/** @type {any} */ one) => h("li", {},
        h("a", { class: "name", href: `#/device/${one.driver}/${one.pool}/${one.device}` }, `${one.pool}/${one.device}`), h("span", { class: "quiet" }, ` ${one.driver}, request ${one.request}`)))) : null],
      ["Related", (told.related ?? []).length > 0 ? h("ul", { class: "list" }, told.related.map((/** @type {any} */ one) => h("li", {},
        h("a", { class: "name", href: `#/object/${PATHS[one.kind] ?? "pod"}/${one.namespace}/${one.name}` }, one.name), h("span", { class: "quiet" }, ` ${one.kind}`)))) : null],
      ["Labels", Object.entries(told.labels ?? {}).map(([key, value]) => `${key}=${value}`).join(", ")],
    ]), negotiation(told.negotiation), (told.notes ?? []).map((/** @type {string} */ note) => h("p", { class: "quiet" }, note)));
    timeline(told.timeline ?? []);
  }

  /** @param {any} told */
  function drawDevice(told) {
    fill(about, h("h2", {}, "Device"), facts([
      ["State", STATES[told.state] ?? told.state], ["Detail", told.detail], ["Driver", told.driver], ["Pool", told.pool],
      ["Node", told.nodeName ? h("a", { class: "name", href: `#/cluster?node=${encodeURIComponent(told.nodeName)}&device=${encodeURIComponent(path.slice(1).join("/"))}` }, told.nodeName) : null],
      ["DeviceClasses", told.deviceClasses.join(", ")],
      ["Held by", told.holders.map((/** @type {any} */ one) => one.hidden ? "in use" : h("a", { class: "name", href: `#/object/claim/${one.namespace}/${one.claim}` }, `${one.namespace}/${one.claim} `))],
    ]));
    timeline((told.decisions ?? []).map((/** @type {any} */ one) => ({
      time: one.time, from: "Decision", what: one.decision, message: `claim ${one.namespace}/${one.name}`,
    })));
  }

  /** @param {any[]} entries */
  function timeline(entries) {
    fill(life, h("h2", {}, "Timeline"), entries.length === 0 ? empty("Nothing is known of its life yet.") : h("ol", { class: "timeline" },
      entries.map((one) => h("li", { "data-from": one.from },
        h("p", { class: "when" }, h("time", { datetime: one.time, title: one.time }, moment(one.time)), ` · ${one.from.toLowerCase()}`),
        h("p", {}, one.what), one.message ? h("p", { class: "quiet" }, one.message) : null))));
  }

  const isIt = (/** @type {any} */ one) => isDevice ? one.devices?.includes(path.slice(1).join("/")) : one.name === name && one.namespace === namespace;
  let last = store.decisions.at(-1)?.number ?? -1;
  return {
    element,
    update: (what) => {
      if (what.has("route")) return void load();
      const news = store.decisions.filter((one) => one.number > last);
      last = store.decisions.at(-1)?.number ?? last;
      if (what.has("status") && store.link === "Open") seen = seen && "";
      if (news.some(isIt) || what.has("time")) {
        window.clearTimeout(timer);
        timer = window.setTimeout(() => void load(), 300);
      }
    },
    close: () => {
      isOver = true;
      window.clearTimeout(timer);
    },
  };
}

/** What is negotiated with drivers' controllers about a pod. @param {any} told */
function negotiation(told) {
  if (!told) return null;
  return h("div", { class: "block" }, h("h3", {}, "Negotiation with drivers"), facts([
    ["Selected node", told.selectedNode],
    ["Potential nodes", (told.potentialNodes ?? []).join(", ")],
    ["Unsuitable nodes", (told.claims ?? []).map((/** @type {any} */ one) => `${one.name}: ${(one.unsuitableNodes ?? []).join(", ") || "none"}`).join("; ")],
  ]));
}

/** @param {any} error */
const failed = (error) => empty(error instanceof Error ? error.message : "The request failed.", error instanceof Trouble ? error.hint : null);

/**
 * The whole explanation of an object.
 * @param {string} kind @param {string} namespace @param {string} name
 */
export async function explanation(kind, namespace, name) {
  let told;
  try {
    told = await ask(`/explain${joined(kind, namespace, name)}`);
  } catch (error) {
    return failed(error);
  }
  const group = told.group ?? (told.kind === "PodGroup" ? told : null);
  const of = told.group ? told.group : told;
  const text = h("details", {}, h("summary", {}, "As text"), h("pre", {}, told.text));
  return h("div", { class: "block" },
    lead(headline(told)),
    nearest(of.nearest),
    sentences("What conflicts", (of.conflict?.constraints ?? []).map((/** @type {any} */ one) => one.message)),
    remedies(of.remedies),
    group ? domains(group.domains) : null,
    comparison(told),
    text);
}

/** The first sentence, and the rest of a message in small letters. @param {string} message */
function lead(message) {
  const sentence = first(message);
  const rest = message.slice(sentence.length).trim();
  return [h("p", { class: "sentence" }, sentence), rest ? h("p", { class: "rest" }, rest) : null];
}

/** @param {any} told */
function headline(told) {
  if (told.message && typeof told.message === "string") return told.message;
  switch (told.state) {
    case "Placed": return told.node ? `The pod is on node ${told.node}. ${told.candidates} ${told.candidates === 1 ? "node passes" : "nodes pass"} all filters.` : `${told.placed ?? ""} pods of the group have nodes.`;
    case "Fits": return told.node ? `Node ${told.node} has what the pod needs. The pod is queued.` : "All pods of the group fit. They are queued.";
    case "Gated": return `The pod has scheduling gates: ${told.gates.join(", ")}.`;
    case "WaitingInGroup": return told.group?.message ?? "The pod waits for its group.";
    case "TooFewPods": return `${told.waiting} pods of the group exist; ${told.minCount ?? "more"} are needed.`;
    case "Allocated": return `The claim has ${told.devices.length} ${told.devices.length === 1 ? "device" : "devices"}${told.since ? ` since ${moment(told.since)}` : ""}.`;
    case "AwaitsPod": return "The claim has no devices. It gets devices when a pod that uses it is scheduled.";
    case "Undecided": return "A bound was met before this was decided.";
    default: return told.text.split("\n")[0];
  }
}

/** @param {string} title @param {string[]} all */
function sentences(title, all) {
  if (all.length === 0) return null;
  return h("div", { class: "block" }, h("h3", {}, title), h("ul", { class: "list" }, all.map((one) => h("li", {}, one))));
}

/** @param {any} told */
function nearest(told) {
  if (!told) return null;
  const devices = told.devices;
  const what = devices?.message ? `: ${devices.message}` : "";
  return h("div", { class: "block" }, h("h3", {}, "Nearest"), h("p", {}, "Node ",
    h("a", { class: "name", href: `#/cluster?node=${encodeURIComponent(told.node)}` }, told.node), what,
    devices?.wanted ? ` (wants ${devices.wanted}, finds ${devices.found})` : "", told.rules?.length ? ` (${told.rules.join(", ")})` : ""));
}

/** @param {any} told */
function remedies(told) {
  const items = told?.items ?? [];
  if (items.length === 0) return null;
  return h("div", { class: "block" }, h("h3", {}, "What would help"), h("ul", { class: "list" }, items.map((/** @type {any} */ one) => h("li", {},
    one.changes.map((/** @type {any} */ change) => change.message).join(" and "),
    h("span", { class: "quiet" }, one.preempts ? ` (then node ${one.node}, preempting ${one.preempts})` : ` (then node ${one.node})`)))),
  h("p", { class: "quiet" }, "Each was verified with the scheduler's code on a copy of the cluster."));
}

/** @param {any[]|undefined} all */
function domains(all) {
  if (!all?.length) return null;
  return sentences("Domains", all.slice(0, 8).map((one) => `${one.domain}: ${one.roomFor} of ${one.wanted} pods fit`));
}

/** How the node of a pod compares with those that came after it. @param {any} told */
function comparison(told) {
  if (!told.own || !told.others?.length) return null;
  const others = told.others.slice(0, 3);
  const { element, body } = table("Scores of nodes", ["Score", { text: told.own.node, class: "num" }, ...others.map((/** @type {any} */ one) => ({ text: one.node, class: "num" }))]);
  const kinds = [...new Set([...Object.keys(told.own.scores), ...others.flatMap((/** @type {any} */ one) => Object.keys(one.scores))])];
  const row = (/** @type {string} */ name, /** @type {any[]} */ values, /** @type {boolean} */ isTotal) => h("tr", {}, h("td", {}, isTotal ? h("strong", {}, name) : name), values.map((value) => h("td", { class: "num" }, value ?? "-")));
  body.append(row("Total", [told.own.total, ...others.map((/** @type {any} */ one) => one.total)], true),
    ...kinds.map((kind) => row(kind, [told.own.scores[kind], ...others.map((/** @type {any} */ one) => one.scores[kind])], false)));
  return h("div", { class: "block" }, h("h3", {}, "What came second"), element);
}
