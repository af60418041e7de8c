/** How `admin models try` ends: as expected or not, what that cost, and over recordings from another address. */
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { HttpBinding } from '../../src/providers/http/binding.ts';
import { JOBS, withRecorder } from '../providers/http/recorder.ts';
import { HTTP, KEY, openTryRoom, tryOut } from './try-out.ts';
import type { TryRoom } from './try-out.ts';

let room: TryRoom;
beforeEach(async () => {
  room = await openTryRoom();
});
afterEach(() => room.remove());

const REJECTING: HttpBinding = {
  ...JOBS,
  submit: { path: "'/jobs'", body: '{ "say": prompt }', refusal: "code = 'nsfw' ? 'content_rejected'" },
  reason: "why = 'nsfw' ? 'content_rejected' : 'provider_error'",
};
const response = (body: unknown, status = 200) => ({ response: { status, body } });
const DONE = [response({ id: 'j' }), response({ state: 'done', files: 'https://a.example/b' })];
const REJECTED = [response({ code: 'nsfw' }, 400)];
const FAILED = [response({ id: 'j' }), response({ state: 'failed', why: 'nsfw' })];

async function store(recording: object): Promise<string> {
  const file = path.join(room.directory, 'recording.txt');
  await writeFile(file, JSON.stringify(recording));
  return file;
}

/** Evaluates a file over these exchanges. */
async function play(
  exchanges: readonly object[],
  { http = REJECTING, args = [], changes = {}, facts = {} }: PlayOptions = {},
) {
  const recording = await store({ ...facts, exchanges });
  return tryOut([await room.modelFile(http, undefined, changes), '--recording', recording, ...args], {});
}

interface PlayOptions {
  readonly http?: HttpBinding;
  readonly args?: readonly string[];
  readonly changes?: object;
  readonly facts?: object;
}

describe('admin models try, when nothing is accepted', () => {
  it('does not ask a rejection for a job or outputs', async () => {
    for (const status of [400, 403, 422, 429, 503, 200]) {
      const { stdout, stderr } = await play([response({ code: 'nsfw' }, status)]);

      assert.match(stdout, /^ended +rejected\nreason +content_rejected$/m, String(status));
      assert.doesNotMatch(`${stdout}${stderr}`, /jobId gave nothing/);
    }
    const { jobId: _, poll: __, ...synchronous } = REJECTING;
    const rejected = await play(
      REJECTED.map(({ response: { body } }) => response(body)),
      { http: synchronous },
    );
    assert.match(rejected.stdout, /^ended +rejected\nreason +content_rejected$/m);
    assert.doesNotMatch(`${rejected.stdout}${rejected.stderr}`, /outputs gave nothing/);
  });

  it('still says that an accepted submit has no job', async () => {
    const { stderr } = await play([response({ code: 'other' })]);

    assert.match(stderr, new RegExp(`^${HTTP}\\.jobId: jobId gave nothing; expected `, 'm'));
  });

  it('reports an expression that failed once, with its reason, and not as a line of a log as well', async () => {
    const { stdout, stderr } = await play([response({ id: 'j' })], { http: { ...REJECTING, jobId: '$number(id)' } });

    assert.match(stderr, new RegExp(`^${HTTP}\\.jobId: `, 'm'));
    assert.doesNotMatch(stdout, /a worker logs: expression/);
  });
});

