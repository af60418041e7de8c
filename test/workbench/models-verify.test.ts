/** `admin models verify`: models of a provider on a real socket, with results in a real database. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { GIVE_UP_MS, waitFor } from '@darkroom/testing/wait-for';
import { readVerifications } from '../../src/catalogue/live-verifications.ts';
import { definition } from '../catalogue/definitions.ts';
import { JOBS, withRecorder } from '../providers/http/recorder.ts';
import type { Answers, Recorded, Recorder } from '../providers/http/recorder.ts';
import { builtProgram } from '../support/built-program.ts';
import { programEnvironment } from '../support/pooled-run.ts';
import { openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import { ENCRYPTION_KEY, runAdminInHost } from '../commands/admin-command.ts';

const SECRET = 'the-secret-of-acme';
const KEY = { UPSTREAM_ACME_KEY: SECRET };
const NOT_RUN = 'not yet run against the live service';
/** The smallest PNG: one pixel. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

let room: TaskRoom;
let directory: string;
/** Where the provider is; empty: nowhere. */
let origin = '';
before(async () => {
  room = await openTaskRoom();
});
beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-verify-test-'));
});
afterEach(async () => {
  await room.database.query({ name: 'forget_runs', text: 'DELETE FROM live_verifications' });
  await rm(directory, { recursive: true, force: true });
  origin = '';
});
after(() => room.close());

const environment = (extra: Readonly<Record<string, string>> = KEY) => ({
  ...programEnvironment(room.url),
  ENCRYPTION_KEY,
  MODELS_DIR: directory,
  // The loopback is not public.
  EGRESS_ALLOW: origin,
  ...extra,
});

/** Writes the files of the provider `acme`. @param models what is different, by the name of the model. */
async function provide(baseUrl: string, models: Readonly<Record<string, object>> = { boats: {} }): Promise<void> {
  const at = path.join(directory, 'providers', 'acme');
  await mkdir(at, { recursive: true });
  const http = { ...JOBS, cancel: { path: "'/jobs/' & $jobId & '/cancel'" } };
  const file = {
    name: 'acme',
    title: 'Acme',
    documentation: 'https://acme.example/docs',
    checkedAt: '2026-11-27',
    upstream: { protocol: 'http', baseUrl, http },
  };
  await writeFile(path.join(at, 'provider.json'), JSON.stringify(file));
  for (const [name, changes] of Object.entries(models)) {
    const routes = { default: { upstreams: [{ provider: 'acme', model: 'm' }] } };
    const model = { ...definition({ name }), routes, pricing: { unit: 'task', usd: '0.01' }, ...changes };
    await writeFile(path.join(at, `${name}.json`), JSON.stringify(model));
  }
}

interface Report {
  readonly atMost: string;
  readonly runs?: readonly { readonly model: string; readonly atMost: string }[];
  readonly results?: readonly {
    readonly model: string;
    readonly outcome: string;
    readonly detail: string;
    readonly appeared: readonly string[];
    readonly disappeared: readonly string[];
  }[];
  readonly skipped?: readonly { readonly model: string; readonly reason: string }[];
}

async function verify(args: readonly string[], extra?: Readonly<Record<string, string>>) {
  const { code, stdout, stderr } = await runAdminInHost(['models', 'verify', ...args, '--json'], environment(extra));
  assert.ok(!`${stdout}${stderr}`.includes(SECRET));
  return { code, stderr, report: (stdout === '' ? {} : JSON.parse(stdout)) as Partial<Report> };
}

const live = (...args: readonly string[]) => verify(['acme', '--live', '--yes', '--max-cost', '0.05', ...args]);

/** What `admin models providers` says of a model of the provider. */
async function liveOf(model: string): Promise<string | undefined> {
  const { stdout, stderr } = await runAdminInHost(['models', 'providers', '--json'], environment());
  assert.notEqual(stdout, '', stderr);
  const listed = JSON.parse(stdout) as readonly {
    readonly provider: string;
    readonly live: readonly { readonly model: string; readonly live: string }[];
  }[];
  return listed.find(({ provider }) => provider === 'acme')?.live.find((each) => each.model === model)?.live;
}

function sendImage(response: ServerResponse): undefined {
  response.setHeader('content-type', 'image/png').end(PNG);
}

/** A job that runs for one poll. */
function oneJob(): Answers {
  let polls = 0;
  return ({ method, url }, response) => {
    if (url === '/a.png') return sendImage(response);
    if (url.endsWith('/cancel')) return {};
    if (method === 'POST') return { id: 'job-1' };
    return (polls += 1) % 2 === 1 ? { state: 'running' } : { state: 'done', files: [`${origin}/a.png`] };
  };
}

