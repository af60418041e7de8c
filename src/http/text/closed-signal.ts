/** The life of a response as a signal. */
import type { ServerResponse } from 'node:http';

/** @returns aborted when the response has ended or its client has disconnected. */
export function closedSignal(response: ServerResponse): AbortSignal {
  const closed = new AbortController();
  response.once('close', () => closed.abort());
  if (response.closed) closed.abort();
  return closed.signal;
}
