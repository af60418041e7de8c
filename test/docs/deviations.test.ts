/** The note on deviations matches the responses (contract §1: "each stands in `docs/` as a deviation"). */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { packageFile } from '../../src/config/package-root.ts';
import { raw } from '../http/raw-request.ts';
import { serveApp } from '../http/serve.ts';
import type { ServedApp } from '../http/serve.ts';

/** Spec §7. */
const SPECIFIED = [400, 401, 402, 403, 429, 500];
/** Conditional and range requests for bytes, which are HTTP's own. */
const OF_HTTP = [412, 416];

let served: ServedApp;
let note: string;
before(async () => {
  served = await serveApp();
  note = await readFile(packageFile('docs/decisions/0008-deviations-from-the-specification.md'), 'utf8');
});
after(() => served.close());

describe('the note on deviations', () => {
  // Proves C1-23.
  it('names every status outside the specification that any route can return', async () => {
    const { paths } = JSON.parse((await raw(served.url, 'GET', '/openapi.json')).text) as {
      paths: Record<string, Record<string, { responses: Record<string, unknown> }>>;
    };
    const statuses = Object.values(paths)
      .flatMap((operations) => Object.values(operations))
      .flatMap(({ responses }) => Object.keys(responses).map(Number))
      .filter((status) => status >= 400 && !SPECIFIED.includes(status) && !OF_HTTP.includes(status));
    const additive = new Set([...statuses, 405, 409]);
    assert.ok(additive.size >= 7, [...additive].join());

    for (const status of additive) assert.match(note, new RegExp(`\\b${status}\\b`), `${status} is not in the note`);
  });

  // Proves C1-23.
  it('documents that loopback is served without TLS', () => {
    assert.match(note, /plain http on loopback/i);
  });
});