async function withProvider(
  answers: () => Answers,
  work: (recorder: Recorder) => Promise<void>,
  models?: Readonly<Record<string, object>>,
): Promise<void> {
  const answer = answers();
  await withRecorder(answer, async (recorder) => {
    ({ origin } = recorder);
    await provide(origin, models);
    await work(recorder);
  });
}

const isSubmit = ({ method, url }: Recorded): boolean => method === 'POST' && url === '/jobs';
const isCancel = ({ url }: Recorded): boolean => url.endsWith('/cancel');

describe('admin models verify, without --live', () => {
  it('sends nothing and shows what it would cost: the cheapest example that needs no other file', async () => {
    const properties = {
      prompt: { type: 'string', minLength: 1 },
      n: { type: 'integer', minimum: 1, maximum: 4 },
      image_url: { type: 'string', contentMediaType: 'image/*' },
    };
    const changes = {
      inputSchema: { type: 'object', additionalProperties: false, required: ['prompt'], properties },
      pricing: { unit: 'image', usd: '0.01', count: { field: 'n', default: 1 } },
    };
    const image = { prompt: 'a fox', image_url: 'https://example.com/fox.png' };
    const models = {
      boats: { ...changes, examples: [{ prompt: 'a boat', n: 3 }, { prompt: 'a boat', n: 2 }, image] },
      foxes: { ...changes, examples: [image] },
    };
    await withProvider(
      oneJob,
      async ({ requests }) => {
        const { code, report } = await verify(['acme']);

        assert.equal(code, 0);
        assert.deepEqual(
          report.runs?.map(({ model, atMost }) => [model, atMost]),
          [['boats', '0.02']],
        );
        assert.match(report.skipped?.[0]?.reason ?? '', /--media-url image=<url>/);
        const given = await verify(['--media-url', 'image=https://cdn.acme.example/fox.png', 'foxes']);
        assert.deepEqual([given.report.atMost, given.report.skipped], ['0.01', []]);
        assert.equal((await verify(['acme', '--cancel'])).report.atMost, '0.04');
        assert.equal((await verify(['acme', '--max-cost', '0.019'])).report.runs?.length, 0);
        assert.equal(requests.length, 0);
      },
      models,
    );
  });

  it('takes what the provider charges from the upstream, if it says so', async () => {
    const cost = { pricing: { unit: 'task', usd: '0.03' } };
    const routes = { default: { upstreams: [{ provider: 'acme', model: 'm', cost }] } };
    await provide('https://api.acme.example', { boats: { routes }, foxes: {} });

    const { report } = await verify(['acme', '--max-cost', '0.03']);

    assert.deepEqual(
      report.runs?.map(({ model, atMost }) => [model, atMost]),
      [['boats', '0.03']],
    );
    assert.match(report.skipped?.[0]?.reason ?? '', /it may cost 0\.01 USD/);
  });

  it('rejects names and options that lead to nothing', async () => {
    await provide('https://api.acme.example');
    for (const [args, problem] of [
      [['absent'], /there is no model or provider called absent/],
      [['darkroom/scene'], /has no upstream of a provider/],
      [['--live', '--yes'], /--max-cost: --live needs it/],
      [['--live', '--max-cost', 'much'], /--max-cost: "much"/],
      [['--yes'], /--yes: it needs --live/],
      [['acme', '--media-url', 'image=fox.png'], /--media-url: "image=fox.png"/],
      [['acme', '--live', '--max-cost', '1'], /--yes: without a terminal/],
    ] as const) {
      const { code, stderr } = await verify(args);
      assert.equal(code, 1, args.join(' '));
      assert.match(stderr, problem);
    }
  });

  it('says so where nothing has a key', async () => {
    await provide('https://api.acme.example');

    const all = await verify(['--live', '--yes', '--max-cost', '1'], {});
    assert.equal(all.code, 1);
    assert.match(all.stderr, /no provider can be used/);
    const named = await verify(['boats', '--live', '--yes', '--max-cost', '1'], {});
    assert.equal(named.code, 1);
    assert.match(named.report.skipped?.[0]?.reason ?? '', /there is no key/);
  });
});

