/**
 * The dashboard's access to the API: the same client that programs use, with the session's cookie instead of a key.
 * The header proves to the server that the request comes from one of its own pages
 * (src/http/middleware/session-cookie.ts).
 */
import { ApiError, createApiClient } from '@darkroom/api/client/api-client';
import type { ApiClient } from '@darkroom/api/client/api-client';

export { ApiError, UnreachableError, isOutcomeUnknown, isRetryable } from '@darkroom/api/client/api-client';

type Listener = (error: ApiError) => void;
const listeners = new Set<Listener>();

/** Calls `listener` whenever a response reports that there is no session. @returns a function that stops this. */
export function onSignedOut(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const send: typeof fetch = async (input, init = {}) => {
  const headers = new Headers(init.headers);
  headers.set('X-Darkroom-Dashboard', '1');
  const response = await fetch(input, { ...init, headers, credentials: 'same-origin', cache: 'no-store' });
  if (response.status === 401) {
    const error = new ApiError(response, 'signed out', 'UNAUTHORIZED');
    for (const listener of listeners) listener(error);
  }
  return response;
};

/** Requests without an answer yet. */
const pending = new Set<Promise<Response>>();
/** While the session is being ended: settles when the outcome is known, and rejects if it has ended. */
let ending: Promise<void> | undefined;

const sendTracked: typeof fetch = async (input, init) => {
  await ending;
  const sent = send(input, init);
  pending.add(sent);
  try {
    return await sent;
  } finally {
    pending.delete(sent);
  }
};

/** Paths are relative to the whole listener: `/v1/tasks`, `/session`. */
export const api: ApiClient = createApiClient({ baseUrl: window.location.origin, fetch: sendTracked });

/**
 * Ends the session, with no other request at the same time: pending requests are answered first, and no new ones are
 * sent meanwhile, because the service would reject them, and the page would report an expired session although the
 * user signed out.
 *
 * @param isEverywhere also ends the sessions of other browsers. @throws {ApiError} @throws {UnreachableError}
 */
export async function signOut(isEverywhere: boolean): Promise<{ readonly ended: number }> {
  const client = createApiClient({ baseUrl: window.location.origin, fetch: send });
  const ended = Promise.allSettled(pending).then(() =>
    client.call<{ ended: number }>('DELETE', '/session', { query: isEverywhere ? { everywhere: true } : {} }),
  );
  ending = ended.then(
    () => {
      throw new DOMException('The session has ended.', 'AbortError');
    },
    () => undefined,
  );
  // Also handled if nothing awaits it.
  ending.catch(() => undefined);
  try {
    return await ended;
  } finally {
    ending = undefined;
  }
}
