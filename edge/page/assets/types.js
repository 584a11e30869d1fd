// @ts-check
// The shapes of what the server says. They are read by editors and by `tsc --checkJs`; browsers run this file as it is.

/**
 * @typedef {{ namespace?: string, claim?: string, users?: string[], hidden?: boolean, adminAccess?: boolean }} Holder
 * @typedef {{ name: string, state: string, detail?: string, holders?: Holder[], taints?: string[], counterSets?: string[] }} Device
 * @typedef {{ counterSet: string, counter: string, left: string, value: string }} Counter
 * @typedef {{ driver: string, pool: string, devices: Device[], counters?: Counter[], place?: string }} Pool
 * @typedef {{ name: string, domains: (string|null)[], unschedulable?: boolean, taints?: string[], pods: number,
 *   cpuMilli: [number, number], memoryBytes: [number, number], pools: Pool[] }} ClusterNode
 * @typedef {{ uid: string, namespace: string, name: string, scheduler: string, priority: number, since?: string, group?: string,
 *   nominatedNode?: string, state: string, gates?: string[], reason?: string, message?: string, claims?: string[] }} WaitingPod
 * @typedef {{ number: number, time: string, decision: string, kind: string, namespace: string, name: string, node?: string,
 *   devices?: string[], deviceCount?: number, message?: string, waitedMilliseconds?: number }} Decision
 * @typedef {{ time: string, devices: number, free: number, held: number, fragmentationPercent: number|null, waitingPods: number,
 *   placedPods: number, scheduled: number, medianWaitMilliseconds: number|null, longestWaitMilliseconds: number|null,
 *   nodes?: number }} Sample
 * @typedef {{ state: string, title: string, message?: string|null, limits: { kind: string, namespaces: string[], message: string }[],
 *   troubles: string[], version: string, canPlan?: boolean }} Status
 * @typedef {{ path: string[], query: URLSearchParams }} Route
 * @typedef {{ element: HTMLElement, update: (what: Set<string>) => void, close?: () => void }} View
 */

export {};
