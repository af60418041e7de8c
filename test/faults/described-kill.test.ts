/**
 * A worker that is killed without warning before, while and after it submits to a provider that a model file describes:
 * for every way to authenticate, and every form of a body. The provider, which repeats whatever it is sent, counts what
 * reached it: at most one job of each task.
 */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { jwtVerify } from 'jose';
import type { HttpBinding } from '../../src/providers/http/binding.ts';
import { runAdminCommand } from '../commands/admin-command.ts';
import type { ApiTask } from '../support/api-client.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, Role, TestAccount } from '../support/darkroom.ts';
import { programEnvironment } from '../support/pooled-run.ts';
import { waitFor } from '@darkroom/testing/wait-for';

const POLL_MS = 20;
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const JWT_KEY = 'a key of the issuer with many letters';
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const KEY_FILE = JSON.stringify({
  client_email: 'darkroom@project.example',
  private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
});

/** How a credential is used: what the file declares, and what the provider accepts. */
interface Scheme {
  readonly secret: string;
  readonly auth: (origin: string) => NonNullable<HttpBinding['auth']>;
  readonly accepts: (headers: IncomingHttpHeaders, url: URL) => boolean | Promise<boolean>;
}

const hasBearer = ({ authorization }: IncomingHttpHeaders, token: string): boolean =>
  authorization === `Bearer ${token}`;

const SCHEMES: Readonly<Record<string, Scheme>> = {
  bearer: { secret: 'k', auth: () => ({ scheme: 'bearer' }), accepts: (headers) => hasBearer(headers, 'k') },
  header: {
    secret: 'k',
    auth: () => ({ scheme: 'header', name: 'X-Key' }),
    accepts: ({ 'x-key': key }) => key === 'k',
  },
  query: {
    secret: 'k',
    auth: () => ({ scheme: 'query', name: 'key' }),
    accepts: (_headers, { searchParams }) => searchParams.get('key') === 'k',
  },
  basic: {
    secret: 'user:word',
    auth: () => ({ scheme: 'basic' }),
    accepts: ({ authorization }) => authorization === `Basic ${Buffer.from('user:word').toString('base64')}`,
  },
  jwt: {
    secret: `issuer:${JWT_KEY}`,
    auth: () => ({ scheme: 'jwt-hs256' }),
    accepts: async ({ authorization = '' }) => {
      const verified = await jwtVerify(authorization.replace('Bearer ', ''), Buffer.from(JWT_KEY)).catch(
        () => undefined,
      );
      return verified?.payload.iss === 'issuer';
    },
  },
  sigv4: {
    secret: 'id:secret',
    auth: () => ({ scheme: 'sigv4', service: 'media', region: 'eu-west-1' }),
    accepts: ({ authorization = '' }) => authorization.startsWith('AWS4-HMAC-SHA256 Credential=id/'),
  },
  google: {
    secret: KEY_FILE,
    auth: (origin) => ({ scheme: 'google-service-account', tokenUrl: `${origin}/token` }),
    accepts: (headers) => hasBearer(headers, 'token'),
  },
  oauth2: {
    secret: 'client:secret',
    auth: (origin) => ({ scheme: 'oauth2-client', tokenUrl: `${origin}/token` }),
    accepts: (headers) => hasBearer(headers, 'token'),
  },
};