describe('admin models verify --live', () => {
  it('runs a job to its end, fetches the output, and counts until the definition changes', async () => {
    await withProvider(oneJob, async ({ requests }) => {
      assert.equal(await liveOf('boats'), NOT_RUN);
      const { code, report, stderr } = await live();

      assert.equal(code, 0, stderr);
      assert.deepEqual(
        report.results?.map(({ model, outcome, detail }) => [model, outcome, detail]),
        [['boats', 'success', 'job job-1; outputs: image/png']],
      );
      assert.equal(requests.filter(isSubmit).length, 1);
      assert.equal(requests.filter(isCancel).length, 0);
      assert.equal(requests.at(-1)?.url, '/a.png');
      const [row] = await room.rows('SELECT * FROM live_verifications');
      assert.deepEqual([row?.['cost_micro_usd'], row?.['members']], [10_000n, ['state', 'files']]);
      assert.match((await liveOf('boats')) ?? '', /^20\d\d-\d\d-\d\d success$/);

      await provide(origin, { boats: { description: 'Other boats.' } });
      assert.equal(await liveOf('boats'), NOT_RUN);
    });
  });

  it('reports members that appeared or disappeared since the last success', async () => {
    let result: object = { seed: 7, images: [{ width: 1 }, { height: 1 }] };
    const answers = (): Answers => {
      const job = oneJob();
      return (request, response) => {
        const answer = job(request, response);
        return typeof answer === 'object' && answer !== null && 'files' in answer ? { ...answer, ...result } : answer;
      };
    };
    await withProvider(answers, async () => {
      const first = await live();
      assert.deepEqual(first.report.results?.[0]?.appeared, []);
      result = { images: [{ width: 1, height: 1, type: 'png' }] };
      const second = (await live()).report.results?.[0];
      assert.deepEqual([second?.appeared, second?.disappeared], [['images.type'], ['seed']]);
      result = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`member${index}`, index]));
      await live();
      assert.equal((await readVerifications(room.database))[0]?.members?.length, 200);
    });
  });

  it('cancels a second job with --cancel', async () => {
    await withProvider(oneJob, async ({ requests }) => {
      const { code, report } = await live('--cancel');

      assert.equal(code, 0);
      assert.match(report.results?.[0]?.detail ?? '', /cancel: cancelled$/);
      assert.equal(requests.filter(isSubmit).length, 2);
      assert.equal(requests.filter(isCancel).length, 1);
    });
  });

  const failures: readonly (readonly [string, Answers, RegExp])[] = [
    [
      'a job that fails',
      ({ method }) => (method === 'POST' ? { id: 'j' } : { state: 'failed', why: `no boats for ${SECRET}` }),
      /^failed: provider_error; .*no boats for \[UPSTREAM_ACME_KEY\]/,
    ],
    [
      'a key that is not accepted',
      (_, response) => void response.writeHead(401, { 'content-type': 'application/json' }).end('{"error":"no"}'),
      /^rejected: .*the last response, 401, was \{"error":"no"\}/,
    ],
    [
      'HTML',
      (_, response) => void response.setHeader('content-type', 'text/html').end('<html>\u001b[2J\u0000</html>'),
      /^unknown: .*is not JSON: <html>\\u001b\[2J\\u0000<\/html>/,
    ],
    [
      'an unknown state',
      ({ method, url }) =>
        method === 'POST' ? { id: 'j' } : { state: url.endsWith('/j') ? 'WAITING' : 'done', files: [] },
      /routes\.default\.upstreams\.0\.http\.poll\.state: state gave "WAITING"/,
    ],
    [
      'an output that is no image',
      ({ method, url, headers }, response) => {
        if (url === '/page') return void response.setHeader('content-type', 'image/png').end('<html></html>');
        return method === 'POST' ? { id: 'j' } : { state: 'done', files: [`http://${headers.host}/page`] };
      },
      /^outputs\.0: it is no image, video or audio/,
    ],
    [
      'an output that is not there',
      ({ method, url, headers }, response) => {
        if (url === '/gone') return void response.writeHead(404).end();
        return method === 'POST' ? { id: 'j' } : { state: 'done', files: [`http://${headers.host}/gone`] };
      },
      /^outputs\.0: .*404/,
    ],
  ];
  for (const [what, answers, detail] of failures) {
    it(`stores why it failed: ${what}`, async () => {
      await withProvider(
        () => answers,
        async () => {
          const { code, report } = await live();

          assert.equal(code, 1);
          assert.equal(report.results?.[0]?.outcome, 'fail');
          assert.match(report.results[0].detail, detail);
          const [row] = await room.rows<{ outcome: string; detail: string }>('SELECT * FROM live_verifications');
          assert.deepEqual([row?.outcome, row?.detail], ['fail', report.results[0].detail]);
          assert.match((await liveOf('boats')) ?? '', / fail$/);
        },
        // An unknown state is polled again for a while.
        { boats: { limits: { handlingSeconds: 3 } } },
      );
    });
  }

  it('skips what does not fit --max-cost, and sends no more', async () => {
    const models = {
      a: { pricing: { unit: 'task', usd: '0.06' } },
      b: {},
      c: { pricing: { unit: 'task', usd: '0.05' } },
    };
    await withProvider(
      oneJob,
      async ({ requests }) => {
        const { code, report } = await live();

        assert.equal(code, 0);
        assert.deepEqual(
          report.results?.map(({ model }) => model),
          ['b'],
        );
        assert.deepEqual(
          report.skipped?.map(({ model, reason }) => [model, reason]),
          [
            ['a', '--max-cost: it may cost 0.06 USD'],
            ['c', '--max-cost: it may cost 0.05 USD'],
          ],
        );
        assert.equal((await verify(['a', '--live', '--yes', '--max-cost', '0.05'])).code, 1);
        assert.equal(requests.filter(isSubmit).length, 1);
      },
      models,
    );
  });

  it('fetches the files that it sends before it asks, and does not count a run whose file cannot be used', async () => {
    const image = { type: 'string', contentMediaType: 'image/*' };
    const foxes = {
      inputSchema: {
        type: 'object',
        additionalProperties: false,
        required: ['prompt'],
        properties: { prompt: { type: 'string' }, image },
      },
      examples: [{ prompt: 'a fox', image: 'https://example.com/fox.png' }],
      routes: {
        default: {
          upstreams: [
            {
              provider: 'acme',
              model: 'm',
              http: { media: { image: 'inline' }, submit: { body: '{ "say": prompt, "image": image }' } },
            },
          ],
        },
      },
    };
    await withProvider(
      oneJob,
      async ({ requests }) => {
        const mediaUrl = ['--media-url', `image=${origin}/a.png`];
        const blocked = await verify(['acme', '--live', '--yes', '--max-cost', '0.05', ...mediaUrl], {
          ...KEY,
          EGRESS_ALLOW: '',
        });

        assert.match(blocked.stderr, /^This sends 1 of the examples to providers\. That may cost 0\.01 USD\.$/m);
        assert.match(
          blocked.report.skipped?.[0]?.reason ?? '',
          new RegExp(
            `^--media-url: ${origin}/a.png: .*127\\.0\\.0\\.1 is not a public address; .*EGRESS_ALLOW=${origin}$`,
          ),
        );
        assert.deepEqual(
          blocked.report.results?.map(({ model }) => model),
          ['boats'],
        );
        assert.equal(blocked.code, 1);

        const fetched = await live(...mediaUrl);
        assert.equal(fetched.code, 0, fetched.stderr);
        assert.match(fetched.stderr, /^This sends 2 of the examples to providers\. That may cost 0\.02 USD\.$/m);
        assert.ok(requests.some(({ body }) => body.includes(PNG.toString('base64'))));
      },
      { boats: {}, foxes },
    );
  });

  it('cancels the running job once when it is interrupted, and stops; meanwhile no other run starts', async () => {
    const answers: Answers = ({ method, url }) => {
      if (url.endsWith('/cancel')) return {};
      return method === 'POST' ? { id: 'j' } : { state: 'running' };
    };
    await withProvider(
      () => answers,
      async ({ requests }) => {
        const args = ['models', 'verify', 'acme', '--live', '--yes', '--max-cost', '1', '--json'];
        const child = spawn(process.execPath, [...builtProgram(), 'admin', ...args], {
          env: { PATH: process.env['PATH'], ...environment() },
          stdio: ['ignore', 'pipe', 'pipe'],
          timeout: GIVE_UP_MS,
        });
        let stdout = '';
        child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
        child.stderr.resume();
        const ended = once(child, 'close');
        await waitFor('a poll', () => requests.some(({ method }) => method === 'GET'));

        const other = await live();
        assert.equal(other.code, 1);
        assert.match(other.stderr, /another models verify runs/);

        child.kill('SIGINT');
        // As npm passes it on.
        child.kill('SIGINT');
        assert.deepEqual(await ended, [1, null]);
        assert.equal(requests.filter(isCancel).length, 1);
        assert.equal(requests.filter(isSubmit).length, 1);
        const report = JSON.parse(stdout) as Report;
        assert.deepEqual(
          report.results?.map(({ outcome }) => outcome),
          ['stopped'],
        );
        assert.deepEqual(await readVerifications(room.database), []);
        assert.equal(await liveOf('boats'), NOT_RUN);
      },
      { boats: {}, foxes: {} },
    );
  });
});
