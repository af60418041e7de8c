/**
 * Arbitrary values in any part of any request: generated from the routes themselves, by breaking one part of a valid
 * request. No response is a 500, a rejected request costs nothing, and the other account's data stays unchanged.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { verifyLedger } from '../../src/billing/verify.ts';
import { errorFormOf } from '../../src/http/app/errors.ts';
import type { ErrorForm } from '../../src/http/app/errors.ts';
import { publicRoutes } from '../../src/http/app/routes.ts';
import type { Route } from '../../src/http/app/route.ts';
import { readOpenTextHolds } from '../../src/text/money/list-calls.ts';
import type { RpcFailure } from '@darkroom/api/mcp/json-rpc';
import { waitFor } from '@darkroom/testing/wait-for';
import { edgeNumber, edgeText, edgeValue } from '../http/edge-values.ts';
import { requestOf, send } from '../http/route-requests.ts';
import type { Parts, World } from '../http/route-requests.ts';
import { serveApp } from '../http/serve.ts';
import type { ServedAccount } from '../http/serve.ts';

/** For each route; each run breaks another part in another way. */
const RUNS = 25;

let world: World;
let account: ServedAccount;
before(async () => {
  const served = await serveApp({ environment: { TRUSTED_PROXIES: '127.0.0.1' } });
  // Nothing listens there: deliveries to a real receiver are tested by the walk.
  world = { served, receiverUrl: 'https://receiver.invalid/hook' };
  account = await served.newAccount();
});
after(async () => {
  assert.deepEqual(await verifyLedger(world.served.room.database), []);
  await world.served.close();
});

/** One way to break a request. */
type Breakage =
  | { readonly part: 'body'; readonly index: number; readonly json: string }
  | { readonly part: 'whole body'; readonly json: string }
  | { readonly part: 'query'; readonly index: number; readonly text: string; readonly isTwice: boolean }
  | { readonly part: 'path'; readonly index: number; readonly text: string }
  | { readonly part: 'header'; readonly name: string; readonly text: string };

const HEADERS = ['Idempotency-Key', 'Prefer', 'Last-Event-ID', 'Range', 'If-None-Match', 'Accept', 'Content-Type'];
const index = fc.nat({ max: 1_000 });
const breakage: fc.Arbitrary<Breakage> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ part: fc.constant('body' as const), index, json: edgeValue }) },
  { weight: 1, arbitrary: fc.record({ part: fc.constant('whole body' as const), json: edgeValue }) },
  {
    weight: 3,
    arbitrary: fc.record({
      part: fc.constant('query' as const),
      index,
      text: fc.oneof(edgeText, edgeNumber, fc.constantFrom('NaN', 'Infinity', '1e3', '٣', 'TRUE', 'tk-svc-X')),
      isTwice: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ part: fc.constant('path' as const), index, text: edgeText }) },
  {
    weight: 1,
    arbitrary: fc.record({
      part: fc.constant('header' as const),
      name: fc.constantFrom(...HEADERS),
      // All that a header can carry.
      text: fc.string({ unit: 'grapheme-ascii', maxLength: 300 }),
    }),
  },
);

/** Every member of a body, by its path: `spendCaps.day`, `0`. */
function pathsOf(value: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([name, member]) => pathsOf(member, [...path, name]))];
}

/** The body as text with one member replaced; in text form, because some of what is sent is not a JavaScript value. */
function replaced(value: unknown, path: readonly string[], json: string): string {
  const [name, ...rest] = path;
  if (name === undefined) return json;
  const members = Object.entries(value as Record<string, unknown>).map(
    ([key, member]) => [key, key === name ? replaced(member, rest, json) : JSON.stringify(member)] as const,
  );
  if (Array.isArray(value)) return `[${members.map(([, text]) => text).join()}]`;
  return `{${members.map(([key, text]) => `${JSON.stringify(key)}:${text}`).join()}}`;
}

