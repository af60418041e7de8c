/**
 * The cookie that holds a session of the dashboard, and when it is accepted: only on requests that the dashboard's
 * own pages made. `SameSite=Strict` keeps it from the requests of other sites, the header from forms and other
 * origins (a page elsewhere cannot set one without a preflight request, which nothing here answers), the origin from
 * what runs on another port of this machine.
 */
import type { IncomingMessage } from 'node:http';
import { ForbiddenError } from '../../accounts/authenticate.ts';
import { SESSION_SECONDS, isSecret } from '../../accounts/sessions.ts';

/** The header that the dashboard sends with every request: its value does not matter, only that it could be set. */
export const DASHBOARD_HEADER = 'X-Darkroom-Dashboard';

/** This machine's names for itself, as they are written in URLs. */
const LOOPBACK_NAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

const SAFE_METHODS = new Set(['GET', 'HEAD']);

export interface SessionCookie {
  /** The cookie's name: `__Host-darkroom` over HTTPS, which browsers accept from exactly this host only. */
  readonly name: string;
  /** The value of `Set-Cookie` that begins a session, or, without a secret, ends it. */
  set(secret: string | undefined): string;
  /**
   * The session's secret of a request that the dashboard made.
   *
   * @returns undefined: there is none, or it is not accepted.
   */
  read(request: IncomingMessage): string | undefined;
  /** @throws {ForbiddenError} the request was not made by the dashboard's own pages. */
  requireDashboard(request: IncomingMessage): void;
}

/** @param publicUrl the base of all our URLs: where the dashboard is. */
export function createSessionCookie(publicUrl: string): SessionCookie {
  const { origin, protocol, hostname, port } = new URL(publicUrl);
  const isSecure = protocol === 'https:';
  // Cookies do not distinguish ports: two installations on one machine would sign each other out.
  const name = isSecure ? '__Host-darkroom' : `darkroom-${port === '' ? '80' : port}`;
  const attributes = `Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
  // A browser that uses another name of this same machine sees the same pages.
  const origins = new Set([origin]);
  if (LOOPBACK_NAMES.has(hostname)) {
    for (const other of LOOPBACK_NAMES)
      origins.add(new URL(`${protocol}//${other}${port === '' ? '' : `:${port}`}`).origin);
  }

  const isOurs = (request: IncomingMessage): boolean => {
    if (request.headers[DASHBOARD_HEADER.toLowerCase()] === undefined) return false;
    const from = request.headers.origin;
    if (from !== undefined) return origins.has(from);
    // Browsers send no `Origin` when a page reads from its own origin.
    const site = request.headers['sec-fetch-site'];
    return SAFE_METHODS.has(request.method ?? '') && (site === undefined || site === 'same-origin');
  };

  return {
    name,
    set: (secret) =>
      secret === undefined
        ? `${name}=; ${attributes}; Max-Age=0`
        : `${name}=${secret}; ${attributes}; Max-Age=${SESSION_SECONDS}`,
    read(request) {
      if (request.headers.cookie === undefined || !isOurs(request)) return undefined;
      const secrets = request.headers.cookie
        .split(';')
        .map((pair) => pair.trim())
        .filter((pair) => pair.startsWith(`${name}=`))
        .map((pair) => pair.slice(name.length + 1));
      // Two of them: one was injected.
      const [secret] = secrets;
      return secrets.length === 1 && secret !== undefined && isSecret(secret) ? secret : undefined;
    },
    requireDashboard(request) {
      if (isOurs(request)) return;
      throw new ForbiddenError(`only the dashboard itself may do this; open it at ${origin}`);
    },
  };
}
