/**
 * The table of routes, the OpenAPI document made of it, and the page rendered from that: well-formed by third-party
 * rules, and complete by ours.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { adminRoutes, publicRoutes } from '../../src/http/app/routes.ts';
import { openApiDocument } from '../../src/http/openapi/document.ts';
import { defineRoute } from '../../src/http/app/route.ts';
import type { Route } from '../../src/http/app/route.ts';
import { definition } from '../catalogue/definitions.ts';
import { body } from '../tasks/task-room.ts';
import { isMediaModel } from '../../src/catalogue/text-definition.ts';
import { raw } from './raw-request.ts';
import { serveApp } from './serve.ts';
import type { ServedApp } from './serve.ts';

interface Operation {
  readonly operationId: string;
  readonly security: readonly Record<string, string[]>[];
  readonly parameters?: readonly { name: string; in: string; schema: Record<string, unknown>; description: string }[];
  readonly requestBody?: { content: Record<string, { schema: object; examples?: Record<string, { value: unknown }> }> };
  readonly responses: Record<string, { content?: Record<string, object>; links?: Record<string, object> }>;
}

interface Document {
  readonly servers: readonly { url: string }[];
  readonly tags: readonly { name: string }[];
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { schemas: Record<string, object>; responses: Record<string, object> };
}

let served: ServedApp;
let document: Document;
before(async () => {
  served = await serveApp();
  document = JSON.parse((await raw(served.url, 'GET', '/openapi.json')).text) as Document;
});
after(() => served.close());

const operationsOf = ({ paths }: Document): readonly Operation[] =>
  Object.values(paths).flatMap((operations) => Object.values(operations));

async function problemsOf(source: object): Promise<readonly string[]> {
  const config = await createConfig({ extends: ['recommended'] });
  const problems = await lintFromString({ source: JSON.stringify(source), config });
  return problems.map((problem) => `${problem.severity} ${problem.ruleId}: ${problem.message}`);
}

/** A validator that knows the schemas of the document. */
function newAjv(): Ajv2020 {
  const ajv = new Ajv2020({ strict: false });
  ajv.addSchema({ ...document, $id: 'https://example.test/d' });
  return ajv;
}

/** The schema of a body, with every reference resolvable. */
function bodyCheck(operation: Operation): (value: unknown) => boolean {
  const schema = JSON.stringify(operation.requestBody?.content['application/json']?.schema);
  const validate = newAjv().compile(JSON.parse(schema.replaceAll('"#/', '"https://example.test/d#/')) as object);
  return (value) => validate(value);
}

/** What each public route needs, in the order of names: what keys and tokens that exist may do. */
const ACCESS: Readonly<Record<string, string>> = {
  none:
    'downloadMedia getDashboard getDashboardFile getGuide getGuideFile getHealth getOpenApi getReadiness ' +
    'getReference getReferenceFile listSpeechModels listVoices receiveProviderHook signIn',
  any: 'callMcp getSession signOut',
  'models:read': 'getModel listModels',
  'tasks:read':
    'downloadVideo getBatch getTask getTaskEvents getVideo listAccountCallbacks listBatches ' +
    'listCallbackAttempts listTasks listVideos previewOutput',
  'tasks:write':
    'cancelBatch cancelTask createBatch createImage createImageEdit createSpeech createTask createTasks ' +
    'createToken createTranscription createTranslation createVideo deleteVideo eraseTask estimateTask ' +
    'redeliverCallback remixVideo revokeToken',
  'storage:read': 'getFile getFileContent listFiles listStoredOutputs',
  'storage:write':
    'addUploadPart cancelUpload completeUpload createUpload deleteFile deleteStoredOutput ' +
    'deleteStoredOutputs deleteStoredOutputsByPost promoteStoredOutputs uploadFile',
  'text:write':
    'cancelResponse compactResponse countInputTokens createChatCompletion createResponse deleteResponse ' +
    'getResponse listResponseInputItems',
  'billing:read': 'getAccount getUsage listLedger',
  'keys:manage': 'createKey listKeys revokeKey rotateKey',
  'webhooks:manage': 'deleteWebhookKey getWebhookKey rotateWebhookKey setWebhookKey testWebhook',
};

