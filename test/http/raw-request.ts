/** A request exactly as written, header by header: `fetch` would normalize it. */
import assert from 'node:assert/strict';
import { request } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';

export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export async function raw(
  url: string,
  method: string,
  path: string,
  headers: Record<string, string | string[]> = {},
  sent?: string | Buffer,
): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const outgoing = request({ hostname, port, method, path, headers, agent: false }, (incoming) => {
      let text = '';
      incoming.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text }));
    });
    outgoing.on('error', reject);
    outgoing.end(sent);
  });
}

/** Status and code of an error; its envelope is checked. */
export function errorOf(answer: RawAnswer): { status: number; code: string } {
  const envelope = JSON.parse(answer.text) as { code: number; data: unknown; error_code: string; message: string };
  assert.equal(envelope.code, answer.status);
  assert.equal(envelope.data, null);
  assert.ok(envelope.message.length > 0);
  assert.match(String(answer.headers['content-type']), /^application\/json/);
  return { status: answer.status, code: envelope.error_code };
}
