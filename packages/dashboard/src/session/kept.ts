/**
 * What pages keep while others are open: drafts, runs, conversations. In memory only, and cleared at sign-out. It
 * survives a session that expires, but only for the same key when it signs in again.
 */
import { useCallback, useSyncExternalStore } from 'react';

const kept = new Map<string, unknown>();
const listeners = new Set<() => void>();
let ending = new AbortController();

function tellAll(): void {
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The owner: the id of a key. */
let owner: string | undefined;

/** A key has signed in: what another key kept is cleared. */
export function keepFor(keyId: string): void {
  if (owner !== undefined && owner !== keyId) forgetKept();
  owner = keyId;
}

/** Whether a reload would lose something. */
export function isAnythingKept(): boolean {
  return kept.size > 0;
}

/** The user has signed out, or another key has signed in. */
export function forgetKept(): void {
  ending.abort();
  ending = new AbortController();
  kept.clear();
  tellAll();
}

/** Aborted when the current content is cleared: for work that continues after its page was left. */
export function forgetting(): AbortSignal {
  return ending.signal;
}

export function readKept<Value>(name: string): Value | undefined {
  return kept.get(name) as Value | undefined;
}

export function keep<Value>(name: string, value: Value): void {
  kept.set(name, value);
  tellAll();
}

/**
 * One kept value; components that use it render again when it changes.
 *
 * @param name unique among all kept values: it determines the type.
 * @param initial the same object each time; it is not stored.
 */
export function useKept<Value>(
  name: string,
  initial: Value,
): readonly [value: Value, change: (to: (before: Value) => Value) => void] {
  const read = useCallback((): Value => readKept<Value>(name) ?? initial, [name, initial]);
  const value = useSyncExternalStore(subscribe, read);
  const change = useCallback((to: (before: Value) => Value) => keep(name, to(read())), [name, read]);
  return [value, change];
}
