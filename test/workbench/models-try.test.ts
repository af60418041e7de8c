/** `admin models try`: a model file at work, without an installation, against a provider on a real socket. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { GIVE_UP_MS, waitFor } from '@darkroom/testing/wait-for';
import type { HttpBinding } from '../../src/providers/http/binding.ts';
import { definition, textDefinition } from '../catalogue/definitions.ts';
import { JOBS, withRecorder } from '../providers/http/recorder.ts';
import type { Answers, Recorder } from '../providers/http/recorder.ts';
import { builtProgram } from '../support/built-program.ts';
import { runAdminCommand } from '../commands/admin-command.ts';
import type { CommandResult } from '../commands/admin-command.ts';
import { HTTP, KEY, SECRET, openTryRoom, tryOut } from './try-out.ts';
import type { TryRoom } from './try-out.ts';

const POLL = { path: "'/jobs/' & $jobId", state: 'state' };
/** The smallest PNG: one pixel. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

let room: TryRoom;
let directory: string;
beforeEach(async () => {
  room = await openTryRoom();
  ({ directory } = room);
});
afterEach(() => room.remove());

const modelFile: TryRoom['modelFile'] = (...args) => room.modelFile(...args);

/** Sends to a server that answers like this. */
async function send(
  answers: Answers,
  http: HttpBinding = JOBS,
  args: readonly string[] = [],
): Promise<CommandResult & Pick<Recorder, 'requests'>> {
  let result: (CommandResult & Pick<Recorder, 'requests'>) | undefined;
  await withRecorder(answers, async ({ origin, requests }) => {
    const file = await modelFile(http, origin);
    result = { ...(await tryOut([file, '--send', '--yes', ...args])), requests };
  });
  assert.ok(result !== undefined);
  return result;
}

/** A job that runs for two polls. */
function twoPolls(): Answers {
  let polls = 0;
  return ({ method }) => {
    if (method === 'POST') return { id: 'job-1', echo: `Bearer ${SECRET}` };
    polls += 1;
    return polls < 3
      ? { state: 'running', percent: polls * 25 }
      : { state: 'done', files: ['https://cdn.example/a.png'] };
  };
}