describe('the table of routes', () => {
  const listeners = (): readonly (readonly Route[])[] => [publicRoutes(served.http), adminRoutes(served.http)];

  it('names every operation of a listener once', () => {
    for (const listener of listeners()) {
      const ids = listener.map(({ operationId }) => operationId);

      assert.deepEqual(
        ids.filter((id, index) => ids.indexOf(id) !== index),
        [],
      );
    }
  });

  it('marks every operation that changes state: only these requests other than GET do not', () => {
    const routes = listeners().flat();
    const unchanging = routes.filter(({ method, changesState }) => method !== 'GET' && !changesState);

    assert.deepEqual(unchanging.map(({ operationId }) => operationId).toSorted(), ['callMcp', 'estimateTask']);
    assert.deepEqual(
      routes.filter(({ method, changesState }) => method === 'GET' && changesState),
      [],
    );
  });

  it('needs the scopes that it has always needed', () => {
    const names = new Map<string, string[]>();
    for (const { access, operationId } of publicRoutes(served.http)) {
      names.set(access, [...(names.get(access) ?? []), operationId].toSorted());
    }
    assert.deepEqual(Object.fromEntries([...names].map(([access, of]) => [access, of.join(' ')])), ACCESS);
  });

  it('lets no read scope change anything', () => {
    const readers = listeners()
      .flat()
      .filter(({ access }) => access.endsWith(':read'));

    assert.ok(readers.length > 5);
    assert.deepEqual(
      readers.filter(({ changesState }) => changesState).map(({ operationId }) => operationId),
      [],
    );
  });
});