describe('admin models try --expect', () => {
  const cases: readonly (readonly [string, readonly object[], string])[] = [
    ['done', DONE, 'done'],
    ['rejected', REJECTED, 'rejected:content_rejected'],
    ['rejected:content_rejected', REJECTED, 'rejected:content_rejected'],
    ['failed', FAILED, 'failed:content_rejected'],
    ['failed:content_rejected', FAILED, 'failed:content_rejected'],
    ['unknown', [{ response: { status: 500, text: 'no' } }], 'unknown'],
  ];

  it('exits with 0 exactly when the work ends so', async () => {
    for (const [expected] of cases) {
      for (const [, exchanges, actual] of cases) {
        const isMet = expected === actual || expected === actual.split(':')[0];
        const { code, stdout, stderr } = await play(exchanges, { args: ['--expect', expected] });

        assert.equal(code, isMet ? 0 : 1, `${expected}, ${actual}: ${stderr}`);
        assert.match(stdout, new RegExp(`^expected +${expected}$`, 'm'));
        if (!isMet)
          assert.ok(stderr.startsWith(`expected ${expected}: the work ended as ${actual.split(':')[0]}`), stderr);
      }
    }
    const other = await play(FAILED, { args: ['--expect', 'failed:provider_error'] });
    assert.equal(other.code, 1);
    assert.match(other.stderr, /^expected failed:provider_error: the work ended as failed:content_rejected$/m);
  });

  it('is what the recording says, unless the option says otherwise', async () => {
    const facts = { expect: 'failed:content_rejected' };

    assert.equal((await play(FAILED, { facts })).code, 0);
    assert.equal((await play(DONE, { facts })).code, 1);
    assert.equal((await play(DONE, { facts, args: ['--expect', 'done'] })).code, 0);
  });

  it('is not met when the recording is over before the work', async () => {
    const { code, stderr } = await play(DONE.slice(0, 1), { args: ['--expect', 'done'] });

    assert.equal(code, 1);
    assert.match(stderr, /^expected done: the work did not end$/m);
  });

  it('is rejected when it is no outcome', async () => {
    for (const expect of ['success', 'done:no_output', 'rejected:nsfw', 'failed:no_output:x', '']) {
      const { code, stderr } = await play(DONE, { args: ['--expect', expect] });
      assert.equal(code, 1);
      assert.match(stderr, /^--expect: "/, expect);
    }
    assert.match((await play(DONE, { facts: { expect: 'x' } })).stderr, /recording\.txt: expect: "x" is none of done/);
  });

  it('is stored with --record', async () => {
    const recording = path.join(room.directory, 'recording.txt');
    await withRecorder(
      (_, answer) => void answer.writeHead(400, { 'content-type': 'application/json' }).end('{"code":"nsfw"}'),
      async ({ origin }) => {
        const args = ['--send', '--yes', '--record', recording, '--expect', 'rejected:content_rejected'];
        const { code, stderr } = await tryOut([await room.modelFile(REJECTING, origin), ...args]);
        assert.equal(code, 0, stderr);
      },
    );

    const played = await tryOut([await room.modelFile(REJECTING), '--recording', recording], {});
    assert.equal(played.code, 0, played.stderr);
    assert.match(played.stdout, /^met +true$/m);
  });
});

describe('admin models try, what the work costs', () => {
  const consuming = { ...REJECTING, usage: 'used', cost: 'usd' };
  const upstream = (cost: object | undefined) => ({
    routes: {
      default: {
        upstreams: [
          { protocol: 'http', baseUrl: 'https://a.example', model: 'm', http: consuming, ...(cost && { cost }) },
        ],
      },
    },
  });
  const done = (changes: object, files: readonly string[] = ['https://a.example/b']) => [
    response({ id: 'j' }),
    response({ state: 'done', files, ...changes }),
  ];
  const rates = { usage: { credits: '0.0021', seconds: '0.5' }, pricing: { unit: 'image', usd: '0.02' } };

  const cases: readonly (readonly [string, object | undefined, readonly object[], RegExp])[] = [
    ['reported', rates, done({ usd: '0.0075', used: { credits: 1 } }), /^cost +0\.0075 USD \(reported\)$/m],
    [
      'usage',
      rates,
      done({ used: { credits: 11, seconds: 2 } }),
      /^usage +\{"credits":11,"seconds":2\}\ncost +1\.0231 USD \(usage: 11 credits x 0\.0021 \+ 2 seconds x 0\.5\)$/m,
    ],
    ['rule', rates, done({ used: { credits: 11 } }), /^cost +0\.02 USD \(rule: 1 image x 0\.02\)$/m],
    [
      'unreported rates',
      { usage: { credits: '1' } },
      done({}),
      /^cost +unknown \(cost\.usage has a rate for credits, which was not reported\)$/m,
    ],
    [
      'nothing',
      undefined,
      done({}),
      /^cost +unknown \(no cost was reported, and cost of the upstream has nothing for it\)$/m,
    ],
    [
      'failed work',
      rates,
      [response({ id: 'j' }), response({ state: 'failed', why: 'x', usd: 0.5 })],
      /^cost +0\.5 USD \(reported\)\ncaptured +0 USD \(nothing for a task that fails\)$/m,
    ],
    [
      'failed work without a report',
      { pricing: { unit: 'image', usd: '0.02' } },
      [response({ id: 'j' }), response({ state: 'failed', why: 'x' })],
      /^cost +unknown \(nothing was reported, and cost\.pricing is for finished work\)$/m,
    ],
  ];
  for (const [source, cost, exchanges, expected] of cases) {
    it(`shows the amount, its source and its rates: ${source}`, async () => {
      const { stdout } = await play(exchanges, { changes: upstream(cost) });

      assert.match(stdout, expected);
    });
  }

  it('counts what the answer that takes the job says, unless a later one says otherwise', async () => {
    const http = { ...consuming, submit: { ...consuming.submit, usage: 'used', cost: 'usd' } };
    const taken = response({ id: 'j', usd: '0.03', used: { credits: 3, seconds: 1 } });
    const first = await play([taken, ...done({ used: { credits: 4 } }).slice(1)], { http });
    assert.match(first.stdout, /^usage +\{"credits":4,"seconds":1\}\ncost +0\.03 USD \(reported\)$/m);
    const failed = await play([taken, response({ state: 'failed', usd: 0 })], { http });
    assert.match(failed.stdout, /^cost +0 USD \(reported\)$/m);
  });

  it('shows what a client would pay for the files that came', async () => {
    const files = ['https://a.example/1', 'https://a.example/2'];
    const { stdout } = await play(done({}, files), { args: ['--input', 'prompt=a', 'n=3'] });
    assert.match(stdout, /^price +0\.03 USD at most \(3 image x 0\.01\)$/m);
    assert.match(stdout, /^captured +0\.02 USD \(2 image x 0\.01\)$/m);

    const pricing = { unit: 'credit', usd: '0.01', hold: { quantity: 50 }, minimum: '0.05' };
    const changes = { ...upstream({ usage: { credits: '0.002' } }), pricing };
    const used = await play(done({ used: { credits: 7 } }), { changes });
    assert.match(used.stdout, /^captured +0\.07 USD \(7 credit x 0\.01, at least 0\.05\)$/m);
    const silent = await play(done({}), { changes });
    assert.match(
      silent.stdout,
      /^captured +0\.5 USD \(50 credit x 0\.01, at least 0\.05, because no usage was reported\)$/m,
    );
  });

  it('is in the JSON too, and not shown for work that was not accepted', async () => {
    const { stdout } = await play(done({ used: { credits: 10, seconds: 0 } }), {
      changes: upstream(rates),
      args: ['--json'],
    });
    const { result } = JSON.parse(stdout) as { readonly result: object };
    assert.deepEqual(result, {
      ended: 'done',
      outputs: [{ url: 'https://a.example/b' }],
      usage: { credits: 10, seconds: 0 },
      cost: { usd: '0.021', source: 'usage', calculation: '10 credits x 0.0021 + 0 seconds x 0.5' },
      captured: { usd: '0.01', calculation: '1 image x 0.01' },
    });
    assert.doesNotMatch((await play(REJECTED, { changes: upstream(rates) })).stdout, /^(cost|captured)/m);
  });
});

describe('admin models try --recording, from another address', () => {
  it('compares what is below the base URL', async () => {
    const recording = path.join(room.directory, 'recording.txt');
    await withRecorder(
      ({ method, url }) =>
        method === 'POST' ? { id: 'j' } : url.endsWith('?n=1') ? { state: 'done', files: 'https://a.example/b' } : {},
      async ({ origin }) => {
        const http = { ...REJECTING, poll: { path: "'/jobs/' & $jobId & '?n=1'", state: 'state' } };
        const args = ['--send', '--yes', '--record', recording];
        const { code, stderr } = await tryOut([await room.modelFile(http, origin), ...args]);
        assert.equal(code, 0, stderr);
        const stored = JSON.parse(await readFile(recording, 'utf8')) as { readonly baseUrl?: string };
        assert.equal(stored.baseUrl, `${origin}/v1`);
      },
    );
    const http = { ...REJECTING, poll: { path: "'/jobs/' & $jobId & '?n=1'", state: 'state' } };
    const moved = await tryOut([await room.modelFile(http, 'https://gpu.example/deep'), '--recording', recording], KEY);
    assert.equal(moved.code, 0, moved.stderr);
    assert.match(moved.stdout, /^ended +done$/m);

    const other = { ...http, poll: { path: "'/jobs/' & $jobId & '?n=2'", state: 'state' } };
    const missed = await tryOut(
      [await room.modelFile(other, 'https://gpu.example/deep'), '--recording', recording],
      KEY,
    );
    assert.match(
      missed.stdout,
      /has no response to this request\. It has GET http:\/\/127\.0\.0\.1:\d+\/v1\/jobs\/j\?n=1\.$/m,
    );
  });

  it('does so for one that was written without a base URL, and for the URL of a provider', async () => {
    const own = path.join(room.directory, 'providers/own_server');
    await mkdir(own, { recursive: true });
    const provider = {
      name: 'own_server',
      title: 'Own server',
      checkedAt: '2026-11-27',
      credential: 'none',
      upstream: { protocol: 'http', baseUrl: 'https://api.example/v1', http: REJECTING },
    };
    await writeFile(path.join(own, 'provider.json'), JSON.stringify(provider));
    const routes = { default: { upstreams: [{ provider: 'own_server', model: 'm' }] } };
    const file = await room.modelFile(REJECTING, undefined, { routes });
    const [submit, poll] = DONE;
    const exchanges = [
      { request: { method: 'GET', url: 'https://api.example/v1/jobs/j' }, ...poll },
      { request: { method: 'POST', url: 'https://api.example/v1/jobs' }, ...submit },
    ];
    const args = [file, '--recording', await store({ exchanges })];

    for (const environment of [{}, { UPSTREAM_OWN_SERVER_URL: 'http://127.0.0.1:1/' }]) {
      const { code, stderr } = await tryOut(args, environment);
      assert.equal(code, 0, stderr);
    }
  });

  it('says so when everything was used', async () => {
    const { stdout } = await play(DONE.slice(0, 1));

    assert.match(stdout, /has no response to this request\. All of its exchanges were used\.$/m);
  });
});

describe('admin models try, an address that is not allowed', () => {
  it('names the entry of hosts that nearly allows it', async () => {
    const upTo = (hosts: HttpBinding['hosts'], url: string) => ({
      ...REJECTING,
      ...(hosts && { hosts }),
      poll: { path: `'${url}'`, state: 'state' },
    });
    const cases: readonly (readonly [HttpBinding['hosts'], string, RegExp])[] = [
      [
        [{ host: 's3.example' }],
        'https://s3.example:9000/a',
        /\(hosts needs s3\.example:9000; s3\.example is another port\)/,
      ],
      [
        [{ host: '*.s3.example:9000' }],
        'https://x.s3.example/a',
        /\(hosts needs x\.s3\.example; \*\.s3\.example:9000 is another port\)/,
      ],
      [undefined, 'https://api.example:8443/a', /\(hosts needs api\.example:8443; api\.example is another port\)/],
      [
        [{ host: '*.s3.example' }],
        'https://s3.example/a',
        /\(\*\.s3\.example stands only for names below s3\.example\)/,
      ],
      [[{ host: 's3.example' }], 'http://s3.example/a', /\(s3\.example is reached by https only, as baseUrl is\)/],
      [[{ host: 's3.example' }], 'https://a:b@s3.example/a', /\(a URL with user and password is never used\)/],
      [[{ host: 's3.example' }], 'https://elsewhere.example/a', /or one of hosts$/m],
    ];
    for (const [hosts, url, expected] of cases) {
      const { stderr } = await play([response({ id: 'j' })], { http: upTo(hosts, url) });

      assert.match(stderr, expected, url);
    }
  });

  it('names the entry of EGRESS_ALLOW that a download needs', async () => {
    await withRecorder(
      () => ({}),
      async ({ origin }) => {
        const args = ['--send', '--yes', '--output', path.join(room.directory, 'made')];
        await withRecorder(
          ({ method }) => (method === 'POST' ? { id: 'j' } : { state: 'done', files: `${origin}/a.png` }),
          async (provider) => {
            const { code, stderr } = await tryOut([await room.modelFile(REJECTING, provider.origin), ...args]);

            assert.equal(code, 1);
            assert.match(
              stderr,
              new RegExp(`127\\.0\\.0\\.1 is not a public address; .* EGRESS_ALLOW=${origin}$`, 'm'),
            );
          },
        );
      },
    );
  });
});
