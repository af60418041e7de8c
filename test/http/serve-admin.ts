/** The application of operators next to the public one, each on a listener of its own, in this process. */
import { startAdminListener } from '../../src/processes/api.ts';
import type { HttpContext } from '../../src/http/app/context.ts';
import { serveApp } from './serve.ts';
import type { ServeOptions, ServedApp } from './serve.ts';

export const ADMIN_TOKEN = 'an-admin-token-of-at-least-32-characters';

/** A response in the envelope, for any request. */
export interface AdminAnswer<Data> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: { readonly code: number; readonly message: string; readonly error_code: string; readonly data: Data };
}

export interface ServedAdmin {
  readonly served: ServedApp;
  /** Of the admin listener. */
  readonly url: string;
  /** Sends a request with the operator's token. */
  ask<Data = Record<string, unknown>>(method: string, path: string, body?: unknown): Promise<AdminAnswer<Data>>;
  close(): Promise<void>;
}

export async function serveAdmin(options: ServeOptions = {}): Promise<ServedAdmin> {
  const served = await serveApp({
    ...options,
    environment: { ADMIN_TOKEN, ADMIN_PORT: '0', ...options.environment },
  });
  const server = await startAdminListener(options.requiresHttps === true ? httpsOnly(served.http) : served.http);
  if (server === undefined) throw new Error('there is a token, and no admin listener');
  return {
    served,
    url: server.url,
    async ask<Data>(method: string, path: string, body?: unknown) {
      const response = await fetch(`${server.url}${path}`, {
        method,
        headers: {
          Authorization: `Bearer ${ADMIN_TOKEN}`,
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const answer = (await response.json()) as AdminAnswer<Data>['body'];
      return { status: response.status, headers: response.headers, body: answer };
    },
    async close() {
      await server.close(1_000);
      await served.close();
    },
  };
}

/** Requires the same of requests as the public listener. */
function httpsOnly(http: HttpContext): HttpContext {
  const { admin } = http.config;
  if (admin === undefined) return http;
  return { ...http, config: { ...http.config, admin: { ...admin, http: { ...admin.http, requiresHttps: true } } } };
}
