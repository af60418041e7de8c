/** The time of day for what tells how long ago something was: one clock for the whole page. */
import { useSyncExternalStore } from 'react';

const TICK_MS = 10_000;

let nowMs = Date.now();
const listeners = new Set<() => void>();
let timer: number | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  // It stood still while nobody looked.
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

/** @returns milliseconds since 1970, to some seconds; whoever uses it is drawn again when it has gone on. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => nowMs);
}
