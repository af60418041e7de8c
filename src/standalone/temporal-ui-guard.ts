/**
 * A guard in front of Temporal's Web UI on this machine. The UI accepts requests for any `Host` and has no login, so
 * that a page on the internet whose name is made to point to 127.0.0.1 (DNS rebinding) would have the UI's own origin
 * and could terminate workflows. Therefore the UI listens on a port that browsers do not connect to
 * (ports.ts), and operators open this guard: it forwards only requests that were sent to a name of this
 * machine, and not by a page of another origin.
 */
// oxlint-disable-next-line no-restricted-imports -- to the loopback, listed in test/egress/ways-out.ts
import { createServer, request } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const LOOPBACK = '127.0.0.1';
const LOOPBACK_NAMES = ['localhost', LOOPBACK, '[::1]'];
const LIMITS = { headersTimeout: 10_000, requestTimeout: 30_000, keepAliveTimeout: 65_000 };

export interface TemporalUiGuard {
  /** `http://127.0.0.1:8233`. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * @param port that operators open; 0: a free one.
 * @param uiPort on which the UI listens now.
 */
export async function guardTemporalUi(port: number, uiPort: () => number): Promise<TemporalUiGuard> {
  const server = createServer(LIMITS, (incoming, response) => {
    if (isAllowed(incoming, (server.address() as AddressInfo).port)) passOn(incoming, response, uiPort());
    else answer(response, 403, 'Only pages of this very address may use it. Open the link that npm start printed.');
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, LOOPBACK, resolve);
  });
  return {
    url: `http://${LOOPBACK}:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Whether a request is for a name of this machine, and not from a page of another origin. */
function isAllowed({ headersDistinct, headers, method }: IncomingMessage, port: number): boolean {
  const [host, ...otherHosts] = headersDistinct['host'] ?? [];
  const isOurHost = LOOPBACK_NAMES.some((name) => host === `${name}:${port}` || (port === 80 && host === name));
  if (!isOurHost || otherHosts.length > 0) return false;
  if (headers.origin !== undefined) return headers.origin === `http://${host}`;
  const site = headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin' || site === 'none') return true;
  // A link, including those of the dashboard, may lead here from anywhere; it shows a page, and changes nothing.
  const isLink = headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
  return isLink && method === 'GET';
}

function passOn(incoming: IncomingMessage, response: ServerResponse, port: number): void {
  const { method, url, headers } = incoming;
  const onward = request({ host: LOOPBACK, port, method, path: url, headers, agent: false }, (answered) => {
    response.writeHead(answered.statusCode ?? 502, answered.headers);
    answered.pipe(response);
    answered.once('error', () => response.destroy());
  });
  onward.once('error', () => {
    if (response.headersSent) response.destroy();
    else answer(response, 502, "Temporal's Web UI does not answer. It is being started again; try later.");
  });
  response.once('close', () => onward.destroy());
  incoming.pipe(onward);
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', 'X-Content-Type-Options': 'nosniff' });
  response.end(`${text}\n`);
}
