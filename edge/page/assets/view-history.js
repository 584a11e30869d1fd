// @ts-check
// Figures over time.

import { chart } from "./chart.js";
import { empty, fill, h } from "./dom.js";
import { counted, lasting } from "./words.js";

/**
 * @param {import("./store.js").Store} store
 * @returns {import("./types.js").View}
 */
export function historyView(store) {
  const charts = h("div", { class: "columns" });
  const span = h("p", { class: "quiet" });
  const element = h("div", { class: "page wide" }, h("div", { class: "head" }, h("h1", {}, "Over time"), span), charts);
  let drawn = 0;

  function draw() {
    const samples = store.samples;
    if (samples.length < 2) {
      fill(charts, empty("There are no figures yet.", "Figures are taken each second from when the first page was opened."));
      return;
    }
    const points = (/** @type {(sample: import("./types.js").Sample) => (number|null)[]} */ of) => samples.map((sample) => ({ time: Date.parse(sample.time), values: of(sample) }));
    const whole = (/** @type {number} */ value) => (Number.isInteger(value) ? value.toLocaleString("en") : value.toFixed(1));
    const share = (/** @type {number} */ value) => `${Math.round(value)}%`;
    span.textContent = `the last ${lasting(Date.parse(samples[samples.length - 1].time) - Date.parse(samples[0].time))}, ${counted(samples.length, "sample")}`;
    // An open table stays open.
    const open = [...charts.querySelectorAll("details")].map((one) => one.open);
    if (open.some(Boolean) && Date.now() - drawn < 15_000) return;
    drawn = Date.now();
    fill(charts,
      chart("Utilization", ["Devices in use"], points((one) => [one.devices > 0 ? (100 * one.held) / one.devices : null]), share, { max: 100 }),
      chart("Fragmentation", ["Free devices that the best node cannot use"], points((one) => [one.fragmentationPercent]), share, { max: 100 }),
      chart("Queue", ["Pods waiting"], points((one) => [one.waitingPods]), whole),
      chart("Scheduling latency", ["Median wait", "Longest wait"], points((one) => [one.medianWaitMilliseconds, one.longestWaitMilliseconds]), lasting),
      chart("Throughput", ["Pods scheduled in each sample"], points((one) => [one.scheduled]), whole),
      chart("Pods", ["Pods on nodes"], points((one) => [one.placedPods]), whole));
  }

  let last = 0;
  return {
    element,
    update: (what) => {
      if (!what.has("figures") && !what.has("route")) return;
      if (!what.has("route") && Date.now() - last < 900) return;
      last = Date.now();
      draw();
    },
  };
}
