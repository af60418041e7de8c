/** Why a model file that describes an HTTP API is rejected, before any task uses it. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { modelDefinitionSchema } from '../../src/catalogue/definition.ts';
import type { ModelDefinition, Upstream } from '../../src/catalogue/definition.ts';
import { describeUpstreamProblem, findUpstreamProblems } from '../../src/catalogue/protocol.ts';
import { compileCheck } from '../../src/schema/schema-validation.ts';
import { packageFile } from '../../src/config/package-root.ts';
import type { HttpBinding, HttpUpstream } from '../../src/providers/http/binding.ts';
import { PROTOCOLS } from '../../src/providers/protocols.ts';

const GOOD: HttpBinding = {
  submit: { path: "'/jobs'", body: '{ "say": prompt, "id": $taskId }' },
  jobId: 'id',
  poll: { path: "'/jobs/' & $jobId", state: 'state' },
  outputs: 'files',
};

type Changes = Partial<HttpUpstream> & { readonly api?: string };

function definition(upstream: Changes): ModelDefinition {
  const whole = { protocol: 'http', baseUrl: 'https://a.example', model: 'm', http: GOOD, ...upstream };
  return {
    name: 'a/model',
    modality: 'image',
    ownedBy: 'a',
    created: 0,
    description: 'any',
    routes: { default: { upstreams: [whole] } },
    inputSchema: {},
    pricing: { unit: 'task', usd: '0.01' },
    typicalSeconds: 1,
    examples: [{}],
  };
}

function problemOf(upstream: Changes): string | undefined {
  return findUpstreamProblems(definition(upstream), PROTOCOLS).map(describeUpstreamProblem)[0];
}

describe('an upstream that a model file describes', () => {
  const where = 'routes.default.upstreams.0';

  it('is accepted', () => {
    assert.equal(problemOf({}), undefined);
    assert.equal(compileCheck(modelDefinitionSchema(PROTOCOLS), 'invalid model file')(definition({})), undefined);
  });

  it('is accepted as documented', async () => {
    const page = await readFile(packageFile('docs/guides/adding-an-upstream.md'), 'utf8');
    const [, shown] = /```json\n("http": [\s\S]*?)\n```/.exec(page) ?? [];
    const { http } = JSON.parse(`{${shown}}`) as { http: HttpBinding };

    assert.equal(problemOf({ http }), undefined);
    assert.equal(compileCheck(modelDefinitionSchema(PROTOCOLS), 'invalid model file')(definition({ http })), undefined);
  });

  it('is rejected with the position when an expression cannot be parsed', () => {
    const poll = { path: "'/jobs/' & $jobId", state: '$lookup(' };

    assert.match(problemOf({ http: { ...GOOD, poll } }) ?? '', new RegExp(`^${where}.http.poll.state: not JSONata: .`));
  });

  it('is rejected when an expression compiles data as code, or is not deterministic', () => {
    for (const name of ['eval', 'now', 'millis', 'random', 'shuffle']) {
      const submit = { path: "'/jobs'", body: `($f := $${name}; $f())` };

      assert.equal(
        problemOf({ http: { ...GOOD, submit } }),
        `${where}.http.submit.body: $${name} is not available here`,
      );
    }
  });

  it('is rejected when a header, a field of media or a route has a name that cannot be one', () => {
    const check = compileCheck(modelDefinitionSchema(PROTOCOLS), 'invalid model file');
    for (const name of ['bad name', 'x\n', '']) {
      for (const http of [
        { ...GOOD, headers: { [name]: 'x' } },
        { ...GOOD, submit: { ...GOOD.submit, headers: { [name]: "'x'" } } },
        { ...GOOD, media: { [name]: 'url' as const } },
      ]) {
        assert.notEqual(check(definition({ http })), undefined, JSON.stringify(name));
      }
      const { default: route } = definition({}).routes;
      assert.notEqual(check({ ...definition({}), routes: { default: route, [name]: route } }), undefined);
    }
  });

  it('is rejected when the file sets a header that carries a credential or belongs to the connection', () => {
    for (const name of ['Authorization', 'cookie', 'Host', 'Content-Length']) {
      assert.match(
        problemOf({ http: { ...GOOD, headers: { [name]: 'x' } } }) ?? '',
        /is not for a model file to set: /,
      );
      const submit = { ...GOOD.submit, headers: { [name]: "'x'" } };
      assert.match(problemOf({ http: { ...GOOD, submit } }) ?? '', /is not for a model file to set: /);
    }
  });

  it('is rejected when a credential has no name, or a job has no poll request', () => {
    const { poll, jobId, ...rest } = GOOD;

    assert.match(problemOf({ http: { ...GOOD, auth: { scheme: 'query' } } }) ?? '', /auth\.name/);
    assert.match(problemOf({ http: { ...rest, jobId: jobId ?? '' } }) ?? '', /poll: it and jobId/);
    assert.match(problemOf({ http: { ...rest, ...(poll === undefined ? {} : { poll }) } }) ?? '', /poll: it and jobId/);
    assert.match(problemOf({ http: { ...rest, cancel: { path: "'/x'" } } }) ?? '', /jobId: missing/);
  });

  it('is rejected when it declares retries safe and sends no idempotency key', () => {
    const submit = { path: "'/jobs'", body: '{ "say": prompt }' };

    assert.equal(problemOf({ http: { ...GOOD, isSubmitRepeatable: true } }), undefined);
    assert.match(problemOf({ http: { ...GOOD, submit, isSubmitRepeatable: true } }) ?? '', /sends \$taskId$/);
  });

  it('is rejected when the protocol and the description do not match', () => {
    const bare = { protocol: 'http', model: 'm' };
    const problem = (upstream: Upstream & { readonly http?: HttpBinding }): string | undefined =>
      findUpstreamProblems({ ...definition({}), routes: { default: { upstreams: [upstream] } } }, PROTOCOLS).map(
        describeUpstreamProblem,
      )[0];

    assert.equal(problem(bare), `${where}.http: missing for protocol http`);
    assert.equal(problem({ ...bare, http: GOOD }), `${where}.baseUrl: missing for protocol http`);
    assert.match(
      problem({ ...bare, protocol: 'cog', baseUrl: 'https://a.example', http: GOOD }) ?? '',
      /http: only protocol http has it/,
    );
    assert.match(problemOf({ api: 'videos' }) ?? '', /api: only protocol openai has it/);
  });

  it('is rejected when a field is unknown', () => {
    const check = compileCheck(modelDefinitionSchema(PROTOCOLS), 'invalid model file');
    const http = { ...GOOD, poll: { ...GOOD.poll, eval: 'x' } };

    assert.match(check(definition({ http: http as HttpBinding })) ?? '', /eval/);
  });

  it('is rejected when a constant is outside the list of its position, wherever the expression gives it', () => {
    const at = (changes: Partial<HttpBinding>) => problemOf({ http: { ...GOOD, ...changes } });
    const poll = (state: string) => at({ poll: { path: "'/jobs/' & $jobId", state } });

    assert.equal(
      poll("'finished'"),
      `${where}.http.poll.state: "finished" at character 10 is none of running, done or failed`,
    );
    for (const state of [
      "status = 'ok' ? 'DONE' : 'running'",
      "$lookup({ 'ok': 'DONE', 'no': 'failed' }, status)",
      "job.(status = 'ok' ? 'DONE')",
      "($s := status; $s ?? 'DONE')",
      'status ~> $lookup({ "ok": "DONE" }, ?)',
    ]) {
      assert.match(poll(state) ?? '', /"DONE" at character \d+ is none of running, done or failed$/, state);
    }
    for (const state of [
      'status',
      '$lowercase("DONE")',
      "status = 'DONE' ? 'done' : $states",
      "$lookup({ 'DONE': 'done' }, status)",
      "status = 'x' ? null : 'running'",
      "['DONE'][0] = status ? 'done'",
    ]) {
      assert.equal(poll(state), undefined, state);
    }
    assert.match(at({ reason: "code = 7 ? 'nsfw' : 'provider_error'" }) ?? '', /http\.reason: "nsfw" at /);
    assert.match(at({ submit: { ...GOOD.submit, refusal: 'true' } }) ?? '', /submit\.refusal: true at character 4 is/);
    assert.match(at({ cancel: { path: "'/x'", outcome: "'done'" } }) ?? '', /cancel\.outcome: "done" at /);
    assert.equal(at({ reason: "code = 7 ? 'content_rejected'" }), undefined);
  });

  it('is rejected when usage has a name that cannot be reported', () => {
    assert.match(
      problemOf({ http: { ...GOOD, usage: "a ? { 'credits': b, 'tokens': c }" } }) ?? '',
      /http\.usage: "tokens" at character 28 is none of inputTokens, /,
    );
    assert.equal(problemOf({ http: { ...GOOD, usage: "{ 'credits': { 'tokens': 1 }.tokens }" } }), undefined);
  });

  it('is rejected when the input has no files in a field that is sent as files', () => {
    const files = { type: 'string', contentMediaType: 'image/*' };
    const schema = {
      properties: { prompt: { type: 'string' }, image: { anyOf: [{ $ref: '#/$defs/file' }] } },
      allOf: [{ properties: { images: { type: 'array', items: files } } }],
      $defs: { file: files },
    };
    const at = (http: Partial<HttpBinding>) =>
      findUpstreamProblems({ ...definition({ http: { ...GOOD, ...http } }), inputSchema: schema }, PROTOCOLS).map(
        describeUpstreamProblem,
      )[0];
    const form = (media: string) => ({ submit: { path: "'/jobs'", form: [{ name: 'a', media }] } });

    assert.equal(at({ media: { imgae: 'inline' } }), `${where}.http.media.imgae: inputSchema has no field imgae`);
    assert.match(at({ media: { prompt: 'inline' } }) ?? '', /gives prompt no contentMediaType, so it has no files$/);
    assert.equal(at(form('file')), `${where}.http.submit.form.0.media: inputSchema has no field file`);
    assert.equal(at({ media: { image: 'inline', images: 'inline', other: 'url' } }), undefined);
    assert.equal(at(form('images')), undefined);
  });
});