describe('admin models try, without sending', () => {
  it('prints the price and the request of the first example, each part with its member', async () => {
    const http = {
      ...JOBS,
      auth: { scheme: 'header', name: 'X-Key' },
      headers: { 'x-version': '7' },
      submit: { ...JOBS.submit, headers: { 'x-task': "'for ' & prompt" } },
    } as const;

    const { code, stdout, stderr } = await runAdminCommand(['models', 'try', await modelFile(http)], KEY);

    assert.equal(code, 0, stderr);
    assert.match(stdout, /^price +0\.01 USD at most \(1 image x 0\.01\)$/m);
    assert.ok(
      stdout.includes(
        [
          `POST https://api.example/v1/jobs    <- ${HTTP}.submit.path`,
          'user-agent: darkroom',
          `x-key: [UPSTREAM_MAIN_KEY]    <- ${HTTP}.auth`,
          `x-version: 7    <- ${HTTP}.headers`,
          `x-task: for a fox    <- ${HTTP}.submit.headers.x-task`,
          'content-type: application/json',
          '',
          '{',
          '  "say": "a fox"',
          '}',
          `<- ${HTTP}.submit.body`,
        ].join('\n'),
      ),
      stdout,
    );
    assert.match(stdout, /^Nothing was sent\./m);
  });

  it('sends nothing, not even for a token, and needs no credential', async () => {
    await withRecorder(
      () => ({}),
      async ({ origin, requests }) => {
        for (const auth of [
          { scheme: 'oauth2-client', tokenUrl: `${origin}/token` },
          { scheme: 'google-service-account', tokenUrl: `${origin}/token` },
        ] as const) {
          const { code, stdout, stderr } = await tryOut([await modelFile({ ...JOBS, auth }, origin)], {});

          assert.equal(code, 0, stderr);
          assert.match(stdout, /^UPSTREAM_MAIN_KEY is not set/m);
          assert.match(stdout, /^A token would be obtained from 127\.0\.0\.1:\d+ first\.$/m);
          assert.match(stdout, /^authorization: Bearer \[UPSTREAM_MAIN_KEY\]/m);
        }
        assert.equal(requests.length, 0);
      },
    );
  });

  it('masks the credential of every scheme', async () => {
    const sigv4 = { scheme: 'sigv4', service: 's', region: 'r' } as const;
    const cases: readonly [NonNullable<HttpBinding['auth']>, RegExp][] = [
      [{ scheme: 'query', name: 'key' }, /jobs\?key=\[UPSTREAM_MAIN_KEY\]/],
      [{ scheme: 'basic' }, /^authorization: Basic \[UPSTREAM_MAIN_KEY\]/m],
      [{ scheme: 'jwt-hs256' }, /^authorization: Bearer \[UPSTREAM_MAIN_KEY\]/m],
      [sigv4, /^authorization: AWS4-HMAC-SHA256 \[UPSTREAM_MAIN_KEY\]/m],
      [{ scheme: 'header', name: 'Authorization', prefix: 'Key ' }, /^authorization: Key \[UPSTREAM_MAIN_KEY\]/m],
    ];
    for (const [auth, expected] of cases) {
      const secret = 'access-key-id:secret/of+main';
      const { stdout } = await tryOut([await modelFile({ ...JOBS, auth })], { UPSTREAM_MAIN_KEY: secret });

      assert.match(stdout, expected);
      const spellings = [
        secret,
        'secret/of',
        'secret%2Fof',
        Buffer.from(secret).toString('base64'),
        'access-key-id',
        'eyJ',
      ];
      for (const spelling of spellings) assert.ok(!stdout.includes(spelling), `${auth.scheme}: ${spelling}`);
    }
  });

  it('names the credential that has another form than its scheme needs', async () => {
    const { code, stdout } = await tryOut([await modelFile({ ...JOBS, auth: { scheme: 'jwt-hs256' } })], KEY);

    assert.equal(code, 1);
    assert.match(stdout, /the credential must have the form issuer:key/);
    assert.ok(!stdout.includes(SECRET));
  });

  it('takes JSON, a file and single fields, of the types that the schema wants', async () => {
    const file = await modelFile({ ...JOBS, submit: { path: "'/jobs'", body: '$input' } });
    const json = path.join(directory, 'input.json.txt');
    await writeFile(json, '{ "prompt": "from a file", "n": 2 }');
    const bodyOf = async (...input: readonly string[]): Promise<unknown> => {
      const { stdout } = await tryOut([file, '--json', '--input', ...input]);
      const { steps } = JSON.parse(stdout) as { steps: readonly { step: string; body?: unknown }[] };
      return steps.find(({ step }) => step === 'request')?.body;
    };

    assert.deepEqual(await bodyOf('n=3', 'prompt=5'), { prompt: '5', n: 3 });
    assert.deepEqual(await bodyOf(`@${json}`, 'n=1'), { prompt: 'from a file', n: 1 });
    assert.deepEqual(await bodyOf('{ "prompt": "x=y" }'), { prompt: 'x=y' });
  });

  it('prints a form part by part, and files by type and size', async () => {
    const image = path.join(directory, 'image.png');
    await writeFile(image, PNG);
    const form = [
      { name: 'prompt', value: 'prompt' },
      { fields: '{ "steps": 4 }' },
      { name: 'image', media: 'image_urls' },
    ];
    const http = { ...JOBS, submit: { path: "'/jobs'", form } };

    const { code, stdout, stderr } = await tryOut([
      await modelFile(http),
      '--media',
      `image_urls=${image}`,
      '--media',
      `image_urls=${image}`,
    ]);

    assert.equal(code, 0, stderr);
    const file = (index: number) =>
      `  image = <image/png, ${PNG.length} bytes, image_urls-${index}.png>    <- ${HTTP}.submit.form.2.media`;
    assert.ok(
      stdout.includes(
        [
          `  prompt = a fox    <- ${HTTP}.submit.form.0.value`,
          `  steps = 4    <- ${HTTP}.submit.form.1.fields`,
          file(0),
          file(1),
        ].join('\n'),
      ),
      stdout,
    );
  });

  it('shows the size of a file in the place of its base64', async () => {
    const image = path.join(directory, 'image.png');
    await writeFile(image, PNG);
    const http = {
      ...JOBS,
      media: { image_url: 'inline' },
      submit: { path: "'/jobs'", body: '{ "image": image_url }' },
    } as const;

    const { stdout } = await tryOut([await modelFile(http), '--media', `image_url=${image}`]);

    assert.match(stdout, /"image": "data:image\/png;base64,<\d+ bytes of base64>"/);
  });

  it('rejects files that a worker would not send', async () => {
    const text = path.join(directory, 'notes.txt');
    await writeFile(text, 'no image');
    const gif = path.join(directory, 'image.gif');
    await writeFile(gif, Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64'));
    const http = { ...JOBS, media: { image_url: 'inline' } } as const;
    const file = await modelFile(http);
    const cases: readonly [readonly string[], RegExp][] = [
      [['--media', `image_url=${text}`], /notes\.txt is no image, video or audio/],
      [['--media', `image_url=${gif}`], /image\.gif is image\/gif, and inputSchema wants image\/png/],
      [['--media', 'image_url=/no/such'], /\/no\/such cannot be read \(ENOENT\)/],
      [['--media', `prompt=${gif}`], /prompt is no file for the model: inputSchema gives it no contentMediaType/],
      [['--media', `image_urls=${gif}`], /the provider fetches image_urls\.0 from its URL/],
      [['--input', 'image_url=https://a.example/b.png'], /give the file: --media image_url=<path>/],
    ];
    for (const [args, expected] of cases) {
      const { code, stderr } = await tryOut([file, ...args]);

      assert.equal(code, 1);
      assert.match(stderr, expected);
    }
  });

  it('reports what is wrong with the file, the input and the arguments, by member or option', async () => {
    const good = await modelFile(JOBS);
    const bad = path.join(directory, 'bad.json');
    const upstream = { protocol: 'http', baseUrl: 'https://a.example', model: 'm', http: { ...JOBS, jobId: '(' } };
    await writeFile(bad, JSON.stringify(definition({ name: 'b', routes: { default: { upstreams: [upstream] } } })));
    const embedded = path.join(directory, 'embedded.json');
    await writeFile(embedded, JSON.stringify(definition({ name: 'e' })));
    const text = path.join(directory, 'text.json');
    await writeFile(text, JSON.stringify(textDefinition()));
    const recording = path.join(directory, 'recording.txt');
    await writeFile(recording, '{ "exchanges": [{ "response": { "status": 20 } }] }');
    const cases: readonly [readonly string[], RegExp][] = [
      [[bad], /routes\.default\.upstreams\.0\.http\.jobId: not JSONata: .* at character \d/],
      [['/no/such.json'], /there is no such file or directory/],
      [[good, '--input', 'n=9', 'size=1'], /^invalid input: n: maximum: got 9, want 4$/m],
      [[good, '--input', 'n=9', 'size=1'], /^additional properties not allowed: size$/m],
      [[good, '--input', '{"n":'], /^--input: not JSON: /m],
      [[good, '--input', 'n'], /^--input: "n" is neither a JSON object, nor @file, nor name=value$/m],
      [[good, '--route', 'fast'], /route: got "fast", want one of "default"/],
      [[good, '--upstream', '1'], /^--upstream: there is no routes\.default\.upstreams\.1$/m],
      [[embedded], /^protocol embedded runs in the worker and sends no requests$/m],
      [[text], /a text model has no requests to show/],
      [[good, '--record', 'x'], /^--record: it needs --send$/m],
      [[good, '--expect', 'done'], /^--expect: it needs --send or --recording$/m],
      [[good, '--recording', '/no/such'], /^--recording: \/no\/such cannot be read \(ENOENT\)$/m],
      [[good, '--recording', recording], /exchanges\.0\.response\.status: minimum: got 20, want 100$/m],
      [[good, '--send', '--recording', 'x'], /leave out --send$/m],
    ];
    for (const [args, expected] of cases) {
      const { code, stderr } = await tryOut(args);

      assert.equal(code, 1, args.join(' '));
      assert.match(stderr, expected);
    }
  });

  it('takes from the file of a provider what a model file lacks', async () => {
    const own = path.join(directory, 'providers/own_server');
    await mkdir(own, { recursive: true });
    const provider = {
      name: 'own_server',
      title: 'Own server',
      documentation: 'https://docs.example',
      checkedAt: '2026-11-27',
      isSelfHosted: true,
      credential: 'optional',
      upstream: { protocol: 'http', baseUrl: 'http://127.0.0.1:1', http: JOBS },
    };
    await writeFile(path.join(own, 'provider.json'), JSON.stringify(provider));
    const routes = { default: { upstreams: [{ provider: 'own_server', model: 'm' }] } };
    const model = path.join(own, 'model.json');
    await writeFile(model, JSON.stringify({ ...definition(), routes }));
    const keyFile = path.join(directory, 'key');
    await writeFile(keyFile, `${SECRET}\n`);

    const plain = await tryOut([model], {});
    const configured = await tryOut([model], {
      UPSTREAM_OWN_SERVER_URL: 'https://gpu.example/api',
      UPSTREAM_OWN_SERVER_KEY_FILE: keyFile,
    });

    assert.match(
      plain.stdout,
      /^What the file lacks of routes\.default\.upstreams\.0 comes from .* provider own_server\.$/m,
    );
    assert.match(plain.stdout, /^POST http:\/\/127\.0\.0\.1:1\/jobs /m);
    assert.doesNotMatch(plain.stdout, /authorization/);
    assert.match(configured.stdout, /^POST https:\/\/gpu\.example\/api\/jobs /m);
    assert.match(configured.stdout, /^authorization: Bearer \[UPSTREAM_OWN_SERVER_KEY\]/m);
    const missing = await tryOut([model], { UPSTREAM_OWN_SERVER_KEY_FILE: '/no/such' });
    assert.match(missing.stderr, /^UPSTREAM_OWN_SERVER_KEY_FILE: \/no\/such cannot be read \(ENOENT\)$/m);
    await writeFile(path.join(own, 'provider.json'), JSON.stringify({ ...provider, title: 1 }));
    const broken = await tryOut([model], {});
    assert.match(broken.stderr, /^.*provider\.json: invalid provider file: title: type: got integer, want string$/m);
  });

  it('shows the request of an adapter too', async () => {
    const upstream = { protocol: 'replicate', baseUrl: 'https://r.example/v1', secret: 'main', model: 'a/b' };
    const routes = { default: { upstreams: [upstream] } };

    const { code, stdout, stderr } = await tryOut([await modelFile(JOBS, undefined, { routes })]);

    assert.equal(code, 0, stderr);
    assert.match(stdout, /^POST https:\/\/r\.example\/v1\/models\/a\/b\/predictions$/m);
    assert.match(stdout, /^authorization: Bearer \[UPSTREAM_MAIN_KEY\]/m);
  });
});

describe('admin models try --send', () => {
  it('needs --yes without a terminal, and a credential', async () => {
    await withRecorder(
      () => ({}),
      async ({ origin, requests }) => {
        const file = await modelFile(JOBS, origin);
        const unasked = await runAdminCommand(['models', 'try', file, '--send'], KEY);
        const keyless = await tryOut([file, '--send', '--yes'], {});

        assert.equal(unasked.code, 1);
        assert.match(unasked.stderr, /It may cost money; the file sells it for 0\.01 USD/);
        assert.match(unasked.stderr, /^--yes: without a terminal to ask, it is needed to send$/m);
        assert.match(keyless.stderr, /UPSTREAM_MAIN_KEY is not set/);
        assert.equal(requests.length, 0);
      },
    );
  });

  it('submits, polls, evaluates every expression, and downloads nothing', async () => {
    const http = { ...JOBS, poll: { ...POLL, progress: 'percent / 100' } };
    const { code, stdout, stderr, requests } = await send(twoPolls(), http);

    assert.equal(code, 0, stderr);
    assert.deepEqual(
      requests.map(({ method, url }) => `${method} ${url}`),
      ['POST /v1/jobs', ...Array.from({ length: 3 }, () => 'GET /v1/jobs/job-1')],
    );
    assert.equal(requests[0]?.headers.authorization, `Bearer ${SECRET}`);
    assert.match(stdout, new RegExp(`^  ${HTTP}\\.jobId = "job-1"$`, 'm'));
    assert.match(stdout, new RegExp(`^  ${HTTP}\\.poll\\.state = "running"$`, 'm'));
    assert.match(stdout, /^job job-1: running, 50 % /m);
    assert.match(stdout, new RegExp(`^  ${HTTP}\\.outputs = \\["https://cdn.example/a.png"\\]$`, 'm'));
    assert.match(stdout, /^ended +done$/m);
    assert.match(stdout, /"echo": "Bearer \[UPSTREAM_MAIN_KEY\]"/);
    assert.ok(!stdout.includes(SECRET));
  });

  it('records what was exchanged without the credential, and evaluates it again offline', async () => {
    const recording = path.join(directory, 'recording.txt');
    const http = { ...JOBS, auth: { scheme: 'query', name: 'key' }, reason: 'code' } as const;
    const sent = await send(twoPolls(), http, ['--record', recording]);
    const recorded = await readFile(recording, 'utf8');

    assert.equal(sent.code, 0, sent.stderr);
    assert.ok(!recorded.includes(SECRET));
    assert.match(recorded, /jobs\?key=\[UPSTREAM_MAIN_KEY\]/);
    // Nothing is at that address any more, and no credential is set.
    const file = path.join(directory, 'model.json');
    const played = await tryOut([file, '--recording', recording], {});
    assert.equal(played.code, 0, played.stderr);
    assert.match(played.stdout, /^ended +done$/m);
    assert.match(played.stdout, /^Not evaluated, because no response calls for it: reason$/m);
  });

  it('stores the files in --output', async () => {
    const output = path.join(directory, 'made');
    const http = { submit: { path: "'/jobs'", body: '{}' }, outputs: '[files, { "base64": data }]' };
    let origin = '';
    const { code, stderr } = await send(
      ({ url, headers }, response) => {
        origin = `http://${headers.host}`;
        if (url === '/v1/jobs') return { files: [`${origin}/file.png`], data: PNG.toString('base64') };
        response.end(PNG);
        return undefined;
      },
      http,
      ['--output', output],
    );

    assert.equal(code, 0, stderr);
    const names = (await readdir(output)).toSorted();
    assert.equal(names.length, 2);
    assert.match(names[0] ?? '', /^[0-9a-f]{6}-0\.png$/);
    for (const name of names) assert.deepEqual(await readFile(path.join(output, name)), PNG);
  });

  it('sends nothing if --output cannot be created', async () => {
    let requests = 0;
    const { code, stderr } = await send(
      () => {
        requests += 1;
        return { id: 'j' };
      },
      JOBS,
      ['--output', '/proc/none'],
    );

    assert.equal(code, 1);
    assert.match(stderr, /--output \/proc\/none: the file system of \/proc/);
    assert.equal(requests, 0);
  });

  it('says what the value of an expression should have been, and where one failed', async () => {
    const http = {
      ...JOBS,
      poll: { ...POLL, state: "state = 'ended' ? 'done' : $uppercase(state)", progress: '1 + state', everySeconds: 1 },
    };
    let polls = 0;
    const { code, stdout, stderr } = await send(({ method }) => {
      if (method === 'POST') return { id: 'j' };
      polls += 1;
      const state = polls === 1 ? 'running' : 'ended';
      return { state, 'secret value': 1, files: [`data:image/png;base64,${PNG.toString('base64')}`] };
    }, http);

    assert.equal(code, 1, stdout);
    assert.match(
      stderr,
      new RegExp(`^${HTTP}\\.poll\\.state: state gave "RUNNING"; expected running, done or failed$`, 'm'),
    );
    assert.match(
      stderr,
      new RegExp(
        `^${HTTP}\\.poll\\.progress: T2002 at character 3: The right side .* must evaluate to a number; its document has state, secret value, files$`,
        'm',
      ),
    );
  });

  it('stops at --timeout, and asks the provider to cancel', async () => {
    const http = { ...JOBS, poll: { ...POLL, everySeconds: 600 } };
    const answers: Answers = ({ method }) => (method === 'POST' ? { id: 'j' } : { state: 'running' });
    const { code, stdout } = await send(answers, http, ['--timeout', '5']);

    assert.equal(code, 1);
    assert.match(stdout, /the provider was asked to cancel: unsupported/);
    assert.match(stdout, /^reason +it took longer than 5 s$/m);
  });

  const hostile: readonly [string, Answers, RegExp][] = [
    ['HTML', (_, response) => void response.end('<html>'), /the response is not JSON/],
    ['truncated JSON', (_, response) => void response.end('{"id": "a'), /the response is not JSON/],
    [
      'a body that breaks off',
      (_, response) => {
        response.writeHead(200, { 'content-length': '100' });
        response.write('{"id"', () => response.socket?.end());
      },
      /the response broke off \(UND_ERR_/,
    ],
    [
      'ten gigabytes',
      (_, response) => void response.writeHead(200, { 'content-length': '10000000000' }).write('['),
      /the response is larger than a worker reads/,
    ],
    [
      'a redirect',
      (_, response) => void response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
      /^location: http:\/\/169\.254\.169\.254\/$/m,
    ],
    [
      'an id with slashes',
      () => ({ id: '../../admin' }),
      /jobId: jobId gave "\.\.\/\.\.\/admin"; expected an integer below 2\^53, or a word of/,
    ],
  ];
  for (const [name, answers, expected] of hostile) {
    it(`survives a provider that answers ${name}, and follows nothing`, async () => {
      const { code, stdout, stderr, requests } = await send(answers);

      assert.equal(code, 1);
      assert.match(stdout, expected, stderr);
      assert.equal(requests.length, 1);
    });
  }

  it('passes no control characters on to the terminal', async () => {
    const evil = '\u001b]0;owned\u0007\u009b31m\u202etxt\r';
    const { stdout, stderr } = await send((_, response) => {
      response.setHeader('content-type', 'text/plain').end(evil);
    });
    const named = await send(() => ({ [evil]: evil, id: evil }));

    for (const text of [stdout, stderr, named.stdout, named.stderr]) {
      assert.doesNotMatch(text, /[^\P{Cc}\n\t]|\u202e/u);
    }
    assert.match(stdout, /\\u001b\]0;owned\\u0007\\u009b31m\\u202etxt\\u000d/);
  });

  it('asks the provider to cancel when it is interrupted, and leaves at the second time', async () => {
    const http = { ...JOBS, cancel: { path: "'/jobs/' & $jobId & '/cancel'" } };
    let isCancelAnswered = true;
    await withRecorder(
      ({ method, url }) => {
        if (url.endsWith('/cancel')) return isCancelAnswered ? {} : undefined;
        return method === 'POST' ? { id: 'j' } : { state: 'running' };
      },
      async ({ origin, requests }) => {
        const recording = path.join(directory, 'recording.txt');
        const args = [await modelFile(http, origin), '--send', '--yes', '--record', recording];
        const start = async () => {
          const from = requests.length;
          const child = spawn(process.execPath, [...builtProgram(), 'admin', 'models', 'try', ...args], {
            env: { PATH: process.env['PATH'], ...KEY },
            stdio: ['ignore', 'pipe', 'pipe'],
            timeout: GIVE_UP_MS,
          });
          // From the start: it may end before anything else here notices.
          const ended = once(child, 'exit');
          let stdout = '';
          child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
          await waitFor('a poll', () => requests.slice(from).some(({ method }) => method === 'GET'));
          child.kill('SIGINT');
          // As npm passes it on.
          child.kill('SIGINT');
          await waitFor('the request to cancel', () => requests.at(-1)?.url.endsWith('/cancel') === true);
          return { child, ended, text: () => stdout };
        };

        const first = await start();
        assert.deepEqual(await first.ended, [1, null]);
        assert.match(first.text(), /job j: the provider was asked to cancel: cancelled/);
        assert.equal(requests.filter(({ url }) => url.endsWith('/cancel')).length, 1);
        const played = await tryOut([args[0] ?? '', '--recording', recording], {});
        assert.match(played.stdout, /job j: the provider was asked to cancel: cancelled/);

        isCancelAnswered = false;
        const second = await start();
        const again = setInterval(() => second.child.kill('SIGINT'), 300);
        assert.deepEqual(await second.ended, [130, null]);
        clearInterval(again);
        assert.match(await readFile(recording, 'utf8'), /"state": "running"/);
      },
    );
  });
});

describe('admin models try --recording', () => {
  /** Evaluates a binding over these exchanges. */
  async function play(http: HttpBinding, exchanges: readonly object[], args: readonly string[] = []) {
    const recording = path.join(directory, 'recording.txt');
    await writeFile(recording, JSON.stringify({ exchanges }));
    return tryOut([await modelFile(http), '--recording', recording, ...args], {});
  }
  const response = (body: unknown, status = 200) => ({ response: { status, body } });

  it('waits for nothing, and goes on after a response that a worker would not understand', async () => {
    const started = performance.now();
    const { code, stdout } = await play({ ...JOBS, poll: { ...POLL, everySeconds: 600 } }, [
      response({ id: 7 }),
      response({ state: 'running' }),
      { response: { status: 503, headers: { 'Retry-After': '300' }, text: '<html>' } },
      { lost: 'ECONNRESET' },
      response({ state: 'done', files: 'https://a.example/b' }),
    ]);

    assert.equal(code, 0, stdout);
    assert.match(stdout, /status 503, NOT_JSON; a worker polls again/);
    assert.match(stdout, /ECONNRESET; a worker polls again/);
    // One wait of those that were asked for is longer than this limit.
    assert.ok(performance.now() - started < 300_000);
  });

  it('evaluates an upload, a rejection and a failed job', async () => {
    const upload: HttpBinding = {
      ...JOBS,
      media: { image_url: 'upload' },
      upload: { path: "'/files'", reference: 'uri' },
      submit: { path: "'/jobs'", body: '{ "image": image_url }', refusal: "'content_rejected'" },
      reason: 'why',
    };
    const input = ['--input', `image_url=data:image/png;base64,${PNG.toString('base64')}`];
    const rejected = await play(
      upload,
      [response({ uri: 'file-1' }), response({ error: 'no' }, 400)],
      [...input, 'prompt=a'],
    );
    assert.match(rejected.stdout, /<image\/png, \d+ bytes>/);
    assert.match(rejected.stdout, /"image": "file-1"/);
    assert.match(rejected.stdout, /^ended +rejected\nreason +content_rejected$/m);

    const failed = await play({ ...JOBS, reason: 'why' }, [
      response({ id: 'j' }),
      response({ state: 'failed', why: 'bad' }),
    ]);
    assert.match(failed.stderr, /reason gave "bad"; expected content_rejected, .* or model_unavailable/);
    assert.match(failed.stdout, /^ended +failed\nreason +provider_error$/m);
  });

  it('takes a response that is a file', async () => {
    const http = { submit: { path: "'/speech'", body: '{}' }, outputs: '$body' };
    const { code, stdout } = await play(http, [{ response: { status: 200, fileBytes: 9 } }]);

    assert.equal(code, 0);
    assert.match(stdout, /^outputs +\[\{"file":"the response"\}\]$/m);
  });

  it('uses no response for another request, and stops where there is none', async () => {
    const other = { request: { method: 'GET', url: 'https://api.example/v1/jobs/x' }, ...response({ id: 'x' }) };
    const { code, stdout } = await play(JOBS, [other]);

    assert.equal(code, 0);
    assert.match(
      stdout,
      /^The recording has no response to this request\. It has GET https:\/\/api\.example\/v1\/jobs\/x\.$/m,
    );
    assert.match(stdout, /^Not evaluated, because no response calls for it: jobId, poll\.path, poll\.state, outputs$/m);
  });

  it('ends when a poll can go nowhere', async () => {
    const http = { ...JOBS, poll: { ...POLL, path: "'https://elsewhere.example/' & $jobId" } };
    const { code, stderr } = await play(http, [response({ id: 'j' }), response({ state: 'running' })]);

    assert.equal(code, 1);
    assert.match(
      stderr,
      /poll\.path: path gave "https:\/\/elsewhere\.example\/j"; expected a path that begins with \//,
    );
  });

  it('cuts base64 that is longer than 200 characters, and a response longer than 8000', async () => {
    const json = (length: number) => JSON.stringify({ id: 'j', t: 'x '.repeat(length) }, null, 2).length;
    // As long as a response may be, and longer.
    const fitting = Array.from({ length: 4_000 }, (_, index) => index).findLast((length) => json(length) <= 8_000) ?? 0;
    const shown = await play(JOBS, [response({ id: 'j', t: 'x '.repeat(fitting) })]);
    const cut = await play(JOBS, [response({ id: 'j', t: 'x '.repeat(fitting + 1) })]);
    const base64 = await play(JOBS, [response({ id: 'j', one: 'A'.repeat(200), two: 'A'.repeat(204) })]);

    assert.doesNotMatch(shown.stdout, /characters\)/);
    assert.match(cut.stdout, /\.\.\. \(8\d{3} characters\)/);
    assert.ok(base64.stdout.includes(`"one": "${'A'.repeat(200)}"`));
    assert.ok(base64.stdout.includes(`"two": "${'A'.repeat(40)}... (204 characters)"`));
  });
});
