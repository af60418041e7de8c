/**
 * What pages keep while others are looked at: drafts, runs, conversations. In memory only, and forgotten when one signs
 * out. It outlasts a session that ends by itself, for whoever signs in with the same key again, and for nobody else.
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

/** Whose it is: the id of a key. */
let owner: string | undefined;

/** Somebody is signed in: what another key kept is forgotten. */
export function keepFor(keyId: string): void {
  if (owner !== undefined && owner !== keyId) forgetKept();
  owner = keyId;
}

/** Whether a reload would lose something. */
export function isAnythingKept(): boolean {
  return kept.size > 0;
}

/** Somebody signed out, or somebody else signed in. */
export function forgetKept(): void {
  ending.abort();
  ending = new AbortController();
  kept.clear();
  tellAll();
}

/** Aborted when what is kept now is forgotten: for what goes on although its page is left. */
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
 * One thing that is kept; whoever uses it is drawn again when it changes.
 *
 * @param name of all that is kept this one's: its type goes with it.
 * @param initial the same object each time; it is not kept.
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
