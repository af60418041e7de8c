/**
 * The table of error kinds, walked row by row over every edge: the four forms of a response as clients receive them,
 * the reference, the class with which the client rejects, and what an activity and an admin command make of it.
 */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import type { Server } from 'node:http';
import { after, before, describe, it } from 'node:test';
import path from 'node:path';
import { ApiError, createApiClient } from '@darkroom/api/client/api-client';
import { ERROR_KINDS, factsOf, kindOfResponse } from '@darkroom/api/facts/error-kinds';
import type { ErrorKind } from '@darkroom/api/facts/error-kinds';
import { PreviewTooSlowError } from '@darkroom/media/preview';
import { UnsupportedMediaError } from '@darkroom/media/inspect';
import Koa from 'koa';
import { retryable } from '../../activities/failures.ts';
import { AdminError, explainError } from '../../src/commands/admin/admin-error.ts';
import { packageFile } from '../../src/config/package-root.ts';
import { DarkroomError } from '../../src/domain/darkroom-error.ts';
import { RequestError, problemOf } from '../../src/http/app/errors.ts';
import { answerErrors } from '../../src/http/middleware/answer-errors.ts';
import type { RequestState } from '../../src/http/app/context.ts';
import { serveApp } from './serve.ts';
import type { ServedApp } from './serve.ts';

const KINDS = Object.keys(ERROR_KINDS) as readonly ErrorKind[];
const INSIDE = 'password=hunter2 at db.internal:5432';

/** An error of a module, whose message has something that no caller may read unless its kind is for callers. */
class ModuleError extends DarkroomError {
  override readonly name = 'ModuleError';
  override readonly kind: ErrorKind;

  constructor(kind: ErrorKind) {
    super(INSIDE);
    this.kind = kind;
  }
}

let served: ServedApp;
let server: Server;
let origin: string;
let thrown: unknown;
before(async () => {
  served = await serveApp();
  const app = new Koa<RequestState>();
  app.use(answerErrors(served.http, served.http.config.http));
  app.use(() => {
    throw thrown;
  });
  server = await new Promise<Server>((resolve) => {
    const listening = app.listen(0, '127.0.0.1', () => resolve(listening));
  });
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  origin = `http://127.0.0.1:${address.port}`;
});
after(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await served.close();
});

async function answerTo(error: unknown, path: string): Promise<{ response: Response; body: unknown }> {
  thrown = error;
  const response = await fetch(`${origin}${path}`);
  return { response, body: await response.json() };
}

describe('every kind of error', () => {
  for (const kind of KINDS) {
    const facts = factsOf(kind);
    const { status, errorCode, openAiType, openAiCode } = facts;
    const message = facts.isMessagePublic ? INSIDE : facts.message;

    // Proves C1-7.
    it(`${kind} is answered as its row says, in every form`, async () => {
      const error = new ModuleError(kind);
      const envelope = await answerTo(error, '/v1/tasks');
      const text = await answerTo(error, '/v1/chat/completions');
      const models = await answerTo(error, '/v1/models');
      const rpc = await answerTo(error, '/mcp');

      assert.deepEqual(envelope.body, { code: status, message, data: null, error_code: errorCode });
      const openAi = { message, type: openAiType, param: null, code: openAiCode };
      assert.deepEqual(models.body, { code: status, message, data: null, error_code: errorCode, error: openAi });
      const word = kind === 'unauthenticated' ? 'permission_denied' : errorCode;
      assert.deepEqual(text.body, { code: status, message, data: null, error_code: word, error: openAi });
      const data = { status, error_code: errorCode };
      assert.deepEqual(rpc.body, { jsonrpc: '2.0', id: null, error: { code: facts.rpcCode, message, data } });
      for (const { response } of [envelope, text, models, rpc]) {
        assert.equal(response.status, status);
        assert.equal(response.headers.get('Retry-After'), facts.retryAfterSeconds?.toString() ?? null);
        assert.equal(response.headers.get('WWW-Authenticate'), status === 401 ? 'Bearer' : null);
      }
    });

    it(`${kind} is the kind that the client reads from its response`, async () => {
      thrown = new RequestError(kind);
      const client = createApiClient({ baseUrl: `${origin}/v1` });
      const error = await client.call('GET', '/tasks').catch((reason: unknown) => reason);

      assert.ok(error instanceof ApiError);
      assert.equal(error.message, facts.message);
      const same = KINDS.find((one) => factsOf(one).status === status && factsOf(one).errorCode === errorCode);
      assert.equal(error.kind, same);
    });

    it(`${kind} is retried by an activity, after the time that the error states`, () => {
      const failure = retryable('submitGeneration', new RequestError(kind, INSIDE, { retryAfterSeconds: 7 }));

      assert.equal(failure.nonRetryable, false);
      assert.equal(failure.nextRetryDelay, 7_000);
      assert.doesNotMatch(JSON.stringify(failure) + failure.message, /hunter2/);
      assert.equal(retryable('submitGeneration', new ModuleError(kind)).nextRetryDelay, undefined);
    });

    it(`${kind} is for the operator of an admin command if a request can be changed`, () => {
      const error = new ModuleError(kind);

      const shown = explainError(error);

      assert.equal(shown instanceof AdminError, facts.category === 'request');
      assert.equal((shown as Error).message, INSIDE);
    });
  }

  it('has a status, and a time to wait exactly where a client is asked to wait', () => {
    for (const kind of KINDS) {
      const { status, isRetryable, retryAfterSeconds } = factsOf(kind);
      assert.ok(status >= 400 && status < 600, kind);
      assert.equal(retryAfterSeconds !== undefined, [409, 429, 503].includes(status), kind);
      if (retryAfterSeconds !== undefined) assert.ok(isRetryable, kind);
    }
  });
});

