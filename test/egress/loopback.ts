/** What the egress tests share: servers on the loopback, a client whose log can be read, and checks for failures. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import type { TestContext } from 'node:test';
import { pino } from 'pino';
import { packageFile } from '../../src/config/package-root.ts';
import { parseAllowList } from '../../src/egress/operator-lists.ts';
import { EgressError } from '../../src/egress/egress-error.ts';
import type { EgressFailureKind } from '../../src/egress/egress-error.ts';
import { createEgress } from '../../src/egress/guarded-client.ts';
import type { Egress, EgressOptions, PostOptions } from '../../src/egress/guarded-client.ts';

export const KEY = readFileSync(packageFile('test/egress/fixtures/receiver-test-key.pem'), 'utf8');

/** Self-signed, for the name receiver.test. */
export const CERTIFICATE = readFileSync(packageFile('test/egress/fixtures/receiver-test-certificate.pem'), 'utf8');

/** Long enough never to expire for a server that is expected to respond. */
export const AMPLE_MS = 60_000;

/** A server that listens, and the requests that reached it. */
export interface Listening {
  readonly port: number;
  readonly requests: readonly IncomingMessage[];
}

/** A server on the loopback that counts what reaches it and ends with the test. */
export async function listen(test: TestContext, handler: RequestListener, isTls = false): Promise<Listening> {
  const requests: IncomingMessage[] = [];
  const listener: RequestListener = (request, response) => {
    requests.push(request);
    handler(request, response);
  };
  const server = isTls ? createTlsServer({ key: KEY, cert: CERTIFICATE }, listener) : createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  test.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, requests };
}

/** A client with an allow list, and the lines that it logged. */
export function egressOf(
  test: TestContext,
  allow: readonly string[],
  options: Partial<EgressOptions> = {},
): { egress: Egress; logged: () => Record<string, unknown>[] } {
  const lines: string[] = [];
  const sink = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      lines.push(chunk.toString());
      done();
    },
  });
  const egress = createEgress({ allow: parseAllowList(allow), ports: [443], logger: pino({}, sink), ...options });
  test.after(() => egress.close());
  return { egress, logged: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

/** A small message with ample time. */
export function message(options: Partial<PostOptions> = {}): PostOptions {
  return { accountId: 'ac-1', headers: {}, body: '{"a":1}', timeoutMs: AMPLE_MS, maxResponseBytes: 65_536, ...options };
}

/** Waits for work that must fail with an `EgressError` of that kind. */
export async function failsWith(kind: EgressFailureKind, work: Promise<unknown>): Promise<EgressError> {
  const error = await work.then(
    () => assert.fail('it went through'),
    (failure: unknown) => failure,
  );
  assert.ok(error instanceof EgressError, String(error));
  assert.equal(error.kind, kind);
  return error;
}
