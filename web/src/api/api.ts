/**
 * The dashboard's way to the API: the same client that programs use, with the session's cookie in the place of a key.
 * The header shows the server that a page of its own asks (src/http/session-cookie.ts).
 */
import { ApiError, createApiClient } from '../../../clients/src/api/api-client.ts';
import type { ApiClient } from '../../../clients/src/api/api-client.ts';

export { ApiError, UnreachableError } from '../../../clients/src/api/api-client.ts';

type Listener = (error: ApiError) => void;
const listeners = new Set<Listener>();

/** Calls `listener` whenever an answer says that nobody is signed in. @returns what stops that. */
export function onSignedOut(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const ask: typeof fetch = async (input, init = {}) => {
  const headers = new Headers(init.headers);
  headers.set('X-Darkroom-Dashboard', '1');
  const response = await fetch(input, { ...init, headers, credentials: 'same-origin', cache: 'no-store' });
  if (response.status === 401) {
    const error = new ApiError(response, 'signed out', 'UNAUTHORIZED');
    for (const listener of listeners) listener(error);
  }
  return response;
};

/** Paths are those of the whole listener: `/v1/tasks`, `/session`. */
export const api: ApiClient = createApiClient({ baseUrl: window.location.origin, fetch: ask });
