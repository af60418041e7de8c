/**
 * What pages keep while others are open: drafts, runs, conversations. In memory only, and cleared at sign-out. It
 * survives a session that expires, but only for the same key when it signs in again.
 */
import { useCallback, useSyncExternalStore } from 'react';

const values = new Map<string, unknown>();
const listeners = new Set<() => void>();
let lifetime = new AbortController();

function notifyListeners(): void {
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The owner: the id of a key. */
let owner: string | undefined;

/** A key has signed in: the values of another key are cleared. */
export function claimMemory(keyId: string): void {
  if (owner !== undefined && owner !== keyId) clearMemory();
  owner = keyId;
}

/** Whether a reload would lose something. */
export function hasMemory(): boolean {
  return values.size > 0;
}

/** The user has signed out, or another key has signed in. */
export function clearMemory(): void {
  lifetime.abort();
  lifetime = new AbortController();
  values.clear();
  notifyListeners();
}

/** Aborted when the current content is cleared: for work that continues after its page was left. */
export function memoryCleared(): AbortSignal {
  return lifetime.signal;
}

export function readMemory<Value>(name: string): Value | undefined {
  return values.get(name) as Value | undefined;
}

export function writeMemory<Value>(name: string, value: Value): void {
  values.set(name, value);
  notifyListeners();
}

/**
 * One value; components that use it render again when it changes.
 *
 * @param name unique among all values: it determines the type.
 * @param initial the same object each time; it is not stored.
 */
export function useMemory<Value>(
  name: string,
  initial: Value,
): readonly [value: Value, change: (to: (before: Value) => Value) => void] {
  const read = useCallback((): Value => readMemory<Value>(name) ?? initial, [name, initial]);
  const value = useSyncExternalStore(subscribe, read);
  const change = useCallback((to: (before: Value) => Value) => writeMemory(name, to(read())), [name, read]);
  return [value, change];
}
