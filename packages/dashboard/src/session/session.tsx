/**
 * The session: read once when the page opens, cleared when any response reports that there is none.
 */
import { skipToken, useQuery, useQueryClient } from '@tanstack/react-query';
import type { QueryClient } from '@tanstack/react-query';
import { createContext, useContext, useEffect, useState } from 'react';
import type { ReactNode } from 'react';
import type { Static } from 'typebox';
import type { SessionSchema } from '@darkroom/api/tasks/session';
import type { Scope } from '@darkroom/api/facts/scopes';
import { ApiError, api, onSignedOut } from '../api/api.ts';
import { clearMemory, claimMemory } from './memory.ts';

export type Session = Static<typeof SessionSchema>;

const SESSION_QUERY = ['session'] as const;
/** Whether a session ended without a sign-out. */
const ENDED_QUERY = ['session', 'ended'] as const;

/** @returns the session; null: not signed in. @throws {ApiError} @throws {UnreachableError} */
async function readSession(): Promise<Session | null> {
  try {
    return await api.call<Session>('GET', '/session');
  } catch (error) {
    if (error instanceof ApiError && error.kind === 'unauthenticated') return null;
    throw error;
  }
}

/**
 * The session as far as it is known; `data` is null if there is none. `lastError` stays while the query is repeated:
 * the query's own error is reset then, and the page would show a spinner in its place every few seconds.
 */
export function useSessionQuery() {
  const client = useQueryClient();
  useEffect(() => onSignedOut(() => endSession(client)), [client]);
  const { data, error, isSuccess, refetch } = useQuery({
    queryKey: SESSION_QUERY,
    async queryFn() {
      const before = client.getQueryData<Session | null>(SESSION_QUERY);
      const session = await readSession();
      if (before !== undefined && before?.keyId !== session?.keyId) removeReadData(client);
      if (session !== null) claimMemory(session.keyId);
      return session;
    },
    staleTime: Infinity,
    // Another user may have signed in in another window.
    refetchOnWindowFocus: ({ state: { data } }) => (data === undefined || data === null ? false : 'always'),
  });
  const [lastError, setLastError] = useState(error);
  if (error !== null && error !== lastError) setLastError(error);
  return { data, lastError: isSuccess ? null : lastError, refetch };
}

/** Data that one session read is never shown to the next. */
function removeReadData(client: QueryClient): void {
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION_QUERY[0] });
}

/** Handles a session that expired or was ended elsewhere. Drafts of its key are kept until the next sign-in. */
function endSession(client: QueryClient): void {
  removeReadData(client);
  if ((client.getQueryData<Session | null>(SESSION_QUERY) ?? null) !== null) client.setQueryData(ENDED_QUERY, true);
  client.setQueryData(SESSION_QUERY, null);
}

/** Whether the user was signed in before, and did not sign out. */
export function useHasEnded(): boolean {
  return useQuery<boolean>({ queryKey: ENDED_QUERY, queryFn: skipToken }).data ?? false;
}

/** Another session begins, or the user signs out. */
export function replaceSession(client: QueryClient, session: Session | null): void {
  removeReadData(client);
  if (session === null) clearMemory();
  else claimMemory(session.keyId);
  client.setQueryData(ENDED_QUERY, false);
  client.setQueryData(SESSION_QUERY, session);
}

const SessionContext = createContext<Session | undefined>(undefined);

export function SessionProvider({ session, children }: { readonly session: Session; readonly children: ReactNode }) {
  return <SessionContext value={session}>{children}</SessionContext>;
}

/** The current session; only below `SessionProvider`. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === undefined) throw new Error('there is no SessionProvider above');
  return session;
}

/** Whether the session's key has a scope: pages leave out or explain what it does not allow. */
export function useMay(scope: Scope): boolean {
  return useSession().scopes.includes(scope);
}
