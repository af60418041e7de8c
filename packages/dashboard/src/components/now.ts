/** The current time for relative times: one clock for the whole page. */
import { useSyncExternalStore } from 'react';

const TICK_MS = 10_000;

let nowMs = Date.now();
const listeners = new Set<() => void>();
let timer: number | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  // It was stopped while nothing used it.
  if (timer === undefined) nowMs = Date.now();
  timer ??= window.setInterval(() => {
    nowMs = Date.now();
    for (const each of listeners) each();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    window.clearInterval(timer);
    timer = undefined;
  };
}

/** @returns milliseconds since 1970, to within some seconds; components that use it render again when it advances. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => nowMs);
}