/** What the body of a submit is made of. */
const BODIES: Readonly<Record<string, Partial<HttpBinding> & Pick<HttpBinding, 'submit'>>> = {
  json: { submit: { path: "'/jobs'", body: "{ 'prompt': prompt }" } },
  form: {
    submit: {
      path: "'/jobs'",
      form: [
        { name: 'prompt', value: 'prompt' },
        { name: 'image', media: 'image' },
      ],
    },
  },
  inline: { media: { image: 'inline' }, submit: { path: "'/jobs'", body: "{ 'prompt': prompt, 'image': image }" } },
  upload: {
    media: { image: 'upload' },
    upload: { path: "'/uploads?prompt=' & $encodeUrlComponent($input.prompt)", reference: 'id' },
    submit: { path: "'/jobs'", body: "{ 'prompt': prompt, 'image': image }" },
  },
  signed: {
    media: { image: 'upload' },
    upload: {
      path: "'/addresses'",
      body: "{ 'name': $file.name }",
      send: { url: 'url', receivesCredential: false },
      reference: 'id',
    },
    submit: { path: "'/jobs'", body: "{ 'prompt': prompt, 'image': image }" },
  },
  keyed: {
    isSubmitRepeatable: true,
    submit: { path: "'/jobs'", body: "{ 'prompt': prompt, 'key': $taskId }" },
  },
};

/** What a job costs, which only the answer to its submit says. */
const CHARGED_USD = '0.0037';

interface Kind {
  readonly name: string;
  readonly scheme: string;
  readonly body: string;
}

const KINDS: readonly Kind[] = Object.keys(SCHEMES).flatMap((scheme) =>
  Object.keys(BODIES)
    // A signature covers the body, and a form is streamed.
    .filter((body) => scheme !== 'sigv4' || body !== 'form')
    .map((body) => ({ name: `${scheme}-${body}`, scheme, body })),
);

/** A provider that makes a job of every submit, however often it is repeated. */
class RepeatingProvider {
  readonly #server: Server;
  readonly #jobs: { readonly prompt: string; readonly key: unknown }[] = [];
  readonly #polled = new Set<string>();
  readonly #uploaded = new Set<string>();
  readonly #waiting: (() => void)[] = [];
  #isReleased = false;