describe('an error about one field', () => {
  it('names it for programs on the admin listener; elsewhere the envelope has its four fields and no other', async () => {
    const error = new RequestError('invalid_request', 'the reference was used before', {
      param: 'reference',
      keyword: 'unique',
    });
    const { message } = error;

    const admin = await answerTo(error, '/admin/accounts/a/top-up');
    const envelope = await answerTo(error, '/v1/tasks');

    const body = { code: 400, message, data: null, error_code: 'INVALID_REQUEST' };
    assert.deepEqual(admin.body, { ...body, violations: [{ message, field: 'reference', keyword: 'unique' }] });
    assert.deepEqual(envelope.body, body);
    const client = createApiClient({ baseUrl: `${origin}/admin` });
    const rejected = await client.call('GET', '/accounts').catch((reason: unknown) => reason);
    assert.ok(rejected instanceof ApiError);
    assert.deepEqual(rejected.violations, [{ message, field: 'reference', keyword: 'unique' }]);
  });
});

describe('an error that has no kind', () => {
  it('is internal, and nothing of it is shown', async () => {
    for (const error of [new Error(INSIDE), new TypeError(INSIDE), INSIDE, undefined, null]) {
      const { response, body } = await answerTo(error, '/v1/tasks');

      assert.equal(response.status, 500);
      assert.deepEqual(body, {
        code: 500,
        message: factsOf('internal').message,
        data: null,
        error_code: 'INTERNAL_ERROR',
      });
    }
  });

  it('has one at the edge if it is of a package', () => {
    assert.equal(problemOf(new UnsupportedMediaError('text/html')).kind, 'unsupported_media_type');
    const { kind, headers } = problemOf(new PreviewTooSlowError(20_000));
    assert.deepEqual([kind, headers?.['Retry-After']], ['unavailable', '10']);
  });
});

describe('a response without our code', () => {
  it('is classified by its status', () => {
    const kinds = [400, 401, 402, 403, 404, 408, 418, 429, 500, 502, 503, 504].map((status) =>
      kindOfResponse(status, ''),
    );

    assert.deepEqual(kinds, [
      'invalid_request',
      'unauthenticated',
      'insufficient_balance',
      'forbidden',
      'not_found',
      'request_timeout',
      'invalid_request',
      'rate_limited',
      'internal',
      'unavailable',
      'unavailable',
      'unavailable',
    ]);
  });
});

describe('the classes of errors of the service', () => {
  /** Caught where they are expected, by a module that knows the class; they never reach an edge as they are. */
  const WITHOUT_KIND = [
    'BlockedError',
    'ConflictError',
    'CredentialError',
    'DeadlinePassedError',
    'EgressError',
    'ExchangeLost',
    'ExpressionError',
    'GenerationFailure',
    'HandshakeError',
    'JsonBoundsError',
    'NestedConnectionError',
    'NotDeliveredError',
    'ObjectTooLargeError',
    'OvertakenError',
    'PricingRuleError',
    'ProviderFailure',
    'ProviderRejection',
    'ProviderUnknown',
    'ProviderUnreachable',
    'StatusOfOtherKindError',
    'TaskEndedError',
    'ThreadEndedError',
    // The cause of a StoreUnavailableError, for logs.
    'UnconfirmedStoreError',
    'UniqueViolationError',
    'WaitingLineError',
    'WorkerStoppingError',
  ];

  it('are of one family, but for those that never reach an edge', () => {
    const found: string[] = [];
    for (const directory of ['src', 'activities']) {
      for (const name of readdirSync(packageFile(directory), { recursive: true, encoding: 'utf8' })) {
        if (!name.endsWith('.ts')) continue;
        const text = readFileSync(path.join(packageFile(directory), name), 'utf8');
        for (const [, className = ''] of text.matchAll(/^(?:export )?class (\w+) extends Error\b/gm)) {
          found.push(className);
        }
      }
    }

    assert.deepEqual(found.toSorted(), WITHOUT_KIND);
  });
});
