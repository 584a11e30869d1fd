// @ts-check
// How things are called and written.

/** The words of `supercargo devices` for the states of devices. @type {Record<string, string>} */
export const STATES = {
  Free: "free",
  Allocated: "allocated",
  PartlyUsed: "partly used",
  AwaitingReadiness: "waiting for readiness",
  Failed: "failed",
  Tainted: "tainted",
  CountersUsedUp: "counters used up",
  IncompatibleGroups: "incompatible groups",
  PoolIncomplete: "pool incomplete",
  PoolInvalid: "pool invalid",
  NotPublished: "not published",
  Unknown: "unknown",
};

/** States in which a claim holds the device. */
export const HELD = new Set(["Allocated", "PartlyUsed", "AwaitingReadiness", "Failed", "NotPublished"]);

const order = new Intl.Collator("en", { numeric: true });

/** @param {string} one @param {string} other */
export const natural = (one, other) => order.compare(one, other);

/** @param {number} count @param {string} one @param {string} [many] */
export function counted(count, one, many) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many ?? `${one}s`}`;
}

/** @param {number} milliseconds */
export function lasting(milliseconds) {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 100) return `${Math.round(seconds)} s`;
  if (seconds < 6000) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

/** How long ago a time is. @param {string|undefined} time */
export function ago(time) {
  if (!time) return "";
  return lasting(Math.max(0, Date.now() - Date.parse(time)));
}

/** @param {string} time */
export function clock(time) {
  return new Date(time).toLocaleTimeString("en-GB");
}

/** @param {string} time */
export function moment(time) {
  const date = new Date(time);
  const day = date.toDateString() === new Date().toDateString() ? "" : `${date.toLocaleDateString("en-CA")} `;
  return `${day}${date.toLocaleTimeString("en-GB")}`;
}

/** The first sentence of a message. @param {string} text */
export function first(text) {
  const end = text.search(/\. |\.$/);
  return end > 0 ? text.slice(0, end + 1) : text;
}

/** @param {number} milli */
export const cpus = (milli) => (milli % 1000 === 0 ? `${milli / 1000}` : (milli / 1000).toFixed(1));

/** @param {number} bytes */
export function memory(bytes) {
  for (const [unit, size] of /** @type {[string, number][]} */ ([["Ti", 2 ** 40], ["Gi", 2 ** 30], ["Mi", 2 ** 20]])) {
    if (bytes >= size) return `${Number((bytes / size).toFixed(1))} ${unit}B`;
  }
  return `${bytes} B`;
}

/** @param {number} part @param {number} all */
export const percent = (part, all) => (all > 0 ? `${Math.round((100 * part) / all)}%` : "-");