  constructor() {
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch(() => response.destroy());
    });
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async listen(): Promise<void> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** Holds back everything that a prompt asks for. */
  hold(): void {
    this.#isReleased = false;
  }

  release(): void {
    this.#isReleased = true;
    for (const resume of this.#waiting.splice(0)) resume();
  }

  jobsOf(prompt: string) {
    return this.#jobs.filter((job) => job.prompt === prompt);
  }

  isPolled(prompt: string): boolean {
    return this.#polled.has(prompt);
  }

  isUploading(prompt: string): boolean {
    return this.#uploaded.has(prompt);
  }

  async #held(prompt: string, what: string): Promise<void> {
    if (this.#isReleased || !prompt.includes(`[hold-${what}]`)) return;
    await new Promise<void>((resolve) => void this.#waiting.push(resolve));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', this.origin);
    const body = await buffer(request);
    const answer = (json: object, status = 200): void => {
      response.statusCode = status;
      response.setHeader('content-type', 'application/json').end(JSON.stringify(json));
    };
    if (url.pathname === '/token') return answer({ access_token: 'token', expires_in: 3_600 });
    const [, kind = '', what = '', id = ''] = url.pathname.split('/');
    const scheme = SCHEMES[kind.split('-')[0] ?? ''];
    const isAccepted = (await scheme?.accepts(request.headers, url)) === true;
    // The address that an upload is sent to is its own credential, and the only one.
    if (what === 'put') return answer({}, isAccepted ? 400 : 200);
    if (!isAccepted) return answer({ error: 'unauthorized' }, 401);
    if (what === 'addresses') return answer({ id: 'file', url: `${this.origin}/${kind}/put/1` });
    if (what === 'uploads') {
      const prompt = url.searchParams.get('prompt') ?? '';
      this.#uploaded.add(prompt);
      await this.#held(prompt, 'upload');
      return answer({ id: 'file' });
    }
    if (request.method === 'GET') {
      const prompt = this.#jobs[Number(id)]?.prompt ?? '';
      this.#polled.add(prompt);
      const isRunning = !this.#isReleased && prompt.includes('[hold-job]');
      return answer({ state: isRunning ? 'running' : 'done', files: [PIXEL] });
    }
    const { prompt, key } = readSubmit(request.headers['content-type'] ?? '', body);
    const index = this.#jobs.push({ prompt, key }) - 1;
    await this.#held(prompt, 'submit');
    return answer({ id: String(index), usd: CHARGED_USD });
  }
}

function readSubmit(type: string, body: Buffer): { readonly prompt: string; readonly key: unknown } {
  if (type.startsWith('application/json')) {
    const { prompt, key } = JSON.parse(body.toString('utf8')) as { prompt: string; key?: unknown };
    return { prompt, key };
  }
  return { prompt: /name="prompt"\r\n\r\n([^\r]*)/.exec(body.toString('latin1'))?.[1] ?? '', key: undefined };
}

interface Started {
  readonly kind: Kind;
  readonly prompt: string;
  readonly taskId: string;
}

describe('a worker that is killed', () => {
  const provider = new RepeatingProvider();
  let modelsDir: string;
  let darkroom: Darkroom;
  let worker: Role;
  let account: TestAccount;

  before(async () => {
    await provider.listen();
    modelsDir = await mkdtemp(path.join(os.tmpdir(), 'darkroom-models-'));
    for (const kind of KINDS) {
      await writeFile(path.join(modelsDir, `${kind.name}.json`), JSON.stringify(modelOf(kind, provider.origin)));
    }
    const keys = Object.entries(SCHEMES).map(([name, { secret }]) => [`UPSTREAM_${name.toUpperCase()}_KEY`, secret]);
    darkroom = await startDarkroom({ environment: { MODELS_DIR: modelsDir, ...Object.fromEntries(keys) } });
    worker = darkroom.workers[0] ?? assert.fail('there is no worker');
    account = await darkroom.createAccount({ runningCap: KINDS.length });
  });
  after(async () => {
    await darkroom?.stop();
    provider.close();
    await rm(modelsDir, { recursive: true, force: true });
  });

  const createAll = (round: string, kinds: readonly Kind[], behaviour = ''): Promise<readonly Started[]> =>
    Promise.all(
      kinds.map(async (kind) => {
        const prompt = `${round} ${kind.name} ${behaviour}`;
        const input = { prompt, image: PIXEL };
        const created = await account.client.create({ model: `test/${kind.name}`, input });
        assert.equal(created.status, 200, JSON.stringify(created.body));
        return { kind, prompt, taskId: created.body.data.taskId };
      }),
    );
  const killWhen = async (
    what: string,
    started: readonly Started[],
    isReached: (prompt: string) => boolean,
  ): Promise<void> => {
    for (const { prompt } of started) await waitFor(`${prompt} ${what}`, () => isReached(prompt), POLL_MS);
    await worker.kill();
    provider.release();
    await worker.start();
  };
  const finish = ({ taskId }: Started): Promise<ApiTask> => account.client.waitForTerminal(taskId);

  it('before it submits leaves the task to the next worker, which submits it once', async () => {
    await worker.kill();
    const started = await createAll('before', KINDS);
    await worker.start();

    for (const one of started) {
      const task = await finish(one);
      assert.equal(task.status, 'success', `${one.kind.name}: ${JSON.stringify(task)}`);
      assert.equal(provider.jobsOf(one.prompt).length, 1, one.kind.name);
    }
  });

  it('while a file is being uploaded leaves the task to the next worker, which uploads and submits it', async () => {
    provider.hold();
    const started = await createAll(
      'uploading',
      KINDS.filter(({ body }) => body === 'upload'),
      '[hold-upload]',
    );
    await killWhen('is uploaded', started, (prompt) => provider.isUploading(prompt));

    for (const one of started) {
      const task = await finish(one);
      assert.equal(task.status, 'success', `${one.kind.name}: ${JSON.stringify(task)}`);
      assert.equal(provider.jobsOf(one.prompt).length, 1, one.kind.name);
    }
  });

  it('before the response leads to one submit, or to several under one key', async () => {
    provider.hold();
    const started = await createAll('during', KINDS, '[hold-submit]');
    await killWhen('is submitted', started, (prompt) => provider.jobsOf(prompt).length > 0);

    for (const one of started) {
      const task = await finish(one);
      const jobs = provider.jobsOf(one.prompt);
      if (one.kind.body === 'keyed') {
        assert.equal(task.status, 'success', `${one.kind.name}: ${JSON.stringify(task)}`);
        assert.deepEqual([...new Set(jobs.map(({ key }) => key))], [one.taskId], one.kind.name);
      } else {
        assert.equal(task.error?.reason, 'outcome_unknown', `${one.kind.name}: ${JSON.stringify(task)}`);
        assert.equal(jobs.length, 1, one.kind.name);
      }
    }
  });

  it('while the job runs leaves it to the next worker, which polls it', async () => {
    provider.hold();
    const started = await createAll('after', KINDS, '[hold-job]');
    await killWhen('is polled', started, (prompt) => provider.isPolled(prompt));

    for (const one of started) {
      const task = await finish(one);
      assert.equal(task.status, 'success', `${one.kind.name}: ${JSON.stringify(task)}`);
      assert.equal(provider.jobsOf(one.prompt).length, 1, one.kind.name);
    }
  });

  it('knows what every job costs whose id it knows, and no other', async () => {
    const costs = await darkroom.testDatabase.database.query<Readonly<Record<string, unknown>>>({
      name: 'select_costs',
      text: `SELECT DISTINCT t.status, c.cost_micro_usd AS cost, c.source
               FROM tasks t LEFT JOIN task_costs c ON c.task_id = t.id ORDER BY t.status`,
    });
    assert.deepEqual(costs, [
      { status: 'fail', cost: null, source: null },
      { status: 'success', cost: 3_700n, source: 'reported' },
    ]);
  });

  it('charges every success once, and nothing else', async () => {
    const [counts] = await darkroom.testDatabase.database.query<{ captures: number; successes: number }>({
      name: 'count_captures',
      text: `SELECT (SELECT count(*) FROM ledger_entries WHERE kind = 'capture')::integer AS captures,
                    (SELECT count(*) FROM tasks WHERE status = 'success')::integer AS successes`,
    });
    assert.ok(counts !== undefined && counts.successes > 2 * KINDS.length);
    assert.equal(counts.captures, counts.successes);
    const { code, stdout } = await runAdminCommand(['ledger', 'verify'], programEnvironment(darkroom.testDatabase.url));
    assert.equal(code, 0, stdout);
  });
});

function modelOf({ name, scheme, body }: Kind, origin: string): object {
  const http = {
    jobId: 'id',
    poll: { path: "'/jobs/' & $jobId", state: 'state' },
    outputs: 'files',
    ...BODIES[body],
    submit: { ...(BODIES[body] ?? assert.fail(`there is no body ${body}`)).submit, cost: 'usd' },
    auth: SCHEMES[scheme]?.auth(origin),
  };
  const upstream = { protocol: 'http', id: name, baseUrl: `${origin}/${name}`, secret: scheme, model: 'm', http };
  return {
    name: `test/${name}`,
    modality: 'image',
    ownedBy: 'test',
    created: 0,
    description: `A described provider: ${name}.`,
    routes: { default: { upstreams: [upstream] } },
    inputSchema: {
      type: 'object',
      additionalProperties: false,
      required: ['prompt', 'image'],
      properties: {
        prompt: { type: 'string', minLength: 1, maxLength: 4_000 },
        image: { type: 'string', maxLength: 10_000, pattern: '^data:image/png;base64,', contentMediaType: 'image/*' },
      },
    },
    pricing: { unit: 'task', usd: '0.01' },
    typicalSeconds: 1,
    examples: [{ prompt: 'anything', image: PIXEL }],
  };
}
