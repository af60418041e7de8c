/**
 * A worker on another machine: api and workers from installations of their own, each on a disk of its own, with
 * nothing in common but the network: PostgreSQL, Temporal and an S3 server. One worker generates, another does
 * everything else, so that the files of a task pass between machines more than once. Skipped, with the reason, if
 * there is no S3 server; if the platform has no mount namespaces, the disks are only directories, and the test
 * reports that.
 */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { chmod, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import sharp from 'sharp';
import { reservePort } from '../support/reserve-port.ts';
import { verify } from '../../scripts/gallery/verify.ts';
import { Machine, whyNotApart } from '../deploy/machine.ts';
import { ApiClient } from '../support/api-client.ts';
import type { ApiTask } from '../support/api-client.ts';
import type { Role } from '../support/darkroom.ts';
import type { History } from '../support/history-texts.ts';
import { adminUrl } from '../support/test-database.ts';
import { createTestNamespace, temporalAddress } from '../support/test-namespace.ts';
import type { TestNamespace } from '../support/test-namespace.ts';
import { startS3Server, whyNoS3Server } from '../support/versitygw.ts';
import type { S3Server } from '../support/versitygw.ts';

/** Mean difference of two images that show the same, 0 to 255: one is a still of an encoded video. */
const SAME_IMAGE = 8;

const notApart = whyNotApart();

describe('a worker on another machine', { skip: whyNoS3Server() }, () => {
  let root: string;
  let server: S3Server;
  let namespace: TestNamespace;
  let databaseName: string;
  let machines: Readonly<Record<'serving' | 'generating' | 'archiving', Machine>>;
  let roles: Readonly<Record<'api' | 'generating' | 'archiving', Role>>;
  let client: ApiClient;
  let url: string;
  const tasks: ApiTask[] = [];

  before(async () => {
    server = await startS3Server('outputs');
    namespace = await createTestNamespace();
    databaseName = `elsewhere_${randomBytes(6).toString('hex')}`;
    await askDatabase(`CREATE DATABASE ${databaseName}`);
    root = await mkdtemp(path.join(os.tmpdir(), 'darkroom-machines-'));
    await chmod(root, 0o711);
    const port = await reservePort();
    url = `http://127.0.0.1:${port}`;
    const databaseUrl = new URL(adminUrl());
    databaseUrl.pathname = `/${databaseName}`;
    const environment = {
      PATH: process.env['PATH'],
      DATABASE_URL: databaseUrl.href,
      TEMPORAL_ADDRESS: temporalAddress(),
      TEMPORAL_NAMESPACE: namespace.name,
      STORE_URL: 's3://outputs/kept',
      S3_ENDPOINT: server.endpoint,
      S3_REGION: server.region,
      S3_ACCESS_KEY_ID: server.accessKeyId,
      S3_SECRET_ACCESS_KEY: server.secretAccessKey,
      URL_SIGNING_KEY: randomBytes(24).toString('hex'),
      ENCRYPTION_KEY: randomBytes(24).toString('hex'),
      PUBLIC_URL: url,
      SHUTDOWN_GRACE_SECONDS: '3',
    };
    const setUp = (name: string): Promise<Machine> =>
      Machine.setUp(path.join(root, name), environment, notApart === false);
    machines = {
      serving: await setUp('serving'),
      generating: await setUp('generating'),
      archiving: await setUp('archiving'),
    };
    const { serving, generating, archiving } = machines;
    await serving.run('migrate');
    const limits = ['--reads-per-minute', '1000000'];
    await serving.run('admin', 'accounts', 'create', '--name', 'elsewhere', '--usd', '10', ...limits);
    const { apiKey } = JSON.parse(await serving.run('admin', 'keys', 'create', '--json')) as { apiKey: string };
    client = new ApiClient([url], apiKey);
    roles = {
      api: serving.role('api', { PORT: String(port) }),
      generating: generating.role('worker', { WORKER_QUEUES: 'generation' }),
      archiving: archiving.role('worker', { WORKER_QUEUES: 'media,waiting,archiving,callbacks,maintenance' }),
    };
    await Promise.all(Object.values(roles).map((role) => role.start()));
  });
  after(async () => {
    await Promise.all(Object.values(roles ?? {}).map((role) => role.kill('SIGTERM')));
    for await (const { scheduleId } of namespace.client.schedule.list()) {
      await namespace.client.schedule.getHandle(scheduleId).delete();
    }
    await namespace?.close();
    await askDatabase(`DROP DATABASE IF EXISTS ${databaseName} WITH (FORCE)`);
    await server?.stop();
    await rm(root, { recursive: true, force: true });
    for (const role of Object.values(roles ?? {})) assert.equal(role.collapse, undefined);
  });

  /**
   * Runs a task that must succeed. @returns its outputs, each of them downloaded and checked against its description.
   */
  async function outputsOf(model: string, input: Readonly<Record<string, unknown>>): Promise<readonly Output[]> {
    const created = await client.create({ model, input });
    assert.equal(created.status, 200, JSON.stringify(created.body));
    const task = await client.waitForTerminal(created.body.data.taskId);
    assert.equal(task.status, 'success', JSON.stringify(task));
    tasks.push(task);
    const outputs: Output[] = [];
    for (const output of task.output ?? []) {
      const response = await fetch(output.url);
      assert.equal(response.status, 200);
      const bytes = Buffer.from(await response.arrayBuffer());
      assert.equal(createHash('sha256').update(bytes).digest('hex'), output.sha256);
      assert.equal(bytes.length, output.sizeBytes);
      const file = path.join(root, output.id);
      await writeFile(file, bytes);
      assert.deepEqual((await verify({ file, bytes, output, input })).problems, [], JSON.stringify(output));
      const { type, width, height, mimeType } = output;
      outputs.push({ type, mimeType, bytes, width, height, url: output.url });
    }
    return outputs;
  }

  it('has a disk of its own', (t) => {
    if (notApart !== false) {
      t.diagnostic(`the machines share a disk and only do not use it: ${notApart}`);
      return;
    }
    return assertApart();
  });

  it('makes an image', async () => {
    const [image] = await outputsOf('darkroom/scene', { prompt: 'a harbour at dawn', aspect_ratio: '16:9' });

    assert.equal(image?.mimeType, 'image/png');
  });

  it('makes a video and its frames, and one that begins where that one ended', async () => {
    const first = { prompt: 'waves at dusk, seagulls', duration: 2, resolution: '480p', seed: 2 };
    const video = await outputsOf('darkroom/motion', first);
    assert.deepEqual(
      video.map(({ type, mimeType }) => [type, mimeType]),
      [
        ['video', 'video/mp4'],
        ['first_frame', 'image/jpeg'],
        ['last_frame', 'image/jpeg'],
        ['thumbnail', 'image/jpeg'],
      ],
    );

    const second = { prompt: 'night falls', start_video: video[0]?.url, duration: 5, resolution: '480p' };
    const continued = await outputsOf('darkroom/continue', second);

    assert.deepEqual(
      continued.map(({ type }) => type),
      video.map(({ type }) => type),
    );
    const [, , end] = video;
    const [, beginning] = continued;
    assert.ok(end && beginning);
    assert.ok((await difference(end.bytes, beginning.bytes)) < SAME_IMAGE);
    assert.ok((await difference(end.bytes, continued[2]?.bytes ?? Buffer.alloc(0))) > SAME_IMAGE);
  });

  it('speaks', async () => {
    const [speech] = await outputsOf('darkroom/speech', { text: 'High water at noon.', voice: 'slt' });

    assert.equal(speech?.mimeType, 'audio/mpeg');
  });

  it('changes an image that was uploaded', async () => {
    const response = await fetch(`${url}/v1/files`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${client.key}`, 'Content-Type': 'image/png' },
      body: new Uint8Array(await stripes()),
    });
    assert.equal(response.status, 200);
    const { data } = (await response.json()) as { data: { url: string } };

    const [edited] = await outputsOf('darkroom/edit', { prompt: 'golden hour', image_urls: [data.url], seed: 3 });

    assertShape(edited);
  });

  it('changes an image that stands in the request', async () => {
    const image = `data:image/png;base64,${(await stripes()).toString('base64')}`;

    const [edited] = await outputsOf('darkroom/retouch', { prompt: 'black and white', image });

    assertShape(edited);
  });

  it('did all of the generating, and nothing else', async () => {
    assert.equal(tasks.length, 6);
    const ran = { generating: new Set<string>(), archiving: new Set<string>() };
    for (const { taskId } of tasks) {
      const history = await namespace.client.workflow.getHandle(taskId).fetchHistory();
      for (const [what, identity] of whoRanWhat(history)) {
        const pid = Number(identity.split('@')[0]);
        const by = pid === roles.generating.pid ? 'generating' : 'archiving';
        assert.ok(by === 'generating' || pid === roles.archiving.pid, `${what} by ${identity}`);
        ran[by].add(what);
      }
    }

    assert.deepEqual([...ran.generating], ['submitGeneration']);
    assert.ok(ran.archiving.has('workflow'));
    assert.ok(!ran.archiving.has('submitGeneration'));
  });

  it('keeps no file of what it did', async () => {
    for (const machine of [machines.generating, machines.archiving]) {
      assert.deepEqual(await readdir(machine.scratchDirectory), []);
      // A library creates an empty directory for data that it may never store.
      const entries = await readdir(machine.temporaryDirectory, { recursive: true, withFileTypes: true });
      const files = entries.filter((entry) => !entry.isDirectory());
      assert.deepEqual(files, []);
    }
  });

  /** What the kernel shows of each process's disk. */
  async function assertApart(): Promise<void> {
    const running = [
      [roles.api, machines.serving],
      [roles.generating, machines.generating],
      [roles.archiving, machines.archiving],
    ] as const;
    for (const [{ pid }, own] of running) {
      const seen = (directory: string): Promise<readonly string[]> =>
        readdir(path.join(`/proc/${pid}/root`, directory)).catch(() => []);
      assert.ok((await seen(own.directory)).includes('app'));
      assert.deepEqual(await seen(root), [path.basename(own.directory)]);
      assert.deepEqual(await seen(server.directory), []);
      const mounts = (await readFile(`/proc/${pid}/mountinfo`, 'utf8')).split('\n').map((line) => line.split(' '));
      // The path of a mount is the fifth word, its options are the sixth.
      const optionsOf = (mountPoint: string): string | undefined =>
        mounts.findLast((words) => words[4] === mountPoint)?.[5];
      for (const place of ['/', path.join(own.directory, 'app')]) assert.match(optionsOf(place) ?? '', /^ro\b/, place);
    }
  }
});

interface Output {
  readonly type: string;
  readonly mimeType: string;
  readonly bytes: Buffer;
  readonly width: number;
  readonly height: number;
  readonly url: string;
}

/** The size of the input images. */
const SHAPE = { width: 320, height: 240 };

/** An image with visible content. */
async function stripes(): Promise<Buffer> {
  const { width, height } = SHAPE;
  const pixels = Buffer.alloc(width * height * 3);
  for (let index = 0; index < pixels.length; index++) pixels[index] = (index * 7) % 251;
  return sharp(pixels, { raw: { width, height, channels: 3 } })
    .png()
    .toBuffer();
}

function assertShape(output: Output | undefined): void {
  assert.ok(output);
  assert.ok(Math.abs(output.width / output.height - SHAPE.width / SHAPE.height) < 0.02);
}

/** The average difference of two images, whatever their sizes. */
async function difference(one: Buffer, other: Buffer): Promise<number> {
  const small = (bytes: Buffer): Promise<Buffer> =>
    sharp(bytes).resize(32, 18, { fit: 'fill' }).removeAlpha().raw().toBuffer();
  const [a, b] = [await small(one), await small(other)];
  return a.reduce((sum, value, index) => sum + Math.abs(value - (b[index] ?? 0)), 0) / a.length;
}

/** Which worker ran what: activities by their names, and the workflow itself with its local activities. */
function whoRanWhat({ events }: History): readonly (readonly [what: string, identity: string])[] {
  const nameOf = new Map<string, string>();
  const ran: (readonly [string, string])[] = [];
  for (const event of events ?? []) {
    const scheduled = event.activityTaskScheduledEventAttributes;
    if (scheduled) nameOf.set(String(event.eventId), scheduled.activityType?.name ?? '');
    const started = event.activityTaskStartedEventAttributes;
    if (started) ran.push([nameOf.get(String(started.scheduledEventId)) ?? '', started.identity ?? '']);
    const workflow = event.workflowTaskStartedEventAttributes;
    if (workflow) ran.push(['workflow', workflow.identity ?? '']);
  }
  return ran;
}

async function askDatabase(text: string): Promise<void> {
  const admin = new pg.Client({ connectionString: adminUrl() });
  await admin.connect();
  try {
    await admin.query(text);
  } finally {
    await admin.end();
  }
}