function broken(route: Route, parts: Parts, how: Breakage): Parts {
  const json = (text: string): Parts => ({
    ...parts,
    headers: { 'Content-Type': 'application/json', ...parts.headers },
    body: Buffer.from(text),
  });
  switch (how.part) {
    case 'whole body':
      return json(how.json);
    case 'body': {
      if (route.body?.kind !== 'json') return json(how.json);
      const good = parts.body ?? {};
      const declared = Object.keys((route.body.schema as { properties?: object }).properties ?? {});
      const filled = Array.isArray(good)
        ? good
        : { ...Object.fromEntries(declared.map((name) => [name, null])), ...good };
      const paths = pathsOf(filled).slice(1);
      const path = paths[how.index % Math.max(paths.length, 1)] ?? [];
      const kept = Array.isArray(good) ? good : { ...good, ...(path[0] === undefined ? {} : pick(filled, path[0])) };
      return json(replaced(kept, path, how.json));
    }
    case 'query': {
      const names = [...Object.keys(route.query?.properties ?? {}), `${route.queryPrefix ?? 'unknown.'}x`];
      const name = encodeURIComponent(names[how.index % names.length] ?? 'x');
      const pair = `${name}=${encodeURIComponent(wellFormed(how.text))}`;
      return { ...parts, query: how.isTwice ? `${pair}&${pair}` : pair };
    }
    case 'path': {
      const names = [...route.path.matchAll(/\{(\w+)(?:\.\.\.)?\}/g)].map(([, name = '']) => name);
      const name = names[how.index % Math.max(names.length, 1)];
      if (name === undefined) return parts;
      return { ...parts, params: { ...parts.params, [name]: encodeURIComponent(wellFormed(how.text)) } };
    }
    case 'header':
      return { ...parts, headers: { ...parts.headers, [how.name]: how.text } };
  }
}

/** Half a surrogate pair cannot be written into a URL. */
function wellFormed(text: string): string {
  return text.replaceAll(/\p{Surrogate}/gu, '\uFFFD');
}

function pick(from: object, name: string): object {
  return { [name]: (from as Record<string, unknown>)[name] };
}

describe('a request with one invalid part', () => {
  it('is answered by every route, never with a 5xx, and costs nothing when it is rejected', async () => {
    for (const route of publicRoutes(world.served.http)) {
      let valid: Parts | undefined;
      await fc.assert(
        fc.asyncProperty(breakage, async (how) => {
          valid ??= await requestOf(route, world, account);
          const before = await moneyOf(account.id);
          const answer = await send(world.served.url, route, broken(route, valid, how), account.client.key);
          // A success consumes some of the data.
          if (answer.status < 400) valid = undefined;
          const context = `${route.method} ${route.path} ${JSON.stringify(how).slice(0, 300)} → ${answer.status} ${answer.text.slice(0, 300)}`;
          assert.ok(answer.status < 500, context);
          if (answer.status < 400) return;
          assert.deepEqual(await moneyOf(account.id), before, context);
          if (answer.text === '' || route.response.kind === 'other') return;
          // A head of more than 8 kB is rejected before routing: the error has the envelope, which every client
          // reads.
          const form = answer.status === 431 ? 'envelope' : errorFormOf(route.path);
          const message = messageOf(answer, form, context);
          assert.ok(message.length > 0 && message.length < 2_000, context);
        }),
        { numRuns: RUNS, examples: [[{ part: 'query', index: 0, text: 'x'.repeat(9_000), isTwice: false }]] },
      );
    }
  });
});

/** The message of an error in its form: JSON-RPC's, or the envelope with or without additional fields. */
function messageOf({ status, text }: { status: number; text: string }, form: ErrorForm, context: string): string {
  if (form === 'json-rpc') {
    const { jsonrpc, error } = JSON.parse(text) as RpcFailure;
    assert.equal(jsonrpc, '2.0', context);
    assert.equal(error.data.status, status, context);
    return error.message;
  }
  const { code, message, data } = JSON.parse(text) as { code: number; message: string; data: unknown };
  assert.equal(code, status, context);
  assert.equal(data, null, context);
  return message;
}

/** A text call may be settled after its response has ended: all earlier ones are waited for. */
async function moneyOf(accountId: string): Promise<unknown> {
  await waitFor('every text call is settled', async () => {
    await world.served.text.ledger.flush();
    return (await readOpenTextHolds(world.served.room.database)).count === 0;
  });
  const [row] = await world.served.room.rows(
    'SELECT available_micro_usd + held_micro_usd AS balance, held_micro_usd AS held FROM account_counters WHERE account_id = $1',
    accountId,
  );
  return row;
}
