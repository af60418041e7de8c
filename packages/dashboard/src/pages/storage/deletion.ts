/**
 * Deletion with undo: deleted outputs leave the gallery at once, and the request is sent some seconds later unless it
 * is undone, whichever page of the dashboard is open by then. If the user leaves the dashboard, it is sent at once.
 */
import { createContext, useCallback, useContext, useEffect, useRef, useState } from 'react';
import { deleteOutputs, deleteOutputsOnLeaving, useStorageChanged } from '../../api/storage.ts';
import type { StorageDecision, StoredOutput } from '../../api/storage.ts';

export const UNDO_SECONDS = 8;

interface PendingDeletion {
  readonly outputs: readonly StoredOutput[];
  /** Milliseconds since 1970: when it is sent. */
  readonly dueMs: number;
}

export interface Deletion {
  /** The pending deletion; undefined: there is none. */
  readonly pending: PendingDeletion | undefined;
  /** Outputs that the gallery no longer shows: their deletion is pending, in progress or done. */
  readonly hidden: ReadonlySet<string>;
  /** A pending deletion is sent first. */
  readonly start: (outputs: readonly StoredOutput[]) => void;
  readonly undo: () => void;
  /** @returns when nothing is pending, and earlier requests are answered as well. */
  readonly sendNow: () => Promise<void>;
}

/** Held above the pages, so that it outlives each of them (deletion-provider.tsx). */
export const DeletionContext = createContext<Deletion | undefined>(undefined);

export function useDeletion(): Deletion {
  const deletion = useContext(DeletionContext);
  if (deletion === undefined) throw new Error('there is no DeletionProvider above');
  return deletion;
}

interface DeletionListeners {
  onDone(outputs: readonly StoredOutput[], decision: StorageDecision): void;
  onFailed(error: Error): void;
}

export function useNewDeletion(listeners: DeletionListeners): Deletion {
  const [pending, setPending] = useState<PendingDeletion>();
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const pendingRef = useRef<PendingDeletion>(undefined);
  const sendingRef = useRef<Promise<unknown>>(Promise.resolve());
  const listenersRef = useRef(listeners);
  const changed = useStorageChanged();
  const changedRef = useRef(changed);
  useEffect(() => {
    listenersRef.current = listeners;
    changedRef.current = changed;
  });

  const take = useCallback((): PendingDeletion | undefined => {
    const taken = pendingRef.current;
    pendingRef.current = undefined;
    setPending(undefined);
    return taken;
  }, []);
  const show = useCallback((ids: readonly string[]) => {
    setHidden((before) => new Set([...before].filter((id) => !ids.includes(id))));
  }, []);

  const sendTaken = useCallback(
    async ({ outputs }: PendingDeletion) => {
      try {
        const decision = await deleteOutputs(outputs.map(({ id }) => id));
        listenersRef.current.onDone(outputs, decision);
        show(decision.rejected.map(({ id }) => id));
      } catch (error) {
        listenersRef.current.onFailed(error instanceof Error ? error : new Error(String(error)));
        show(outputs.map(({ id }) => id));
      }
      changedRef.current();
    },
    [show],
  );
  const send = useCallback(async () => {
    const taken = take();
    if (taken !== undefined) sendingRef.current = Promise.all([sendingRef.current, sendTaken(taken)]);
    await sendingRef.current;
  }, [take, sendTaken]);

  const start = useCallback(
    (outputs: readonly StoredOutput[]) => {
      void send();
      const next = { outputs, dueMs: Date.now() + UNDO_SECONDS * 1000 };
      pendingRef.current = next;
      setPending(next);
      setHidden((before) => new Set([...before, ...outputs.map(({ id }) => id)]));
    },
    [send],
  );
  const undo = useCallback(() => {
    const taken = take();
    if (taken !== undefined) show(taken.outputs.map(({ id }) => id));
  }, [take, show]);

  useEffect(() => {
    if (pending === undefined) return undefined;
    const timer = setTimeout(() => void send(), Math.max(0, pending.dueMs - Date.now()));
    return () => clearTimeout(timer);
  }, [pending, send]);
  useEffect(() => {
    const leave = (): void => {
      const taken = pendingRef.current;
      pendingRef.current = undefined;
      if (taken !== undefined) deleteOutputsOnLeaving(taken.outputs.map(({ id }) => id));
    };
    window.addEventListener('pagehide', leave);
    return () => {
      window.removeEventListener('pagehide', leave);
      // Another key has signed in, or the session has ended.
      void send();
    };
  }, [send]);

  return { pending, hidden, start, undo, sendNow: send };
}
