// @ts-check
// Decisions as they are made, the newest first.

import { empty, fill, h, sync, table } from "./dom.js";
import { clock, first, lasting } from "./words.js";

const ROWS_MAX = 120;
/** When more come at once they are not marked, and the table is drawn less often. */
const MARKED_MAX = 8;
const PAUSE = 500;
/** @type {Record<string, string>} */
const CHIPS = { Scheduled: "good", Allocated: "accent", Unschedulable: "warn", Evicted: "bad", Deallocated: "" };

/**
 * @param {import("./store.js").Store} store
 * @returns {import("./types.js").View}
 */
export function decisionsView(store) {
  const query = () => new URLSearchParams(location.hash.split("?")[1] ?? "");
  const { element: rows, body } = table("Decisions, the newest first", ["Time", "Decision", "Object", "Where or why", { text: "Waited", class: "num" }]);
  const list = h("div", {});
  const choice = h("select", { onchange: () => {
    const value = /** @type {HTMLSelectElement} */ (choice).value;
    location.hash = value ? `#/decisions?only=${value}` : "#/decisions";
  } }, h("option", { value: "" }, "All decisions"), Object.keys(CHIPS).map((name) => h("option", { value: name }, name)));
  let held = false;
  const hold = h("button", { class: "button", type: "button", "aria-pressed": "false", onclick: () => {
    held = !held;
    hold.setAttribute("aria-pressed", String(held));
    if (!held) draw();
  } }, "Pause");
  const count = h("p", { class: "quiet" });
  const element = h("div", { class: "page wide" },
    h("div", { class: "head" }, h("h1", {}, "Decisions"), count),
    h("div", { class: "bar" }, h("label", { class: "field" }, "Show", choice), hold),
    list);

  let seen = -1;
  let drawnAt = 0;
  let timer = 0;

  function soon() {
    window.clearTimeout(timer);
    const wait = drawnAt + PAUSE - Date.now();
    if (wait <= 0) draw();
    else timer = window.setTimeout(draw, wait);
  }

  function draw() {
    drawnAt = Date.now();
    const last = store.decisions.at(-1)?.number ?? -1;
    const isRush = last - seen > MARKED_MAX;
    seen = last;
    const only = query().get("only") ?? "";
    /** @type {HTMLSelectElement} */ (choice).value = only;
    const shown = store.decisions.filter((one) => !only || one.decision === only).slice(isRush ? -ROWS_MAX / 2 : -ROWS_MAX).reverse();
    count.textContent = shown.length > 0 ? `the newest ${shown.length}` : "";
    if (shown.length === 0) {
      fill(list, empty(store.loaded ? "No decisions yet." : "Reading the cluster.", store.loaded ? "Create a pod, and the decision about it appears here." : null));
      return;
    }
    if (!list.contains(rows)) fill(list, rows);
    sync(body, shown, (one) => `${one.number}`, () => "", (one, isNew) => {
      const kind = one.kind === "Pod" ? "pod" : "claim";
      const devices = (one.devices ?? []).map((name) => name.split("/").slice(1).join("/"));
      const more = (one.deviceCount ?? 0) - devices.length;
      const where = one.node
        ? [h("a", { class: "name", href: `#/cluster?node=${encodeURIComponent(one.node)}` }, one.node)]
        : [devices.length > 0 ? h("span", { class: "name" }, `${devices.join(", ")}${more > 0 ? ` and ${more} more` : ""}`) : null, one.message ? first(one.message) : null];
      return h("tr", { class: isNew && !isRush ? "new" : null },
        h("td", {}, h("time", { datetime: one.time, title: one.time }, clock(one.time))),
        h("td", {}, h("span", { class: `chip ${CHIPS[one.decision] ?? ""}` }, one.decision)),
        h("td", {}, h("a", { class: "name", href: `#/object/${kind}/${one.namespace}/${one.name}` }, `${one.namespace}/${one.name}`), h("span", { class: "quiet" }, ` ${one.kind === "Pod" ? "pod" : "claim"}`)),
        h("td", { class: "why" }, where),
        h("td", { class: "num" }, one.waitedMilliseconds === undefined ? "" : lasting(one.waitedMilliseconds)));
    });
  }

  return {
    element,
    update: (what) => {
      if (what.has("route") || what.has("status")) draw();
      else if (what.has("decisions") && !held) soon();
    },
    close: () => window.clearTimeout(timer),
  };
}