describe('/openapi.json', () => {
  it('passes the recommended rules of the linter without an error or a warning', async () => {
    assert.deepEqual(await problemsOf(document), []);
  });

  it('does so for the admin listener as well', async () => {
    const routes = adminRoutes(served.http);
    const source = { title: 'x', description: 'x', serverUrl: '/', routes, models: [] };
    assert.deepEqual(await problemsOf(openApiDocument(source)), []);
  });

  it('is linted by rules that would find an error', async () => {
    const [path = ''] = Object.keys(document.paths);
    const broken = { ...document, paths: { [path]: { get: { responses: { 200: { descriptions: 'typo' } } } } } };
    const problems = (await problemsOf(broken)).join('\n');
    for (const rule of ['struct', 'operation-operationId', 'security-defined'])
      assert.match(problems, new RegExp(rule));
  });

  it('holds schemas that are JSON Schema 2020-12', () => {
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      const ajv = new Ajv2020({ strict: false });
      assert.ok(ajv.validateSchema(schema), `${name}: ${ajv.errorsText()}`);
    }
  });

  // Proves C0-3.
  it('has every route of the listener, under the server that PUBLIC_URL names', () => {
    const documented = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, { operationId }]) => `${method.toUpperCase()} ${path} ${operationId}`),
    );
    const routes = publicRoutes(served.http).map(
      (route) => `${route.method} ${route.path.replaceAll('...', '')} ${route.operationId}`,
    );
    assert.deepEqual(documented.toSorted(), routes.toSorted());
    assert.deepEqual(document.servers, [{ url: served.url }]);
  });

  it('requires a key with the scope, or none, as the route does', () => {
    for (const route of publicRoutes(served.http)) {
      const operation = document.paths[route.path.replaceAll('...', '')]?.[route.method.toLowerCase()];
      const wanted = route.access === 'none' ? [] : [{ apiKey: route.access === 'any' ? [] : [route.access] }];
      assert.deepEqual(operation?.security, wanted, route.operationId);
    }
  });

  it('describes every parameter, and uses no private keyword', () => {
    for (const operation of operationsOf(document)) {
      for (const parameter of operation.parameters ?? []) {
        const where = `${operation.operationId} ${parameter.name}`;
        assert.ok((parameter.description ?? '').length > 5, `${where} is not described`);
      }
    }
    assert.doesNotMatch(JSON.stringify(document), /x-clamped/);
  });

  it('gives each schema one type beside null, and each body a schema, as generators of clients need them', () => {
    const several: string[] = [];
    JSON.stringify(document, (key, value: unknown) => {
      if (key === 'type' && Array.isArray(value) && value.filter((each) => each !== 'null').length > 1) {
        several.push(value.join());
      }
      return value;
    });
    assert.deepEqual(several, []);
    for (const operation of operationsOf(document)) {
      const bodies = Object.values(operation.requestBody?.content ?? {});
      assert.ok(
        bodies.every(({ schema }) => schema !== undefined),
        operation.operationId,
      );
    }
  });

  it('has nothing of which generators of Java make what does not compile, or has another name', () => {
    const found: string[] = [];
    JSON.stringify(document, (key, value: unknown) => {
      if (typeof value !== 'object' || value === null) return value;
      const { type, enum: values } = value as { readonly type?: unknown; readonly enum?: unknown };
      if (type === 'boolean' && values !== undefined) found.push(`${key}: a truth value of a list`);
      const properties =
        key === 'properties' ? Object.entries(value as Record<string, { readonly type?: unknown }>) : [];
      for (const [name, property] of properties) if (property.type === 'null') found.push(`${name}: of the type null`);
      return value;
    });
    assert.deepEqual(found, []);
    const parameters = operationsOf(document).flatMap((operation) => operation.parameters ?? []);
    const names = [...Object.keys(document.components.schemas), ...parameters.map(({ name }) => name)];
    assert.deepEqual(
      names.filter((name) => /^file$/i.test(name)),
      [],
    );
  });

  it('states exactly which value is always null, true or false', () => {
    const ajv = newAjv();
    const accepts = (pointer: string, value: unknown): boolean =>
      ajv.validate({ $ref: `https://example.test/d#/components/schemas/${pointer}` }, value);
    const values = [null, true, false, 0, 'true', {}];
    const taken = (pointer: string): unknown[] => values.filter((value) => accepts(pointer, value));

    assert.deepEqual(taken('Failure/properties/data'), [null]);
    assert.deepEqual(taken('LedgerEntry/properties/isEstimated'), [true]);
    const chat = document.paths['/v1/chat/completions']?.['post']?.requestBody?.content['application/json']?.schema;
    const { properties } = chat as { readonly properties: Record<string, object> };
    assert.deepEqual(
      values.filter((value) => ajv.validate(properties['store'] ?? false, value)),
      [null, false],
    );
  });

  it('describes the format of a text, at both endpoints', () => {
    const schemaOf = (path: string): object =>
      document.paths[path]?.['post']?.requestBody?.content['application/json']?.schema ?? {};
    const at = (schema: unknown, ...names: readonly string[]): unknown =>
      names.reduce((inner, name) => (inner as Record<string, Record<string, unknown>>)['properties']?.[name], schema);
    const words = { type: 'string', enum: ['text', 'json_object', 'json_schema'] };

    assert.deepEqual(at(schemaOf('/v1/chat/completions'), 'response_format', 'type'), words);
    assert.deepEqual(at(schemaOf('/v1/responses'), 'text', 'format', 'type'), words);
  });

  it('includes the input of each model in the body of a create, and accepts what the service accepts', async () => {
    const create = document.paths['/v1/tasks']?.['post'];
    assert.ok(create);
    const isRight = bodyCheck(create);
    const account = await served.newAccount();
    const bodies: [unknown, boolean][] = [
      [body(), true],
      [body({ model: 'acme/routed', route: 'fast' }), true],
      [body({ model: 'acme/routed@fast' }), true],
      [body({ model: 'acme/routed', route: 'slow' }), false],
      [body({ model: 'acme/none' }), false],
      [body({ input: {} }), false],
      [body({ input: { prompt: 'a fox', other: 1 } }), false],
      [body({ other: 1 }), false],
      [body({ metadata: { a: 1 } }), false],
      [[], false],
      ['text', false],
    ];
    for (const [sent, isTaken] of bodies) {
      assert.equal(isRight(sent), isTaken, JSON.stringify(sent));
      const { status } = await account.client.create(sent);
      assert.equal(status === 200, isTaken, `${status} ${JSON.stringify(sent)}`);
    }
  });

  it('has examples of creates, one for each example of each model, that the service accepts', async () => {
    const content = document.paths['/v1/tasks']?.['post']?.requestBody?.content['application/json'];
    const examples = Object.values(content?.examples ?? {});
    const account = await served.newAccount();
    assert.equal(
      examples.length,
      served.room.catalogue.models.filter(isMediaModel).flatMap((model) => model.examples).length,
    );
    for (const { value } of examples) {
      const { status, body: answered } = await account.client.create(value);
      assert.equal(status, 200, JSON.stringify(answered));
    }
  });

  it('omits a model from the moment at which it retires', async (t) => {
    let now = Date.now();
    const retiresAt = Math.floor(now / 1000) + 60;
    const models = [definition({ name: 'acme/old', retiresAt })];
    const aging = await serveApp({ models, now: () => now });
    t.after(() => aging.close());
    const isListed = async (): Promise<boolean> => {
      const { components } = JSON.parse((await raw(aging.url, 'GET', '/openapi.json')).text) as Document;
      assert.ok('Input.acme.images' in components.schemas);
      return 'Input.acme.old' in components.schemas;
    };
    assert.equal(await isListed(), true);
    now = retiresAt * 1000 + 1;
    assert.equal(await isListed(), false);
  });

  it('has examples of responses that match their schemas', () => {
    const ajv = newAjv();
    const withExamples = Object.entries(document.components.schemas).filter(([, schema]) => 'examples' in schema);
    assert.ok(withExamples.length > 0);
    for (const [name, schema] of withExamples as [string, { examples: unknown[] }][]) {
      const validate = ajv.compile({ $ref: `https://example.test/d#/components/schemas/${name}` });
      for (const example of schema.examples)
        assert.ok(validate(example), `${name}: ${ajv.errorsText(validate.errors)}`);
    }
  });

  it('links each create to what can be done with its result', () => {
    const linksOf = (path: string): string[] => {
      const { links = {} } = document.paths[path]?.['post']?.responses['200'] ?? {};
      return Object.keys(links);
    };
    assert.deepEqual(linksOf('/v1/files'), ['getFile', 'getFileContent', 'deleteFile']);
    assert.deepEqual(linksOf('/v1/account/keys'), ['rotateKey', 'revokeKey']);
    for (const operationId of ['getTask', 'cancelTask', 'getTaskEvents', 'redeliverCallback', 'eraseTask']) {
      assert.ok(linksOf('/v1/tasks').includes(operationId), operationId);
    }
    assert.deepEqual(linksOf('/v1/account/webhook-key/rotate'), []);
  });

  it('is served to browsers of any origin', async () => {
    const { headers } = await raw(served.url, 'GET', '/openapi.json');
    assert.equal(headers['access-control-allow-origin'], '*');
  });

  it('cannot be built for a route that names an error which no operation has', () => {
    const route = defineRoute({
      method: 'GET',
      path: '/x',
      operationId: 'x',
      tag: 'Service',
      summary: 'x',
      access: 'none',
      errors: ['METHOD_NOT_ALLOWED'],
      response: { kind: 'other', mimeTypes: ['text/plain'], description: 'x' },
      handle: async () => undefined,
    });
    const source = { title: 'x', description: 'x', serverUrl: 'http://127.0.0.1', routes: [route], models: [] };
    assert.throws(() => openApiDocument(source), /METHOD_NOT_ALLOWED/);
  });
});

describe('/docs', () => {
  // Proves C0-3.
  it('is a page without inline or external content, whose every file is served', async () => {
    const page = await raw(served.url, 'GET', '/docs');
    assert.equal(page.status, 200);
    assert.match(String(page.headers['content-type']), /^text\/html/);
    assert.doesNotMatch(page.text, /<script(?![^>]*\ssrc=)|<style|\son\w+=|https?:|\/\/[a-z]/i);
    const files = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file = '']) => file);
    assert.ok(files.length >= 5);
    for (const file of files) {
      const answer = await raw(served.url, 'GET', `/${file}`);
      assert.equal(answer.status, 200, file);
      assert.ok(answer.text.length > 100, file);
    }
  });

  it('allows scripts, and requests of scripts, by this service alone', async () => {
    const page = await raw(served.url, 'GET', '/docs');
    const policy = String(page.headers['content-security-policy']);
    assert.match(policy, /default-src 'none'/);
    assert.match(policy, /script-src 'self'(;|$)/);
    assert.match(policy, /connect-src 'self'(;|$)/);
    assert.match(policy, /frame-ancestors 'none'/);
  });

  it('has files that browsers cache and revalidate by entity tag', async () => {
    for (const path of ['/docs', '/docs/swagger-ui.css', '/docs/start.js', '/docs/favicon-32x32.png']) {
      const first = await raw(served.url, 'GET', path);
      const again = await raw(served.url, 'GET', path, { 'If-None-Match': String(first.headers['etag']) });
      const head = await raw(served.url, 'HEAD', path);
      assert.deepEqual([first.status, again.status, again.text, head.status, head.text], [200, 304, '', 200, '']);
      assert.match(String(first.headers['cache-control']), /^public/);
      assert.equal(head.headers['content-length'], first.headers['content-length']);
    }
  });

  it('serves no other file, from any directory', async () => {
    const names = [
      'package.json',
      'swagger-ui.js',
      '..%2fpackage.json',
      '%2e%2e%2f',
      '__proto__',
      'constructor',
      'x',
      '',
    ];
    for (const name of names) {
      assert.equal((await raw(served.url, 'GET', `/docs/${name}`)).status, 404, name);
    }
  });
});
